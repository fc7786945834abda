//! A peer that somebody says is gone is asked for a sign of life: one that lives gives it whatever way still works.

use crate::net::{Link, Net};
use crate::rails::{lan, warm};

/// Nothing is under way and nothing will be: the answer comes all the same, and soon.
#[test]
fn an_idle_peer_answers() {
    let mut net = warm(&[lan(), lan()]);
    net.run_us(10_000_000);
    for host in 0..2 {
        let heard = net.heard(host);
        net.run_us(1_000_000);
        assert_eq!(net.heard(host), heard, "nobody says anything of himself");
        net.ask(host);
        net.run_us(10_000);
        assert!(net.heard(host) > heard, "{}", net.describe());
    }
}

/// Every rail but one is dead, whichever that is, and nobody knows it yet.
#[test]
fn a_peer_answers_over_the_only_rail_that_is_left() {
    for left in 0..3 {
        let mut net = warm(&[lan(), lan(), lan()]);
        (0..3).filter(|rail| *rail != left).for_each(|rail| net.both(rail, |link| link.dead = true));
        let heard = net.heard(0);
        net.ask(0);
        net.run_us(10_000);
        assert!(net.heard(0) > heard, "rail {left}: {}", net.describe());
    }
}

/// One rail carries only there, the other only back.
#[test]
fn a_peer_answers_on_another_rail_than_that_of_the_question() {
    let mut net = warm(&[lan(), lan()]);
    net.links.get_mut(&(1, 0)).expect("a rail").dead = true;
    net.links.get_mut(&(0, 1)).expect("a rail").dead = true;
    let heard = net.heard(0);
    net.ask(0);
    net.run_us(200_000);
    assert!(net.heard(0) > heard, "{}", net.describe());
}

/// Nobody has said a word yet: the peer is greeted, and answers.
#[test]
fn a_peer_that_was_never_spoken_to_is_greeted() {
    let mut net = Net::new(9, &[lan()], true);
    net.ask(0);
    net.run_us(100_000);
    assert!(net.heard(0) > 0, "{}", net.describe());
    net.send(0, 100);
    net.send(1, 100);
    net.settle(1000);
}

/// Whoever is dead gives none, however often it is asked, and questions do not pile up.
#[test]
fn the_dead_do_not_answer() {
    let mut net = warm(&[lan(), Link::new(100, 20, 64)]);
    (0..2).for_each(|rail| net.both(rail, |link| link.dead = true));
    let (heard, sent) = (net.heard(0), net.hosts[0].packets);
    for _ in 0..50 {
        net.ask(0);
        net.run_us(100_000);
    }
    assert_eq!(net.heard(0), heard);
    // Two for each question and rail, and some for each fifth of a second of time-outs.
    assert!(net.hosts[0].packets - sent < 50 * 2 * 4, "{}", net.hosts[0].packets - sent);
}
