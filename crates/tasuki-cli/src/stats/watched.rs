//! What `tasuki stats --watch` shows: tables that fit the terminal.

use super::render::{peers_table, processes_table};
use tasuki_ring::stats_page::Snapshot;
use tasuki_stats::Rates;

/// Columns of the table of processes that a watcher needs least, in the order in which a narrow terminal
/// leaves them out.
const DISPENSABLE_OF_PROCESSES: [&str; 12] = [
    "ahead",
    "grants",
    "granted, MB/s",
    "of",
    "pool used",
    "helped",
    "posted",
    "process",
    "unexpected",
    "lanes",
    "messages received",
    "messages sent",
];
/// Columns of the table of peers that a watcher needs least, likewise.
const DISPENSABLE_OF_PEERS: [&str; 8] =
    ["credit", "window", "in flight", "rate MB/s", "packets", "resent", "RTT us", "lost"];

/// Rates of all processes, beside what their pages say now, on a terminal of so many columns; and the number
/// of table columns that are left out so that both tables fit it, unless all are wanted.
pub fn rates(processes: &[Snapshot], rates: &[Rates], width: Option<usize>, all: bool) -> (String, usize) {
    let (mut own, mut peers) = (processes_table(processes), peers_table(processes, Some(rates)));
    let room = if all { None } else { width };
    let left_out = own.fit(room, &DISPENSABLE_OF_PROCESSES) + peers.fit(room, &DISPENSABLE_OF_PEERS);
    (format!("{}\n\n{}\n", own.text(width), peers.text(width)), left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_ring::stats_page::{Carrier, Lane, PeerRecord, PeerSnapshot, RailRecord, RailState};

    /// A process whose every figure is large, with a peer over a rail.
    fn busy() -> Snapshot {
        let large = 999_999_999_999;
        let peer = PeerRecord {
            name: "node12".into(),
            carrier: Carrier::Udp,
            messages_sent: large,
            credit: large,
            sends_pending: 9_999,
            ..PeerRecord::default()
        };
        let rail = RailRecord {
            rail: 3,
            lane: Lane::Raw,
            nic: "enp129s0f1".into(),
            state: RailState::Probing,
            packets_sent: large,
            resent: large,
            lost: 99_999,
            srtt_ns: 9_999_999,
            rate: 3_000_000_000,
            inflight: large,
            cwnd: large,
            ..RailRecord::default()
        };
        let mut page = Snapshot {
            host: "node11".into(),
            program: "osu_alltoall_long".into(),
            pid: 4_194_303,
            rank: Some(127),
            peers: vec![PeerSnapshot { index: 0, peer, rails: vec![rail] }],
            ..Snapshot::default()
        };
        page.identity.lanes = "raw,udp,shm".into();
        page.endpoint.messages_sent = large;
        page.endpoint.messages_received = large;
        page.endpoint.bytes_sent = large;
        page.endpoint.bytes_received = large;
        page.endpoint.grants = large;
        page
    }

    #[test]
    fn a_watch_fits_the_terminal_in_two_tables() {
        for (width, few) in [(Some(80), true), (Some(120), true), (Some(300), false), (None, false)] {
            let (text, left_out) = rates(&[busy()], &[], width, false);
            let wide = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(width.is_none_or(|width| wide <= width), "{width:?}:\n{text}");
            assert_eq!(text.trim_end().split("\n\n").count(), 2, "{width:?}:\n{text}");
            assert_eq!(left_out > 0, few, "{width:?}: {left_out} left out:\n{text}");
            for column in ["rank", "program", "peer", "over", "state", "sent/s", "received/s"] {
                assert!(text.contains(column), "{column} is missing at {width:?}:\n{text}");
            }
        }
        let (text, left_out) = rates(&[busy()], &[], Some(80), true);
        assert!(
            left_out == 0 && ["credit", "window", "ahead"].iter().all(|name| text.contains(name)),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
