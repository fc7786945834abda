//! Tables of statistics for people.

use std::fmt::Write;
use tasuki_ring::stats_page::{Lane, PeerSnapshot, RailRecord, RailState, Snapshot};
use tasuki_stats::{HostStriping, Rates};
use tasuki_stripe::StripeCounts;
use tasuki_terminal::{Rows, bytes, in_a_line, table};

/// The counters of all processes since they began.
pub fn totals(processes: &[Snapshot]) -> String {
    let mut text = format!("{}\n\n{}\n", processes_table(processes), peers_table(processes, None));
    let drops = drops_table(processes);
    if drops.row_count() > 0 {
        let _ = writeln!(text, "\n{drops}");
    }
    let beyond: u64 = processes.iter().map(|page| page.peers_beyond).sum();
    if beyond > 0 {
        let _ = writeln!(text, "\n{beyond} peers found no room on their processes' pages and are not shown");
    }
    text
}

/// What hosts stripe over their NICs, and what they do not.
pub fn striping(hosts: &[HostStriping]) -> String {
    let mut rows = table(["host", "NIC", "packets", "frames", "bytes", "of all", "moved"]);
    rows.keys(2).right_from(2);
    for HostStriping { host, counts } in hosts {
        let all: u64 = counts.nics.iter().map(|nic| nic.bytes).sum();
        for nic in &counts.nics {
            let share = if all == 0 { 0.0 } else { nic.bytes as f64 / all as f64 * 100.0 };
            rows.add_row([
                host.clone(),
                nic.interface.clone(),
                nic.packets.to_string(),
                nic.frames.to_string(),
                bytes(nic.bytes),
                format!("{share:.1} %"),
                nic.moved.to_string(),
            ]);
        }
    }
    let mut text = format!("{rows}\n");
    for HostStriping { host, counts } in hosts {
        let StripeCounts { others, bound, no_way, .. } = counts;
        let _ = writeln!(
            text,
            "{}: not striped: {others} packets to others, {bound} of sockets bound to a NIC, {no_way} \
             without a living way",
            in_a_line(host)
        );
    }
    text
}

/// Names a process in a table: `rank@host`, or `program@host` if it has no rank.
fn who(page: &Snapshot) -> String {
    let rank = page.rank.map_or_else(|| page.program.clone(), |rank| rank.to_string());
    format!("{rank}@{}", page.host)
}

pub(super) fn processes_table(processes: &[Snapshot]) -> Rows {
    let mut rows = table([
        "rank",
        "process",
        "program",
        "lanes",
        "messages sent",
        "bytes sent",
        "messages received",
        "bytes received",
        "posted",
        "unexpected",
        "pool used",
        "of",
        "helped",
        "granted, MB/s",
        "grants",
        "ahead",
    ]);
    rows.right_from(4);
    for page in processes {
        let totals = &page.endpoint;
        rows.add_row([
            who(page),
            page.pid.to_string(),
            page.program.clone(),
            page.identity.lanes.clone(),
            totals.messages_sent.to_string(),
            bytes(totals.bytes_sent),
            totals.messages_received.to_string(),
            bytes(totals.bytes_received),
            totals.receives_posted.to_string(),
            totals.unexpected.to_string(),
            bytes(totals.pool_held),
            bytes(totals.pool_limit),
            totals.helper_calls.to_string(),
            measured(totals.grants, format!("{:.1}", totals.granted_rate as f64 / 1e6)),
            measured(totals.grants, totals.grants.to_string()),
            measured(totals.grants, bytes(totals.grant_window)),
        ]);
    }
    rows
}

/// A figure that only adaptive grants (`TASUKI_RATE`) have: `-` if no grant was made.
fn measured(grants: u64, text: String) -> String {
    if grants > 0 { text } else { "-".into() }
}

/// A table with a row for every peer, and below it one for each of its rails.
pub(super) fn peers_table(processes: &[Snapshot], rates: Option<&[Rates]>) -> Rows {
    let [sent, received] = if rates.is_some() { ["sent/s", "received/s"] } else { ["sent", "received"] };
    let mut rows = table([
        "rank",
        "peer",
        "over",
        "state",
        "packets",
        sent,
        received,
        "resent",
        "lost",
        "RTT us",
        "rate MB/s",
        "in flight",
        "window",
        "credit",
    ]);
    rows.keys(3).right_from(4);
    for (at, page) in processes.iter().enumerate() {
        let rates = rates.map(|all| all.get(at).cloned().unwrap_or_default());
        for peer in &page.peers {
            rows.add_row(peer_row(page, peer, rates.as_ref()));
            for rail in &peer.rails {
                rows.add_row(rail_row(peer, rail, rates.as_ref()));
            }
        }
    }
    rows
}

fn peer_row(page: &Snapshot, peer: &PeerSnapshot, rates: Option<&Rates>) -> [String; 14] {
    let record = &peer.peer;
    let carrier = format!("{:?}", record.carrier).to_lowercase();
    let rate = rates.map(|rates| rates.of(peer.index, None).cloned().unwrap_or_default());
    let of = |total: u64, rate: Option<f64>| rate.map_or_else(|| bytes(total), |rate| bytes(rate as u64));
    [
        who(page),
        record.name.clone(),
        carrier,
        if record.dead { "DEAD" } else { "" }.into(),
        record.messages_sent.to_string() + " msg",
        of(record.bytes_sent, rate.as_ref().map(|rate| rate.sent)),
        of(record.bytes_received, rate.as_ref().map(|rate| rate.received)),
        String::new(),
        String::new(),
        String::new(),
        String::new(),
        match record.sends_pending {
            0 => String::new(),
            pending => format!("{pending} msg"),
        },
        String::new(),
        bytes(record.credit),
    ]
}

fn rail_row(peer: &PeerSnapshot, rail: &RailRecord, rates: Option<&Rates>) -> [String; 14] {
    let rate =
        rates.map(|rates| rates.of(peer.index, Some((rail.rail, rail.lane))).cloned().unwrap_or_default());
    let of = |total: u64, rate: Option<f64>| rate.map_or_else(|| bytes(total), |rate| bytes(rate as u64));
    let state = match rail.state {
        RailState::Probing => "probing",
        RailState::Up => "up",
        RailState::Down => "DOWN",
    };
    let lane = match rail.lane {
        Lane::Raw => "raw",
        Lane::Udp => "udp",
    };
    let number = match rail.rail {
        31 => format!("routed {lane}"),
        number => format!("rail {number} {} {lane}", rail.nic),
    };
    [
        String::new(),
        String::new(),
        number,
        state.into(),
        rail.packets_sent.to_string(),
        of(rail.bytes_sent, rate.as_ref().map(|rate| rate.sent)),
        of(rail.bytes_received, rate.as_ref().map(|rate| rate.received)),
        bytes(rail.resent),
        rail.lost.to_string(),
        format!("{:.0}", rail.srtt_ns as f64 / 1e3),
        format!("{:.1}", rail.rate as f64 / 1e6),
        bytes(rail.inflight),
        bytes(rail.cwnd),
        String::new(),
    ]
}

fn drops_table(processes: &[Snapshot]) -> Rows {
    let mut rows = table(["rank", "dropped because", "packets"]);
    for page in processes {
        for (reason, count) in page.drops.iter().filter(|(_, count)| *count > 0) {
            rows.add_row([who(page), reason.clone(), count.to_string()]);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_ring::stats_page::{Carrier, PeerRecord};

    #[test]
    fn every_peer_rail_and_reason_is_named() {
        let peer =
            PeerRecord { name: "n2".into(), carrier: Carrier::Udp, dead: true, ..PeerRecord::default() };
        let rail =
            |rail, lane, state| RailRecord { rail, lane, nic: "eth7".into(), state, ..RailRecord::default() };
        let rails = vec![rail(0, Lane::Raw, RailState::Down), rail(31, Lane::Udp, RailState::Up)];
        let page = Snapshot {
            host: "n1".into(),
            rank: Some(5),
            drops: vec![("forged".into(), 3), ("short".into(), 0)],
            peers: vec![PeerSnapshot { index: 0, peer, rails }],
            peers_beyond: 2,
            ..Snapshot::default()
        };
        let text = totals(&[page]);
        for part in [
            "5@n1",
            "n2",
            "udp",
            "DEAD",
            "rail 0 eth7 raw",
            "DOWN",
            "routed udp",
            "forged",
            "2 peers found no room",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(!text.contains("short"), "what never happened is left out:\n{text}");
    }
}
