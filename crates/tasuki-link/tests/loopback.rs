//! The UDP lane over loopback.

mod common;

use common::{bind, push, receive_all, seeded};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use tasuki_link::{QUOTE_MAX, RefusalKind, UdpLink, UdpOptions};
use tasuki_testkit::ports::own_port;

#[test]
fn every_packet_arrives_as_it_was_and_with_its_sender() {
    let mut random = seeded();
    for family in ["127.0.0.1", "::1"] {
        let mut senders = [bind(family), bind(family)];
        let mut receivers = [bind(family), bind(family), bind(family)];
        for _round in 0..50 {
            let mut expected: BTreeMap<(SocketAddr, SocketAddr), Vec<Vec<u8>>> = BTreeMap::new();
            for sender in &mut senders {
                for _burst in 0..random.below(6) {
                    let to = receivers[random.below(3) as usize].local();
                    let len = 1 + random.below(1472) as usize;
                    for _ in 0..random.below(20) {
                        let packet: Vec<u8> = (0..len).map(|_| random.next_u64() as u8).collect();
                        push(sender, to, &packet);
                        expected.entry((sender.local(), to)).or_default().push(packet);
                    }
                }
                let queued = sender.queued();
                assert_eq!(sender.flush().unwrap(), queued);
                assert_eq!(sender.queued(), 0);
            }
            let mut got: BTreeMap<(SocketAddr, SocketAddr), Vec<Vec<u8>>> = BTreeMap::new();
            for receiver in &mut receivers {
                let own = expected.iter().filter(|((_, to), _)| *to == receiver.local());
                let least = own.map(|(_, packets)| packets.len()).sum();
                for (from, packet) in receive_all(receiver, least) {
                    got.entry((from, receiver.local())).or_default().push(packet);
                }
            }
            assert_eq!(got, expected);
        }
    }
}

#[test]
fn one_send_and_one_receive_for_a_batch_and_its_boundaries_are_kept() {
    let (mut a, mut b) = (bind("127.0.0.1"), bind("127.0.0.1"));
    let sizes = [1000, 1000, 1000, 1000, 7];
    for (index, &size) in sizes.iter().enumerate() {
        push(&mut a, b.local(), &vec![index as u8; size]);
    }
    assert_eq!(a.flush().unwrap(), 5);
    let got: Vec<(usize, u8)> = receive_all(&mut b, 5).iter().map(|(_, p)| (p.len(), p[0])).collect();
    assert_eq!(got, [(1000, 0), (1000, 1), (1000, 2), (1000, 3), (7, 4)]);
    assert_eq!((a.stats().sent_packets, a.stats().sent_bytes), (5, 4007));
    assert_eq!((b.stats().received_packets, b.stats().received_bytes), (5, 4007));
    if a.segments() {
        assert_eq!((a.stats().sent_batches, a.stats().send_calls, b.stats().coalesced), (1, 1, 1));
    }
}

#[test]
fn different_packets_share_a_system_call() {
    let (mut a, mut b, mut c) = (bind("127.0.0.1"), bind("127.0.0.1"), bind("127.0.0.1"));
    for size in 1..=20_usize {
        let to = if size % 2 == 0 { b.local() } else { c.local() };
        push(&mut a, to, &vec![size as u8; size]);
    }
    assert_eq!(a.flush().unwrap(), 20);
    assert_eq!(a.stats().send_calls, 1);
    assert_eq!((receive_all(&mut b, 10).len(), receive_all(&mut c, 10).len()), (10, 10));
}

#[test]
fn nothing_or_one_packet_costs_one_system_call() {
    let (mut a, mut b) = (bind("127.0.0.1"), bind("127.0.0.1"));
    assert_eq!(b.receive(64, |_, _| panic!("nothing was sent")).unwrap(), 0);
    assert_eq!(b.stats().receive_calls, 1);
    push(&mut a, b.local(), b"one");
    a.flush().unwrap();
    assert_eq!(b.receive(64, |_, bytes| assert_eq!(bytes, b"one")).unwrap(), 1);
    assert_eq!((a.stats().send_calls, b.stats().receive_calls), (1, 2));
    assert_eq!(b.poll_refusal(), None);
}

/// Where nobody listens, whatever else binds ports on this machine.
fn nobody(address: &str) -> SocketAddr {
    (address.parse::<IpAddr>().expect("an address"), own_port()).into()
}

#[test]
fn a_closed_port_is_a_refusal_and_others_still_get_theirs() {
    for family in ["127.0.0.1", "::1"] {
        let (mut a, mut b) = (bind(family), bind(family));
        let gone = nobody(family);
        push(&mut a, gone, b"anybody there?");
        assert_eq!(a.flush().unwrap(), 1);
        // The kernel reports the refusal at the next call, which is for another address: that packet must
        // arrive nevertheless.
        push(&mut a, b.local(), b"hello");
        assert_eq!(a.flush().unwrap(), 1);
        let refusal = a.poll_refusal().expect("a refusal");
        assert_eq!((refusal.to, refusal.kind, refusal.own), (gone, RefusalKind::PortUnreachable, false));
        assert_eq!((refusal.by, refusal.quoted()), (Some(gone.ip()), &b"anybody there?"[..]));
        assert_eq!(a.poll_refusal(), None);
        assert_eq!(receive_all(&mut b, 1).len(), 1);
    }
}

#[test]
fn of_a_long_packet_the_beginning_is_quoted() {
    let mut a = bind("127.0.0.1");
    let gone = nobody("127.0.0.1");
    let packet: Vec<u8> = (0..200).collect();
    push(&mut a, gone, &packet);
    a.flush().unwrap();
    assert_eq!(a.receive(1, |_, _| ()).unwrap(), 0);
    let refusal = a.poll_refusal().expect("a refusal");
    assert_eq!(refusal.quoted(), &packet[..QUOTE_MAX]);
}

#[test]
fn receiving_notices_refusals_too() {
    let mut a = bind("127.0.0.1");
    let gone = nobody("127.0.0.1");
    push(&mut a, gone, b"anybody there?");
    a.flush().unwrap();
    assert_eq!(a.receive(1, |_, _| ()).unwrap(), 0);
    assert_eq!(a.poll_refusal().map(|refusal| refusal.to), Some(gone));
}

#[test]
fn what_is_larger_than_any_packet_is_too_big_and_the_rest_goes_on() {
    let (mut a, mut b) = (bind("127.0.0.1"), bind("127.0.0.1"));
    push(&mut a, b.local(), &[1; 9]);
    push(&mut a, b.local(), &[2; 65_510]);
    push(&mut a, b.local(), &[3; 9]);
    let error = a.flush().expect_err("65510 bytes and headers exceed 65535");
    assert!(error.to_string().contains(&b.local().to_string()), "{error}");
    assert_eq!((a.queued(), a.stats().sent_packets, a.stats().send_too_big), (0, 2, 1));
    let refusal = a.poll_refusal().expect("a refusal");
    assert_eq!((refusal.to, refusal.own), (b.local(), true));
    let mtu = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap().trim().parse().unwrap();
    assert_eq!(refusal.kind, RefusalKind::TooBig { mtu });
    let got: Vec<u8> = receive_all(&mut b, 2).iter().map(|(_, packet)| packet[0]).collect();
    assert_eq!(got, [1, 3]);
}

#[test]
fn a_taken_port_and_a_missing_nic_are_told_apart() {
    let a = bind("127.0.0.1");
    let address: IpAddr = [127, 0, 0, 1].into();
    let taken = UdpOptions { port: a.local().port(), ..UdpOptions::new(address) };
    let error = UdpLink::bind(&taken).err().expect("the port is taken");
    assert!(error.is_in_use(), "{error}");
    let missing = UdpOptions { device: Some("no-such-nic0".to_owned()), ..UdpOptions::new(address) };
    let error = UdpLink::bind(&missing).err().expect("there is no such NIC");
    assert!(!error.is_in_use() && error.to_string().contains("no-such-nic0"), "{error}");
}

#[test]
fn a_lane_bound_to_a_device_carries() {
    let address: IpAddr = [127, 0, 0, 1].into();
    let options = UdpOptions { device: Some("lo".to_owned()), ..UdpOptions::new(address) };
    let mut a = UdpLink::bind(&options).unwrap();
    let mut b = UdpLink::bind(&options).unwrap();
    println!("bound to lo: {}", a.device_bound());
    push(&mut a, b.local(), b"x");
    a.flush().unwrap();
    assert_eq!(receive_all(&mut b, 1), [(a.local(), b"x".to_vec())]);
}

#[test]
fn drops_of_a_full_receive_buffer_are_counted() {
    let mut a = bind("127.0.0.1");
    let options = UdpOptions { receive_buffer: 1, ..UdpOptions::new([127, 0, 0, 1].into()) };
    let mut b = UdpLink::bind(&options).unwrap();
    // The sizes differ, so that the packets are not joined and each is charged to the buffer.
    for size in 1..=500 {
        push(&mut a, b.local(), &vec![0; size]);
    }
    assert_eq!(a.flush().unwrap(), 500);
    let first = receive_all(&mut b, 1).len() as u64;
    // The count comes with the next packet that arrives.
    push(&mut a, b.local(), b"next");
    a.flush().unwrap();
    let got = first + receive_all(&mut b, 1).len() as u64 - 1;
    assert!(got < 500);
    assert_eq!(b.stats().kernel_drops, 500 - got);
}
