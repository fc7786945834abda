//! A survey: under a load that was not seen before every length is tried once.

use super::{
    BUSY, Controller, Decision, FAR, Phase, QUIET, Reason,
    evidence::{LIKELY, counted, difference},
};
use crate::{Sample, memory::Observation};

/// A survey ends after so many lengths in a row that were far worse than the best, each worse than the one
/// before.
const FAR_WORSE_MAX: u32 = 3;

/// A survey under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Survey {
    /// Number of the length in force.
    at: usize,
    /// Number of the best length so far.
    best: usize,
    /// What was seen under the best length so far.
    pub sample: Sample,
    /// Lengths in a row that were far worse.
    worse: u32,
    /// The difference by which the last of them was worse.
    by: f64,
}

impl Survey {
    /// Begins with the length of this number, under which this was seen.
    pub fn begin(at: usize, sample: Sample) -> Self {
        Self { at, best: at, sample, worse: 0, by: 0.0 }
    }
}

impl Controller {
    /// Tries the next length of a survey, from number `from` on. The length that was in force when it began
    /// is passed over, because it is known.
    pub(super) fn try_next(&mut self, survey: Survey, from: usize) -> Decision {
        let at = if from == self.at { from + 1 } else { from };
        if at >= self.lengths.len() || survey.worse >= FAR_WORSE_MAX {
            let is_new = survey.best != self.at;
            return self.go(survey.best, survey.sample, if is_new { Reason::Survey } else { Reason::Steady });
        }
        self.phase = Phase::Survey(Survey { at, ..survey });
        Decision { us: self.lengths.at(at), reason: Reason::Survey }
    }

    /// Takes a period of a survey. Between off and a length that is good there may be some that are worse
    /// than both (a timer costs more than the interrupt that it saves), which no step to a neighbour gets
    /// across. So every length is tried, as long as it does not only get worse.
    pub(super) fn survey(&mut self, mut survey: Survey, sample: &Sample) -> Decision {
        let at = survey.at;
        self.profile.observe(Observation::of(at, sample));
        // Where programs send, periods are short (see `is_brief`), too short to compare programs' time.
        let gain = match survey.sample.sent_rate() >= QUIET {
            true => counted(&survey.sample, sample, LIKELY).map(|count| count.part),
            false => difference(&survey.sample, sample, false),
        };
        // If no processor is ever idle, the longer of two lengths that do not differ is better, as in a
        // trial.
        let is_busy = survey.sample.busy.min(sample.busy) >= BUSY;
        let is_longer = gain.is_none() && is_busy && at > survey.best;
        match gain {
            _ if is_longer || gain.is_some_and(|gain| gain > 0.0) => {
                survey = Survey::begin(at, *sample);
            }
            Some(gain) if gain < -FAR => {
                survey.worse = if gain < survey.by { survey.worse + 1 } else { 1 };
                survey.by = gain;
            }
            _ => (survey.worse, survey.by) = (0, 0.0),
        }
        self.try_next(survey, at + 1)
    }
}
