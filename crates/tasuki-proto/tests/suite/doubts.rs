//! A peer that is said to be gone is probed: if it lives, it answers over whatever rail still works.

use tasuki_proto::RailState;

use crate::net::{Link, Net};
use crate::rails::{lan, state, stream, warm};

/// Nothing is in flight and nothing will be sent: the answer comes nevertheless, and soon.
#[test]
fn an_idle_peer_answers() {
    let mut net = warm(&[lan(), lan()]);
    net.run_us(10_000_000);
    for host in 0..2 {
        let heard = net.heard(host);
        net.run_us(1_000_000);
        assert_eq!(net.heard(host), heard, "nobody says anything of himself");
        net.probe_peer(host);
        net.run_us(10_000);
        assert!(net.heard(host) > heard, "{}", net.describe());
    }
}

/// Every rail but one is dead, for each choice of that one, and neither side knows it yet.
#[test]
fn a_peer_answers_over_the_only_rail_that_is_left() {
    for left in 0..3 {
        let mut net = warm(&[lan(), lan(), lan()]);
        (0..3).filter(|rail| *rail != left).for_each(|rail| net.both(rail, |link| link.dead = true));
        let heard = net.heard(0);
        net.probe_peer(0);
        net.run_us(10_000);
        assert!(net.heard(0) > heard, "rail {left}: {}", net.describe());
    }
}

/// One rail carries only to the peer, the other only back.
#[test]
fn a_peer_answers_on_another_rail_than_that_of_the_probe() {
    let mut net = warm(&[lan(), lan()]);
    net.links.get_mut(&(1, 0)).expect("a rail").dead = true;
    net.links.get_mut(&(0, 1)).expect("a rail").dead = true;
    let heard = net.heard(0);
    net.probe_peer(0);
    net.run_us(200_000);
    assert!(net.heard(0) > heard, "{}", net.describe());
}

/// The peer was never spoken to: it gets a hello, and answers.
#[test]
fn a_peer_that_was_never_spoken_to_is_greeted() {
    let mut net = Net::new(9, &[lan()], true);
    net.probe_peer(0);
    net.run_us(100_000);
    assert!(net.heard(0) > 0, "{}", net.describe());
    net.send(0, 100);
    net.send(1, 100);
    net.settle(1000);
}

/// A dead peer never answers, however often it is probed, and the probes do not pile up.
#[test]
fn the_dead_do_not_answer() {
    let mut net = warm(&[lan(), Link::new(100, 20, 64)]);
    (0..2).for_each(|rail| net.both(rail, |link| link.dead = true));
    let (heard, sent) = (net.heard(0), net.hosts[0].packets);
    for _ in 0..50 {
        net.probe_peer(0);
        net.run_us(100_000);
    }
    assert_eq!(net.heard(0), heard);
    // Two packets for each probe and rail, and some for probe time-outs, five of them per second.
    assert!(net.hosts[0].packets - sent < 50 * 2 * 4, "{}", net.hosts[0].packets - sent);
}

/// A rail comes back and passes short packets alone, as behind a switch that has forgotten its MTU.
#[test]
fn an_mtu_hole_after_an_outage() {
    let mut net = warm(&[lan(), lan()]);
    stream(&mut net, 0, 5_000);
    net.both(0, |link| link.dead = true);
    stream(&mut net, 0, 1_000_000);
    assert_eq!(state(&net, 0, 0), RailState::Down, "{}", net.describe());
    let before: u64 = net.hosts[0].proto.rail_stats(net.conn(0)).map(|stats| stats.lost_packets).sum();
    net.both(0, |link| (link.dead, link.hole) = (false, 1300));
    stream(&mut net, 0, 1_000_000);
    let of_rail = |net: &Net| net.hosts[0].proto.rail_stats(net.conn(0)).find(|stats| stats.path.rail == 0);
    let stats = of_rail(&net).expect("the rail");
    assert_eq!((stats.state, stats.packet_len), (RailState::Up, 1232), "{}", net.describe());
    let lost: u64 = net.hosts[0].proto.rail_stats(net.conn(0)).map(|stats| stats.lost_packets).sum();
    assert!(lost - before < 8, "{} packets were lost: {}", lost - before, net.describe());
}

/// Of two rails, of which one has not been used yet, the one carries packets in one direction alone and the
/// other in the other one. Messages of several packets arrive all the same.
#[test]
fn rails_of_one_direction_each_before_both_are_proven() {
    let mut net = Net::new(9, &[lan(), lan()], true);
    net.send(0, 8);
    net.settle(1000);
    for (from, rail) in [(1, 0), (0, 1)] {
        net.links.get_mut(&(from, rail)).expect("a link").dead = true;
    }
    net.send(0, 5000);
    net.settle(5000);
}
