//! What cables carry, beside what their NICs say: which frames are sent for that, and what follows from those
//! that came. It performs no IO.

use crate::{
    finding::{Finding, Kind, port_name},
    infer::Graph,
    model::{Carried, HostSight, NicSight, PortId},
    pairs::pairs,
    protocol::{Sent, Train},
};
use std::collections::BTreeSet;
use tasuki_cluster::AROUND_FRAME;

/// Payloads that are tried, as far as NICs have them, bytes: the least that IPv6 asks for, plain Ethernet,
/// and what switches and adapters commonly stop at.
const SIZES: [u32; 6] = [576, 1280, 1500, 2000, 4000, 9000];
/// Payload of the frames of a train, bytes: what every cable carries.
const TRAIN_BYTES: u32 = 1500;
/// How long a train fills queues, and how long it counts, seconds. A lab's wires let 4 ms pass at once; the
/// queue of a switch port holds a few milliseconds.
const FILL: f64 = 0.025;
const COUNT: f64 = 0.04;
/// Least and most frames of each part.
const FRAMES: [f64; 2] = [40.0, 20_000.0];
/// The pace where NICs do not say a rate, Mbit/s: more than the usual one has room for.
const UNTOLD: u64 = 1_200;
/// A train that loses more than this share of its frames has overrun the line.
const OVERRUN: f64 = 0.05;
/// A train that takes longer by this factor, and by so many seconds, to come than to go was held up.
const STRETCHED: (f64, f64) = (1.25, 0.002);
/// A sender that had no room for this share of the time was held up by the line.
const PUSHED_BACK: f64 = 0.2;
/// A line that carries less than this share of what its NICs say is slow.
pub(crate) const SLOW: f64 = 0.8;
/// Rates of Ethernet, Mbit/s, and how far from one of them a measured rate may be to be called that.
const STANDARD: [u64; 10] = [10, 100, 1_000, 2_500, 5_000, 10_000, 25_000, 40_000, 50_000, 100_000];
const NEAR: (f64, f64) = (0.85, 1.08);

/// Two NICs, and what they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The NICs.
    pub ports: [PortId; 2],
    /// The smaller MTU of the two.
    pub mtu: u32,
    /// The smaller rate of the two, Mbit/s; `None`: one of them says none.
    pub told: Option<u64>,
}

/// What was measured between two NICs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The NICs.
    pub ports: [PortId; 2],
    /// The largest payload that passes both ways, if it is less than what both NICs have.
    pub mtu: Option<u32>,
    /// The rate of the slower way, Mbit/s; `None`: the line carries all that was sent.
    pub mbits: Option<u64>,
    /// Whether the rate is known: frames came, and their hosts were not too slow.
    pub is_rate_known: bool,
}

/// The rate of one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// The line is the limit: so many Mbit/s.
    Line(f64),
    /// The line carried all that was sent.
    All,
    /// Nothing is known: a host was too slow, or nothing came.
    Void,
}

/// The lines to be measured: every cable, and of every switch the NICs two by two, of different hosts.
pub(crate) fn lines(hosts: &[Option<HostSight>], graph: &Graph) -> Vec<Line> {
    let pairs = graph.segments.iter().flat_map(|segment| pairs(&segment.ports));
    let all = graph.cables.iter().copied().chain(pairs);
    all.filter(|[a, b]| a.host != b.host).filter_map(|ports| line(hosts, ports)).collect()
}

/// The line between two NICs.
pub(crate) fn line(hosts: &[Option<HostSight>], ports: [PortId; 2]) -> Option<Line> {
    let [a, b] = ports.map(|port| nic(hosts, port));
    let (a, b) = (a?, b?);
    let told = a.mbits.zip(b.mbits).map(|(a, b)| a.min(b));
    Some(Line { ports, mtu: a.mtu.min(b.mtu), told })
}

/// Rounds in which all of `todo` are measured, at most so many at once: no two of a round share a host.
pub(crate) fn rounds(lines: &[Line], todo: &[usize], at_once: usize) -> Vec<Vec<usize>> {
    let mut rounds: Vec<(BTreeSet<usize>, Vec<usize>)> = Vec::new();
    for &number in todo {
        let hosts = lines[number].ports.map(|port| port.host);
        let fits = |(busy, round): &&mut (BTreeSet<usize>, Vec<usize>)| {
            round.len() < at_once.max(1) && hosts.iter().all(|host| !busy.contains(host))
        };
        match rounds.iter_mut().find(fits) {
            Some((busy, round)) => {
                busy.extend(hosts);
                round.push(number);
            }
            None => rounds.push((hosts.into(), vec![number])),
        }
    }
    rounds.into_iter().map(|(_, round)| round).collect()
}

/// The frames of a trial on a line.
pub(crate) fn train(line: &Line, trial: u32) -> Train {
    let mut sizes: Vec<u32> = SIZES.iter().copied().filter(|&size| size < line.mtu).collect();
    sizes.push(line.mtu);
    let bytes = line.mtu.min(TRAIN_BYTES);
    let bits_per_second = line.told.unwrap_or(UNTOLD) * 1_000_000;
    let frames = |seconds: f64| {
        let frames = seconds * bits_per_second as f64 / f64::from((bytes + AROUND_FRAME) * 8);
        frames.clamp(FRAMES[0], FRAMES[1]) as u32
    };
    Train { trial, sizes, bytes, fill: frames(FILL), count: frames(COUNT), bits_per_second }
}

/// The rate of one way, from what was sent and what came.
pub(crate) fn pace(train: &Train, sent: Sent, came: &Carried, missed: u64) -> Pace {
    if missed > 0 || came.frames < 2 || sent.frames < 2 {
        return Pace::Void;
    }
    let span = came.span_ns[1].saturating_sub(came.span_ns[0]) as f64 / 1e9;
    let lost = f64::from(sent.frames.saturating_sub(came.frames)) / f64::from(sent.frames);
    let stretched = span > sent.ns as f64 / 1e9 * STRETCHED.0 + STRETCHED.1;
    let pushed_back = sent.waited_ns as f64 > sent.ns as f64 * PUSHED_BACK;
    if lost <= OVERRUN && !stretched && !pushed_back {
        return Pace::All;
    }
    let bits = f64::from(came.frames - 1) * f64::from((train.bytes + AROUND_FRAME) * 8);
    Pace::Line(bits / span.max(1e-6) / 1e6)
}

/// What is known of one way after trials: one in which all came shows that the line is well; of the others
/// the best counts, because other things may have held it up.
pub(crate) fn best(trials: &[Pace]) -> Pace {
    let lines = trials.iter().filter_map(|pace| if let Pace::Line(rate) = pace { Some(*rate) } else { None });
    match lines.reduce(f64::max) {
        _ if trials.contains(&Pace::All) => Pace::All,
        Some(rate) => Pace::Line(rate),
        None => Pace::Void,
    }
}

/// A measured rate as that of Ethernet to which it comes near, or with two digits.
pub(crate) fn standard(mbits: f64) -> u64 {
    let near = STANDARD.iter().find(|rate| {
        let part = mbits / **rate as f64;
        (NEAR.0..=NEAR.1).contains(&part)
    });
    near.copied().unwrap_or_else(|| {
        let digit = 10f64.powf(mbits.max(1.0).log10().floor() - 1.0).max(1.0);
        ((mbits / digit).round() * digit).max(1.0) as u64
    })
}

/// What was measured of a line, from the largest payloads that came and the rates of its two ways.
pub(crate) fn measured(line: &Line, largest: [Option<u32>; 2], paces: [Pace; 2]) -> Measured {
    // Where nothing came both ways nothing is known: the cable is one that hellos passed.
    let mtu = largest[0].zip(largest[1]).map(|(a, b)| a.min(b)).filter(|mtu| *mtu < line.mtu);
    let rate = |pace: Pace| if let Pace::Line(rate) = pace { Some(rate) } else { None };
    let slower = paces.into_iter().filter_map(rate).reduce(f64::min);
    let told = line.told.map_or(f64::MAX, |told| told as f64 * SLOW);
    let mbits = slower.filter(|rate| *rate < told).map(standard);
    let is_rate_known = mbits.is_some() || !paces.contains(&Pace::Void);
    Measured { ports: line.ports, mtu, mbits, is_rate_known }
}

/// What is to be told of the frames of a line.
pub(crate) fn narrow(hosts: &[Option<HostSight>], line: &Line, found: &Measured) -> Option<Finding> {
    let [a, b] = line.ports.map(|port| port_name(hosts, port));
    let says = format!("{a} - {b} has an MTU of {} and carries frames of {} bytes", line.mtu, found.mtu?);
    let advice = "the file has what it carries; switches and adapters on the way may be set to more";
    Some(Finding::new(Kind::Narrow, line.ports, says, advice))
}

pub(crate) fn nic(hosts: &[Option<HostSight>], port: PortId) -> Option<&NicSight> {
    hosts.get(port.host)?.as_ref()?.nics.get(port.nic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(a: usize, b: usize, told: Option<u64>) -> Line {
        let ports = [PortId { host: a, nic: 0 }, PortId { host: b, nic: 0 }];
        Line { ports, mtu: 9000, told }
    }

    /// What comes of a train by a line of this rate, with queues that are full: frames one behind the other.
    fn through(train: &Train, mbits: f64) -> (Sent, Carried) {
        let frame_ns = f64::from((train.bytes + AROUND_FRAME) * 8) * 1000.0;
        let ns = f64::from(train.count) * frame_ns / (train.bits_per_second as f64 / 1e6);
        let most = (ns / (frame_ns / mbits)) as u32;
        let frames = train.count.min(most);
        let span = f64::from(frames - 1) * (frame_ns / mbits).max(ns / f64::from(train.count));
        let came = Carried { frames, span_ns: [5_000, 5_000 + span as u64], ..Carried::default() };
        (Sent { frames: train.count, ns: ns as u64, waited_ns: 0 }, came)
    }

    /// What comes of a train by a line of this rate that pushes back: all, in the time in which it was sent.
    fn pushed(train: &Train, mbits: f64) -> (Sent, Carried) {
        let frame_ns = f64::from((train.bytes + AROUND_FRAME) * 8) * 1000.0;
        let [paced, took] = [train.bits_per_second as f64 / 1e6, mbits]
            .map(|mbits| (f64::from(train.count) * frame_ns / mbits) as u64);
        let came = Carried { frames: train.count, span_ns: [5_000, 5_000 + took], ..Carried::default() };
        (Sent { frames: train.count, ns: took.max(paced), waited_ns: took.saturating_sub(paced) }, came)
    }

    #[test]
    fn a_line_that_carries_less_than_it_says_is_found_and_its_rate_known() {
        for (told, carries, expected) in [
            (Some(2_500), 1_000.0, Some(1_000)),
            (Some(1_000), 940.0, None),
            (Some(10_000), 3_300.0, Some(3_300)),
            (None, 100.0, Some(100)),
            (None, 95.0, Some(100)),
            (None, 50_000.0, None),
        ] {
            let line = line(0, 1, told);
            let train = train(&line, 1);
            let (sent, came) = through(&train, carries);
            let way = pace(&train, sent, &came, 0);
            let found = measured(&line, [Some(9000); 2], [way, Pace::All]);
            assert_eq!((found.mbits, found.mtu), (expected, None), "{told:?} {carries}");
            let (sent, came) = pushed(&train, carries);
            let way = pace(&train, sent, &came, 0);
            let found = measured(&line, [Some(9000); 2], [way, Pace::All]);
            assert_eq!((found.mbits, found.mtu), (expected, None), "{told:?} {carries}, pushing back");
        }
    }

    // A host with other work sends and takes late. That says nothing of the line.
    #[test]
    fn a_slow_host_is_not_a_slow_line() {
        let line = line(0, 1, Some(1_000));
        let train = train(&line, 1);
        let (mut sent, mut came) = through(&train, 1_000.0);
        (sent.ns, came.span_ns[1]) = (sent.ns * 9, came.span_ns[1] * 9);
        assert_eq!(pace(&train, sent, &came, 0), Pace::All);
        came.frames /= 2;
        assert_eq!(pace(&train, sent, &came, 100), Pace::Void);
        assert_eq!(pace(&train, sent, &Carried::default(), 0), Pace::Void);
        assert_eq!(best(&[Pace::Line(300.0), Pace::Void, Pace::All]), Pace::All);
        assert_eq!(best(&[Pace::Line(300.0), Pace::Line(400.0)]), Pace::Line(400.0));
        assert_eq!(best(&[Pace::Void]), Pace::Void);
    }

    #[test]
    fn the_largest_frame_that_passes_both_ways_is_the_mtu() {
        let line = line(0, 1, None);
        assert_eq!(train(&line, 1).sizes, [576, 1280, 1500, 2000, 4000, 9000]);
        let mtu = |largest| measured(&line, largest, [Pace::All; 2]).mtu;
        assert_eq!(mtu([Some(9000), Some(9000)]), None);
        assert_eq!(mtu([Some(9000), Some(1500)]), Some(1500));
        assert_eq!(mtu([Some(1500), None]), None);
    }

    #[test]
    fn every_line_is_measured_once_and_no_host_twice_at_a_time() {
        let lines: Vec<_> = (0..6).flat_map(|a| (a + 1..6).map(move |b| line(a, b, None))).collect();
        let all: Vec<usize> = (0..lines.len()).collect();
        for at_once in [1, 2, usize::MAX] {
            let rounds = rounds(&lines, &all, at_once);
            let mut seen: Vec<usize> = rounds.concat();
            seen.sort_unstable();
            assert_eq!(seen, all);
            for round in rounds {
                let hosts: BTreeSet<usize> =
                    round.iter().flat_map(|&number| lines[number].ports.map(|port| port.host)).collect();
                assert!(hosts.len() == 2 * round.len() && round.len() <= at_once);
            }
        }
    }

    #[test]
    fn measured_rates_are_called_by_the_names_of_ethernet() {
        for (mbits, name) in [(98.0, 100), (870.0, 1000), (2_350.0, 2_500), (330.0, 330), (7_123.0, 7_100)] {
            assert_eq!(standard(mbits), name, "{mbits}");
        }
    }
}
