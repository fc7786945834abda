//! Compares what was sent into cables with what came out: loss, damage, rate, lateness.

use super::{Segments, blame, cable_name, port_of, witness::Witness};
use crate::finding::{Finding, Kind, Part};
use std::collections::{BTreeMap, BTreeSet};
use tasuki_cluster::{Cluster, HostId, NicId};

/// Least number of lost frames of a run that is suspicious, and least share of them: three of four thousand.
const LOST_MIN: u64 = 3;
const LOST_PART: f64 = 0.000_6;
/// A cable that carries less than this share of the planned rate is slow.
const SLOW_PART: f64 = 0.6;
/// A pair's round trip is late if it is this many times that of the others, and longer by the next constant.
const LATE_RATIO: f64 = 8.0;
const LATE_US: f64 = 300.0;
/// A host that was too slow for this many frames was slow when frames were sent fast, which is when rates and
/// losses are measured.
const MISSED_MIN: u64 = 100;
/// Least number of answers that a judgement is based on.
const PONGS_MIN: usize = 8;

/// Fillers from one NIC to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stream {
    /// Frames that were sent.
    pub sent: u64,
    /// Different frames that arrived.
    pub arrived: u64,
    /// Frames that arrived more than once.
    pub again: u64,
    /// Probes with a wrong checksum that the receiving NIC got meanwhile.
    pub damaged: u64,
    /// Frames that the receiving host was too slow to take. If there are any, nothing is known of the cable.
    pub missed: u64,
    /// Time from the first frame to the last at the sender, seconds.
    pub sending: f64,
    /// Part of that time in which the sender waited for room in its NIC's queue, seconds.
    pub held: f64,
    /// Time from the first frame to the last at the receiver, seconds.
    pub arriving: f64,
    /// Bytes of a frame on the wire.
    pub wire_bytes: u64,
    /// The planned rate, bit/s; 0: the frames are too few or too short to measure a rate.
    pub planned: u64,
}

impl Stream {
    /// Number of frames that did not arrive at all.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.arrived + self.damaged)
    }

    /// The rate at the receiver, bit/s.
    pub fn rate(&self) -> f64 {
        self.arrived.saturating_sub(1) as f64 * self.wire_bytes as f64 * 8.0 / self.arriving.max(1e-6)
    }

    fn is_too_slow(&self) -> bool {
        self.planned > 0 && self.arrived > 0 && self.rate() < self.planned as f64 * SLOW_PART
    }

    /// Whether the frames arrived over a longer time than they were sent in: then the line is slow, and not
    /// the sender. A sender that waited because its NIC took no more was held up by the line. A busy sender
    /// takes longer by itself; but with a slow line, what waits on the line still arrives after its last
    /// frame, and much of the rest is lost.
    fn is_stretched(&self) -> bool {
        let waited = self.arriving > self.sending + 0.02;
        let overran = self.lost() * 4 > self.sent;
        self.arriving > (self.sending - self.held) * 1.5 + 0.004 || (waited && overran)
    }

    /// Whether the run shows nothing: the receiver was too slow to take all frames, or the sender to send as
    /// planned.
    pub fn is_void(&self) -> bool {
        self.missed > 0 || (self.is_too_slow() && !self.is_stretched())
    }

    /// What looks wrong. A slow line also loses frames, once its queue is full, so then the loss is not
    /// reported.
    pub fn symptoms(&self) -> Vec<Kind> {
        if self.sent == 0 || self.missed > 0 {
            return Vec::new();
        }
        if self.arrived == 0 && self.damaged == 0 {
            return vec![if self.planned > 0 { Kind::Mtu } else { Kind::Dead }];
        }
        if self.is_too_slow() && self.is_stretched() {
            return vec![Kind::Slow];
        }
        let mut symptoms = Vec::new();
        if self.damaged > 0 {
            symptoms.push(Kind::Damage);
        }
        if self.lost() >= LOST_MIN && self.lost() as f64 >= self.sent as f64 * LOST_PART {
            symptoms.push(Kind::Loss);
        }
        if self.again >= LOST_MIN {
            symptoms.push(Kind::Duplicates);
        }
        symptoms
    }

    /// What looks wrong, as a sentence.
    pub fn describe(&self, kind: Kind) -> String {
        let percent = |part: u64| 100.0 * part as f64 / self.sent.max(1) as f64;
        match kind {
            Kind::Slow => {
                format!("{:.1} Mbit/s of {:.0} planned", self.rate() / 1e6, self.planned as f64 / 1e6)
            }
            Kind::Damage => format!(
                "{} of {} frames came damaged ({:.2} %)",
                self.damaged,
                self.sent,
                percent(self.damaged)
            ),
            Kind::Duplicates => format!("{} of {} frames came again", self.again, self.sent),
            Kind::Mtu => format!("none of {} frames of full size came, short ones do", self.sent),
            _ => format!("{} of {} frames were lost ({:.2} %)", self.lost(), self.sent, percent(self.lost())),
        }
    }
}

/// A suspicion: what is wrong, with which cable, in which direction, and what shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspicion {
    /// What is wrong.
    pub kind: Kind,
    /// The NIC whose cable is to blame.
    pub nic: NicId,
    /// Whether what the NIC sends is bad, and not what it hears.
    pub outwards: bool,
    /// The directions that show it: from which NIC to which.
    pub directions: Vec<[NicId; 2]>,
}

/// The suspicions that streams give rise to.
pub fn suspicions(segments: &Segments, streams: &BTreeMap<[NicId; 2], Vec<Stream>>) -> Vec<Suspicion> {
    let mut by_kind: BTreeMap<Kind, Vec<[NicId; 2]>> = BTreeMap::new();
    for (direction, streams) in streams {
        for kind in streams.iter().flat_map(Stream::symptoms) {
            let directions = by_kind.entry(kind).or_default();
            if !directions.contains(direction) {
                directions.push(*direction);
            }
        }
    }
    let mut all = Vec::new();
    for (kind, directions) in by_kind {
        for (nic, outwards, directions) in blame(segments, &directions) {
            all.push(Suspicion { kind, nic, outwards, directions });
        }
    }
    all
}

/// Confirmed suspicions as findings; both directions of a cable are one finding. `damaged` are the frames
/// that NICs have counted themselves.
pub fn findings(
    cluster: &Cluster,
    confirmed: &[(Suspicion, Vec<Stream>)],
    witness: &Witness,
    damaged: &BTreeMap<NicId, u64>,
) -> Vec<Finding> {
    let mut by_cable: BTreeMap<(String, Kind), Finding> = BTreeMap::new();
    for (suspicion, streams) in confirmed {
        let cable = cable_name(cluster, suspicion.nic);
        let (what, advice) = texts(suspicion.kind);
        let nic = cluster.nic_name(suspicion.nic);
        let direction = if suspicion.outwards { "from" } else { "to" };
        let finding = by_cable.entry((cable.clone(), suspicion.kind)).or_insert_with(|| {
            let says = format!("{what} {direction} {nic} on the cable {cable}");
            Finding::new(1, suspicion.kind, Part::Cable(cable), says, advice)
        });
        for stream in streams.iter().take(4) {
            finding.evidence.push(format!("{direction} {nic}: {}", stream.describe(suspicion.kind)));
        }
        if let Some(port) = port_of(cluster, suspicion.nic) {
            let damaged = damaged.get(&suspicion.nic).copied().unwrap_or(0);
            let said = witness.says(cluster, suspicion.nic, suspicion.outwards, damaged);
            for seen in [format!("the cable leads to the switch port {port}")].into_iter().chain(said) {
                // Several pairs of hosts may show one and the same cable.
                if !finding.evidence.contains(&seen) {
                    finding.evidence.push(seen);
                }
            }
        }
    }
    by_cable.into_values().collect()
}

/// Directions of which no run showed anything, unless the reason is known already: a host at an end is
/// loaded, or the cable is blamed.
pub fn unmeasured(cluster: &Cluster, unknown: &BTreeSet<[NicId; 2]>, known: &[Finding]) -> Vec<Finding> {
    let is_explained = |[from, to]: &&[NicId; 2]| {
        let cable = cable_name(cluster, *from);
        known.iter().any(|finding| {
            let name = finding.part.name();
            let is_end = [from, to].iter().any(|nic| cluster.host_of(nic.host).name == name);
            name == cable || (is_end && finding.kind == Kind::Load)
        })
    };
    let unexplained = unknown.iter().filter(|direction| !is_explained(direction));
    let finding = |[from, to]: &[NicId; 2]| {
        let cable = cable_name(cluster, *from);
        let (from, to) = (cluster.nic_name(*from), cluster.nic_name(*to));
        let says = format!("rate and loss from {from} to {to} could not be measured on the cable {cable}");
        let advice =
            "the hosts at its ends were too busy at every attempt: end what runs there and check again";
        Finding::new(1, Kind::Unchecked, Part::Cable(cable), says, advice).as_warning()
    };
    unexplained.map(finding).collect()
}

/// Whether something that has a finding of its own is the reason: a NIC that is set to accept shorter frames,
/// or hosts that could not take what arrived, by their own counters. Neither says anything about the cable.
pub fn is_explained(
    suspicion: &Suspicion,
    short_mtu: &BTreeSet<NicId>,
    missed: &BTreeMap<NicId, u64>,
) -> bool {
    let too_slow = |to: &NicId| missed.get(to).is_some_and(|count| *count >= MISSED_MIN);
    match suspicion.kind {
        Kind::Mtu => suspicion.directions.iter().flatten().any(|nic| short_mtu.contains(nic)),
        Kind::Slow | Kind::Loss => suspicion.directions.iter().all(|[_, to]| too_slow(to)),
        _ => false,
    }
}

fn texts(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Damage => (
            "frames come damaged",
            "a cable's own errors are lost frames: damage behind the checksum is the memory of a NIC or \
             switch. Change the NIC that sends, then the one that receives",
        ),
        Kind::Slow => (
            "frames come too slowly",
            "a cable with a broken pair, or a port that agreed on less: try another cable, then look at \
             `ethtool NIC`",
        ),
        Kind::Duplicates => {
            ("frames come more than once", "a loop of switches: look for a second cable between two of them")
        }
        Kind::Mtu => (
            "frames of full size do not pass",
            "the device in between (switch port, converter) takes shorter frames only: enable jumbo frames \
             there or lower `mtu` in the file",
        ),
        _ => (
            "frames are lost",
            "the cable or its plugs first, then the NIC that receives, then the one that sends",
        ),
    }
}

/// Finds hosts that answer late, from round-trip times between NICs. The values are a low quantile in
/// microseconds and the number of answers.
pub fn late(cluster: &Cluster, times: &BTreeMap<[NicId; 2], (f64, usize)>) -> Vec<(HostId, f64, f64)> {
    let mut left: Vec<(HostId, HostId, f64)> = times
        .iter()
        .filter(|(_, (_, count))| *count >= PONGS_MIN)
        .map(|([a, b], (time, _))| (a.host, b.host, *time))
        .collect();
    let mut late = Vec::new();
    loop {
        let mut worst: Option<(usize, HostId, f64, f64)> = None;
        for host in (0..cluster.hosts.len()).map(HostId) {
            let is_own = |(a, b, _): &&(HostId, HostId, f64)| *a == host || *b == host;
            let own = left.iter().filter(is_own).map(|(.., time)| *time);
            let (count, least) =
                own.fold((0, f64::INFINITY), |(count, least), time| (count + 1, least.min(time)));
            let mut others: Vec<f64> =
                left.iter().filter(|pair| !is_own(pair)).map(|(.., time)| *time).collect();
            others.sort_by(f64::total_cmp);
            let usual = crate::statistics::quantile(&others, 0.5);
            let is_late =
                count > 0 && !others.is_empty() && least > usual * LATE_RATIO && least > usual + LATE_US;
            if is_late && worst.is_none_or(|(most, ..)| count > most) {
                worst = Some((count, host, least, usual));
            }
        }
        let Some((_, host, least, usual)) = worst else { return late };
        late.push((host, least, usual));
        left.retain(|(a, b, _)| *a != host && *b != host);
    }
}

/// The finding for a host that answers late.
pub fn late_finding(cluster: &Cluster, (host, least, usual): (HostId, f64, f64)) -> Finding {
    let name = cluster.host_of(host).name.clone();
    let says = format!(
        "{name} receives late: a round trip takes at least {least:.0} us on each of its cables, {usual:.0} \
         on others"
    );
    let advice = "`ethtool -C NIC rx-usecs 0`; no deep sleep states of the processor; another driver or NIC";
    Finding::new(1, Kind::Delay, Part::Setting(name), says, advice)
}
