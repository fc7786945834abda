//! Rails with a raw lane and a UDP lane.

use tasuki_proto::{Config, RailState};
use tasuki_wire::{Lane, Lanes, Packet};

use crate::net::{Link, Net};

fn at_rate(mbps: u64, rails: usize, config: &Config) -> Net {
    let links = vec![Link::new(mbps, 20, 256); rails];
    let lanes = Lanes::NONE.with(Lane::Raw).with(Lane::Udp);
    Net::with_lanes(5, &links, true, 1500, config, lanes)
}

fn net(rails: usize, mute: &[(usize, Lane)]) -> Net {
    let mut net = at_rate(1000, rails, &Config::default());
    net.mute = mute.to_vec();
    net
}

/// Two hosts that have connected, with all rails proven that can be.
fn warm(rails: usize, mute: &[(usize, Lane)]) -> Net {
    let mut net = net(rails, mute);
    crate::rails::talk(&mut net);
    net.run_us(100_000);
    net
}

fn state(net: &Net, host: usize, lane: Lane) -> RailState {
    let mut stats = net.hosts[host].proto.rail_stats(net.conn(host));
    stats.find(|stats| stats.path.lane == lane).map(|stats| stats.state).expect("a path")
}

/// The packets that the raw and the UDP lane carry from host 0 during `count` exchanges of messages of `len`
/// bytes.
fn exchange(net: &mut Net, count: u32, len: u64) -> [u64; 2] {
    let carried =
        |net: &Net| [Lane::Raw, Lane::Udp].map(|lane| net.carried.get(&(0, lane)).copied().unwrap_or(0));
    let before = carried(net);
    for _ in 0..count {
        net.send(0, len);
        net.settle(2000);
        net.send(1, len);
        net.settle(2000);
    }
    let after = carried(net);
    [after[0] - before[0], after[1] - before[1]]
}

#[test]
fn short_messages_go_raw_and_streams_over_udp() {
    let mut net = warm(1, &[]);
    for host in 0..2 {
        assert_eq!(state(&net, host, Lane::Raw), RailState::Up, "{}", net.describe());
    }
    let [raw, udp] = exchange(&mut net, 100, 8);
    assert!(raw >= 100 && udp == 0, "{raw} {udp} {}", net.describe());
    // 1 MiB takes about 700 packets; on the raw lane go only acknowledgements and control frames.
    let [raw, udp] = exchange(&mut net, 1, 1 << 20);
    assert!(udp > 600, "{raw} {udp} {}", net.describe());
    let [raw, udp] = exchange(&mut net, 100, 8);
    assert!(raw >= 100 && udp == 0, "back after the stream: {raw} {udp} {}", net.describe());
}

/// On a slow rail streams go over the raw lane too, whose frames are shorter by the headers of IP and UDP,
/// unless the raw lane is reserved for short messages.
#[test]
fn streams_go_raw_on_a_slow_rail() {
    for (mbps, config, raw_streams) in [
        (100, Config::default(), true),
        (1000, Config::default(), false),
        (100, Config::default().raw_for_short_only(), false),
    ] {
        let mut net = at_rate(mbps, 1, &config);
        crate::rails::talk(&mut net);
        net.run_us(100_000);
        let [raw, udp] = exchange(&mut net, 1, 1 << 20);
        let (much, little) = if raw_streams { (raw, udp) } else { (udp, raw) };
        assert!(much > 600 && little < 100, "{mbps} Mbit/s: {raw} {udp} {}", net.describe());
    }
}

#[test]
fn a_hello_never_takes_the_raw_lane() {
    let mut net = net(2, &[]);
    net.tap = Some(Vec::new());
    net.run_us(1);
    net.send(0, 8);
    net.settle(1000);
    let mut hellos = 0;
    for (_, _, bytes) in net.tap.take().expect("a tap") {
        let packet = Packet::parse(&bytes).expect("well-formed");
        if packet.header().peer == 0 {
            hellos += 1;
            assert_eq!(packet.header().path.lane, Lane::Udp);
        }
    }
    assert!(hellos > 0);
}

/// The raw lane works in no direction, or only in one, or neither lane works for a while.
#[test]
fn a_lane_that_is_dead_from_the_start_is_not_used_for_data() {
    for mute in [&[(0, Lane::Raw), (1, Lane::Raw)][..], &[(0, Lane::Raw)], &[(1, Lane::Raw)]] {
        let mut net = warm(1, mute);
        for host in 0..2 {
            assert_eq!(state(&net, host, Lane::Raw), RailState::Unproven, "{mute:?} {}", net.describe());
        }
        let start = net.now;
        exchange(&mut net, 100, 8);
        assert!(net.now - start < 100_000_000, "no time-out was waited for: {mute:?} {}", net.describe());
    }
}

#[test]
fn a_dead_lane_is_left_and_used_again() {
    for (dead, other) in [(Lane::Raw, Lane::Udp), (Lane::Udp, Lane::Raw)] {
        let mut net = warm(1, &[]);
        // Short messages use the raw lane, long ones the UDP lane.
        let len = if dead == Lane::Raw { 8 } else { 100_000 };
        exchange(&mut net, 20, len);
        net.mute = vec![(0, dead), (1, dead)];
        let start = net.now;
        exchange(&mut net, 100, len);
        assert_eq!(state(&net, 0, dead), RailState::Down, "{}", net.describe());
        assert_eq!(state(&net, 0, other), RailState::Up, "{}", net.describe());
        assert!(net.now - start < 1_000_000_000, "{} us", (net.now - start) / 1000);
        net.mute.clear();
        net.run_us(1_000_000);
        assert_eq!(state(&net, 0, dead), RailState::Up, "{}", net.describe());
        exchange(&mut net, 20, len);
    }
}

#[test]
fn both_lanes_and_one_of_two_rails_may_die() {
    let mut net = warm(2, &[]);
    for (rail, mute) in [(0, None), (1, Some(Lane::Raw)), (0, Some(Lane::Udp))] {
        net.both(rail, |link| link.dead = true);
        net.mute = mute.into_iter().flat_map(|lane| [(0, lane), (1, lane)]).collect();
        exchange(&mut net, 20, 3_000);
        exchange(&mut net, 3, 200_000);
        net.both(rail, |link| link.dead = false);
        net.mute.clear();
        net.run_us(1_000_000);
        exchange(&mut net, 20, 3_000);
    }
    assert_eq!(state(&net, 0, Lane::Raw), RailState::Up, "{}", net.describe());
}
