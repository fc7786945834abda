//! What turns at a cable say about messages that go over two rails.

use super::*;

/// Time of a packet of 1,000 bytes on a cable of 1 Gbit/s, ps.
const PACKET: u64 = 8_000_000;

fn path(channels: &[u32]) -> Path {
    Path { channels: channels.to_vec(), pauses: vec![0; channels.len() - 1] }
}

/// Host 0 reaches host 2 by a cable (channel 0), and over host 1 (channels 2 and 4), which has a long message
/// for host 2 itself. Pairs of hosts take turns at a cable, so that of n packets of host 0 which go by host 1
/// the last one is through after 2 n - 1 packets at the earliest. A short message behind them goes by the
/// other cable. Messages do not overtake each other (MPI 4.1, section 3.5), so host 2 answers after the long
/// one.
#[test]
fn a_message_over_a_free_rail_does_not_pass_one_before_it() {
    let mut paths = vec![Vec::new(); 9];
    paths[2] = vec![path(&[0]), path(&[2, 4])];
    paths[3 + 2] = vec![path(&[4])];
    paths[2 * 3] = vec![path(&[1])];
    let cables = Cables { rates: vec![1_000_000_000; 6], paths, hosts: 3, cable_ps: 0, overhead: 0 };
    let text = "tasuki-trace 1\nranks 3\n\
                0 send 2 20000 0\n0 send 2 16 0\n0 recv 2 16 0\n\
                1 send 2 100000 0\n\
                2 recv 0 20000 0\n2 send 0 16 0\n2 recv 0 16 0\n2 recv 1 100000 0\n";
    let trace = Trace::parse(text).expect("a trace");
    let found = replay_striped(&trace, &cables, TraceTimes::plain(0, 1000)).expect("a replay");
    let relayed = found.cables[2].bytes / 1000;
    assert!((5..15).contains(&relayed), "the rails share the message: {relayed} of 20 packets");
    let answered = found.replayed.waiting[0];
    assert!(answered >= (2 * relayed - 1) * PACKET, "{answered} ps, {relayed} packets by host 1");
}
