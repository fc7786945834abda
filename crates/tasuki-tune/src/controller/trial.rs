//! A trial: a neighbouring length is compared with the one that is held for best, several times if need be.

use super::{
    BUSY, Controller, Decision, FAR, Phase, QUIET, Reason,
    evidence::{TOLERATED, decided, difference, leaning, part, part_sent, part_user},
};
use crate::Sample;

/// Comparisons in a row, at most.
const ROUNDS_MAX: usize = 4;
/// Periods between two trials once no neighbour is better, at most.
const PAUSE_MAX: u32 = 32;
/// Gain from which on a length is taken although the gain is not certain.
const TEMPTING: f64 = 0.04;
/// What was far worse is tried again one time of so many.
const RETRY_INTERVAL: u32 = 4;

/// A trial under way.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// Number of the length under trial.
    pub to: usize,
    /// Whether the length under trial is in force now.
    pub is_away: bool,
    /// The last period at home.
    pub home: Sample,
    /// The last period away.
    pub away: Sample,
    /// Differences of packets sent, of packets received and of programs' time, one of each per comparison.
    pub rounds: Vec<[f64; 3]>,
}

impl Controller {
    /// The next length to try, in the direction that is due. A longer length that is still shorter than what
    /// lies between two interrupts anyway would change nothing, so that longer lengths begin above that.
    /// Lengths that were far worse under this load are passed over, most of the times.
    fn neighbour(&self, home: &Sample) -> Option<usize> {
        let last = self.lengths.len() - 1;
        let apart_us = 1e6 / home.interrupt_rate().max(1.0);
        let felt = self.lengths.up_to((apart_us * 2.0) as u32);
        let (first, leaps) = ((self.at + 1).max(felt).min(last), self.leap && home.busy < BUSY);
        let candidates: Vec<usize> = match self.up {
            true if self.at < last => (first..=last).collect(),
            true => Vec::new(),
            false if leaps => (0..self.at.min(1)).collect(),
            false => (0..self.at).rev().collect(),
        };
        if self.passed_over % RETRY_INTERVAL == RETRY_INTERVAL - 1 {
            return candidates.first().copied();
        }
        // A length that was never tried is tried only as the next neighbour: beyond one that is far worse it
        // may be worse yet.
        let is_known = |number: &usize| self.profile.at(*number).is_some();
        let is_next = |number: &usize| candidates.first() == Some(number) && !is_known(number);
        let is_worth =
            |number: &usize| is_next(number) || (is_known(number) && !self.was_far_worse(*number, home));
        candidates.iter().copied().find(is_worth)
    }

    /// Whether much less was sent, or came in if hardly anything is sent, when the present load was last seen
    /// under the length of this number.
    fn was_far_worse(&self, number: usize, home: &Sample) -> bool {
        self.profile.at(number).is_some_and(|then| {
            let sends = then.sent.max(home.sent_rate()) >= QUIET;
            let [before, now] =
                if sends { [then.sent, home.sent_rate()] } else { [then.rate, home.packet_rate()] };
            part(before, now) < -FAR
        })
    }

    /// Begins a trial, or rests if there is no neighbour worth one.
    pub(super) fn try_neighbour(&mut self, home: &Sample) -> Decision {
        let to = self.neighbour(home).or_else(|| {
            self.up = !self.up;
            self.failed += 1;
            self.neighbour(home)
        });
        let Some(to) = to else {
            // No neighbour in either direction is worth a trial for now.
            self.passed_over += 1;
            self.failed = 1;
            return self.turn_round(Reason::Steady);
        };
        self.phase = Phase::Trial(Trial { to, is_away: true, home: *home, away: *home, rounds: Vec::new() });
        Decision { us: self.lengths.at(to), reason: Reason::Trial }
    }

    /// Takes a period at home after one away, and compares.
    pub(super) fn compare(&mut self, mut trial: Trial, sample: &Sample) -> Decision {
        let home = trial.home.with(sample);
        let packets = part(trial.away.packet_rate(), home.packet_rate());
        let user = part_user(&home, &trial.away);
        trial.rounds.push([part_sent(&home, &trial.away), packets, user]);
        self.stay_home(sample);
        let gain = match trial.rounds.len() {
            1 => difference(&home, &trial.away, true),
            _ => decided(&trial.rounds),
        };
        if gain.is_none() && trial.rounds.len() < ROUNDS_MAX {
            let to = trial.to;
            self.phase = Phase::Trial(Trial { is_away: true, home: *sample, ..trial });
            return Decision { us: self.lengths.at(to), reason: Reason::Trial };
        }
        match gain {
            Some(gain) if gain > 0.0 => self.go(trial.to, trial.away, Reason::Better(gain)),
            Some(gain) => self.turn_round(Reason::Worse(-gain)),
            // Interrupts are allowed as long as computing does not suffer, which it does where no processor
            // is ever idle. So the shorter length is taken if a processor is idle at times, the longer one if
            // not. A loss counts even if it is not certain.
            None if (trial.to < self.at) != (sample.busy >= BUSY) && leaning(&trial.rounds) > -TOLERATED => {
                self.go(trial.to, trial.away, Reason::Same)
            }
            // A gain counts, too, even if it is not certain: by what was seen it is the better bet.
            None if leaning(&trial.rounds) > TEMPTING => {
                self.go(trial.to, trial.away, Reason::Better(leaning(&trial.rounds)))
            }
            None => self.turn_round(Reason::Same),
        }
    }

    /// Makes another length home, under which this was seen, and goes on in the same direction.
    pub(super) fn go(&mut self, to: usize, sample: Sample, reason: Reason) -> Decision {
        self.at = to;
        (self.failed, self.pause) = (0, 1);
        self.last = Some(sample);
        self.phase = Phase::Rest(0);
        self.stay(reason)
    }

    /// Goes on in the other direction; once neither direction was better, after a pause that is longer every
    /// time.
    fn turn_round(&mut self, reason: Reason) -> Decision {
        self.failed += 1;
        self.leap ^= !self.up;
        self.up = !self.up;
        if self.failed >= 2 {
            self.failed = 0;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
            self.phase = Phase::Rest(self.pause);
        } else {
            self.phase = Phase::Rest(0);
        }
        self.stay(reason)
    }
}
