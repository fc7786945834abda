//! The sending side of a round.

use std::collections::VecDeque;

use crate::control::Run;
use crate::round::Round;

/// One round at its sender.
#[derive(Clone, Debug)]
pub struct RoundTx {
    round: Round,
    /// The packets that are due, in this order.
    due: VecDeque<Run>,
    /// Number of passes that are over.
    pass: u16,
}

impl RoundTx {
    /// A round all of which is due.
    pub fn new(round: Round) -> RoundTx {
        RoundTx { round, due: VecDeque::from([Run { first: 0, count: round.packets() }]), pass: 0 }
    }

    /// The round.
    pub fn round(&self) -> &Round {
        &self.round
    }

    /// Number of passes that are over.
    pub fn pass(&self) -> u16 {
        self.pass
    }

    /// The packets to send next, at most `most`.
    pub fn next(&self, most: usize) -> impl Iterator<Item = u16> {
        self.due.iter().flat_map(|run| run.first..run.first + run.count).take(most)
    }

    /// Takes note that the first `count` due packets were sent. Returns true if these were all: then the pass
    /// is over, and the receiver must be told.
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

    /// Makes packets due that the receiver misses. Returns false if the request is invalid, because it names
    /// a packet that is not in the round or a pass that is not over.
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
        let mut tx = RoundTx::new(round);
        assert_eq!(tx.next(3).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(!tx.resend(0, &[Run { first: 0, count: 1 }]), "its pass is not over");
        assert!(!tx.sent(3));
        assert_eq!(tx.next(100).collect::<Vec<_>>(), (3..10).collect::<Vec<_>>());
        assert!(tx.sent(7));
        assert_eq!(tx.pass(), 1);
        for wrong in [
            &[][..],
            &[Run { first: 9, count: 2 }],
            &[Run { first: 3, count: 0 }],
            &[Run { first: u16::MAX, count: u16::MAX }],
        ] {
            assert!(!tx.resend(1, wrong), "{wrong:?}");
        }
        assert!(!tx.resend(0, &[Run { first: 1, count: 1 }]), "an old question");
        assert!(tx.resend(1, &[Run { first: 1, count: 2 }, Run { first: 9, count: 1 }]));
        assert_eq!(tx.next(100).collect::<Vec<_>>(), [1, 2, 9]);
        assert!(!tx.sent(2));
        assert!(tx.sent(1));
        assert_eq!(tx.pass(), 2);
    }
}
