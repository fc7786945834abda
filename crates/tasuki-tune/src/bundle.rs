//! How many NICs of a bundle to use: fewer while the processor and not the wire is the limit. The paper saw bonding cost one of its programs (CG) 10 %
//! because the processor was full at moments, and gain another (IS) 21 %.

use serde::Serialize;

/// From this use on the processor is the limit.
const BUSY: f64 = 0.95;
/// The wire is not the limit as long as it carries less than this part of what it can.
const ROOM: f64 = 0.8;
/// Periods in a row that must say the same before something is done.
const SURE: u32 = 3;
/// Periods that a trial takes.
const TRIAL: u32 = 3;
/// A difference of less than this is none.
const LEAST_GAIN: f64 = 0.02;
/// Periods after a trial that was for nothing before the next, at first and at most.
const PAUSE: [u32; 2] = [16, 512];

/// What is seen of a bundle in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct BundleSample {
    /// Part of the processors' time that was not idle, 0 to 1.
    pub busy: f64,
    /// Part that programs had, 0 to 1.
    pub user: f64,
    /// Bit/s that went through the bundle, the larger of both directions.
    pub bits: f64,
}

/// What is to be done with a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BundleStep {
    /// Nothing.
    Stay,
    /// One NIC less, to see.
    Less,
    /// It helped: it stays out.
    Kept,
    /// It did not help: back in.
    Back,
    /// One more: the wire is the limit, or the processor no longer.
    More,
}

/// How many NICs of a bundle are in use.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Rates of its NICs, bit/s, in the order in which they are left in.
    rates: Vec<f64>,
    used: usize,
    sure: u32,
    /// A trial: periods left, and turns and time before it.
    trial: Option<(u32, [f64; 2])>,
    since: [f64; 2],
    periods: f64,
    wait: u32,
    pause: u32,
}

impl Bundle {
    /// A bundle of NICs with these rates in bit/s, all in use. The last are taken out first.
    pub fn new(rates: Vec<f64>) -> Self {
        let used = rates.len();
        Self { rates, used, sure: 0, trial: None, since: [0.0; 2], periods: 0.0, wait: 0, pause: PAUSE[0] }
    }

    /// How many are in use: the first so many.
    pub fn used(&self) -> usize {
        self.used
    }

    fn carries(&self, nics: usize) -> f64 {
        self.rates[..nics].iter().sum()
    }

    /// Takes what was seen in a period, and decides for the next.
    pub fn step(&mut self, sample: &BundleSample) -> BundleStep {
        self.wait = self.wait.saturating_sub(1);
        self.since = [self.since[0] + sample.bits, self.since[1] + sample.user];
        self.periods += 1.0;
        if let Some((left, before)) = self.trial {
            return self.in_trial(left, before);
        }
        let is_full = sample.bits > ROOM * self.carries(self.used);
        if self.used < self.rates.len() && (is_full || sample.busy < BUSY - 0.15) {
            return self.surely(|bundle| {
                bundle.used += 1;
                BundleStep::More
            });
        }
        let fits = self.used > 1 && sample.bits < ROOM * self.carries(self.used - 1);
        if fits && sample.busy >= BUSY && self.wait == 0 {
            return self.surely(|bundle| {
                bundle.used -= 1;
                bundle.trial = Some((TRIAL, bundle.mean()));
                bundle.restart();
                BundleStep::Less
            });
        }
        if self.sure > 0 || self.periods > f64::from(SURE) * 4.0 {
            self.restart();
        }
        BundleStep::Stay
    }

    fn mean(&self) -> [f64; 2] {
        self.since.map(|sum| sum / self.periods.max(1.0))
    }

    fn restart(&mut self) {
        (self.since, self.periods, self.sure) = ([0.0; 2], 0.0, 0);
    }

    fn surely(&mut self, act: impl FnOnce(&mut Self) -> BundleStep) -> BundleStep {
        if self.sure == 0 {
            (self.since, self.periods) = ([0.0; 2], 0.0);
        }
        self.sure += 1;
        if self.sure <= SURE {
            return BundleStep::Stay;
        }
        let step = act(self);
        self.restart();
        step
    }

    fn in_trial(&mut self, left: u32, before: [f64; 2]) -> BundleStep {
        if left > 1 {
            self.trial = Some((left - 1, before));
            return BundleStep::Stay;
        }
        let after = self.mean();
        self.trial = None;
        self.restart();
        let gain = |which: usize| after[which] / before[which].max(1e-9) - 1.0;
        // As much goes through, and programs have more of the processor; or more goes through.
        let helps = gain(0) > LEAST_GAIN || (gain(0) > -LEAST_GAIN && gain(1) > LEAST_GAIN);
        if helps {
            self.pause = PAUSE[0];
            return BundleStep::Kept;
        }
        self.used += 1;
        self.wait = self.pause;
        self.pause = (self.pause * 2).min(PAUSE[1]);
        BundleStep::Back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that computes and sends: every bit costs the processor something, more with every NIC in the bundle (packets come out of order, and
    /// every NIC interrupts). What it could send besides is bounded by the processor and by the wire.
    fn host(nics: usize, demand: f64, cost: f64, extra: f64) -> BundleSample {
        let per_bit = cost * (1.0 + extra * (nics as f64 - 1.0));
        let bits = demand.min(1e9 * nics as f64).min(0.95 / per_bit);
        let kernel = bits * per_bit;
        BundleSample { busy: 1.0, user: 1.0 - kernel, bits }
    }

    fn after(periods: usize, demand: f64, cost: f64, extra: f64) -> Bundle {
        let mut bundle = Bundle::new(vec![1e9; 2]);
        for _ in 0..periods {
            bundle.step(&host(bundle.used(), demand, cost, extra));
        }
        bundle
    }

    #[test]
    fn a_bundle_that_costs_more_than_it_carries_loses_a_nic() {
        // As CG: half of a NIC's rate, and 10 % of the processor for the second NIC.
        assert_eq!(after(40, 0.5e9, 4e-10, 0.5).used(), 1);
    }

    #[test]
    fn a_bundle_that_the_wire_limits_keeps_its_nics() {
        // As IS: it sends all that goes through.
        assert_eq!(after(400, 1.9e9, 2e-10, 0.1).used(), 2);
        // A second NIC that costs nothing is not worth a change.
        let mut bundle = Bundle::new(vec![1e9; 2]);
        let steps: Vec<_> = (0..1000).map(|_| bundle.step(&host(bundle.used(), 0.5e9, 4e-10, 0.0))).collect();
        assert_eq!(bundle.used(), 2);
        let tried = steps.iter().filter(|step| **step == BundleStep::Less).count();
        assert!((1..8).contains(&tried), "tried again, but seldom: {tried}");
    }

    #[test]
    fn a_nic_comes_back_when_the_wire_is_full_or_the_processor_is_not() {
        for then in [host(1, 2e9, 1e-10, 0.1), BundleSample { busy: 0.2, user: 0.1, bits: 1e8 }] {
            let mut bundle = after(40, 0.5e9, 4e-10, 0.5);
            let steps: Vec<_> = (0..6).map(|_| bundle.step(&then)).collect();
            assert!(steps.contains(&BundleStep::More), "{steps:?}");
            assert_eq!(bundle.used(), 2);
        }
    }

    #[test]
    fn one_nic_always_stays() {
        let mut bundle = Bundle::new(vec![1e9; 4]);
        for _ in 0..1000 {
            bundle.step(&host(bundle.used(), 1e8, 1e-9, 3.0));
            assert!((1..=4).contains(&bundle.used()));
        }
        assert_eq!(bundle.used(), 1);
    }
}
