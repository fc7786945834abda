//! A peer that is said to be gone is probed: if it lives, it answers over whatever rail still works.

use crate::net::{Link, Net};
use crate::rails::{lan, warm};

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
