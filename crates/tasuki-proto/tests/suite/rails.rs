//! Rails that die, come back, pass only short packets, or carry in one direction only.

use tasuki_proto::{DownReason, Event, RailState};

use crate::net::{Link, Net, rail};

pub fn lan() -> Link {
    Link::new(1000, 20, 256)
}

pub fn state(net: &Net, host: usize, number: u8) -> RailState {
    let stats = net.hosts[host].proto.rail_stats(net.conn(host));
    stats.filter(|stats| stats.path.rail == number).map(|stats| stats.state).next().expect("a rail")
}

/// Exchanges so many messages that all rails are proven.
pub fn talk(net: &mut Net) {
    for _ in 0..tasuki_proto::Config::default().prove_after {
        net.send(0, 8);
        net.send(1, 8);
        net.settle(5000);
    }
}

/// A few short messages prove only the rail that they use; more of them prove all rails, and so does a single
/// long message.
#[test]
fn rails_are_proven_when_the_connection_is_used() {
    for len in [8, 3000] {
        let mut net = Net::new(9, &[lan(), lan()], true);
        net.send(0, 8);
        net.send(1, 8);
        net.settle(1000);
        net.run_us(1_000_000);
        assert_eq!((0..2).map(|host| state(&net, host, 1)).collect::<Vec<_>>(), [RailState::Unproven; 2]);
        match len {
            8 => talk(&mut net),
            len => net.send(0, len),
        }
        net.settle(1000);
        net.run_us(100_000);
        assert_eq!((0..2).map(|host| state(&net, host, 1)).collect::<Vec<_>>(), [RailState::Up; 2], "{len}");
    }
}

/// The only proven rail dies before any other was probed.
#[test]
fn a_silent_rail_makes_the_others_known() {
    let mut net = Net::new(9, &[lan(), lan()], true);
    net.send(0, 8);
    net.settle(1000);
    net.both(0, |link| link.dead = true);
    net.send(0, 8);
    net.send(1, 8);
    net.settle(1000);
    assert_eq!((net.hosts[0].app.messages, net.hosts[1].app.messages), (1, 2), "{}", net.describe());
}

/// Two hosts that have connected, with all rails proven.
pub fn warm(links: &[Link]) -> Net {
    let mut net = Net::new(9, links, true);
    talk(&mut net);
    net.run_us(100_000);
    for host in 0..2 {
        for stats in net.hosts[host].proto.rail_stats(net.conn(host)) {
            assert_eq!(stats.state, RailState::Up, "{}", net.describe());
            assert_eq!(stats.packet_len, 1472);
        }
    }
    net
}

/// Keeps `host` sending 64 KiB messages for `us` microseconds.
pub fn stream(net: &mut Net, host: usize, us: u64) {
    let end = net.now + us * 1000;
    while net.now < end {
        while net.hosts[host].app.sent() < net.hosts[1 - host].app.messages + 8 {
            net.hosts[host].app.send(64 << 10);
        }
        net.pump(host);
        net.run_us(200);
    }
}

#[test]
fn every_rail_is_proven_and_used() {
    let mut net = warm(&vec![lan(); 4]);
    stream(&mut net, 0, 20_000);
    for number in 0..4 {
        assert!(net.links[&(0, number)].bytes > 200_000, "{}", net.describe());
    }
    net.settle(1000);
}

#[test]
pub fn a_dead_rail_is_left_and_used_again() {
    let mut net = warm(&vec![lan(); 3]);
    stream(&mut net, 0, 5_000);
    net.both(1, |link| link.dead = true);
    let before = net.hosts[1].app.bytes;
    stream(&mut net, 0, 50_000);
    assert_eq!(state(&net, 0, 1), RailState::Down, "{}", net.describe());
    let down = Event::RailDown(net.conn(0), 1, DownReason::Silent);
    assert!(net.hosts[0].events.contains(&down));
    // Two rails of 1 Gbit/s for 50 ms, less at most 10 ms until they are noticed.
    assert!(net.hosts[1].app.bytes - before > 2 * 125_000 * 40 * 9 / 10, "{}", net.describe());
    net.both(1, |link| link.dead = false);
    stream(&mut net, 0, 700_000);
    assert_eq!(state(&net, 0, 1), RailState::Up);
    assert!(net.hosts[0].events.contains(&Event::RailUp(net.conn(0), 1)));
    let carried = net.links[&(0, 1)].bytes;
    stream(&mut net, 0, 10_000);
    assert!(net.links[&(0, 1)].bytes > carried + 200_000);
    net.settle(1000);
}

#[test]
fn all_rails_dead_for_five_seconds() {
    for rails in [1, 3] {
        let mut net = warm(&vec![lan(); rails]);
        stream(&mut net, 0, 2_000);
        (0..rails).for_each(|at| net.both(at as u8, |link| link.dead = true));
        net.send(1, 5000);
        net.run_us(5_000_000);
        // It goes on trying, but seldom: a packet every 300 ms per rail and side, or a probe.
        let packets = net.hosts[0].packets;
        net.run_us(3_000_000);
        assert!(net.hosts[0].packets - packets <= 50 * rails as u64, "{}", net.hosts[0].packets - packets);
        (0..rails).for_each(|at| net.both(at as u8, |link| link.dead = false));
        net.settle(700);
    }
}

#[test]
fn rails_die_in_turn() {
    let mut net = warm(&vec![lan(); 4]);
    for round in 0..12u8 {
        net.both(round % 4, |link| link.dead = true);
        stream(&mut net, usize::from(round % 2), 15_000);
        net.both(round % 4, |link| link.dead = false);
        stream(&mut net, usize::from(round / 2 % 2), 3_000);
    }
    net.settle(2000);
}

/// Data arrives, but whatever comes back on the same rail is lost: acknowledgements take another rail.
#[test]
fn one_way_loss() {
    for dead in 0..2 {
        let mut net = warm(&vec![lan(); 2]);
        net.links.get_mut(&(dead, 0)).expect("a rail").dead = true;
        let before = net.hosts[1].app.bytes;
        stream(&mut net, 0, 50_000);
        // At least what the healthy rail carries alone.
        assert!(net.hosts[1].app.bytes - before > 125_000 * 40 * 9 / 10, "{}", net.describe());
        net.settle(1000);
    }
}

#[test]
pub fn one_way_dead_rail_still_carries_the_other_way() {
    let mut net = warm(&vec![lan(); 2]);
    net.links.get_mut(&(1, 0)).expect("a rail").dead = true;
    stream(&mut net, 0, 20_000);
    let before = net.hosts[1].app.bytes;
    stream(&mut net, 0, 50_000);
    // The rail must count as up all the time.
    let down = |event: &Event| matches!(event, Event::RailDown(..));
    assert!(!net.hosts[0].events.iter().any(down), "{}", net.describe());
    let share = (net.hosts[1].app.bytes - before) as f64 / (2.0 * 125_000.0 * 50.0);
    assert!(share > 0.8, "{share} {}", net.describe());
    net.settle(1000);
}

/// Replies count that arrive after the next probe has been sent. (A host that hears a probe sends one itself,
/// so if both programs look at their packets late, every reply could come one probe too late.)
#[test]
fn rails_of_programs_that_seldom_poll_are_proven() {
    for delay_us in [2_000, 9_000, 18_000, 40_000, 150_000] {
        let net = &mut Net::new(13, &vec![Link::new(1000, delay_us, 256); 2], true);
        talk(net);
        net.run_us(5_000_000);
        for host in 0..2 {
            for number in 0..2 {
                assert_eq!(state(net, host, number), RailState::Up, "{delay_us} us: {}", net.describe());
            }
        }
    }
}

/// A rail that passes less than its MTU is used with short packets, or not at all; nothing is lost.
#[test]
pub fn an_mtu_hole() {
    for holes in [1, 2] {
        let mut net = Net::new(11, &[lan(), lan()], true);
        (0..holes).for_each(|at| net.both(at, |link| link.hole = 1300));
        net.send(0, 8);
        net.run_us(50_000);
        stream(&mut net, 0, 50_000);
        net.settle(1000);
        let lost: u64 = net.hosts[0].proto.rail_stats(net.conn(0)).map(|stats| stats.lost_packets).sum();
        // Fewer than the eight long packets whose loss would show it without a probe.
        assert!(lost < 6, "{}", net.describe());
        for stats in net.hosts[0].proto.rail_stats(net.conn(0)) {
            let holed = stats.path.rail < holes;
            assert_eq!(stats.packet_len, if holed { 1232 } else { 1472 });
        }
    }
}

/// The routed fall-back carries nothing while a cable works, and everything when none does.
#[test]
fn the_last_resort() {
    let mut net = Net::new(12, &[lan(), lan()], true);
    for host in 0..2 {
        net.rails[host][1] = rail(31, host, 1500, 0);
        let link = net.links.remove(&(host, 1)).expect("a rail");
        net.links.insert((host, 31), link);
        let config = tasuki_proto::Config::default();
        net.restart(host, 300 + host as u64, &config);
    }
    net.connect(0);
    net.send(0, 8);
    net.settle(100);
    net.run_us(50_000);
    let idle = net.links[&(0, 31)].packets;
    stream(&mut net, 0, 20_000);
    assert!(net.links[&(0, 31)].packets - idle < 4, "{}", net.describe());
    net.both(0, |link| link.dead = true);
    stream(&mut net, 0, 100_000);
    assert!(net.links[&(0, 31)].bytes > 1_000_000, "{}", net.describe());
    net.both(0, |link| link.dead = false);
    stream(&mut net, 0, 700_000);
    let idle = net.links[&(0, 31)].packets;
    stream(&mut net, 0, 20_000);
    assert!(net.links[&(0, 31)].packets - idle < 4, "{}", net.describe());
    net.settle(1000);
}

/// An end of a rail is taken away and given back: the peer is told, so no time-out is needed.
#[test]
fn an_end_is_off() {
    let mut net = warm(&[lan(), lan()]);
    stream(&mut net, 0, 2_000);
    let mut rails = net.rails[0].clone();
    rails[1].lanes = tasuki_wire::Lanes::NONE;
    net.both(1, |link| link.dead = true);
    let (now, id) = (tasuki_proto::Time(net.now), net.conn(0));
    net.hosts[0].proto.set_rails(now, id, &rails);
    net.flush(0);
    assert_eq!(state(&net, 0, 1), RailState::Off);
    assert!(net.hosts[0].events.contains(&Event::RailDown(id, 1, DownReason::Local)));
    // Time for the queue of the other rail to drain, and for propagation.
    net.run_us(3_000);
    assert_eq!(state(&net, 1, 1), RailState::Off, "{}", net.describe());
    let down = Event::RailDown(net.conn(1), 1, DownReason::Remote);
    assert!(net.hosts[1].events.contains(&down));
    stream(&mut net, 0, 5_000);
    net.both(1, |link| link.dead = false);
    let (now, rails) = (tasuki_proto::Time(net.now), net.rails[0].clone());
    net.hosts[0].proto.set_rails(now, id, &rails);
    net.flush(0);
    stream(&mut net, 0, 30_000);
    assert_eq!((state(&net, 0, 1), state(&net, 1, 1)), (RailState::Up, RailState::Up));
    net.settle(1000);
}

/// Data that was cut for long packets is sent again on a rail that passes only short ones.
#[test]
fn recut_on_a_rail_of_another_mtu() {
    let mut net = Net::with_mtu(13, &[lan(), lan()], true, 9000, &tasuki_proto::Config::default());
    for host in 0..2 {
        net.rails[host][1].mtu = 1500;
        net.restart(host, 300 + host as u64, &tasuki_proto::Config::default());
    }
    net.connect(0);
    net.send(0, 8);
    net.settle(1000);
    net.run_us(100_000);
    for round in 0..20 {
        let (a, b) = (round % 2, 1 - round % 2);
        stream(&mut net, 0, 1_000);
        net.both(a, |link| link.dead = true);
        stream(&mut net, 0, 20_000);
        net.both(a, |link| link.dead = false);
        net.both(b, |link| link.loss = 50);
        stream(&mut net, 0, 100_000);
        net.both(b, |link| link.loss = 0);
    }
    net.settle(1000);
}

/// A rail appears after the hello has left and before its answer has come: the peer must learn of it.
#[test]
fn a_change_before_the_welcome_is_told() {
    let mut net = Net::new(21, &[lan(), lan()], true);
    let (id, rails) = (net.conn(0), net.rails[0].clone());
    let now = tasuki_proto::Time(net.now);
    net.hosts[0].proto.set_rails(now, id, &rails[..1]);
    net.send(0, 8);
    net.hosts[0].proto.set_rails(now, id, &rails);
    net.flush(0);
    net.settle(1000);
    talk(&mut net);
    net.run_us(100_000);
    assert_eq!((state(&net, 0, 1), state(&net, 1, 1)), (RailState::Up, RailState::Up), "{}", net.describe());
}
