//! What striping must reach in virtual time: payload, as a share of what the cables can carry.

use tasuki_proto::Config;

use crate::net::{Link, Net};
use crate::rails::{stream, talk};

/// Share of payload in a full packet's size on the cable.
fn efficiency(mtu: u64) -> f64 {
    (mtu - 28 - 32 - 15) as f64 / (mtu + 38) as f64
}

/// Like [`share_busy`], with hosts that have nothing else to do.
fn share(links: &[Link], known: bool, mtu: u16, len: u64, window: u64, seed: u64) -> f64 {
    share_busy(links, known, mtu, (len, window), seed, 0)
}

/// Payload rate of a stream of messages with `window` outstanding, as a share of what the rails can carry.
fn share_busy(links: &[Link], known: bool, mtu: u16, stream: (u64, u64), seed: u64, pause_us: u64) -> f64 {
    let (len, window) = stream;
    let mut net = Net::with_mtu(seed, links, known, mtu, &Config::default());
    net.hosts.iter_mut().for_each(|host| host.app.careless = true);
    let sum: u64 = links.iter().map(|link| link.rate).sum();
    let mut next = [0; 2];
    let mut run = |net: &mut Net, until: u64| {
        while net.now < until {
            while net.hosts[0].app.sent() < net.hosts[1].app.messages + window {
                net.hosts[0].app.send(len);
            }
            if net.busy_until[0] <= net.now {
                net.pump(0);
            }
            for (host, next) in next.iter_mut().enumerate() {
                // Each host is busy for up to `pause_us` in about every second interval of 10 ms.
                if pause_us > 0 && net.now >= *next {
                    net.busy_until[host] = net.now + net.rng.below(pause_us * 1000);
                    *next = net.busy_until[host] + net.rng.below(20_000_000);
                }
            }
            assert!(net.step());
        }
    };
    let warm = net.now + 300_000_000;
    run(&mut net, warm);
    let (before, since) = (net.hosts[1].app.bytes, net.now);
    run(&mut net, since + 1_000_000_000);
    let bytes = net.hosts[1].app.bytes - before;
    let rate = bytes as f64 * 8e9 / (net.now - since) as f64;
    let share = rate / (sum as f64 * efficiency(u64::from(mtu)));
    eprintln!(
        "{len} x {window} mtu {mtu} known {known}: {share:.3}\n{}",
        net.hosts[0].proto.describe(net.conn(0))
    );
    share
}

/// On hosts whose processors are shared, answers come late; that must not be taken for a slow network.
#[test]
fn busy_hosts() {
    for known in [true, false] {
        // Both hosts are available at the same time for about half of the time, and what is in flight bridges
        // little of a pause.
        let least = if known { 0.45 } else { 0.35 };
        let got = share_busy(&[Link::new(1000, 20, 512)], known, 1500, (256 << 10, 16), 3, 10_000);
        assert!(got > least, "{known} {got}");
        let got = share_busy(&vec![Link::new(1000, 20, 512); 2], known, 1500, (256 << 10, 16), 3, 10_000);
        assert!(got > least, "{known} {got}");
    }
}

/// The answer to a rail's only probe comes late, because a host was busy, so the rail looks slower than the
/// queue of any other one: it is used nevertheless, soon after.
#[test]
pub fn a_rail_that_was_proven_in_a_busy_moment_is_used() {
    for late_us in [3_000, 30_000] {
        let mut net = Net::new(3, &vec![Link::new(400, 50, 512); 2], false);
        net.both(1, |link| link.delay_ns = late_us * 1000);
        talk(&mut net);
        net.settle(1000);
        net.run_us(200_000);
        net.both(1, |link| link.delay_ns = 50_000);
        stream(&mut net, 0, 200_000);
        let before = [0, 1].map(|rail| net.links[&(0, rail)].bytes);
        stream(&mut net, 0, 200_000);
        let [first, second] = [0, 1].map(|rail| net.links[&(0, rail)].bytes - before[rail as usize]);
        assert!(10 * second > 9 * first, "{late_us} us: {first} and {second} bytes\n{}", net.describe());
        net.settle(1000);
    }
}

/// A rail whose first packets are late, so many of them: the shares of both rails after `us`.
fn used_after(slow: u64, us: u64) -> [u64; 2] {
    let mut net = Net::new(3, &vec![Link::new(400, 50, 512); 2], false);
    net.both(1, |link| link.delay_ns = 30_000_000);
    talk(&mut net);
    net.settle(1000);
    net.run_us(200_000);
    let carried = net.links[&(0, 1)].packets;
    let end = net.now + 2_000_000_000;
    while net.links[&(0, 1)].packets < carried + slow && net.now < end {
        stream(&mut net, 0, 400);
    }
    net.run_us(60_000);
    net.both(1, |link| link.delay_ns = 50_000);
    stream(&mut net, 0, us);
    let before = [0, 1].map(|rail| net.links[&(0, rail)].bytes);
    stream(&mut net, 0, 200_000);
    [0, 1].map(|rail| net.links[&(0, rail)].bytes - before[rail as usize])
}

/// A few answers that all waited for a busy host do not make a rail slow; many do, but not for ever.
#[test]
fn a_rail_that_was_slow_at_first_is_used() {
    for (slow, us) in [(4, 100_000), (400, 1_500_000)] {
        let [first, second] = used_after(slow, us);
        assert!(10 * second > 8 * first, "{slow} packets: {first} and {second} bytes");
    }
}

#[test]
fn four_equal_rails() {
    for known in [true, false] {
        for (delay, queue) in [(50, 64), (500, 64), (200, 512)] {
            let links = vec![Link::new(100, delay, queue); 4];
            assert!(share(&links, known, 1500, 64 << 10, 8, 1) >= 0.95, "{known} {delay} {queue}");
            assert!(share(&links, known, 1500, 8 << 10, 64, 1) >= 0.85, "{known} {delay} {queue}");
        }
    }
}

#[test]
fn four_unequal_rails() {
    for known in [true, false] {
        for (delay, queue) in [(50, 64), (500, 64), (200, 512)] {
            let links: Vec<Link> = [100, 100, 50, 25].map(|rate| Link::new(rate, delay, queue)).into();
            assert!(share(&links, known, 1500, 64 << 10, 16, 1) >= 0.95, "{known} {delay} {queue}");
        }
    }
}

#[test]
fn one_percent_of_loss_does_not_matter() {
    for known in [true, false] {
        let mut link = Link::new(1000, 50, 256);
        link.loss = 10;
        assert!(share(&[link.clone()], known, 1500, 1 << 20, 4, 5) >= 0.90, "{known}");
        assert!(share(&vec![link; 3], known, 1500, 1 << 20, 4, 5) >= 0.90, "{known}");
    }
}

#[test]
fn one_message_of_64_kib_is_three_times_faster_on_four_rails() {
    let time = |rails: usize| {
        let mut net = Net::new(7, &vec![Link::new(100, 50, 64); rails], true);
        net.send(0, 8);
        net.settle(1000);
        let mut total = 0;
        for _ in 0..20 {
            net.run_us(5000);
            let (start, count) = (net.now, net.hosts[1].app.messages);
            net.send(0, 64 << 10);
            net.run_until(100, "one message", |net| net.hosts[1].app.messages > count);
            total += net.now - start;
        }
        total
    };
    let (one, four) = (time(1), time(4));
    eprintln!("64 KiB: {} us on one rail, {} us on four", one / 20_000, four / 20_000);
    assert!(one > 3 * four, "{one} {four}");
}
