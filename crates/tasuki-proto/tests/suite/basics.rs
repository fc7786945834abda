//! Delivery on one rail and several, without faults and with each kind of them.

use tasuki_proto::Event;

use crate::net::{Link, Net};

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
