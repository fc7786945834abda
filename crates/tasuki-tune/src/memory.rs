//! What was best under loads that were seen before.

/// How a load showed itself at some length.
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
    fn is_like(&self, other: &Look) -> bool {
        let is_near = |a: f64, b: f64| (0.8..1.25).contains(&((a + 50.0) / (b + 50.0)));
        let packets = is_near(self.rate, other.rate) && is_near(self.sent, other.sent);
        self.at == other.at && packets && (self.busy - other.busy).abs() < 0.15
    }
}

/// Loads remembered at most; the oldest goes first.
const MOST: usize = 64;

/// Loads and their best lengths.
#[derive(Clone, Debug, Default)]
pub struct Memory(Vec<(Look, usize)>);

impl Memory {
    /// The best length for a load that looks like this.
    pub fn best(&self, look: &Look) -> Option<usize> {
        self.0.iter().rev().find(|(known, _)| known.is_like(look)).map(|(_, best)| *best)
    }

    /// Notes what was best.
    pub fn note(&mut self, look: Look, best: usize) {
        self.0.retain(|(known, _)| !known.is_like(&look));
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push((look, best));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_answer_counts_and_only_for_what_looks_alike() {
        let mut memory = Memory::default();
        let look = Look { at: 2, rate: 10_000.0, sent: 0.0, busy: 0.5 };
        memory.note(look, 1);
        memory.note(Look { rate: 10_500.0, ..look }, 4);
        assert_eq!(memory.best(&look), Some(4));
        for other in [
            Look { at: 3, ..look },
            Look { rate: 20_000.0, ..look },
            Look { busy: 0.8, ..look },
            Look { sent: 100.0, ..look },
        ] {
            assert_eq!(memory.best(&other), None);
        }
        for number in 0..200 {
            memory.note(Look { rate: 2f64.powi(number) * 1e6, ..look }, 0);
        }
        assert_eq!(memory.0.len(), MOST);
    }
}
