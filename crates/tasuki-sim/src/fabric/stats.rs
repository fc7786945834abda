//! Distributions of latencies, counted in classes.

/// Number of classes per doubling, as a power of two: a quantile is exact within 1/32.
const FINE_BITS: u32 = 5;

/// A distribution of times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    classes: Vec<u64>,
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
}

impl Latencies {
    /// Adds a time, ps.
    #[inline]
    pub fn add(&mut self, ps: u64) {
        let class = class(ps);
        if class >= self.classes.len() {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
        self.least = if self.count == 0 { ps } else { self.least.min(ps) };
        self.most = self.most.max(ps);
        self.count += 1;
        self.sum += u128::from(ps);
    }

    /// Number of times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean, ps; 0 if there are none.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count.max(1) as f64
    }

    /// Smallest time, ps.
    pub fn least(&self) -> u64 {
        self.least
    }

    /// Largest time, ps.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The time that this share of all times does not exceed, ps, within 1/32 of it.
    pub fn quantile(&self, share: f64) -> u64 {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (class, &count) in self.classes.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper(class).min(self.most).max(self.least);
            }
        }
        self.most
    }
}

fn class(ps: u64) -> usize {
    let bits = u64::BITS - ps.leading_zeros();
    let shift = bits.saturating_sub(FINE_BITS + 1);
    (u64::from(shift) << FINE_BITS) as usize + (ps >> shift) as usize
}

/// The largest time of a class.
fn upper(class: usize) -> u64 {
    let fine = 1u64 << FINE_BITS;
    let shift = (class as u64 / fine).saturating_sub(1);
    let top = class as u64 - shift * fine;
    ((top + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_should() {
        for ps in (0..3000).chain([1 << 20, (1 << 20) + 12345, 1 << 40, (1 << 50) - 1]) {
            let top = upper(class(ps));
            assert!(top >= ps && top - ps <= ps / 32, "{ps}: {top}");
            assert_eq!(class(top), class(ps));
        }
    }

    #[test]
    fn quantiles_are_those_of_the_list() {
        let mut all = Latencies::default();
        (1..=1000).for_each(|ps| all.add(ps * 1000));
        assert_eq!((all.count(), all.mean(), all.least(), all.most()), (1000, 500_500.0, 1000, 1_000_000));
        for (share, exact) in [(0.5, 500_000.0), (0.99, 990_000.0), (1.0, 1_000_000.0)] {
            let got = all.quantile(share) as f64;
            assert!(got >= exact && got <= exact * (1.0 + 1.0 / 32.0), "{share}: {got}");
        }
    }
}
