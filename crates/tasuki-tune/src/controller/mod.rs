//! The length of the interrupt delay, by processor use and packet rate.
//!
//! What one wants to know is how fast the program gets on, which no host tells. Three things follow it: what
//! goes out (a program that waits for answers asks as often as it is answered, and nobody else's packets are
//! in this count), what comes in (for a program that only receives), and the time that programs have the
//! processor (less of it is left to them by interrupts, or used by them while they wait). The controller
//! tries a neighbouring length now and then, back and forth, and stays where more went out, or more came in
//! if as much went out, or where programs had more of the processor if neither differed. If none of the three
//! differs the shorter delay is taken: the paper's "no need to lower the use of the processor beyond what
//! computing needs".

mod evidence;
mod survey;
mod trial;

#[cfg(test)]
mod tests;

use crate::{
    Lengths, Sample,
    memory::{Best, Memory, Observation, Profile},
};
use serde::Serialize;
use survey::Survey;
use trial::Trial;

/// Packets per second below which interrupts cost nothing worth saving: at 10 us each, half a per cent.
const QUIET: f64 = 500.0;
/// Share of the processors' time that is not idle from which on the processor is the limit.
const BUSY: f64 = 0.95;
/// Factor by which packets must differ to be those of another load.
const OTHER_RATE: f64 = 1.4;
/// Standard deviations of packets at random by which packets must differ to be those of another load.
const OTHER_DEVIATIONS: f64 = 5.0;
/// Difference in use of the processors that only another load makes. It is large, because most kernels know
/// use by samples only.
const OTHER_USE: f64 = 0.3;
/// Loss, as a logarithm, from which on a length is far worse than another.
const FAR: f64 = 0.25;
/// Periods between two trials, at most, under a load that is recognised.
const REMEMBERED_PAUSE_MAX: u32 = 16;
/// Periods between two trials, at least, under a load that is recognised.
const REMEMBERED_PAUSE_MIN: u32 = 8;

/// Why a length was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// There is nothing to do.
    Steady,
    /// A load that was not seen before: every length is tried once.
    Survey,
    /// A neighbour is tried, or compared once more.
    Trial,
    /// The neighbour was better by this part (of packets, or of programs' time), and is kept.
    Better(f64),
    /// The neighbour was worse by this part.
    Worse(f64),
    /// The two lengths do not differ, so the shorter is kept.
    Same,
    /// The load is not what it was before.
    Changed,
    /// The load was seen before, and what was best then is set again.
    Remembered,
    /// There are hardly any packets.
    Quiet,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// Length for the next period, microseconds; 0: off.
    pub us: u32,
    /// Why.
    pub reason: Reason,
}

/// What the controller is doing.
#[derive(Clone, Debug)]
enum Phase {
    /// It stays at home for so many periods until the next trial.
    Rest(u32),
    /// There are hardly any packets; a load may begin at any time in a period.
    Quiet,
    /// The load has changed; the next period is the first that is wholly of the new load.
    New,
    /// It tries every length once.
    Survey(Survey),
    /// It tries a neighbour.
    Trial(Trial),
}

/// Chooses the length of an interrupt delay.
#[derive(Clone, Debug)]
pub struct Controller {
    lengths: Lengths,
    /// Number of the length that is held for best: home.
    at: usize,
    phase: Phase,
    /// The last period at home under the present load.
    last: Option<Sample>,
    memory: Memory,
    /// How the present load showed itself.
    profile: Profile,
    /// Whether the next trial is of a longer length.
    up: bool,
    /// Whether the next trial of a shorter length is of the shortest of all, across those between, which may
    /// be worse than both.
    leap: bool,
    /// Neighbours in a row that were not better.
    failed: u32,
    /// Periods between two trials once no neighbour is better.
    pause: u32,
    /// How often there was no neighbour that had not been far worse.
    passed_over: u32,
}

impl Controller {
    /// Begins with the shortest of these lengths.
    pub fn new(lengths: Lengths) -> Self {
        Self {
            lengths,
            at: 0,
            phase: Phase::New,
            last: None,
            memory: Memory::default(),
            profile: Profile::default(),
            up: true,
            leap: false,
            failed: 0,
            pause: 1,
            passed_over: 0,
        }
    }

    /// The length that is held for best at present, microseconds.
    pub fn best_us(&self) -> u32 {
        self.lengths.at(self.at)
    }

    /// Whether a short period will do: every length is being tried, most of which are bad, and what programs
    /// send tells them apart. Programs' time, of which kernels have samples, does not tell so soon.
    pub fn is_brief(&self) -> bool {
        matches!(self.phase, Phase::Survey(survey) if survey.sample.sent_rate() >= QUIET)
    }

    /// Takes what was seen in a period under the length that was last decided (the shortest at first), and
    /// decides for the next period.
    pub fn step(&mut self, sample: &Sample) -> Decision {
        if sample.packet_rate() < QUIET {
            return self.rest_in_quiet();
        }
        match std::mem::replace(&mut self.phase, Phase::New) {
            Phase::Quiet => self.begin_anew(),
            Phase::New => self.meet(sample),
            Phase::Rest(_) if self.has_changed(sample) => self.begin_anew(),
            Phase::Rest(left) => {
                self.stay_home(sample);
                if left > 0 {
                    self.phase = Phase::Rest(left - 1);
                    return self.stay(Reason::Steady);
                }
                self.try_neighbour(sample)
            }
            Phase::Survey(survey) => self.survey(survey, sample),
            Phase::Trial(trial) if trial.is_away => {
                self.profile.observe(Observation::of(trial.to, sample));
                self.phase = Phase::Trial(Trial { is_away: false, away: *sample, ..trial });
                self.stay(Reason::Trial)
            }
            Phase::Trial(_) if self.has_changed(sample) => self.begin_anew(),
            Phase::Trial(trial) => self.compare(trial, sample),
        }
    }

    /// Home for the next period.
    fn stay(&self, reason: Reason) -> Decision {
        Decision { us: self.lengths.at(self.at), reason }
    }

    /// There are hardly any packets, so the shortest length is set.
    fn rest_in_quiet(&mut self) -> Decision {
        self.remember();
        let was = self.at;
        self.at = 0;
        self.phase = Phase::Quiet;
        self.last = None;
        self.stay(if was == 0 { Reason::Steady } else { Reason::Quiet })
    }

    /// Whether the load differs from that of the last period at the same length.
    fn has_changed(&self, sample: &Sample) -> bool {
        let Some(last) = &self.last else { return false };
        // Packets must differ by more than chance, and by much.
        let differ = |of: &dyn Fn(&Sample) -> f64| {
            let [a, b] = [last, sample].map(|one| (of(one), one.seconds.max(1e-9)));
            let rates = [a, b].map(|(count, seconds)| count / seconds);
            let deviation = (a.0 / a.1.powi(2) + b.0 / b.1.powi(2)).sqrt() + 1.0 / a.1.min(b.1);
            (rates[0] - rates[1]).abs() > OTHER_DEVIATIONS * deviation
                && rates[0].max(rates[1]) > OTHER_RATE * rates[0].min(rates[1])
        };
        differ(&|one| one.packets) || differ(&|one| one.sent) || (last.busy - sample.busy).abs() > OTHER_USE
    }

    /// Takes a period at home under the load that is known.
    fn stay_home(&mut self, sample: &Sample) {
        self.profile.confirm();
        self.profile.observe(Observation::of(self.at, sample));
        self.last = Some(*sample);
    }

    /// The load has changed.
    fn begin_anew(&mut self) -> Decision {
        self.remember();
        self.last = None;
        self.phase = Phase::New;
        self.stay(Reason::Changed)
    }

    /// Remembers what is best for the present load, for when it comes again.
    fn remember(&mut self) {
        let load = std::mem::take(&mut self.profile);
        self.memory.note(&load, Best { at: self.at, pause: self.pause });
    }

    /// Takes the first whole period of a new load.
    fn meet(&mut self, sample: &Sample) -> Decision {
        let observation = Observation::of(self.at, sample);
        self.profile = Profile::default();
        self.profile.observe(observation);
        self.up = sample.busy >= BUSY;
        (self.failed, self.pause, self.passed_over) = (0, 1, 0);
        if let Some(best) = self.memory.best(&observation) {
            let is_there = best.at == self.at;
            self.at = best.at;
            self.pause = best.pause.clamp(REMEMBERED_PAUSE_MIN, REMEMBERED_PAUSE_MAX);
            self.last = is_there.then_some(*sample);
            self.phase = Phase::Rest(self.pause);
            return self.stay(if is_there { Reason::Steady } else { Reason::Remembered });
        }
        self.try_next(Survey::begin(self.at, *sample), 0)
    }
}
