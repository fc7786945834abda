//! The UDP lane in network namespaces made for the test: small MTU, slow queue, no route.

mod common;

use common::{bind, private_network, push, receive_all, run};
use tasuki_link::{RefusalKind, UdpLink, UdpOptions};

#[test]
fn batches_of_packets_beyond_the_mtu_are_dropped_one_by_one_and_the_mtu_is_told() {
    if !private_network(1500) {
        return;
    }
    let (mut a, mut b) = (bind("127.0.0.1"), bind("127.0.0.1"));
    // 1472 bytes with a UDP header of 8 and an IP header of 20 are 1500, and pass; one byte more does not.
    for size in [1472, 1472, 1473, 1473, 1473, 200] {
        push(&mut a, b.local(), &vec![0; size]);
    }
    a.flush().expect_err("three packets exceed the MTU");
    assert_eq!((a.stats().sent_packets, a.stats().send_too_big, a.queued()), (3, 3, 0));
    let sizes: Vec<usize> = receive_all(&mut b, 3).iter().map(|(_, packet)| packet.len()).collect();
    assert_eq!(sizes, [1472, 1472, 200]);
    let refusal = a.poll_refusal().expect("a refusal");
    assert_eq!((refusal.to, refusal.kind), (b.local(), RefusalKind::TooBig { mtu: 1500 }));
    assert!(a.stats().segment_refused <= 1);
}

#[test]
fn a_full_send_buffer_keeps_the_rest_queued_in_order() {
    if !private_network(1500) {
        return;
    }
    // The bucket holds a few packets, and then lets almost nothing through: packets stay in the queue,
    // charged to their socket.
    run(
        "tc",
        &["qdisc", "add", "dev", "lo", "root", "tbf", "rate", "8bit", "burst", "3000", "limit", "10000000"],
    );
    let options = UdpOptions { send_buffer: 1, ..UdpOptions::new([127, 0, 0, 1].into()) };
    let (mut a, mut b) = (UdpLink::bind(&options).unwrap(), bind("127.0.0.1"));
    for index in 0..40_u8 {
        // The sizes grow, so that each packet is a send of its own.
        push(&mut a, b.local(), &vec![index; 1000 + usize::from(index)]);
    }
    let handed = a.flush().expect("waiting is no error");
    assert!(handed < 40, "the send buffer holds a few packets");
    assert_eq!(a.queued(), 40 - handed);
    assert_eq!(a.stats().send_again, 1);
    assert_eq!(a.flush().expect("still waiting"), 0);
    run("tc", &["qdisc", "del", "dev", "lo", "root"]);
    // Deleting the qdisc throws away what it held; what was queued here must all go, in order, nothing twice.
    let rest = a.flush().expect("nothing holds packets up any more");
    assert_eq!((handed + rest, a.queued()), (40, 0));
    let got: Vec<u8> = receive_all(&mut b, 40 - handed).iter().map(|(_, packet)| packet[0]).collect();
    let tail: Vec<u8> = (handed as u8..40).collect();
    assert!(got.ends_with(&tail), "{got:?} does not end with {tail:?}");
}

#[test]
fn no_route_is_a_refusal_of_our_own() {
    if !private_network(1500) {
        return;
    }
    let mut a = bind("127.0.0.1");
    let to = "192.0.2.1:9".parse().unwrap();
    push(&mut a, to, b"nowhere");
    a.flush().expect_err("there is no route");
    let refusal = a.poll_refusal().expect("a refusal");
    assert_eq!((refusal.to, refusal.own, a.queued()), (to, true, 0));
    assert_eq!(a.stats().sent_packets, 0);
}
