//! Stage 1: every NIC and cable.

use super::{Checker, LIMIT};
use crate::{
    finding::Kind,
    judge::{
        self,
        network::{self, Stream, Suspicion},
        short_frames,
    },
    protocol::{Answer, Order, Sent, Tally},
    statistics::quantile,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
    time::Duration,
};
use tasuki_cluster::{AROUND_FRAME, HostId, NicId};

/// Short frames of a run: their number, their size, and the most per second. Their number is large enough to
/// show a loss of some tenths of a percent.
const SHORT: (u32, usize, u64) = (4000, 120, 20_000);
/// Time that full frames take at the planned rate.
const FULL_SECONDS: f64 = 0.036;
const FULL_MIN: u32 = 50;
const FULL_MAX: u32 = 2000;
/// How often a suspicion must be seen again before it is confirmed.
const CONFIRMATIONS: usize = 3;
/// Most runs for a suspicion, including void ones: a busy machine sends or receives too slowly.
const TRIES: usize = 24;
/// After this many runs a busy machine is given time.
const TRIES_AT_ONCE: usize = 6;
const PAUSE: Duration = Duration::from_millis(300);
/// How old counters may be that a NIC's driver reads by a timer (e1000: two seconds).
const COUNTERS_AGE: Duration = Duration::from_millis(2_200);
/// Number of pings of a host.
const PINGS: u32 = 24;

type Streams = BTreeMap<[NicId; 2], Vec<Stream>>;

/// What has become of a suspicion.
enum Verdict {
    Confirmed(Suspicion, Vec<Stream>),
    Cleared,
    /// No run of this direction showed anything.
    Unknown([NicId; 2]),
}

impl Checker<'_> {
    /// Runs the stage.
    pub(super) fn cables(&mut self) {
        (self.progress)(0.05, "who is at the other end");
        let wiring = self.wiring();
        let live = wiring.live;
        self.report.findings.extend(wiring.findings);
        let (streams, verdicts) = self.traffic(&live);
        let (mut confirmed, mut unknown) = (Vec::new(), BTreeSet::new());
        for verdict in verdicts {
            match verdict {
                Verdict::Confirmed(suspicion, streams) => confirmed.push((suspicion, streams)),
                Verdict::Cleared => (),
                Verdict::Unknown(direction) => drop(unknown.insert(direction)),
            }
        }
        let late = self.lateness(&live);
        if confirmed.iter().any(|(suspicion, _)| matches!(suspicion.kind, Kind::Slow | Kind::Loss)) {
            thread::sleep(COUNTERS_AGE);
        }
        // Use of the processor is looked at once there are some seconds of it.
        let after = self.look();
        let mut hosts = judge::host::judge(self.cluster, &self.plan, &after);
        let mtus = hosts.iter().filter(|finding| finding.kind == Kind::Mtu);
        let short_mtu = mtus.filter_map(|finding| self.cluster.nic(finding.part.name())).collect();
        let missed = judge::counters::missed(self.cluster, &self.facts, &after);
        let confirmed: Vec<_> = confirmed
            .into_iter()
            .filter(|(suspicion, _)| !network::is_explained(suspicion, &short_mtu, &missed))
            .collect();
        let damaged = judge::counters::damaged(self.cluster, &self.facts, &after);
        // Without a suspicion nobody needs a witness, and switches are not asked.
        let asked = (!confirmed.is_empty()).then(|| self.switches.witness(self.cluster));
        let witness = asked.flatten().unwrap_or_default();
        let found = network::findings(self.cluster, &confirmed, &witness, &damaged);
        let mut found = short_frames::by_switch(self.cluster, found);
        // A rate that was both negotiated and measured is one finding: what the host itself reports says
        // more, and what was measured is added to it.
        for host in &mut hosts {
            let same = |found: &mut crate::Finding| (found.kind, &found.part) == (host.kind, &host.part);
            let measured: Vec<_> = found.extract_if(.., same).collect();
            host.evidence.extend(measured.into_iter().flat_map(|found| found.evidence));
        }
        self.report.findings.extend(hosts);
        self.report.findings.extend(found);
        let unmeasured = network::unmeasured(self.cluster, &unknown, &self.report.findings);
        self.report.findings.extend(unmeasured);
        for late in late {
            self.report.findings.push(network::late_finding(self.cluster, late));
        }
        self.table(&streams);
    }

    fn tally(&mut self, run: u64) -> Vec<Vec<Tally>> {
        let answers = self.agents.tell(LIMIT, |_| Some(Order::Tally { run })).into_iter();
        let tallies = answers.map(|answer| match answer {
            Some(Ok(Answer::Tally(tallies))) => tallies,
            _ => Vec::new(),
        });
        tallies.collect()
    }

    /// Sends hellos on all NICs, for longer if a NIC is not heard.
    fn wiring(&mut self) -> judge::wiring::Wiring {
        let mut ms = 300;
        loop {
            let run = self.next_run();
            self.agents.tell(LIMIT, |_| Some(Order::Greet { run, ms }));
            thread::sleep(Duration::from_millis(60));
            let tallies = self.tally(run);
            let wiring = judge::wiring::judge(self.cluster, &self.segments, &self.facts, &tallies);
            if wiring.findings.is_empty() || ms > 1000 {
                return wiring;
            }
            ms = 1500;
        }
    }

    /// Sends fillers over all cables; directions that look suspicious are measured again, alone.
    fn traffic(&mut self, live: &BTreeSet<[NicId; 2]>) -> (Streams, Vec<Verdict>) {
        let batches = self.batches(live);
        let mut streams = Streams::new();
        for (number, batch) in batches.iter().enumerate() {
            (self.progress)(
                0.1 + 0.3 * number as f64 / batches.len() as f64,
                "loss, damage and rate of cables",
            );
            for (direction, found) in self.fill(batch, live) {
                streams.entry(direction).or_default().extend(found);
            }
        }
        (self.progress)(0.4, "again what is doubtful");
        let mut doubtful: Vec<_> = network::suspicions(&self.segments, &streams);
        // A run that was void shows nothing, so it is repeated, alone.
        for (direction, found) in &streams {
            if found.iter().any(Stream::is_void) {
                doubtful.push(Suspicion {
                    kind: Kind::Unchecked,
                    nic: direction[0],
                    outwards: true,
                    directions: vec![*direction],
                });
            }
        }
        let verdicts = doubtful.into_iter().map(|suspicion| self.confirm(suspicion, live)).collect();
        (streams, verdicts)
    }

    /// Sets of NICs that may send at the same time: no NIC hears two of them, and all together stay below the
    /// bound. The two ends of a cable are in different sets, and so are NICs of one host that differ in rate
    /// or MTU, as a host sends the same frames by all of its NICs of a set.
    fn batches(&self, live: &BTreeSet<[NicId; 2]>) -> Vec<Vec<NicId>> {
        let rate = |nic: NicId| self.cluster.nic_of(nic).rate.bits_per_second;
        let kind = |nic: NicId| (rate(nic), self.cluster.nic_of(nic).mtu);
        let mut batches: Vec<Vec<NicId>> = Vec::new();
        for (&nic, hearers) in &self.segments.hearers {
            if !hearers.iter().any(|&hearer| live.contains(&[nic, hearer])) {
                continue;
            }
            let fits = |batch: &&mut Vec<NicId>| {
                let shares = batch.iter().any(|other| {
                    (other.host == nic.host && kind(*other) != kind(nic))
                        || self.segments.hearers[other]
                            .iter()
                            .any(|heard| *heard == nic || hearers.contains(heard))
                });
                let sum: u64 = batch.iter().map(|&nic| rate(nic)).sum();
                !shares && self.options.total_bits_per_second.is_none_or(|most| sum + rate(nic) <= most)
            };
            match batches.iter_mut().find(fits) {
                Some(batch) => batch.push(nic),
                None => batches.push(vec![nic]),
            }
        }
        batches
    }

    /// Sends full frames, then short ones, from these NICs at the same time.
    fn fill(&mut self, senders: &[NicId], live: &BTreeSet<[NicId; 2]>) -> Streams {
        let mut streams = Streams::new();
        for full in [true, false] {
            let run = self.next_run();
            // Reading the counters of damaged and missed frames resets them.
            self.tally(run);
            let cluster = self.cluster;
            let order = |host: usize| {
                let nics: Vec<_> =
                    senders.iter().filter(|nic| nic.host.0 == host).map(|nic| nic.index).collect();
                let first = cluster.nic_of(NicId { host: HostId(host), index: *nics.first()? });
                let (frames, bytes, pace) = shape(full, first.rate.bits_per_second, first.mtu);
                Some(Order::Fill { nics, run, frames, bytes, bits_per_second: pace })
            };
            let answers = self.agents.tell(LIMIT, order);
            let mut sent: BTreeMap<NicId, Sent> = BTreeMap::new();
            for (host, answer) in answers.into_iter().enumerate() {
                if let Some(Ok(Answer::Sent(all))) = answer {
                    sent.extend(
                        all.into_iter().map(|one| (NicId { host: HostId(host), index: one.nic }, one)),
                    );
                }
            }
            for (direction, stream) in self.arrivals(run, full, &sent, live) {
                streams.entry(direction).or_default().push(stream);
            }
        }
        streams
    }

    /// Collects what has arrived of fillers. Slow lines get time to deliver.
    fn arrivals(
        &mut self,
        run: u64,
        full: bool,
        sent: &BTreeMap<NicId, Sent>,
        live: &BTreeSet<[NicId; 2]>,
    ) -> BTreeMap<[NicId; 2], Stream> {
        let mut before = 0;
        let (mut damaged, mut missed) = (BTreeMap::new(), BTreeMap::new());
        for patience in 0..12 {
            thread::sleep(Duration::from_millis(if patience == 0 { 30 } else { 100 }));
            let tallies = self.tally(run);
            let mut arrived = BTreeMap::new();
            for (host, tallies) in tallies.iter().enumerate() {
                for tally in tallies {
                    let to = NicId { host: HostId(host), index: tally.nic };
                    *damaged.entry(to).or_insert(0) += tally.damaged;
                    *missed.entry(to).or_insert(0) += tally.missed;
                    for heard in tally.heard.iter().filter(|heard| heard.is_ours) {
                        if let Some(from) = judge::nic_of(self.cluster, heard.sender) {
                            arrived.insert([from, to], heard.arrivals);
                        }
                    }
                }
            }
            let total: u64 = arrived.values().map(|arrivals| arrivals.frames).sum();
            let mut streams = BTreeMap::new();
            let mut is_whole = true;
            for (&from, sent) in sent {
                let nic = self.cluster.nic_of(from);
                let (_, bytes, _) = shape(full, nic.rate.bits_per_second, nic.mtu);
                for &to in self.segments.hearers[&from].iter().filter(|&&to| live.contains(&[from, to])) {
                    let came = arrived.get(&[from, to]).copied().unwrap_or_default();
                    is_whole &= came.frames >= u64::from(sent.frames);
                    // The slower of the two ends limits the rate.
                    let planned = nic.rate.bits_per_second.min(self.cluster.nic_of(to).rate.bits_per_second);
                    let stream = Stream {
                        sent: sent.frames.into(),
                        arrived: came.frames,
                        again: came.again,
                        damaged: damaged.get(&to).copied().unwrap_or(0),
                        missed: missed.get(&to).copied().unwrap_or(0),
                        sending: sent.seconds,
                        held: sent.held,
                        arriving: came.seconds,
                        wire_bytes: (bytes + AROUND_FRAME as usize) as u64,
                        planned: if full { planned } else { 0 },
                    };
                    streams.insert([from, to], stream);
                }
            }
            // Nothing new has arrived for a tenth of a second, so the rest will not come.
            if is_whole || (patience > 0 && total == before) {
                return streams;
            }
            before = total;
            if patience == 11 {
                return streams;
            }
        }
        BTreeMap::new()
    }

    /// Measures the directions of a suspicion again, alone. It is confirmed if it is seen every time.
    fn confirm(&mut self, suspicion: Suspicion, live: &BTreeSet<[NicId; 2]>) -> Verdict {
        let mut seen = Vec::new();
        let is_unknown = suspicion.kind == Kind::Unchecked;
        let mut kind = suspicion.kind;
        for attempt in 0..TRIES {
            if attempt >= TRIES_AT_ONCE {
                thread::sleep(PAUSE);
            }
            let direction = suspicion.directions[attempt % suspicion.directions.len()];
            let Some(streams) = self.fill(&[direction[0]], live).remove(&direction) else {
                return Verdict::Cleared;
            };
            if streams.iter().any(Stream::is_void) {
                continue;
            }
            if is_unknown && seen.is_empty() {
                let Some(shown) = streams.iter().flat_map(Stream::symptoms).next() else {
                    return Verdict::Cleared;
                };
                kind = shown;
            }
            let Some(shows) = streams.into_iter().find(|stream| stream.symptoms().contains(&kind)) else {
                return Verdict::Cleared;
            };
            seen.push(shows);
            if seen.len() == CONFIRMATIONS {
                return Verdict::Confirmed(Suspicion { kind, ..suspicion }, seen);
            }
        }
        Verdict::Unknown(suspicion.directions[0])
    }

    /// Finds hosts that receive late: one host after the other sends pings, and again if one seems late.
    fn lateness(&mut self, live: &BTreeSet<[NicId; 2]>) -> Vec<(HostId, f64, f64)> {
        let mut late: Option<Vec<(HostId, f64, f64)>> = None;
        for _ in 0..CONFIRMATIONS {
            let times = self.pings(live);
            let now = network::late(self.cluster, &times);
            let still = match late {
                None => now,
                Some(before) => now
                    .into_iter()
                    .filter(|(host, ..)| before.iter().any(|(known, ..)| known == host))
                    .collect(),
            };
            if still.is_empty() {
                return still;
            }
            late = Some(still);
        }
        late.unwrap_or_default()
    }

    fn pings(&mut self, live: &BTreeSet<[NicId; 2]>) -> BTreeMap<[NicId; 2], (f64, usize)> {
        let mut times = BTreeMap::new();
        for host in 0..self.cluster.hosts.len() {
            let part = 0.45 + 0.1 * host as f64 / self.cluster.hosts.len() as f64;
            (self.progress)(part, "round trips of cables");
            let run = self.next_run();
            let mut answers =
                self.agents.tell(LIMIT, |other| (other == host).then_some(Order::Ping { run, count: PINGS }));
            let Some(Some(Ok(Answer::Pinged(all)))) = answers.drain(..).nth(host) else { continue };
            for one in all {
                let own = NicId { host: HostId(host), index: one.nic };
                let Some(peer) =
                    judge::nic_of(self.cluster, one.peer).filter(|&peer| live.contains(&[own, peer]))
                else {
                    continue;
                };
                times.insert([own, peer], (quantile(&one.times, 0.25), one.times.len()));
            }
        }
        times
    }

    /// Adds the table of all directions to the report.
    fn table(&mut self, streams: &Streams) {
        let row = |([from, to], streams): (&[NicId; 2], &Vec<Stream>)| {
            let lost: u64 = streams.iter().map(Stream::lost).sum();
            let sent: u64 = streams.iter().map(|stream| stream.sent).sum();
            let damaged: u64 = streams.iter().map(|stream| stream.damaged).sum();
            let rate = streams.iter().find(|stream| stream.planned > 0).map_or(0.0, Stream::rate);
            vec![
                self.cluster.nic_name(*from),
                self.cluster.nic_name(*to),
                sent.to_string(),
                lost.to_string(),
                damaged.to_string(),
                format!("{:.1}", rate / 1e6),
            ]
        };
        let rows = streams.iter().map(row).collect();
        let names = ["from", "to", "frames", "lost", "damaged", "Mbit/s"].map(str::to_owned).to_vec();
        self.report.tables.push(("Cables, first look".into(), names, rows));
    }
}

/// Number of frames, payload bytes of each, and pace in bit/s.
fn shape(full: bool, rate: u64, mtu: u32) -> (u32, usize, u64) {
    if full {
        let bytes = mtu as usize;
        let frames = (rate as f64 * FULL_SECONDS / ((bytes + AROUND_FRAME as usize) as f64 * 8.0)) as u32;
        return (frames.clamp(FULL_MIN, FULL_MAX), bytes, rate);
    }
    let (frames, bytes, per_second) = SHORT;
    (frames, bytes, (per_second * ((bytes + AROUND_FRAME as usize) * 8) as u64).min(rate / 2))
}
