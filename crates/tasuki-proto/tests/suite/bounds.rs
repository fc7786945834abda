//! Times and numbers of the packet layer against what they are for.

use tasuki_proto::{RailState, Remote, Time};

use crate::net::{Link, Net, secret};
use crate::rails::{lan, state, stream, talk, warm};

/// Packets that the first host took for lost.
fn lost(net: &Net) -> u64 {
    net.hosts[0].proto.rail_stats(net.conn(0)).map(|stats| stats.lost_packets).sum()
}

/// A peer that needs some milliseconds to start is not greeted again meanwhile.
#[test]
fn a_peer_that_is_starting_is_greeted_once() {
    let mut net = Net::new(31, &[lan()], true);
    net.busy_until[1] = net.now + 15_000_000;
    net.send(0, 8);
    net.run_us(14_000);
    assert_eq!(net.hosts[0].packets, 1, "{}", net.describe());
    net.settle(1000);
}

/// Some short messages leave before the peer has answered, and no more than a small switch holds.
#[test]
fn the_first_messages_leave_before_the_answer() {
    let mut net = Net::new(32, &[lan()], true);
    net.busy_until[1] = net.now + 1_000_000;
    (0..60).for_each(|_| net.send(0, 1000));
    net.run_us(900);
    let bytes = net.links[&(0, 0)].bytes;
    assert!((8_000..32 << 10).contains(&bytes), "{bytes} bytes\n{}", net.describe());
    net.settle(1000);
}

/// However long a network was dead, it is in use within half a second.
#[test]
fn a_healed_network_is_not_idle_for_long() {
    for dead_s in [1, 4, 9, 17] {
        let mut net = Net::new(33, &[lan()], true);
        talk(&mut net);
        net.both(0, |link| link.dead = true);
        net.send(0, 100);
        net.run_us(dead_s * 1_000_000);
        net.both(0, |link| link.dead = false);
        net.settle(500);
    }
}

/// Of three packets the first comes behind the others, by so much: what its sender takes for lost.
fn overtaken(late_ns: u64) -> u64 {
    let mut net = Net::new(34, &[Link::new(10_000, 5, 256)], true);
    talk(&mut net);
    for _ in 0..40 {
        net.send(0, 6000);
        net.settle(10);
        net.run_us(500);
    }
    let before = lost(&net);
    net.both(0, |link| link.delay_ns = 5_000 + late_ns);
    net.send(0, 1000);
    net.both(0, |link| link.delay_ns = 5_000);
    (0..2).for_each(|_| net.send(0, 1000));
    net.settle(1000);
    lost(&net) - before
}

/// RFC 9002, section 6.1.1: fewer than three later packets prove nothing; and schedulers and interrupts delay
/// packets by some tens of microseconds.
#[test]
fn a_packet_that_two_others_have_overtaken_is_not_lost() {
    assert_eq!((overtaken(3_000), overtaken(60_000)), (0, 0));
}

/// Packets that were taken for lost on a wire that lets some overtake others, and all packets, after the
/// sender has had time to learn it.
fn taken_for_lost(mut link: Link) -> (u64, u64) {
    link.reorder = 50;
    let mut net = Net::new(35, &[link], true);
    talk(&mut net);
    stream(&mut net, 0, 1_000_000);
    let (before, since) = (lost(&net), net.hosts[0].packets);
    stream(&mut net, 0, 1_000_000);
    (lost(&net) - before, net.hosts[0].packets - since)
}

/// A network that always lets some packets overtake others is used, and hardly any of them is taken for lost:
/// also on a long way, on which hundreds of packets are in flight.
#[test]
fn a_network_that_reorders_is_learnt() {
    for link in [Link::new(30, 8_000, 512), Link::new(100, 10_000, 1024)] {
        let (wrong, packets) = taken_for_lost(link);
        assert!(packets > 1000 && wrong * 200 < packets, "{wrong} of {packets}");
    }
}

/// A cable that was away for long is in use within half a second.
#[test]
fn a_cable_that_comes_back_late_is_used_soon() {
    let mut net = warm(&[lan(), lan()]);
    net.both(1, |link| link.dead = true);
    (0..13).for_each(|_| {
        stream(&mut net, 0, 10_000);
        net.run_us(990_000);
    });
    assert_eq!(state(&net, 0, 1), RailState::Down);
    net.both(1, |link| link.dead = false);
    net.run_us(600_000);
    assert_eq!(state(&net, 0, 1), RailState::Up, "{}", net.describe());
}

/// A cable that comes back and passes less than before is used with short packets.
#[test]
fn a_cable_that_comes_back_narrower_is_used() {
    let mut net = warm(&[lan(), lan()]);
    net.both(1, |link| link.dead = true);
    stream(&mut net, 0, 200_000);
    assert_eq!(state(&net, 0, 1), RailState::Down);
    net.both(1, |link| (link.dead, link.hole) = (false, 1300));
    net.run_us(3_000_000);
    assert_eq!(state(&net, 0, 1), RailState::Up, "{}", net.describe());
    net.settle(1000);
}

/// A rail comes up though each answer to a probe comes after the next one has been sent, as on a long route.
#[test]
fn a_rail_with_a_long_route_is_proven() {
    let mut net = Net::new(36, &vec![Link::new(1000, 400_000, 256); 2], true);
    talk(&mut net);
    net.run_us(10_000_000);
    for host in 0..2 {
        assert_eq!([0, 1].map(|rail| state(&net, host, rail)), [RailState::Up; 2], "{}", net.describe());
    }
}

/// Packets that a host sends while its peer does not run for so long, after it has begun to leave. It has so
/// many other connections.
fn sent_while_away(away_us: u64, others: u64) -> u64 {
    let mut net = warm(&[lan()]);
    net.run_us(100_000);
    let now = Time(net.now);
    for other in 0..others {
        let remote = Remote { endpoint: 50, incarnation: 300 + other, secret: secret(1, other) };
        let rails = net.rails[0].clone();
        assert!(net.hosts[0].proto.connect(now, remote, &rails).is_some());
    }
    let (before, conn) = (net.hosts[0].packets, net.conn(0));
    net.busy_until[1] = net.now + away_us * 1000;
    net.hosts[0].proto.keep_closed();
    net.send(0, 1000);
    net.hosts[0].proto.close(conn);
    net.flush(0);
    net.run_us(away_us - 500);
    net.hosts[0].packets - before
}

/// Where many processes leave at once on few processors, each waits for its turn for some milliseconds, and
/// for longer the more there are: nothing is sent again meanwhile.
#[test]
fn who_leaves_sends_nothing_again_while_its_peers_wait_for_a_processor() {
    let soon = sent_while_away(1_000, 0);
    assert_eq!((sent_while_away(9_000, 0), sent_while_away(20_000, 20)), (soon, soon));
}
