//! The packet numbers of a path that have arrived, and which of them must still be acknowledged.

use tasuki_tuning::ack;
use tasuki_wire::{MAX_ACK_RUNS, Run};

struct Known {
    run: Run,
    /// Number of reports since it last changed.
    reports: u8,
}

/// The received packet numbers.
#[derive(Default)]
pub(crate) struct Received {
    /// Ascending, not adjacent to each other.
    runs: Vec<Known>,
    /// All numbers below this count as received.
    floor: u64,
}

/// Whether a packet arrived in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The packet has the number after the highest received one, and none is missing before it.
    InOrder,
    /// Numbers before it are missing, or it was itself missing.
    OutOfOrder,
}

impl Received {
    /// Whether the packet has been received before, or is so old that it counts as received.
    pub fn contains(&self, number: u64) -> bool {
        if number < self.floor {
            return true;
        }
        let at = self.runs.partition_point(|known| known.run.last < number);
        self.runs.get(at).is_some_and(|known| known.run.first <= number)
    }

    /// Adds a number that is not contained.
    pub fn insert(&mut self, number: u64) -> Arrival {
        if let Some(last) = self.runs.last_mut()
            && last.run.last + 1 == number
        {
            last.run.last = number;
            last.reports = 0;
            return Arrival::InOrder;
        }
        let in_order = self.runs.is_empty() && number == self.floor;
        let at = self.runs.partition_point(|known| known.run.last < number);
        let joins_below = at > 0 && self.runs[at - 1].run.last + 1 == number;
        let joins_above = self.runs.get(at).is_some_and(|known| known.run.first == number + 1);
        match (joins_below, joins_above) {
            (true, true) => {
                let above = self.runs.remove(at);
                self.runs[at - 1].run.last = above.run.last;
                self.runs[at - 1].reports = 0;
            }
            (true, false) => (self.runs[at - 1].run.last, self.runs[at - 1].reports) = (number, 0),
            (false, true) => (self.runs[at].run.first, self.runs[at].reports) = (number, 0),
            (false, false) => {
                self.runs.insert(at, Known { run: Run { first: number, last: number }, reports: 0 })
            }
        }
        if self.runs.len() > ack::RUNS_MAX {
            self.floor = self.runs.remove(0).run.last + 1;
        }
        if in_order { Arrival::InOrder } else { Arrival::OutOfOrder }
    }

    /// Whether anything has arrived.
    pub fn any(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Writes at most `most` runs that should be reported into `list`, highest first.
    pub fn report(&self, list: &mut Vec<Run>, most: usize) {
        list.clear();
        for known in self.runs.iter().rev() {
            if list.len() >= most.min(MAX_ACK_RUNS) {
                break;
            }
            if list.is_empty() || known.reports < ack::REPORTS_MAX {
                list.push(known.run);
            }
        }
    }

    /// Takes note that the first `count` runs of the last `report` were sent.
    pub fn reported(&mut self, count: usize) {
        let mut left = count;
        for (at, known) in self.runs.iter_mut().rev().enumerate() {
            if left == 0 {
                break;
            }
            if at == 0 || known.reports < ack::REPORTS_MAX {
                known.reports = known.reports.saturating_add(1);
                left -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_gives_the_same_runs() {
        for order in [[0, 1, 3, 4], [4, 3, 1, 0], [3, 0, 4, 1], [1, 4, 0, 3]] {
            let mut received = Received::default();
            for number in order {
                assert!(!received.contains(number));
                received.insert(number);
                assert!(received.contains(number));
            }
            let mut list = Vec::new();
            received.report(&mut list, 64);
            assert_eq!(list, [Run { first: 3, last: 4 }, Run { first: 0, last: 1 }]);
            assert!(!received.contains(2) && !received.contains(5));
        }
    }

    /// Half of all acknowledgements are lost, and by chance three in a row.
    #[test]
    fn what_arrived_is_told_until_the_peer_probably_knows_it() {
        let mut received = Received::default();
        for number in [0, 2] {
            received.insert(number);
        }
        let both = [Run { first: 2, last: 2 }, Run { first: 0, last: 0 }];
        let mut list = Vec::new();
        for _ in 0..4 {
            received.report(&mut list, 64);
            assert_eq!(list, both);
            received.reported(list.len());
        }
    }

    #[test]
    fn memory_is_bounded_and_old_numbers_count_as_seen() {
        let mut received = Received::default();
        for n in 0..100_000 {
            received.insert(2 * n);
        }
        assert_eq!(received.runs.len(), ack::RUNS_MAX);
        assert!(received.contains(1));
        assert!(!received.contains(199_997));
    }
}
