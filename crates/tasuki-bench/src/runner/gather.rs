//! Collects the results of runs, and makes records of them with their ceilings.

use super::{Network, Plan};
use crate::{
    Ceiling, Line, Machine, Record, Unit,
    raw::{Outcome, Protocol},
    record::{Gathered, Point},
    stats,
};

/// Test names of the peers without MPI.
const RAW_PINGPONG: &str = "raw-pingpong";
const RAW_STREAM: &str = "raw-stream";

/// A point, by its indices in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    network: usize,
    test: String,
    bytes: u64,
    ranks: u32,
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Raw(Protocol),
    Stack(usize),
}

struct Entry {
    key: Key,
    hosts: u32,
    unit: Unit,
    verified: Option<String>,
    gathered: Gathered,
}

/// Points in the order in which they were first measured.
#[derive(Default)]
pub(super) struct Gather {
    entries: Vec<Entry>,
}

impl Gather {
    fn entry(&mut self, key: Key, hosts: u32, unit: Unit, verified: Option<String>) -> &mut Gathered {
        let found = self.entries.iter().position(|entry| entry.key == key);
        let at = found.unwrap_or(self.entries.len());
        if found.is_none() {
            self.entries.push(Entry { key, hosts, unit, verified, gathered: Gathered::default() });
        }
        &mut self.entries[at].gathered
    }

    pub fn add_mpi(&mut self, network: usize, stack: usize, lines: Vec<Line>) {
        for line in lines {
            let (unit, values) = (line.unit(), line.values());
            let source = Source::Stack(stack);
            let key = Key { network, test: line.test, bytes: line.bytes, ranks: line.ranks, source };
            self.entry(key, line.hosts, unit, line.verified).add(values, line.cpu_s, line.moved_bytes);
        }
    }

    /// Adds the results of the raw peers. A throughput test in which nothing arrived gives no figure.
    pub fn add_raw(&mut self, network: usize, outcome: Outcome) {
        for result in outcome.ping_pongs {
            let source = Source::Raw(result.protocol);
            let key =
                Key { network, test: RAW_PINGPONG.into(), bytes: result.bytes.into(), ranks: 2, source };
            let values = result.samples.iter().map(|seconds| seconds * 1e6).collect();
            let verified = Some("first and last message".into());
            self.entry(key, 2, Unit::Microseconds, verified).add(
                values,
                result.cpu_s,
                result.moved_bytes as f64,
            );
        }
        for result in outcome.throughputs.iter().filter(|result| result.seconds > 0.0) {
            let source = Source::Raw(result.protocol);
            let bytes = result.full_payload_bytes;
            let key = Key { network, test: RAW_STREAM.into(), bytes, ranks: 2, source };
            let values = vec![result.payload_bytes_per_second() / 1e6];
            let gathered = self.entry(key, 2, Unit::MegabytesPerSecond, None);
            gathered.add(values, result.cpu_s, result.moved_bytes as f64);
        }
    }

    pub fn records(self, plan: &Plan, machine: &Machine) -> Vec<Record> {
        let mut records: Vec<Record> =
            self.entries.into_iter().filter_map(|entry| entry.record(plan, machine)).collect();
        let ceilings: Vec<Option<Ceiling>> = records
            .iter()
            .map(|record| {
                let network = plan.networks.iter().find(|network| network.name == record.network)?;
                ceiling(record, network, &records)
            })
            .collect();
        for (record, ceiling) in records.iter_mut().zip(ceilings) {
            record.ceiling = ceiling;
        }
        records
    }
}

impl Entry {
    fn record(self, plan: &Plan, machine: &Machine) -> Option<Record> {
        let network = plan.networks.get(self.key.network)?;
        let (stack, lane) = match self.key.source {
            Source::Raw(protocol) => (protocol.name().to_owned(), protocol.lane().to_owned()),
            Source::Stack(stack) => {
                plan.stacks.get(stack).map(|stack| (stack.name.clone(), stack.lane.clone()))?
            }
        };
        let point = Point {
            test: self.key.test,
            bytes: self.key.bytes,
            ranks: self.key.ranks,
            hosts: self.hosts,
            network: network.name.clone(),
            stack,
            unit: self.unit,
            lane,
            offloads: network.offloads.clone(),
            verified: self.verified,
        };
        let is_mpi = matches!(self.key.source, Source::Stack(_));
        let mut record = self.gathered.record(point, machine)?;
        // A percentile of times only: of rates it would be the best of a thousand.
        let calls = plan.calls.filter(|_| is_mpi && record.unit == Unit::Microseconds);
        record.p99_9 = calls.and_then(|_| stats::quantile_of(&record.samples, 0.999));
        Some(record)
    }
}

/// The best that the network could do. For tests that end with a message from one host to another, this is
/// the fastest raw half round trip of messages of the same size, or of the largest smaller size that was
/// measured (no MPI can be faster than that). For streaming it is what raw frames could carry at the line's
/// rate, or if this is unknown the fastest raw stream measured. A program that also computes has no ceiling.
fn ceiling(record: &Record, network: &Network, records: &[Record]) -> Option<Ceiling> {
    let here = |test: &'static str| {
        records.iter().filter(move |raw| raw.test == test && raw.network == record.network)
    };
    match record.test.as_str() {
        "pingpong" | "barrier" | "allreduce" | "alltoall" | "halo" | RAW_PINGPONG if record.hosts > 1 => {
            let smallest = here(RAW_PINGPONG).map(|raw| raw.bytes).min()?;
            let fits = |raw: &&Record| raw.bytes <= record.bytes.max(smallest);
            // Of the sizes up to that of the test, the largest one gives the closest limit.
            let size = here(RAW_PINGPONG).filter(fits).map(|raw| raw.bytes).max()?;
            let best = here(RAW_PINGPONG)
                .filter(|raw| raw.bytes == size)
                .min_by(|a, b| a.median.total_cmp(&b.median))?;
            let of = format!("raw half round trip, {} of {} bytes", best.stack, best.bytes);
            Some(Ceiling { value: best.median, of })
        }
        "stream" | RAW_STREAM if record.hosts > 1 => {
            if let Some(goodput) = network.line.and_then(|line| line.goodput()) {
                return Some(Ceiling { value: goodput / 1e6, of: "line rate, full raw frames".into() });
            }
            let best = here(RAW_STREAM).max_by(|a, b| a.median.total_cmp(&b.median))?;
            Some(Ceiling { value: best.median, of: format!("raw stream, {}", best.stack) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        raw::Throughput,
        record::tests::{point, record},
        runner::plan::LineRate,
    };

    fn network(line: Option<LineRate>) -> Network {
        Network { name: "mesh".into(), hosts: 4, line, offloads: "off".into() }
    }

    fn records() -> Vec<Record> {
        vec![
            record(point(RAW_PINGPONG, 8, "mesh", "packet-ring"), &[&[2.0]]),
            record(point(RAW_PINGPONG, 8, "mesh", "tcp"), &[&[20.0]]),
            record(point(RAW_PINGPONG, 1024, "mesh", "udp"), &[&[3.0]]),
            record(point(RAW_PINGPONG, 8, "star", "packet-ring"), &[&[1.0]]),
            record(point(RAW_STREAM, 1448, "mesh", "tcp"), &[&[900.0]]),
        ]
    }

    #[test]
    fn repetitions_of_a_stream_are_one_record_however_full_the_last_frame_was() {
        let mut gather = Gather::default();
        for missing in [700, 1] {
            let result = Throughput {
                protocol: Protocol::Tcp,
                payload_bytes: 300 * 1448 - missing,
                frames: 300,
                full_payload_bytes: 1448,
                wire_bits: 300 * 8 * 1538,
                seconds: 1.0,
                line_fraction: None,
                window_unix_s: (0.0, 1.0),
                sent_frames: 0,
                received_frames: 0,
                ring_drops: 0,
                cpu_s: 0.0,
                moved_bytes: 0,
            };
            gather.add_raw(0, Outcome { throughputs: vec![result], ..Outcome::default() });
        }
        let [entry] = &gather.entries[..] else { panic!("{} records", gather.entries.len()) };
        assert_eq!((entry.key.bytes, entry.gathered.repetitions.len()), (1448, 2));
    }

    fn ceiling_of(test: &str, bytes: u64, line: Option<LineRate>) -> Option<(f64, String)> {
        let measured = record(point(test, bytes, "mesh", "a"), &[&[50.0]]);
        ceiling(&measured, &network(line), &records()).map(|ceiling| (ceiling.value, ceiling.of))
    }

    #[test]
    fn latency_is_limited_by_the_fastest_raw_path_of_the_same_network() {
        let of_8 = Some((2.0, "raw half round trip, packet-ring of 8 bytes".into()));
        assert_eq!(ceiling_of("pingpong", 8, None), of_8);
        assert_eq!(ceiling_of("barrier", 0, None), of_8);
        assert_eq!(ceiling_of("alltoall", 64, None), of_8);
        assert_eq!(ceiling_of("pingpong", 65536, None).map(|c| c.0), Some(3.0));
        assert_eq!(ceiling_of("heat", 1024, None), None);
    }

    // 125 MB/s * 1500 / 1538 on a line of 1 Gbit/s.
    #[test]
    fn streaming_is_limited_by_the_line_or_the_fastest_raw_stream() {
        let line = LineRate { pair_bits_per_second: 1_000_000_000, mtu: 1500 };
        let value = ceiling_of("stream", 65536, Some(line)).map_or(0.0, |c| c.0);
        assert!((value - 121.9116).abs() < 1e-3, "{value}");
        assert_eq!(ceiling_of("stream", 65536, None).map(|c| c.0), Some(900.0));
    }

    #[test]
    fn one_host_has_no_network_and_no_ceiling() {
        let mut alone = record(point("pingpong", 8, "mesh", "a"), &[&[50.0]]);
        alone.hosts = 1;
        assert_eq!(ceiling(&alone, &network(None), &records()), None);
    }
}
