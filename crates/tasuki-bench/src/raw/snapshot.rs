//! Counters of the kernel for one side of a stream: processor time, segments sent and received, sent again
//! and out of order.

use super::streamed::Side;
use std::{collections::BTreeMap, fs, io, net::TcpStream, time::Instant};
use tasuki_sys::{
    tcp::{TcpCounts, counter},
    ticks::Ticks,
};

/// Counters at one moment.
pub(super) struct Snapshot {
    at: Instant,
    process_s: f64,
    core: Option<Ticks>,
    counts: TcpCounts,
    received_by: BTreeMap<String, u64>,
}

impl Snapshot {
    /// Reads all counters. `core` is the processor that this side stays on. With `mptcp` the counters are
    /// those of the whole network namespace, because the kernel tells the counters of a single connection
    /// only for its first path.
    pub fn take(core: Option<usize>, streams: &[TcpStream], mptcp: bool) -> io::Result<Self> {
        Ok(Self {
            at: Instant::now(),
            process_s: tasuki_sys::clock::process_time().as_secs_f64(),
            core: core.and_then(|core| Ticks::now(Some(core)).ok().flatten()),
            counts: if mptcp { of_namespace()? } else { of_streams(streams)? },
            received_by: received_by(&fs::read_to_string("/proc/thread-self/net/dev")?),
        })
    }

    /// The counts between an earlier snapshot and this one.
    pub fn since(&self, before: &Snapshot) -> Side {
        let seconds = (self.at - before.at).as_secs_f64();
        let core = self.core.zip(before.core).and_then(|(now, then)| now.since(&then).shares());
        Side {
            seconds,
            process: (self.process_s - before.process_s) / seconds.max(1e-9),
            core: core.map(|shares| shares.busy),
            interrupts: core.map(|shares| shares.interrupts),
            data_out: self.counts.data_out.saturating_sub(before.counts.data_out),
            resent: self.counts.resent.saturating_sub(before.counts.resent),
            data_in: self.counts.data_in.saturating_sub(before.counts.data_in),
            out_of_order: self.counts.out_of_order.saturating_sub(before.counts.out_of_order),
            received_by: self.received_since(before),
        }
    }

    fn received_since(&self, before: &Snapshot) -> BTreeMap<String, u64> {
        let of = |name: &str| before.received_by.get(name).copied().unwrap_or(0);
        self.received_by.iter().map(|(name, bytes)| (name.clone(), bytes.saturating_sub(of(name)))).collect()
    }
}

/// Bytes that each interface has received (`/proc/net/dev` has its name, a colon, and first the number of
/// bytes).
fn received_by(text: &str) -> BTreeMap<String, u64> {
    let of_line = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        Some((name.trim().to_owned(), numbers.split_whitespace().next()?.parse().ok()?))
    };
    text.lines().filter_map(of_line).collect()
}

fn of_streams(streams: &[TcpStream]) -> io::Result<TcpCounts> {
    let mut sum = TcpCounts::default();
    for stream in streams {
        let one = TcpCounts::of(stream)?;
        sum.data_out += one.data_out;
        sum.resent += one.resent;
        sum.data_in += one.data_in;
        sum.out_of_order += one.out_of_order;
    }
    Ok(sum)
}

fn of_namespace() -> io::Result<TcpCounts> {
    let snmp = fs::read_to_string("/proc/thread-self/net/snmp")?;
    let netstat = fs::read_to_string("/proc/thread-self/net/netstat")?;
    let counter = |text: &str, group, name| counter(text, group, name).unwrap_or(0);
    Ok(TcpCounts {
        data_out: counter(&snmp, "Tcp", "OutSegs"),
        resent: counter(&snmp, "Tcp", "RetransSegs"),
        data_in: counter(&snmp, "Tcp", "InSegs"),
        // This counts the order within the whole connection. Each path by itself keeps its order.
        out_of_order: counter(&netstat, "MPTcpExt", "OFOQueue"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_told_apart() {
        let text = "Inter-|   Receive  |  Transmit\n face \
                    |bytes    packets|bytes\n    lo:     100       2\n  eth1:7000 5 0\n";
        let expected = [("lo".to_owned(), 100), ("eth1".to_owned(), 7000)];
        assert_eq!(received_by(text), BTreeMap::from(expected));
    }
}
