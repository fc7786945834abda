//! Reports of lost and returned carriers: true, late, wrong, or changing all the time.

use tasuki_proto::{DownReason, Event, RailState, RailStats};

use crate::net::Net;
use crate::rails::{lan, state, stream, warm};

fn stats(net: &Net, host: usize, number: u8) -> RailStats {
    let mut stats = net.hosts[host].proto.rail_stats(net.conn(host));
    stats.find(|stats| stats.path.rail == number).expect("a rail")
}

fn time_outs(net: &Net) -> u64 {
    (0..2).flat_map(|host| net.hosts[host].proto.rail_stats(net.conn(host))).map(|rail| rail.pto_count).sum()
}

/// A cable is cut in the middle of a stream: what was in flight goes over the other rail, without a probe
/// time-out.
#[test]
fn a_lost_carrier_takes_no_time_out() {
    let mut net = warm(&[lan(), lan()]);
    stream(&mut net, 0, 2_000);
    assert!(stats(&net, 0, 1).in_flight > 0, "{}", net.describe());
    let (before, resent) = (time_outs(&net), stats(&net, 0, 0).resent_bytes);
    net.both(1, |link| link.dead = true);
    net.set_carrier(1, 1, false);
    net.set_carrier(0, 1, false);
    assert_eq!((state(&net, 0, 1), stats(&net, 0, 1).in_flight), (RailState::Down, 0));
    assert!(net.hosts[0].events.contains(&Event::RailDown(net.conn(0), 1, DownReason::Carrier)));
    stream(&mut net, 0, 50_000);
    net.settle(100);
    assert_eq!(time_outs(&net), before, "{}", net.describe());
    assert!(stats(&net, 0, 0).resent_bytes > resent, "{}", net.describe());
}

/// A rail that has been down for long is probed twice a second. When its carrier is reported back it is
/// probed at once, and it carries data only after the answer.
#[test]
fn a_rail_is_probed_at_once_when_its_carrier_is_back() {
    let mut net = warm(&[lan(), lan()]);
    net.both(1, |link| link.dead = true);
    (0..2).for_each(|host| net.set_carrier(host, 1, false));
    stream(&mut net, 0, 3_000_000);
    // The report comes while nothing passes yet, so the rail must stay down.
    (0..2).for_each(|host| net.set_carrier(host, 1, true));
    let data = net.links[&(0, 1)].bytes;
    stream(&mut net, 0, 5_000);
    assert_eq!((state(&net, 0, 1), net.links[&(0, 1)].bytes), (RailState::Down, data));
    net.both(1, |link| link.dead = false);
    (0..2).for_each(|host| net.set_carrier(host, 1, true));
    net.run_us(5_000);
    assert_eq!((state(&net, 0, 1), state(&net, 1, 1)), (RailState::Up, RailState::Up), "{}", net.describe());
    net.settle(1000);
}

/// The only rail is tried as long as it is silent, and probed as soon as its carrier is back.
#[test]
fn the_only_rail_goes_on_when_its_carrier_is_back() {
    let mut net = warm(&[lan()]);
    stream(&mut net, 0, 2_000);
    for round in 0..20 {
        net.both(0, |link| link.dead = true);
        net.set_carrier(round % 2, 0, false);
        net.send(0, 100_000);
        net.send(1, 100_000);
        net.run_us(300_000 * (round as u64 % 4));
        net.both(0, |link| link.dead = false);
        (0..2).for_each(|host| net.set_carrier(host, 0, true));
        net.settle(100);
    }
}

/// A report of a lost carrier is wrong for ever. As the only rail, it loses nothing by that; beside another
/// rail, it comes back into use by an answer to a probe.
#[test]
pub fn a_wrong_report_for_ever() {
    for rails in 1..4 {
        let mut net = warm(&vec![lan(); rails]);
        for number in 0..rails as u8 {
            (0..2).for_each(|host| net.set_carrier(host, number, false));
        }
        let before = net.hosts[1].app.bytes;
        stream(&mut net, 0, 100_000);
        let share = (net.hosts[1].app.bytes - before) as f64 / (rails as f64 * 125_000.0 * 100.0);
        assert!(share > 0.8, "{share} {}", net.describe());
        for number in 0..rails as u8 {
            assert!(stats(&net, 0, number).carrier && state(&net, 0, number) == RailState::Up);
        }
        net.settle(1000);
    }
}

/// The reports change again and again while the cable works.
#[test]
fn a_report_that_changes_all_the_time() {
    for rails in 1..3 {
        for pause in [1, 50, 3_000, 25_000] {
            let mut net = warm(&vec![lan(); rails]);
            for round in 0..200 {
                net.send(round % 2, 20_000);
                net.set_carrier(round % 2, (round / 2 % rails) as u8, round / 4 % 2 == 0);
                net.run_us(pause);
            }
            net.settle(1000);
        }
    }
}

/// The first hello goes to a rail with carrier; if that report is wrong, the later hellos go elsewhere.
#[test]
fn a_greeting_goes_where_there_is_a_carrier() {
    for dead in [0, 1] {
        let mut net = Net::new(14, &[lan(), lan()], true);
        net.both(dead, |link| link.dead = true);
        net.set_carrier(0, 0, false);
        net.send(0, 8);
        assert_eq!(net.links[&(0, 0)].packets, 0);
        assert_eq!(net.links[&(0, 1)].packets, u64::from(dead == 0));
        net.settle(1000);
    }
}
