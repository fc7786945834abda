//! The side that sends.

use std::collections::VecDeque;

use crate::control::Run;
use crate::round::Round;

/// One round at its sender.
#[derive(Clone, Debug)]
pub struct RoundTx {
    round: Round,
    /// What is to be sent, in this order.
    due: VecDeque<Run>,
    /// Bursts that are over.
    pass: u16,
}

impl RoundTx {
    /// All of a round is to be sent.
    pub fn new(round: Round) -> RoundTx {
        RoundTx { round, due: VecDeque::from([Run { first: 0, count: round.packets() }]), pass: 0 }
    }

    /// The round.
    pub fn round(&self) -> &Round {
        &self.round
    }

    /// Bursts that were finished.
    pub fn pass(&self) -> u16 {
        self.pass
    }

    /// The packets that leave next, at most `most`.
    pub fn next(&self, most: usize) -> impl Iterator<Item = u16> {
        self.due.iter().flat_map(|run| run.first..run.first + run.count).take(most)
    }

    /// So many of them have left. True if that was all: the taker is to be told.
    pub fn sent(&mut self, count: usize) -> bool {
        let mut left = count;
        while let Some(run) = self.due.front_mut().filter(|_| left > 0) {
            let now = left.min(run.count.into());
            run.first += now as u16;
            run.count -= now as u16;
            left -= now;
            if run.count == 0 {
                self.due.pop_front();
            }
        }
        self.pass += u16::from(self.due.is_empty() && count > 0);
        self.due.is_empty()
    }

    /// The taker misses these. False if that cannot be: a packet that is not in the round, or a burst that is not over.
    pub fn resend(&mut self, pass: u16, missing: &[Run]) -> bool {
        let inside = |run: &Run| {
            run.count > 0 && u32::from(run.first) + u32::from(run.count) <= self.round.packets().into()
        };
        let valid =
            self.due.is_empty() && pass == self.pass && !missing.is_empty() && missing.iter().all(inside);
        if valid {
            self.due.extend(missing);
        }
        valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sizes;

    #[test]
    fn all_then_what_is_missing() {
        let round = Round::new(Sizes::new(100, 10).unwrap(), 955).unwrap();
        let mut giver = RoundTx::new(round);
        assert_eq!(giver.next(3).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(!giver.resend(0, &[Run { first: 0, count: 1 }]), "its burst is not over");
        assert!(!giver.sent(3));
        assert_eq!(giver.next(100).collect::<Vec<_>>(), (3..10).collect::<Vec<_>>());
        assert!(giver.sent(7));
        assert_eq!(giver.pass(), 1);
        for wrong in [
            &[][..],
            &[Run { first: 9, count: 2 }],
            &[Run { first: 3, count: 0 }],
            &[Run { first: u16::MAX, count: u16::MAX }],
        ] {
            assert!(!giver.resend(1, wrong), "{wrong:?}");
        }
        assert!(!giver.resend(0, &[Run { first: 1, count: 1 }]), "an old question");
        assert!(giver.resend(1, &[Run { first: 1, count: 2 }, Run { first: 9, count: 1 }]));
        assert_eq!(giver.next(100).collect::<Vec<_>>(), [1, 2, 9]);
        assert!(!giver.sent(2));
        assert!(giver.sent(1));
        assert_eq!(giver.pass(), 2);
    }
}
