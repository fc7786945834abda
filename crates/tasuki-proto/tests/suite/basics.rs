//! Delivery on one rail and several, without faults and with each kind of them.

use tasuki_proto::Event;

use crate::net::{Link, Net};
use crate::rails::warm;

fn lan() -> Link {
    Link::new(1000, 20, 256)
}

#[test]
fn one_message_each_way() {
    let mut net = Net::new(1, &[lan()], true);
    net.send(0, 8);
    net.settle(100);
    net.send(1, 8);
    net.settle(100);
    assert!(matches!(net.hosts[0].events[0], Event::Connected(_)));
    assert!(matches!(net.hosts[1].events[0], Event::Connected(_)));
}

#[test]
fn many_sizes_on_four_rails() {
    let mut net = Net::new(2, &[lan(), lan(), lan(), lan()], true);
    for len in [0, 1, 999, 1000, 1134, 1135, 1500, 8192, 65536, 1 << 20] {
        net.send(0, len);
        net.send(1, len);
        net.send_control(0);
    }
    net.settle(1000);
}

#[test]
fn each_fault() {
    for (name, fault) in [
        ("loss", (|link: &mut Link| link.loss = 50) as fn(&mut Link)),
        ("dup", |link| link.dup = 200),
        ("reorder", |link| link.reorder = 200),
        ("corrupt", |link| link.corrupt = 50),
        ("heavy loss", |link| link.loss = 400),
    ] {
        for rails in [1, 3] {
            let mut net = Net::new(3, &vec![lan(); rails], true);
            (0..rails).for_each(|at| net.both(at as u8, fault));
            for round in 0..60 {
                net.send(0, 1 + 997 * round);
                net.send(1, 1 + 31 * round);
                net.send_control(1);
                net.run_us(100);
            }
            eprintln!("{name} on {rails}");
            net.settle(60_000);
        }
    }
}

/// A packet's acknowledgement waits for a packet to ride on (RFC 9000, 13.2.1), unless the receiver says that
/// none will come.
#[test]
fn an_acknowledgement_that_waits_goes_when_it_is_asked_for() {
    for asked in [false, true] {
        let mut net = warm(&[lan()]);
        let in_flight = |net: &Net| -> u64 {
            net.hosts[0].proto.rail_stats(net.conn(0)).map(|rail| rail.in_flight).sum()
        };
        assert_eq!(in_flight(&net), 0);
        net.send(0, 500);
        net.run_us(50);
        let conn = net.conn(1);
        if asked {
            assert!(net.hosts[1].proto.acknowledge(conn), "the packet has arrived");
            net.flush(1);
        }
        net.run_us(50);
        assert_eq!(in_flight(&net) == 0, asked, "{}", net.describe());
        assert_eq!(net.hosts[1].proto.acknowledge(conn), !asked, "once is enough");
        net.settle(100);
    }
}
