//! How many NICs of a bundle to use: fewer while the processor and not the wire is the limit. The paper saw
//! bonding cost one of its programs (CG) 10 % because the processor was full at moments, and gain another
//! (IS) 21 %.

use serde::Serialize;

/// Share of the processors' time that is not idle from which on the processor is the limit.
const BUSY: f64 = 0.95;
/// Share of what the wire can carry below which the wire is not the limit.
const ROOM: f64 = 0.8;
/// Periods in a row that must demand a change before it is made.
const SURE: u32 = 3;
/// Periods that a trial takes.
const TRIAL: u32 = 3;
/// Share by which traffic or programs' time must differ for the difference to count.
const GAIN_MIN: f64 = 0.02;
/// Periods between a trial that was for nothing and the next trial, at first and at most.
const PAUSE: [u32; 2] = [16, 512];

/// What is seen of a bundle in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct BundleSample {
    /// Part of the processors' time that was not idle, 0 to 1.
    pub busy: f64,
    /// Part of the processors' time that programs had, 0 to 1.
    pub user: f64,
    /// Bit/s that went through the bundle, the larger of both directions.
    pub bits: f64,
}

/// What is to be done with a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BundleStep {
    /// All stays as it is.
    Stay,
    /// One NIC is taken out, to see whether that helps.
    Less,
    /// Taking the NIC out has helped, so it stays out.
    Kept,
    /// Taking the NIC out has not helped, so it is put back.
    Back,
    /// One more NIC is used, because the wire is the limit, or the processor no longer is.
    More,
}

/// How many NICs of a bundle are in use.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Rates of its NICs, bit/s, in the order in which they are left in.
    rates: Vec<f64>,
    /// NICs in use: the first so many.
    used: usize,
    /// The change that the last periods have demanded.
    wanted: BundleStep,
    /// Periods in a row that have demanded it.
    sure: u32,
    /// A trial: periods left, and the means of bit/s and of programs' time before it.
    trial: Option<(u32, [f64; 2])>,
    /// Sums of bit/s and of programs' time over the last periods.
    since: [f64; 2],
    /// Number of these periods.
    periods: f64,
    /// Periods until the next trial may begin.
    wait: u32,
    /// Periods to wait after the next trial that is for nothing.
    pause: u32,
}

impl Bundle {
    /// A bundle of NICs with these rates in bit/s, all in use. The last are taken out first.
    pub fn new(rates: Vec<f64>) -> Self {
        let used = rates.len();
        Self {
            rates,
            used,
            wanted: BundleStep::Stay,
            sure: 0,
            trial: None,
            since: [0.0; 2],
            periods: 0.0,
            wait: 0,
            pause: PAUSE[0],
        }
    }

    /// How many NICs are in use: the first so many.
    pub fn used(&self) -> usize {
        self.used
    }

    /// What the first so many NICs can carry, bit/s.
    fn carries(&self, nics: usize) -> f64 {
        self.rates[..nics].iter().sum()
    }

    /// Takes what was seen in a period, and decides for the next period.
    pub fn step(&mut self, sample: &BundleSample) -> BundleStep {
        self.wait = self.wait.saturating_sub(1);
        self.since = [self.since[0] + sample.bits, self.since[1] + sample.user];
        self.periods += 1.0;
        if let Some((left, before)) = self.trial {
            return self.in_trial(left, before);
        }
        let is_full = sample.bits > ROOM * self.carries(self.used);
        if self.used < self.rates.len() && (is_full || sample.busy < BUSY - 0.15) {
            return self.surely(BundleStep::More, |bundle| bundle.used += 1);
        }
        let fits = self.used > 1 && sample.bits < ROOM * self.carries(self.used - 1);
        if fits && sample.busy >= BUSY && self.wait == 0 {
            return self.surely(BundleStep::Less, |bundle| {
                bundle.used -= 1;
                bundle.trial = Some((TRIAL, bundle.mean()));
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

    /// Makes a change if [`SURE`] periods in a row have demanded it before this one.
    fn surely(&mut self, wanted: BundleStep, act: impl FnOnce(&mut Self)) -> BundleStep {
        if self.sure == 0 || self.wanted != wanted {
            (self.since, self.periods) = ([0.0; 2], 0.0);
            (self.wanted, self.sure) = (wanted, 0);
        }
        self.sure += 1;
        if self.sure <= SURE {
            return BundleStep::Stay;
        }
        act(self);
        self.restart();
        wanted
    }

    /// A period of a trial with so many periods left, this one included; `before`: the means before it.
    fn in_trial(&mut self, left: u32, before: [f64; 2]) -> BundleStep {
        if left > 1 {
            self.trial = Some((left - 1, before));
            return BundleStep::Stay;
        }
        let after = self.mean();
        self.trial = None;
        self.restart();
        let gain = |which: usize| after[which] / before[which].max(1e-9) - 1.0;
        // It helps if more goes through, or if as much goes through and programs have more of the processor.
        let helps = gain(0) > GAIN_MIN || (gain(0) > -GAIN_MIN && gain(1) > GAIN_MIN);
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

    /// A host that computes and sends: every bit costs the processor something, more with every NIC in the
    /// bundle (packets come out of order, and every NIC interrupts). What it could send besides is bounded by
    /// the processor and by the wire.
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
        // The paper's CG: it sends at half of a NIC's rate, and the second NIC costs 10 % of the processor.
        assert_eq!(after(40, 0.5e9, 4e-10, 0.5).used(), 1);
    }

    #[test]
    fn a_bundle_that_the_wire_limits_keeps_its_nics() {
        // The paper's IS: it sends all that goes through.
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

    /// A host that is now busy and now idle demands one NIC less and one more in turn, and neither for long.
    #[test]
    fn demands_that_contradict_each_other_change_nothing() {
        let mut bundle = Bundle { used: 2, ..Bundle::new(vec![1e9; 3]) };
        for period in 0..40 {
            let busy = if period % 2 == 0 { 1.0 } else { 0.5 };
            let step = bundle.step(&BundleSample { busy, user: busy / 2.0, bits: 1e8 });
            assert_eq!(step, BundleStep::Stay, "period {period}");
        }
    }
}
