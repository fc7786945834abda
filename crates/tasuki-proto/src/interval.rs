//! A set of positions, stored as everything below a base and a list of ranges above it. As long as positions
//! arrive in order, an insertion costs two comparisons.

/// A set of integers that is usually of the form `0..base`.
#[derive(Debug, Default)]
pub(crate) struct IntervalSet {
    base: u64,
    /// Half-open ranges, ascending, not adjacent to each other, all above `base`.
    ranges: Vec<(u64, u64)>,
}

impl IntervalSet {
    /// All integers below the base are in the set.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Number of ranges above the base, which is the memory that the set takes.
    pub fn gaps(&self) -> usize {
        self.ranges.len()
    }

    /// Index of the first range that ends above `at`.
    fn above(&self, at: u64) -> usize {
        self.ranges.partition_point(|range| range.1 <= at)
    }

    /// The first part of `from..end` that is not in the set.
    pub fn first_missing(&self, from: u64, end: u64) -> Option<(u64, u64)> {
        let mut from = from.max(self.base);
        for range in &self.ranges[self.above(from)..] {
            if range.0 > from {
                return (from < end).then(|| (from, end.min(range.0)));
            }
            from = range.1;
        }
        (from < end).then_some((from, end))
    }

    /// Whether inserting `from..end` would make the list of ranges longer by one.
    pub fn would_grow(&self, from: u64, end: u64) -> bool {
        if from <= self.base {
            return false;
        }
        // The first range that is adjacent to `from` or ends above it.
        let at = self.ranges.partition_point(|range| range.1 < from);
        self.ranges.get(at).is_none_or(|range| range.0 > end)
    }

    /// Adds `from..end`; returns how many of these integers were not in the set.
    pub fn insert(&mut self, from: u64, end: u64) -> u64 {
        let from = from.max(self.base);
        if from >= end {
            return 0;
        }
        if from == self.base && self.ranges.first().is_none_or(|range| range.0 > end) {
            self.base = end;
            return end - from;
        }
        let first = self.ranges.partition_point(|range| range.1 < from);
        let after = first + self.ranges[first..].partition_point(|range| range.0 <= end);
        let (mut low, mut high, mut known) = (from, end, 0);
        for range in &self.ranges[first..after] {
            known += range.1.min(end).saturating_sub(range.0.max(from));
            low = low.min(range.0);
            high = high.max(range.1);
        }
        if low <= self.base {
            self.base = high;
            self.ranges.drain(first..after);
        } else if first == after {
            self.ranges.insert(first, (low, high));
        } else {
            self.ranges[first] = (low, high);
            self.ranges.drain(first + 1..after);
        }
        end - from - known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_random::Random;

    /// Random insertions, compared with a plain set of single integers.
    #[test]
    fn agrees_with_a_plain_set() {
        let mut generator = Random::new(1);
        let mut random = |below| generator.below(below);
        for _ in 0..200 {
            let (mut set, mut plain) = (IntervalSet::default(), std::collections::BTreeSet::new());
            for _ in 0..60 {
                let from = random(200);
                let end = from + random(20);
                let missing = (from..end).find(|at| !plain.contains(at));
                assert_eq!(set.first_missing(from, end).map(|gap| gap.0), missing);
                if let Some((low, high)) = set.first_missing(from, end) {
                    assert!((low..high).all(|at| !plain.contains(&at)));
                    assert!(high == end || plain.contains(&high));
                }
                let (grows, gaps) = (set.would_grow(from, end), set.gaps());
                let fresh = (from..end).filter(|at| plain.insert(*at)).count() as u64;
                assert_eq!(set.insert(from, end), fresh);
                assert!(from == end || (set.gaps() > gaps) == grows, "{from}..{end} {set:?}");
                assert!((0..set.base()).all(|at| plain.contains(&at)));
                assert!(!plain.contains(&set.base()));
            }
        }
    }
}
