//! The lengths that a controller chooses from.

use std::fmt;

/// Off, and lengths that double from a shortest to a longest. With steps of two the best of them is at most a
/// factor of the square root of two away from any length d, which makes the cost of a delay (a/d + b d, a
/// falling and a rising part) at most 6 % larger than the least cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lengths(Vec<u32>);

/// Bounds that leave nothing to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLengths;

impl std::error::Error for BadLengths {}

impl fmt::Display for BadLengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the shortest delay must be below the longest, and the longest at least 1 us")
    }
}

impl Lengths {
    /// Lengths from `least` (0: off, then from `step`) to `most`, microseconds.
    pub fn new(least: u32, step: u32, most: u32) -> Result<Self, BadLengths> {
        if least >= most {
            return Err(BadLengths);
        }
        let mut lengths = vec![least];
        let mut next = if least == 0 { step.max(1) } else { least.saturating_mul(2) };
        while next < most {
            lengths.push(next);
            next = next.saturating_mul(2);
        }
        // The last step may be shorter than the others, but not by much more than half.
        if lengths.len() > 1 && lengths.last().is_some_and(|last| u64::from(*last) * 4 > u64::from(most) * 3)
        {
            lengths.pop();
        }
        lengths.push(most);
        Ok(Self(lengths))
    }

    /// How many lengths there are, at least 2.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The length of this number, microseconds.
    pub fn at(&self, number: usize) -> u32 {
        self.0[number.min(self.0.len() - 1)]
    }

    /// The number of the longest length that is not longer than this; 0 if all are longer.
    pub fn up_to(&self, us: u32) -> usize {
        self.0.iter().rposition(|length| *length <= us).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_double_from_bound_to_bound() {
        assert_eq!(Lengths::new(0, 10, 640).unwrap().0, [0, 10, 20, 40, 80, 160, 320, 640]);
        assert_eq!(Lengths::new(0, 10, 500).unwrap().0, [0, 10, 20, 40, 80, 160, 320, 500]);
        assert_eq!(Lengths::new(0, 10, 400).unwrap().0, [0, 10, 20, 40, 80, 160, 400]);
        assert_eq!(Lengths::new(20, 10, 100).unwrap().0, [20, 40, 100]);
        assert_eq!(Lengths::new(0, 10, 5).unwrap().0, [0, 5]);
        for (least, most) in [(5, 5), (6, 5), (0, 0)] {
            assert_eq!(Lengths::new(least, 10, most), Err(BadLengths));
        }
        assert_eq!(Lengths::new(1, 10, u32::MAX).unwrap().len(), 33);
    }
}
