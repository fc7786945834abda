//! The length of the interrupt delay, by processor use and packet rate.
//!
//! What one wants to know is how fast the program gets on, and that no host tells. Three things follow it: what goes out (a program that
//! waits for answers asks as often as it is answered, and nobody else's packets are in this count), what comes in (of a program that only takes), and
//! the time that programs have the processor (less is left to them by interrupts, or used by them while they wait). The controller tries a
//! neighbouring length now and then, back and forth, and stays where more went out, or more came in if as much went out, or where programs had more
//! if neither differed. Where neither differs the shorter delay is taken: the paper's "no need to lower the use of
//! the processor beyond what computing needs".

use crate::{
    Lengths, Sample,
    memory::{Best, Look, Memory, Profile},
};
use serde::Serialize;

/// Differences below this are none: 1 %.
const LEAST_GAIN: f64 = 0.01;
/// From when on a difference of counts is believed: by more than this part, and than so many standard deviations of packets at random.
#[derive(Clone, Copy)]
struct Belief {
    part: f64,
    deviations: f64,
}

/// In a survey, whose choice is only where trials begin. Programs ask more regularly than at random.
const LIKELY: Belief = Belief { part: LEAST_GAIN, deviations: 1.0 };
const SIGNIFICANT: Belief = Belief { part: LEAST_GAIN, deviations: 2.0 };
/// That needs no second look.
const PLAIN: Belief = Belief { part: 0.15, deviations: 4.0 };
/// A difference of programs' time that counts in a survey.
const SURVEYED_USE: f64 = 0.15;
/// A survey ends after so many lengths in a row that were worse by so much, and each worse than the one before.
const FAR_WORSE: u32 = 3;
const FAR: f64 = 0.25;
/// Programs' time below which parts of it say nothing: what is known by samples differs by some hundredths of a period.
const LEAST_USER: f64 = 0.05;
/// Comparisons in a row at most.
const ROUNDS: usize = 4;
/// Periods between two trials, once no neighbour is better.
const LONGEST_PAUSE: u32 = 32;
/// Below so many packets per second interrupts cost nothing worth saving: at 10 us each, half a per cent.
const QUIET: f64 = 500.0;
/// From this use on the processor is the limit.
const BUSY: f64 = 0.95;

/// A loss that is not certain and not above this is taken for none.
const TOLERATED: f64 = 0.02;
/// A gain that is not certain is taken from this on.
const TEMPTING: f64 = 0.04;
/// Packets that differ by this factor are those of another load.
const OTHER_RATE: f64 = 1.4;
/// What was far worse is tried again one time of so many.
const LOOK_AGAIN: u32 = 4;
/// Use that differs by more is that of another load; the kernel mostly knows it by samples.
const OTHER_USE: f64 = 0.3;

/// Why a length was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Nothing to do.
    Steady,
    /// A load that was not seen before: every length is tried once.
    Survey,
    /// A neighbour is tried, or tried against again.
    Trial,
    /// The neighbour was better by this part (of packets, or of programs' time), and is kept.
    Better(f64),
    /// The neighbour was worse by this part.
    Worse(f64),
    /// No difference, so the shorter.
    Same,
    /// The load is another than before.
    Changed,
    /// It is a load that was seen before: back to what was best then.
    Remembered,
    /// Hardly any packets.
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

#[derive(Clone, Debug)]
enum Phase {
    /// At home, so many periods until the next trial.
    Rest(u32),
    /// Hardly any packets; a load may begin at any time in a period.
    Quiet,
    /// The load has changed; the next period is the first that is wholly of the new one.
    New,
    /// Every length once.
    Survey(Survey),
    /// A trial.
    Trial(Trial),
}

#[derive(Clone, Copy, Debug)]
struct Survey {
    /// In force now.
    at: usize,
    /// The best so far, and how that looked.
    best: usize,
    sample: Sample,
    /// So many in a row were far worse, the last of them by this part (a logarithm).
    worse: u32,
    by: f64,
}

#[derive(Clone, Debug)]
struct Trial {
    to: usize,
    /// Whether the length under trial is in force now.
    is_away: bool,
    /// The last period at home, and the last away.
    home: Sample,
    away: Sample,
    /// Differences of packets sent, of packets received and of programs' time, away against home, as logarithms.
    rounds: Vec<[f64; 3]>,
}

/// Chooses the length of an interrupt delay.
#[derive(Clone, Debug)]
pub struct Controller {
    lengths: Lengths,
    at: usize,
    phase: Phase,
    last: Option<Sample>,
    memory: Memory,
    /// How the present load looked.
    profile: Profile,
    /// Where to look next: longer or shorter; then at the shortest of all, across those between, which may be worse than both.
    up: bool,
    leap: bool,
    /// Neighbours in a row that were not better.
    failed: u32,
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

    /// Whether a short period will do: every length is being tried, most of which are bad, and what programs send tells them apart. Their time, of
    /// which kernels have samples, does not tell so soon.
    pub fn is_brief(&self) -> bool {
        matches!(self.phase, Phase::Survey(survey) if survey.sample.sent_rate() >= QUIET)
    }

    /// Takes what was seen in a period under the length that was last decided (the shortest at first), and decides for the next.
    pub fn step(&mut self, sample: &Sample) -> Decision {
        if sample.packet_rate() < QUIET {
            return self.be_quiet();
        }
        match std::mem::replace(&mut self.phase, Phase::New) {
            Phase::Quiet => self.change(),
            Phase::New => self.begin(sample),
            Phase::Rest(_) if self.has_changed(sample) => self.change(),
            Phase::Rest(left) => {
                self.is_same(sample);
                if left > 0 {
                    self.phase = Phase::Rest(left - 1);
                    return self.stay(Reason::Steady);
                }
                self.try_neighbour(sample)
            }
            Phase::Survey(survey) => self.survey(survey, sample),
            Phase::Trial(trial) if trial.is_away => {
                self.profile.see(Look::of(trial.to, sample));
                self.phase = Phase::Trial(Trial { is_away: false, away: *sample, ..trial });
                self.stay(Reason::Trial)
            }
            Phase::Trial(_) if self.has_changed(sample) => self.change(),
            Phase::Trial(trial) => self.compare(trial, sample),
        }
    }

    fn stay(&self, reason: Reason) -> Decision {
        Decision { us: self.lengths.at(self.at), reason }
    }

    fn be_quiet(&mut self) -> Decision {
        self.remember();
        let was = self.at;
        self.at = 0;
        self.phase = Phase::Quiet;
        self.last = None;
        self.stay(if was == 0 { Reason::Steady } else { Reason::Quiet })
    }

    /// Against the last period at the same length.
    fn has_changed(&self, sample: &Sample) -> bool {
        let Some(last) = &self.last else { return false };
        // By five standard deviations of packets at random, and by much.
        let differ = |of: &dyn Fn(&Sample) -> f64| {
            let [a, b] = [last, sample].map(|one| (of(one), one.seconds.max(1e-9)));
            let rates = [a, b].map(|(count, seconds)| count / seconds);
            let deviation = (a.0 / a.1.powi(2) + b.0 / b.1.powi(2)).sqrt() + 1.0 / a.1.min(b.1);
            (rates[0] - rates[1]).abs() > 5.0 * deviation
                && rates[0].max(rates[1]) > OTHER_RATE * rates[0].min(rates[1])
        };
        differ(&|one| one.packets) || differ(&|one| one.sent) || (last.busy - sample.busy).abs() > OTHER_USE
    }

    /// A period at home under the load that is known.
    fn is_same(&mut self, sample: &Sample) {
        self.profile.confirm();
        self.profile.see(Look::of(self.at, sample));
        self.last = Some(*sample);
    }

    fn change(&mut self) -> Decision {
        self.remember();
        self.last = None;
        self.phase = Phase::New;
        self.stay(Reason::Changed)
    }

    /// What is best for the present load, for when it comes again.
    fn remember(&mut self) {
        let load = std::mem::take(&mut self.profile);
        self.memory.note(&load, Best { at: self.at, pause: self.pause });
    }

    /// The first whole period of a new load.
    fn begin(&mut self, sample: &Sample) -> Decision {
        let look = Look::of(self.at, sample);
        self.profile = Profile::default();
        self.profile.see(look);
        self.up = sample.busy >= BUSY;
        (self.failed, self.pause, self.passed_over) = (0, 1, 0);
        if let Some(best) = self.memory.best(&look) {
            let is_there = best.at == self.at;
            self.at = best.at;
            self.pause = best.pause.clamp(8, 16);
            self.last = is_there.then_some(*sample);
            self.phase = Phase::Rest(self.pause);
            return self.stay(if is_there { Reason::Steady } else { Reason::Remembered });
        }
        let home = Survey { at: self.at, best: self.at, sample: *sample, worse: 0, by: 0.0 };
        self.try_next(home, 0)
    }

    /// On to the next length of a survey, from this one; the one that was in force when it began is known.
    fn try_next(&mut self, survey: Survey, from: usize) -> Decision {
        let at = if from == self.at { from + 1 } else { from };
        if at >= self.lengths.len() || survey.worse >= FAR_WORSE {
            let is_new = survey.best != self.at;
            return self.go(survey.best, survey.sample, if is_new { Reason::Survey } else { Reason::Steady });
        }
        self.phase = Phase::Survey(Survey { at, ..survey });
        Decision { us: self.lengths.at(at), reason: Reason::Survey }
    }

    /// Between off and a length that is good there may be some that are worse than both (a timer costs more than the interrupt that it saves), which
    /// no step to a neighbour gets across. So every length is tried, as long as it does not only get worse.
    fn survey(&mut self, mut survey: Survey, sample: &Sample) -> Decision {
        let at = survey.at;
        self.profile.see(Look::of(at, sample));
        // Time of programs is left out where the periods are too short for it.
        let gain = match survey.sample.sent_rate() >= QUIET {
            true => counted(&survey.sample, sample, LIKELY).map(|count| count.part),
            false => difference(&survey.sample, sample, false),
        };
        // As in a trial, if no processor is ever idle.
        let is_busy = survey.sample.busy.min(sample.busy) >= BUSY;
        let is_longer = gain.is_none() && is_busy && at > survey.best;
        match gain {
            _ if is_longer || gain.is_some_and(|gain| gain > 0.0) => {
                survey = Survey { at, best: at, sample: *sample, worse: 0, by: 0.0 };
            }
            Some(gain) if gain < -FAR => {
                survey.worse = if gain < survey.by { survey.worse + 1 } else { 1 };
                survey.by = gain;
            }
            _ => (survey.worse, survey.by) = (0, 0.0),
        }
        self.try_next(survey, at + 1)
    }

    /// The next length to try. One that is shorter than what lies between two interrupts anyway would change nothing, so the way up begins above that.
    /// Lengths that were far worse under this load are passed over, most of the times.
    fn neighbour(&self, home: &Sample) -> Option<usize> {
        let last = self.lengths.len() - 1;
        let apart_us = 1e6 / home.interrupt_rate().max(1.0);
        let felt = self.lengths.up_to((apart_us * 2.0) as u32);
        let (first, leaps) = ((self.at + 1).max(felt).min(last), self.leap && home.busy < BUSY);
        let ways: Vec<usize> = match self.up {
            true if self.at < last => (first..=last).collect(),
            true => Vec::new(),
            false if leaps => (0..self.at.min(1)).collect(),
            false => (0..self.at).rev().collect(),
        };
        if self.passed_over % LOOK_AGAIN == LOOK_AGAIN - 1 {
            return ways.first().copied();
        }
        // What was never seen is tried only as a neighbour: beyond what is far worse it may be worse yet.
        let is_known = |way: &usize| self.profile.at(*way).is_some();
        let is_next = |way: &usize| ways.first() == Some(way) && !is_known(way);
        ways.iter().copied().find(|way| is_next(way) || (is_known(way) && !self.was_far_worse(*way, home)))
    }

    /// Whether much less was sent, or came in if hardly anything is sent, when the present load was last seen under this length.
    fn was_far_worse(&self, number: usize, home: &Sample) -> bool {
        self.profile.at(number).is_some_and(|look| {
            let sends = look.sent.max(home.sent_rate()) >= QUIET;
            let [then, now] =
                if sends { [look.sent, home.sent_rate()] } else { [look.rate, home.packet_rate()] };
            part(then, now) < -FAR
        })
    }

    fn try_neighbour(&mut self, home: &Sample) -> Decision {
        let to = self.neighbour(home).or_else(|| {
            self.up = !self.up;
            self.failed += 1;
            self.neighbour(home)
        });
        let Some(to) = to else {
            // Nothing that would be worth a look, for now.
            self.passed_over += 1;
            self.failed = 1;
            return self.turn_round(Reason::Steady);
        };
        self.phase = Phase::Trial(Trial { to, is_away: true, home: *home, away: *home, rounds: Vec::new() });
        Decision { us: self.lengths.at(to), reason: Reason::Trial }
    }

    /// At home again after a period away.
    fn compare(&mut self, mut trial: Trial, sample: &Sample) -> Decision {
        let home = trial.home.with(sample);
        let packets = part(trial.away.packet_rate(), home.packet_rate());
        let user = part_user(&home, &trial.away);
        trial.rounds.push([part_sent(&home, &trial.away), packets, user]);
        self.is_same(sample);
        let gain = match trial.rounds.len() {
            1 => difference(&home, &trial.away, true),
            _ => decided(&trial.rounds),
        };
        if gain.is_none() && trial.rounds.len() < ROUNDS {
            let to = trial.to;
            self.phase = Phase::Trial(Trial { is_away: true, home: *sample, ..trial });
            return Decision { us: self.lengths.at(to), reason: Reason::Trial };
        }
        match gain {
            Some(gain) if gain > 0.0 => self.go(trial.to, trial.away, Reason::Better(gain)),
            Some(gain) => self.turn_round(Reason::Worse(-gain)),
            // Interrupts are allowed as long as computing does not suffer: where no processor is ever idle, it does. That a loss is not certain does not
            // make it none.
            None if (trial.to < self.at) != (sample.busy >= BUSY) && leaning(&trial.rounds) > -TOLERATED => {
                self.go(trial.to, trial.away, Reason::Same)
            }
            // The same holds for a gain: by what was seen it is the better bet.
            None if leaning(&trial.rounds) > TEMPTING => {
                self.go(trial.to, trial.away, Reason::Better(leaning(&trial.rounds)))
            }
            None => self.turn_round(Reason::Same),
        }
    }

    /// On in the same direction; under this length the load looked like this.
    fn go(&mut self, to: usize, sample: Sample, reason: Reason) -> Decision {
        self.at = to;
        (self.failed, self.pause) = (0, 1);
        self.last = Some(sample);
        self.phase = Phase::Rest(0);
        self.stay(reason)
    }

    /// The other direction; once neither was better, a pause, longer every time.
    fn turn_round(&mut self, reason: Reason) -> Decision {
        self.failed += 1;
        self.leap ^= !self.up;
        self.up = !self.up;
        if self.failed >= 2 {
            self.failed = 0;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            self.phase = Phase::Rest(self.pause);
        } else {
            self.phase = Phase::Rest(0);
        }
        self.stay(reason)
    }
}

/// The logarithm of a part; none of nothing.
fn part(away: f64, home: f64) -> f64 {
    ((away + 1e-6) / (home + 1e-6)).ln()
}

/// Packets sent, away against home, as a logarithm; few differ by chance alone.
fn part_sent(home: &Sample, away: &Sample) -> f64 {
    match away.sent_rate().max(home.sent_rate()) >= QUIET {
        true => part(away.sent_rate(), home.sent_rate()),
        false => 0.0,
    }
}

/// The part by which away was better than home, by one look at each; `None`: none, or not known. What was counted goes first; programs' time, which the
/// kernel mostly knows by samples, is not believed `surely`.
fn difference(home: &Sample, away: &Sample, surely: bool) -> Option<f64> {
    match counted(home, away, SIGNIFICANT) {
        Some(count) => (!surely || count.is_believed(PLAIN)).then_some(count.part),
        None => Some(part_user(home, away)).filter(|part| !surely && part.abs() > SURVEYED_USE),
    }
}

/// A difference of packets that were counted.
#[derive(Clone, Copy)]
struct Count {
    /// Away against home, as a logarithm.
    part: f64,
    /// Standard deviation of the part if packets come at random.
    deviation: f64,
}

impl Count {
    fn is_believed(&self, belief: Belief) -> bool {
        self.part.abs() > belief.part.max(belief.deviations * self.deviation)
    }
}

/// The first count that differs, what was sent before what came in.
fn counted(home: &Sample, away: &Sample, belief: Belief) -> Option<Count> {
    let deviation = |a: f64, b: f64| (1.0 / a.max(1.0) + 1.0 / b.max(1.0)).sqrt();
    let sent = Count { part: part_sent(home, away), deviation: deviation(home.sent, away.sent) };
    let came = Count {
        part: part(away.packet_rate(), home.packet_rate()),
        deviation: deviation(home.packets, away.packets),
    };
    [sent, came].into_iter().find(|count| count.is_believed(belief))
}

/// Programs' time, away against home, as a logarithm.
fn part_user(home: &Sample, away: &Sample) -> f64 {
    part(away.user + LEAST_USER, home.user + LEAST_USER)
}

/// The part by which away was better than home, by several looks at each, negative: worse; `None`: not known, or none.
fn decided(rounds: &[[f64; 3]]) -> Option<f64> {
    [0, 1, 2].into_iter().find_map(|which| {
        let values: Vec<f64> = rounds.iter().map(|round| round[which]).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        // Student's t for 95 % on both sides, for 1, 2 and 3 degrees of freedom.
        let t = [12.7, 4.3, 3.18][(rounds.len() - 2).min(2)];
        (mean.abs() > LEAST_GAIN && mean.abs() > t * (variance / count).sqrt()).then_some(mean)
    })
}

/// The mean difference by several looks, certain or not, of what counts first and is not next to nothing.
fn leaning(rounds: &[[f64; 3]]) -> f64 {
    let mean =
        |which: usize| rounds.iter().map(|round| round[which]).sum::<f64>() / rounds.len().max(1) as f64;
    [0, 1, 2].map(mean).into_iter().find(|mean| mean.abs() > TOLERATED).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_random::Random;

    fn controller() -> Controller {
        Controller::new(Lengths::new(0, 10, 640).unwrap())
    }

    /// Runs against a host whose sample follows from the length alone.
    fn settle(
        controller: &mut Controller,
        mut host: impl FnMut(u32) -> Sample,
        periods: usize,
    ) -> Vec<Decision> {
        let mut us = controller.best_us();
        let mut decisions = Vec::new();
        for _ in 0..periods {
            let decision = controller.step(&host(us));
            us = decision.us;
            decisions.push(decision);
        }
        decisions
    }

    fn waits(us: u32) -> Sample {
        let packets = 1e5 / (60.0 + f64::from(us.max(60)));
        Sample {
            seconds: 0.1,
            busy: 0.3,
            user: 0.1,
            packets: packets * 10.0,
            sent: 0.0,
            interrupts: packets * 10.0,
        }
    }

    fn computes(us: u32) -> Sample {
        let interrupts = 1e5 / f64::from(us.max(20));
        Sample {
            seconds: 0.1,
            busy: 1.0,
            user: 0.9 - interrupts * 1e-4,
            packets: 5000.0,
            sent: 0.0,
            interrupts,
        }
    }

    #[test]
    fn a_program_that_waits_gets_no_delay_that_lengthens_its_wait() {
        let mut controller = controller();
        controller.at = 6;
        settle(&mut controller, waits, 100);
        assert_eq!(controller.best_us(), 0, "no difference up to 60 us: the shortest");
    }

    #[test]
    fn a_program_that_computes_gets_a_long_delay() {
        let mut controller = controller();
        settle(&mut controller, computes, 100);
        // From 320 to 640 us is a gain of less than the least.
        assert!(controller.best_us() >= 320, "{}", controller.best_us());
    }

    /// A program that waits, beside a stream that comes at random and is eight times as much; answers per period by length.
    fn beside_a_stream(us: u32, random: &mut Random) -> Sample {
        // As measured on veth, where the kernel's timer costs more than an interrupt.
        let answers = match us {
            0 => 1000.0,
            10 => 400.0,
            20 => 700.0,
            40 => 980.0,
            80 => 1150.0,
            160 => 900.0,
            _ => 1.5e5 / f64::from(us),
        };
        let noise = random.uniform() - 0.5;
        Sample {
            seconds: 0.25,
            busy: 0.7,
            user: 0.3 + 0.2 * noise,
            packets: 8000.0 + 200.0 * noise + answers,
            sent: answers,
            interrupts: 8000.0 + answers,
        }
    }

    #[test]
    fn what_programs_send_tells_beside_a_stream_and_worse_lengths_between_are_no_obstacle() {
        let (mut controller, mut random) = (controller(), Random::new(1));
        settle(&mut controller, |us| beside_a_stream(us, &mut random), 200);
        assert_eq!(controller.best_us(), 80);
    }

    #[test]
    fn a_loss_that_is_not_certain_is_no_reason_to_go_there() {
        // Differences of what is sent: -9 % on average, which four looks do not prove.
        let rounds = [-0.2, 0.02, -0.17, -0.01].map(|sent| [sent, 0.0, 0.0]);
        assert_eq!(decided(&rounds), None);
        assert!(leaning(&rounds) < -TOLERATED);
        assert_eq!(leaning(&[[0.01, -0.01, 0.0], [-0.01, 0.02, 0.01]]), 0.0);
    }

    #[test]
    fn a_load_is_known_whichever_length_is_in_force_when_it_comes_back() {
        let other = |us: u32| Sample { packets: 3.0 * waits(us).packets, ..waits(us) };
        let loads: [&dyn Fn(u32) -> Sample; 3] = [&waits, &computes, &other];
        let mut controller = controller();
        // So that each follows each of the others.
        for (turn, load) in [0, 1, 2, 0, 2, 1, 0, 1, 2].into_iter().enumerate() {
            let decisions = settle(&mut controller, loads[load], 150);
            let surveyed = decisions.iter().any(|decision| decision.reason == Reason::Survey);
            assert_eq!(surveyed, turn < 3, "turn {turn}, load {load}: {decisions:?}");
        }
    }

    #[test]
    fn where_no_processor_is_ever_idle_what_makes_no_difference_is_longer() {
        let mut controller = controller();
        let host = |busy| {
            move |_: u32| Sample { seconds: 0.25, busy, user: 0.8, packets: 8000.0, ..Sample::default() }
        };
        settle(&mut controller, host(1.0), 100);
        assert_eq!(controller.best_us(), 640);
        let mut controller = self::controller();
        settle(&mut controller, host(0.5), 100);
        assert_eq!(controller.best_us(), 0);
    }

    #[test]
    fn trials_become_rare_once_nothing_is_better() {
        let mut controller = controller();
        settle(&mut controller, computes, 300);
        let later = settle(&mut controller, computes, 300);
        let away = later.iter().filter(|decision| decision.us != controller.best_us()).count();
        assert!(away < 60, "{away} of 300");
    }

    #[test]
    fn a_load_that_comes_again_is_known_again() {
        let mut controller = controller();
        let mut took = Vec::new();
        for _ in 0..4 {
            settle(&mut controller, computes, 120);
            let goal = controller.best_us();
            settle(&mut controller, waits, 120);
            assert_eq!(controller.best_us(), 0);
            let back = settle(&mut controller.clone(), computes, 120);
            took.push(back.iter().position(|decision| decision.us == goal).unwrap());
        }
        assert!(took[3] <= 3, "{took:?}");
    }

    #[test]
    fn a_quiet_host_has_no_delay() {
        let mut controller = controller();
        controller.at = 5;
        let sample = Sample { seconds: 0.1, packets: 3.0, ..Sample::default() };
        assert_eq!(controller.step(&sample), Decision { us: 0, reason: Reason::Quiet });
        assert_eq!(controller.step(&sample), Decision { us: 0, reason: Reason::Steady });
    }

    #[test]
    fn nonsense_changes_nothing_for_the_worse() {
        let mut controller = controller();
        for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            for _ in 0..50 {
                let sample =
                    Sample { seconds: bad, busy: bad, user: bad, packets: bad, sent: bad, interrupts: bad };
                assert!(controller.step(&sample).us <= 640);
            }
        }
        settle(&mut controller, computes, 200);
        assert!(controller.best_us() >= 320);
    }
}
