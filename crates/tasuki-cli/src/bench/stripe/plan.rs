//! What is measured on which lab, in which order.

use super::bundle::Wanted;
use crate::{args::BenchStripe, bench::LabNetwork, failure::Failure};
use tasuki_bench::stripe::{Cabling, Case, Way};
use tasuki_cluster::{
    Rate, Striping,
    generate::{Options, Shape},
};
use tasuki_lab::LabOptions;

/// Most NICs: what Multipath TCP can use at once.
const MOST_NICS: u32 = 8;

/// A point to measure.
pub struct Point<'a> {
    pub case: Case,
    pub network: &'a LabNetwork,
    pub wanted: Wanted,
}

/// Says at once what would fail later.
pub fn check(arguments: &BenchStripe) -> Result<(), Failure> {
    let bad = |text: String| Err(Failure::new(text));
    match arguments {
        BenchStripe { repetitions: 0, .. } => bad("--repetitions 0: nothing would be measured".into()),
        BenchStripe { streams: 0, .. } => bad("--streams 0: nothing would be measured".into()),
        _ if arguments.bytes.contains(&0) => bad("--bytes 0: a message has at least one byte".into()),
        _ if !(arguments.seconds > 0.0 && arguments.seconds <= 600.0) => {
            bad(format!("--seconds {}: more than 0, and at most 600", arguments.seconds))
        }
        _ if arguments.quota.is_some_and(|quota| !(0.1..=100.0).contains(&quota)) => {
            bad("--quota: 0.1 to 100 per cent of one processor".into())
        }
        _ => match arguments.nics.iter().find(|nics| !(1..=MOST_NICS).contains(*nics)) {
            Some(nics) => bad(format!("--nics {nics}: 1 to {MOST_NICS}")),
            None => Ok(()),
        },
    }
}

/// A lab of two hosts with so many NICs each. It ends with this value.
pub fn lab(
    stem: &str,
    cabling: Cabling,
    nics: u32,
    rate: Rate,
    mtu: u32,
    offloads: bool,
) -> Result<LabNetwork, Failure> {
    let many = nics as usize;
    let (shape, nics_per_cable) = match cabling {
        Cabling::Cables => (Shape::Pair { cables: many }, 1),
        Cabling::Switch => (Shape::Star { hosts: 2 }, many),
        Cabling::Switches => (Shape::Planes { hosts: 2, nics: many }, 1),
    };
    let options = Options { rate, mtu, nics_per_cable, ..Options::default() };
    let mut cluster = crate::shape::cluster(None, Some(&shape), &options)?;
    // With it the lab has the settings that striping needs; the table is replaced point by point.
    cluster.striping = (nics > 1).then(Striping::default);
    let mut lab = LabOptions::named(stem);
    (lab.rate, lab.offloads) = (Some(rate), offloads);
    LabNetwork::own(&cabling.to_string(), cluster, lab)
}

/// The labs that are measured on.
pub fn labs(arguments: &BenchStripe) -> Result<Vec<(Cabling, LabNetwork)>, Failure> {
    let most = arguments.nics.iter().copied().max().unwrap_or(1);
    // To find out how slow a processor must be takes three.
    let slow = arguments.quota.is_none() && arguments.cpu.iter().any(|speed| speed.is_slow());
    let nics = most.max(if slow { 3 } else { 1 });
    let lab = |&cabling: &Cabling| {
        let stem = format!("stripe-{cabling}");
        Ok((cabling, lab(&stem, cabling, nics, arguments.rate, arguments.mtu, arguments.offloads)?))
    };
    arguments.network.iter().map(lab).collect()
}

/// All points in the order in which each repetition takes them: what is compared comes side by side.
pub fn points<'a>(
    arguments: &BenchStripe,
    networks: &'a [(Cabling, LabNetwork)],
    slow_percent: Option<f64>,
) -> Vec<Point<'a>> {
    let mut points = Vec::new();
    for (cabling, network) in networks {
        for &bytes in &arguments.bytes {
            for speed in &arguments.cpu {
                let quota_percent = slow_percent.filter(|_| speed.is_slow());
                for (way, nics) in ways(arguments, *cabling, speed.is_slow()) {
                    let case = Case {
                        cabling: *cabling,
                        way,
                        nics,
                        bytes,
                        streams: arguments.streams,
                        mtu: arguments.mtu,
                        rate_bps: arguments.rate.bits_per_second,
                        quota_percent,
                    };
                    let granularity = arguments.granularity;
                    let wanted = Wanted { way, nics: nics as usize, granularity, delay_us: None };
                    points.push(Point { case, network, wanted });
                }
            }
        }
    }
    points
}

/// Ways and numbers of NICs, number by number. One NIC is one way only. On a slow processor Tasuki is measured alone, as
/// the paper's figure 2 is.
fn ways(arguments: &BenchStripe, cabling: Cabling, is_slow: bool) -> Vec<(Way, u32)> {
    let mut all = Vec::new();
    for &nics in &arguments.nics {
        if nics == 1 {
            all.push((Way::One, 1));
            continue;
        }
        let ways = arguments
            .way
            .iter()
            .copied()
            .filter(|way| *way != Way::One && way.works_over(cabling) && (!is_slow || way.is_ours()));
        all.extend(ways.map(|way| (way, nics)));
    }
    all
}
