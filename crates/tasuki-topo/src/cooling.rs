//! Simulated annealing without floating point (Kirkpatrick, Gelatt, Vecchi, Science 1983), so that the same
//! seed takes the same decisions on every machine.

use crate::random::SplitMix64;

/// A temperature of this number is one unit of cost.
pub(crate) const UNIT: u64 = 1 << 16;

/// Draws by how much a step may be worse and still be taken: by `w` or more with a probability of about
/// 2^(-w / temperature). The temperature is in 1/[`UNIT`] of a unit of cost, and below 2^40.
pub(crate) fn allowance(temperature: u64, random: &mut SplitMix64) -> u64 {
    let number = random.next_u64() | 1;
    let zeros = number.leading_zeros();
    // This is -log2(number / 2^64), with log2(1 + m) taken as m, which is off by 0.09 at most.
    let mantissa = (number << zeros << 1) >> 48;
    let luck = ((u64::from(zeros) + 1) << 16) - mantissa;
    (temperature * luck) >> 32
}

/// The temperature after `done` of `all` steps. It falls with the third power of the share of steps that
/// remain.
pub(crate) fn temperature(hot: u64, cold: u64, done: u64, all: u64) -> u64 {
    let left = (u128::from(all.saturating_sub(done)) << 16) / u128::from(all.max(1));
    let cube = ((left * left * left) >> 32) as u64;
    cold + ((hot.saturating_sub(cold) * cube) >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of steps taken that are `w` worse is 2^(-w / temperature), within the error of the
    /// approximated logarithm.
    #[test]
    fn worse_steps_are_taken_as_often_as_the_temperature_says() {
        let mut random = SplitMix64::new(5);
        for (worse, temperature) in [(1, 1), (2, 1), (3, 1), (1, 2), (5, 4), (40, 16)] {
            let taken = (0..100_000).filter(|_| allowance(temperature * UNIT, &mut random) >= worse).count()
                as f64
                / 1e5;
            let ideal = (-(worse as f64) / temperature as f64).exp2();
            assert!(
                (taken / ideal - 1.0).abs() < 0.1,
                "{worse} at {temperature}: {taken} instead of {ideal}"
            );
        }
        assert_eq!(allowance(0, &mut random), 0);
    }

    #[test]
    fn it_cools_down() {
        let (hot, cold) = (8 * UNIT, UNIT / 4);
        let at = |step| temperature(hot, cold, step, 10);
        assert_eq!((at(0), at(10)), (hot, cold));
        assert!((0..10).all(|step| at(step) > at(step + 1)));
        assert_eq!(temperature(5, 5, 0, 0), 5);
    }
}
