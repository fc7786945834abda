//! How connections end: no loss of the last packets leaves a connection hanging, and none stays longer than
//! necessary.

use tasuki_proto::{Config, Event};

use crate::net::{Link, Net};

/// Each side sends a last message and closes when it has received the other's; then the next `lost` packets
/// of each side are lost.
fn part(lost: [u64; 2], rails: usize) -> Net {
    let mut net = Net::new(31, &vec![Link::new(1000, 20, 256); rails], true);
    net.send(0, 100);
    net.send(1, 100);
    net.settle(100);
    net.run_us(30_000);
    net.eat = lost;
    net.send_control(0);
    net.send_control(1);
    let mut closed = [false; 2];
    let start = net.now;
    while net.now < start + 3_000_000_000 {
        for (host, closed) in closed.iter_mut().enumerate() {
            if !*closed && net.hosts[host].app.control_count == 1 {
                *closed = true;
                let id = net.conn(host);
                net.hosts[host].proto.close(id);
                net.flush(host);
            }
        }
        if !net.step() {
            break;
        }
    }
    for host in 0..2 {
        let closed = Event::Closed(net.conn(host));
        assert!(net.hosts[host].events.contains(&closed), "{lost:?} {}", net.describe());
        assert_eq!(net.hosts[host].app.unreleased(), 0, "{lost:?} {}", net.describe());
    }
    net
}

#[test]
fn without_loss_connections_close_soon() {
    let mut net = Net::new(32, &[Link::new(1000, 20, 256)], true);
    net.send(0, 100);
    net.settle(100);
    for host in 0..2 {
        let id = net.conn(host);
        net.hosts[host].proto.close(id);
        net.flush(host);
    }
    let start = net.now;
    let closed =
        |host: usize| move |net: &Net| net.hosts[host].events.contains(&Event::Closed(net.conn(host)));
    net.run_until(10, "closed", |net| closed(0)(net) && closed(1)(net));
    assert!(net.now - start < 2_000_000);
}

#[test]
pub fn any_of_the_last_packets_may_be_lost() {
    for first in 0..6 {
        for second in 0..6 {
            for rails in [1, 2] {
                let net = part([first, second], rails);
                // The peer's message and all of this side's were received.
                assert_eq!(net.hosts[0].app.control_count + net.hosts[1].app.control_count, 2);
            }
        }
    }
}

/// Acknowledgements that went alone are lost, which their sender cannot notice. It says goodbye and leaves;
/// its peer does not have to find out by itself that everything has arrived.
#[test]
fn acknowledgements_that_are_lost_before_the_goodbye_hold_up_nobody() {
    for rails in [1, 2, 3] {
        for lost in 1..4 {
            let mut net = Net::new(36, &vec![Link::new(1000, 20, 256); rails], true);
            for host in [0, 1] {
                net.send(host, 300_000);
            }
            net.settle(100);
            net.run_us(1_000_000);
            let before = net.hosts[1].app.messages;
            net.send(0, 3000);
            net.run_until(5, "delivered", |net| net.hosts[1].app.messages > before);
            net.eat = [0, lost];
            net.run_until(10_000, "lost", |net| net.eat[1] == 0);
            let took = leave(&mut net);
            assert!(took < 500_000_000, "{rails} rails, {lost} lost: {took} ns: {}", net.describe());
        }
    }
}

/// Host 1 says goodbye, and each side closes when it has the other's; returns how long it takes until both
/// have closed, ns.
fn leave(net: &mut Net) -> u64 {
    let (ids, start) = ([0, 1].map(|host| net.conn(host)), net.now);
    net.send_bye(1);
    net.run_until(1000, "goodbye", |net| net.hosts[0].app.byes == 1);
    net.send_bye(0);
    net.hosts[0].proto.close(ids[0]);
    net.flush(0);
    net.run_until(1000, "goodbye", |net| net.hosts[1].app.byes == 1);
    net.hosts[1].proto.close(ids[1]);
    net.flush(1);
    for host in [0, 1] {
        net.run_until(20_000, "closed", |net| net.hosts[host].events.contains(&Event::Closed(ids[host])));
    }
    net.now - start
}

#[test]
fn the_closing_state_is_bounded_in_time() {
    let mut net = Net::new(33, &[Link::new(1000, 20, 256)], true);
    net.send(0, 100);
    net.settle(100);
    net.both(0, |link| link.dead = true);
    net.send(0, 5000);
    let id = net.conn(0);
    net.hosts[0].proto.close(id);
    net.flush(0);
    let Config { closing_timeout, closing_rounds, .. } = Config::default();
    net.run_us((1 + u64::from(closing_rounds)) * closing_timeout.as_micros() as u64 + 10_000);
    assert!(net.hosts[0].events.contains(&Event::Closed(id)));
    assert_eq!(net.hosts[0].app.unreleased(), 0);
    assert_eq!(net.hosts[0].proto.find(11, 200), None);
}

/// What was sent last is sent again until it is acknowledged, though the network was dead for longer than a
/// peer needs for an answer, or this process was stopped for so long.
#[test]
fn the_last_message_survives_a_dead_network_and_a_stop() {
    for stopped in [false, true] {
        let mut net = Net::new(35, &[Link::new(1000, 20, 256)], true);
        net.send(0, 100);
        net.settle(100);
        net.both(0, |link| link.dead = true);
        net.send_control(0);
        let id = net.conn(0);
        net.hosts[0].proto.close(id);
        net.flush(0);
        if stopped {
            net.busy_until[0] = net.now + 3_000_000_000;
        }
        net.run_us(2_900_000);
        assert_eq!(net.hosts[1].app.control_count, 0);
        net.both(0, |link| link.dead = false);
        net.run_until(3000, "the last message", |net| net.hosts[1].app.control_count == 1);
    }
}

#[test]
fn abort_releases_everything_once() {
    let mut net = Net::new(34, &[Link::new(100, 500, 256), Link::new(100, 500, 256)], true);
    net.send(0, 1 << 20);
    net.run_us(5_000);
    let id = net.conn(0);
    let host = &mut net.hosts[0];
    assert!(host.app.unreleased() > 0);
    host.proto.abort(id, &mut host.app);
    assert_eq!(host.app.unreleased(), 0);
    net.check();
    net.run_us(100_000);
    net.check();
}
