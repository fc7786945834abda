//! What was best under loads that were seen before.

use crate::Sample;

/// How a load showed itself under some length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Number of the length in force.
    pub at: usize,
    /// Packets per second.
    pub rate: f64,
    /// Packets sent per second.
    pub sent: f64,
    /// Part of the processors' time that was not idle.
    pub busy: f64,
}

impl Look {
    /// A period under the length of this number.
    pub fn of(at: usize, sample: &Sample) -> Self {
        Self { at, rate: sample.packet_rate(), sent: sample.sent_rate(), busy: sample.busy }
    }

    fn is_like(&self, other: &Look) -> bool {
        let is_near = |a: f64, b: f64| (0.8..1.25).contains(&((a + 50.0) / (b + 50.0)));
        let packets = is_near(self.rate, other.rate) && is_near(self.sent, other.sent);
        self.at == other.at && packets && (self.busy - other.busy).abs() < 0.15
    }
}

/// The present load: how it looked under every length that was tried, so that it is known again whichever is in force when it comes back.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    known: Vec<Look>,
    /// Not sure to be of this load: it may have changed in the meantime.
    fresh: Vec<Look>,
}

impl Profile {
    /// A look that the next one at the length that is held for best may show to be of another load.
    pub fn see(&mut self, look: Look) {
        self.fresh.push(look);
    }

    /// The load is still the same, so what was seen was of it. The latest look at a length counts.
    pub fn confirm(&mut self) {
        for look in self.fresh.drain(..) {
            self.known.retain(|known| known.at != look.at);
            self.known.push(look);
        }
    }

    /// How it looked under the length of this number.
    pub fn at(&self, number: usize) -> Option<&Look> {
        self.known.iter().find(|look| look.at == number)
    }
}

/// Where to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// Number of the length.
    pub at: usize,
    /// Periods between two trials there.
    pub pause: u32,
}

/// Looks remembered at most, of all loads and lengths; the oldest go first.
const MOST: usize = 512;

/// Loads and their best lengths.
#[derive(Clone, Debug, Default)]
pub struct Memory(Vec<(Look, Best)>);

impl Memory {
    /// The best length for a load that looks like this.
    pub fn best(&self, look: &Look) -> Option<Best> {
        self.0.iter().rev().find(|(known, _)| known.is_like(look)).map(|(_, best)| *best)
    }

    /// Notes what was best for a load that is over.
    pub fn note(&mut self, load: &Profile, best: Best) {
        for look in &load.known {
            self.0.retain(|(known, _)| !known.is_like(look));
            self.0.push((*look, best));
        }
        let excess = self.0.len().saturating_sub(MOST);
        self.0.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(looks: &[Look]) -> Profile {
        let mut profile = Profile::default();
        looks.iter().for_each(|look| profile.see(*look));
        profile.confirm();
        profile
    }

    fn best(at: usize) -> Best {
        Best { at, pause: 1 }
    }

    const LOOK: Look = Look { at: 2, rate: 10_000.0, sent: 0.0, busy: 0.5 };

    #[test]
    fn the_latest_answer_counts_and_only_for_what_looks_alike() {
        let mut memory = Memory::default();
        memory.note(&load(&[LOOK]), best(1));
        memory.note(&load(&[Look { rate: 10_500.0, ..LOOK }]), best(4));
        assert_eq!(memory.best(&LOOK), Some(best(4)));
        for other in [
            Look { at: 3, ..LOOK },
            Look { rate: 20_000.0, ..LOOK },
            Look { busy: 0.8, ..LOOK },
            Look { sent: 100.0, ..LOOK },
        ] {
            assert_eq!(memory.best(&other), None);
        }
        for number in 0..1000 {
            memory.note(&load(&[Look { rate: 2f64.powi(number) * 1e6, ..LOOK }]), best(0));
        }
        assert_eq!(memory.0.len(), MOST);
    }

    #[test]
    fn a_load_is_known_by_every_length_that_it_was_seen_under_but_not_by_what_was_not_sure_to_be_it() {
        let other = Look { at: 5, rate: 3000.0, ..LOOK };
        let mut profile = load(&[LOOK, other]);
        let of_another = Look { rate: 90_000.0, ..LOOK };
        profile.see(of_another);
        assert_eq!(profile.at(2), Some(&LOOK));
        let mut memory = Memory::default();
        memory.note(&profile, best(5));
        assert_eq!(
            [LOOK, other, of_another].map(|look| memory.best(&look)),
            [Some(best(5)), Some(best(5)), None]
        );
    }
}
