//! What was best under loads that were seen before.

use crate::Sample;

/// How a load showed itself under some length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Number of the length in force.
    pub at: usize,
    /// Packets per second.
    pub rate: f64,
    /// Packets sent per second.
    pub sent: f64,
    /// Part of the processors' time that was not idle.
    pub busy: f64,
}

impl Observation {
    /// What a period under the length of this number showed.
    pub fn of(at: usize, sample: &Sample) -> Self {
        Self { at, rate: sample.packet_rate(), sent: sample.sent_rate(), busy: sample.busy }
    }

    /// Whether both may be of the same load under the same length.
    fn is_like(&self, other: &Observation) -> bool {
        let is_near = |a: f64, b: f64| (0.8..1.25).contains(&((a + 50.0) / (b + 50.0)));
        let packets = is_near(self.rate, other.rate) && is_near(self.sent, other.sent);
        self.at == other.at && packets && (self.busy - other.busy).abs() < 0.15
    }
}

/// The present load: how it showed itself under every length that was tried, so that it is recognised
/// whichever length is in force when it comes back.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Observations that are sure to be of this load, one per length.
    known: Vec<Observation>,
    /// Observations that may be of another load: the load may have changed in the meantime.
    fresh: Vec<Observation>,
}

impl Profile {
    /// Adds an observation. The next period at the length that is held for best will show whether it was of
    /// this load.
    pub fn observe(&mut self, observation: Observation) {
        self.fresh.push(observation);
    }

    /// The load is still the same, so all that was observed was of it. The latest observation under a length
    /// counts.
    pub fn confirm(&mut self) {
        for observation in self.fresh.drain(..) {
            self.known.retain(|known| known.at != observation.at);
            self.known.push(observation);
        }
    }

    /// How the load showed itself under the length of this number.
    pub fn at(&self, number: usize) -> Option<&Observation> {
        self.known.iter().find(|one| one.at == number)
    }
}

/// What was best under a load: where to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// Number of the length.
    pub at: usize,
    /// Periods between two trials there.
    pub pause: u32,
}

/// Observations remembered at most, of all loads and lengths; the oldest are forgotten first.
const REMEMBERED_MAX: usize = 512;

/// Loads that were seen before and their best lengths.
#[derive(Clone, Debug, Default)]
pub struct Memory(Vec<(Observation, Best)>);

impl Memory {
    /// The best length for a load that shows itself like this.
    pub fn best(&self, observation: &Observation) -> Option<Best> {
        self.0.iter().rev().find(|(known, _)| known.is_like(observation)).map(|(_, best)| *best)
    }

    /// Notes what was best for a load that is over.
    pub fn note(&mut self, load: &Profile, best: Best) {
        for observation in &load.known {
            self.0.retain(|(known, _)| !known.is_like(observation));
            self.0.push((*observation, best));
        }
        let excess = self.0.len().saturating_sub(REMEMBERED_MAX);
        self.0.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(observations: &[Observation]) -> Profile {
        let mut profile = Profile::default();
        observations.iter().for_each(|one| profile.observe(*one));
        profile.confirm();
        profile
    }

    fn best(at: usize) -> Best {
        Best { at, pause: 1 }
    }

    const SEEN: Observation = Observation { at: 2, rate: 10_000.0, sent: 0.0, busy: 0.5 };

    #[test]
    fn the_latest_answer_counts_and_only_for_loads_that_are_alike() {
        let mut memory = Memory::default();
        memory.note(&load(&[SEEN]), best(1));
        memory.note(&load(&[Observation { rate: 10_500.0, ..SEEN }]), best(4));
        assert_eq!(memory.best(&SEEN), Some(best(4)));
        for other in [
            Observation { at: 3, ..SEEN },
            Observation { rate: 20_000.0, ..SEEN },
            Observation { busy: 0.8, ..SEEN },
            Observation { sent: 100.0, ..SEEN },
        ] {
            assert_eq!(memory.best(&other), None);
        }
        for number in 0..1000 {
            memory.note(&load(&[Observation { rate: 2f64.powi(number) * 1e6, ..SEEN }]), best(0));
        }
        assert_eq!(memory.0.len(), REMEMBERED_MAX);
    }

    #[test]
    fn a_load_is_known_by_every_length_that_it_was_seen_under_but_not_by_what_was_not_sure_to_be_it() {
        let other = Observation { at: 5, rate: 3000.0, ..SEEN };
        let mut profile = load(&[SEEN, other]);
        let of_another = Observation { rate: 90_000.0, ..SEEN };
        profile.observe(of_another);
        assert_eq!(profile.at(2), Some(&SEEN));
        let mut memory = Memory::default();
        memory.note(&profile, best(5));
        assert_eq!(
            [SEEN, other, of_another].map(|one| memory.best(&one)),
            [Some(best(5)), Some(best(5)), None]
        );
    }
}
