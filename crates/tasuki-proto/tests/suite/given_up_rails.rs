//! A peer that was given up, and lives, learns of that over whatever rail leads to it.

use tasuki_proto::Time;
use tasuki_wire::{Lanes, Rail};

use crate::given_up::{give_up, knows, net, settle};
use crate::net::Net;

/// Both hosts send over all rails, and have everything acknowledged.
fn talk(net: &mut Net) {
    for host in [0, 1] {
        net.send(host, 50_000);
    }
    net.settle(100);
    net.run_us(1_000_000);
}

/// One cable carries nothing from the host that has given up, and it does not know that.
#[test]
fn one_that_waits_is_told_over_every_rail() {
    for dead in [0, 1] {
        let mut net = net(2, None);
        talk(&mut net);
        net.links.get_mut(&(0, dead)).unwrap().dead = true;
        give_up(&mut net, 0);
        net.run_us(1_000_000);
        settle(&mut net, 1);
    }
}

/// What was said unasked is lost. Then one rail carries packets to the host that has given up, and only the
/// other one carries packets back.
#[test]
fn one_that_is_heard_over_a_rail_without_a_way_back_is_told() {
    let mut net = net(2, None);
    talk(&mut net);
    net.eat = [12, 0];
    give_up(&mut net, 0);
    net.run_us(200_000_000);
    assert!(net.eat == [0, 0] && !knows(&net, 1), "all was lost");
    net.links.get_mut(&(0, 0)).unwrap().dead = true;
    net.links.get_mut(&(1, 1)).unwrap().dead = true;
    net.send(1, 10);
    net.run_us(5_000_000);
    settle(&mut net, 1);
}

/// A host changes its own ends of the rails of its connection.
fn set_rails(net: &mut Net, host: usize, rails: &[Rail]) {
    let (now, id) = (Time(net.now), net.conn(host));
    net.hosts[host].proto.set_rails(now, id, rails);
    net.flush(host);
}

/// All NICs of host 0 are down when it gives host 1 up, and are set up later, of which nobody tells the
/// connection.
#[test]
fn one_that_is_given_up_while_all_nics_are_down_is_told() {
    for speaks in [false, true] {
        let mut net = net(2, None);
        talk(&mut net);
        for rail in [0, 1] {
            net.both(rail, |link| link.dead = true);
        }
        let off = net.rails[0].iter().map(|rail| Rail { lanes: Lanes::NONE, ..*rail }).collect::<Vec<_>>();
        set_rails(&mut net, 0, &off);
        if speaks {
            net.send(1, 10);
        }
        net.run_us(2_000_000);
        give_up(&mut net, 0);
        net.run_us(1_000_000);
        for rail in [0, 1] {
            net.both(rail, |link| link.dead = false);
        }
        net.run_us(20_000_000);
        settle(&mut net, 1);
    }
}

/// Host 1 has one end when it is given up, whose cable is dead in one direction. What it says brings its new
/// list of ends, over one of which it can be told.
#[test]
fn one_whose_ends_have_changed_is_told() {
    let mut net = net(2, None);
    let one = vec![net.rails[1][0], Rail { lanes: Lanes::NONE, ..net.rails[1][1] }];
    set_rails(&mut net, 1, &one);
    talk(&mut net);
    net.links.get_mut(&(0, 0)).unwrap().dead = true;
    give_up(&mut net, 0);
    net.run_us(200_000_000);
    assert!(!knows(&net, 1), "it has no end over which it could be told");
    let both = net.rails[1].clone();
    set_rails(&mut net, 1, &both);
    net.send(1, 10);
    net.run_us(5_000_000);
    settle(&mut net, 1);
}
