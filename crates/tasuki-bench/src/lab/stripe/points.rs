//! What is measured on which lab, in which order.

use super::{Speed, StripeOptions, Wanted};
use crate::{
    BenchError,
    lab::{LabBuilder, Testbed},
    stripe::{Cabling, Case, Spreading},
};
use tasuki_cluster::{
    Rate, Striping,
    generate::{Options, Shape, generate},
};
use tasuki_lab::LabOptions;

/// Most NICs: what Multipath TCP can use at once.
const NICS_MAX: u32 = 8;
/// NICs that it takes to find out how slow a processor must be.
const QUOTA_NICS: u32 = 3;

/// A point to measure.
pub(super) struct Point<'a> {
    pub case: Case,
    pub network: &'a Testbed,
    pub wanted: Wanted,
}

impl StripeOptions {
    /// Refuses at once what would fail later.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        let bad = |text: String| Err(BenchError::Refused(text));
        match self {
            Self { repetitions: 0, .. } => bad("--repetitions 0: nothing would be measured".into()),
            Self { streams: 0, .. } => bad("--streams 0: nothing would be measured".into()),
            _ if self.bytes.contains(&0) => bad("--bytes 0: a message has at least one byte".into()),
            _ if !(self.seconds > 0.0 && self.seconds <= 600.0) => {
                bad(format!("--seconds {}: more than 0, and at most 600", self.seconds))
            }
            _ if self.quota_percent.is_some_and(|quota| !(0.1..=100.0).contains(&quota)) => {
                bad("--quota: 0.1 to 100 per cent of one processor".into())
            }
            _ => match self.nics.iter().find(|nics| !(1..=NICS_MAX).contains(*nics)) {
                Some(nics) => bad(format!("--nics {nics}: 1 to {NICS_MAX}")),
                None => Ok(()),
            },
        }
    }

    /// Spreadings with numbers of NICs, number by number. One NIC is one spreading only. On a slow processor
    /// Tasuki is measured alone, as the paper's figure 2 is.
    fn spreadings_on(&self, cabling: Cabling, speed: Speed) -> Vec<(Spreading, u32)> {
        let mut all = Vec::new();
        for &nics in &self.nics {
            if nics == 1 {
                all.push((Spreading::One, 1));
                continue;
            }
            let is_measured = |spreading: &Spreading| {
                *spreading != Spreading::One
                    && spreading.works_over(cabling)
                    && (speed == Speed::Fast || spreading.is_ours())
            };
            all.extend(
                self.spreadings.iter().copied().filter(is_measured).map(|spreading| (spreading, nics)),
            );
        }
        all
    }
}

/// A lab of two hosts with so many NICs each, of this rate and MTU; `stem` begins its name. It ends with this
/// value.
pub(in crate::lab) fn lab(
    builder: &dyn LabBuilder,
    stem: &str,
    cabling: Cabling,
    nics: u32,
    (rate, mtu): (Rate, u32),
    offloads: bool,
) -> Result<Testbed, BenchError> {
    let many = nics as usize;
    let (shape, nics_per_cable) = match cabling {
        Cabling::Cables => (Shape::Pair { cables: many }, 1),
        Cabling::Switch => (Shape::Star { hosts: 2 }, many),
        Cabling::Switches => (Shape::Planes { hosts: 2, nics: many }, 1),
    };
    let options = Options { rate, mtu, nics_per_cable, ..Options::default() };
    let mut cluster = generate(&shape, &options)?;
    // Striping makes the lab have the settings that it needs; its table is replaced point by point.
    cluster.striping = (nics > 1).then(Striping::default);
    let mut lab = LabOptions::named(stem);
    (lab.rate, lab.offloads) = (Some(rate), offloads);
    builder.build(&cabling.to_string(), cluster, lab)
}

/// The labs that are measured on.
pub(super) fn labs(
    options: &StripeOptions,
    builder: &dyn LabBuilder,
) -> Result<Vec<(Cabling, Testbed)>, BenchError> {
    let most = options.nics.iter().copied().max().unwrap_or(1);
    let is_quota_sought = options.quota_percent.is_none() && options.speeds.contains(&Speed::Slow);
    let nics = most.max(if is_quota_sought { QUOTA_NICS } else { 1 });
    let lab = |&cabling: &Cabling| {
        let stem = format!("stripe-{cabling}");
        let lab = lab(builder, &stem, cabling, nics, (options.rate, options.mtu), options.offloads)?;
        Ok((cabling, lab))
    };
    options.networks.iter().map(lab).collect()
}

/// All points in the order in which each repetition takes them: what is compared comes side by side.
pub(super) fn points<'a>(
    options: &StripeOptions,
    networks: &'a [(Cabling, Testbed)],
    slow_percent: Option<f64>,
) -> Vec<Point<'a>> {
    let mut points = Vec::new();
    for (cabling, network) in networks {
        for &bytes in &options.bytes {
            for &speed in &options.speeds {
                let quota_percent = slow_percent.filter(|_| speed == Speed::Slow);
                for (spreading, nics) in options.spreadings_on(*cabling, speed) {
                    let case = Case {
                        cabling: *cabling,
                        spreading,
                        nics,
                        bytes,
                        streams: options.streams,
                        mtu: options.mtu,
                        rate_bps: options.rate.bits_per_second,
                        quota_percent,
                    };
                    let granularity = options.granularity;
                    let wanted = Wanted { spreading, nics: nics as usize, granularity, delay_us: None };
                    points.push(Point { case, network, wanted });
                }
            }
        }
    }
    points
}
