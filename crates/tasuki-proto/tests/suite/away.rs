//! Processes that are stopped for a time, as jobs that take turns are, and whose time-outs are due meanwhile.

use tasuki_proto::RailStats;

use crate::net::Net;
use crate::rails::{lan, stream, warm};

fn stats(net: &Net) -> Vec<RailStats> {
    (0..2).flat_map(|host| net.hosts[host].proto.rail_stats(net.conn(host))).collect()
}

/// Two hosts that send to each other, with packets in flight both ways.
fn talking() -> Net {
    let mut net = warm(&[lan(), lan()]);
    stream(&mut net, 0, 5_000);
    for host in 0..2 {
        net.send(host, 20_000);
    }
    assert!(stats(&net).iter().map(|rail| rail.in_flight).sum::<u64>() > 0, "{}", net.describe());
    net
}

/// Both are stopped, and go on a little after each other: nothing is taken for lost, and nobody takes the
/// time for a round trip.
#[test]
fn nothing_is_sent_again_because_both_were_stopped() {
    for late_us in [0, 30, 1_000] {
        let mut net = talking();
        let before: u64 = stats(&net).iter().map(|rail| rail.resent_bytes).sum();
        for slice in 0..20 {
            let until = net.now + 100_000_000;
            net.busy_until = [until, until + late_us * 1000];
            if slice % 2 == 1 {
                net.busy_until.reverse();
            }
            net.run_us(100_000 + late_us);
            for host in 0..2 {
                net.send(host, 20_000);
            }
            net.run_us(50);
        }
        net.settle(1_000);
        for rail in stats(&net) {
            assert_eq!((rail.pto_count, rail.spurious_losses), (0, 0), "{late_us} us: {}", net.describe());
            assert!(rail.srtt_ns < 2_000_000, "{late_us} us: {}", net.describe());
        }
        let after: u64 = stats(&net).iter().map(|rail| rail.resent_bytes).sum();
        assert_eq!(after, before, "{late_us} us: {}", net.describe());
    }
}

/// What was lost indeed is sent again, also by one who never turns in time.
#[test]
fn losses_are_found_by_those_who_are_always_late() {
    let mut net = talking();
    for _ in 0..200 {
        net.eat = [net.rng.below(8), net.rng.below(8)];
        net.send(0, 3_000);
        net.send(1, 3_000);
        net.busy_until = [net.now + 40_000_000, net.now + 40_000_000];
        net.run_us(40_100);
    }
    let mut turns = 0;
    net.eat = [3, 3];
    while net.hosts[1].app.messages < net.hosts[0].app.sent() {
        net.busy_until = [net.now + 400_000_000, net.now + 400_000_000];
        net.run_us(400_100);
        turns += 1;
        assert!(turns < 100, "{}", net.describe());
    }
    net.settle(5_000);
}
