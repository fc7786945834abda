//! The raw lane on a cable between two NICs of a network namespace made for the test.

mod common;

use common::{private_network, run, seeded};
use std::{
    thread,
    time::{Duration, Instant},
};
use tasuki_link::{LinkError, Mac, RawLink, RawOptions};
use tasuki_random::Random;
use tasuki_sys::packet::{PacketSocket, RingSize};

/// Tasuki's ethertype (`docs/reference/wire.md`, "Carriage").
const ETHERTYPE: u16 = 0x88b5;
/// Bytes of a packet that hold the id of the endpoint that it is for, little-endian
/// (`docs/reference/wire.md`, "Packet").
const ENDPOINT: std::ops::Range<usize> = 12..16;
const MACS: [Mac; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
const MIB: u64 = 1 << 20;

/// Makes two NICs, `e0` and `e1`, with a cable between them. False, and a line that says why, if that is not
/// allowed.
fn cable(mtu: u32) -> bool {
    if !private_network(1500) {
        return false;
    }
    let mtu = mtu.to_string();
    let ends = ["e0", "mtu", &mtu, "address", "02:00:00:00:00:01", "type", "veth", "peer", "name", "e1"];
    let peer = ["mtu", &mtu, "address", "02:00:00:00:00:02"];
    run("ip", &[&["link", "add"], &ends[..], &peer[..]].concat());
    for nic in ["e0", "e1"] {
        // Frames of neighbour discovery would disturb what is counted.
        run("sysctl", &["-qw", &format!("net.ipv6.conf.{nic}.disable_ipv6=1")]);
        run("ip", &["link", "set", nic, "up"]);
    }
    true
}

fn try_open(nic: &str, endpoint: u32, ring_bytes: u64) -> Result<RawLink, LinkError> {
    RawLink::open(&RawOptions { nic: nic.to_owned(), endpoint, ring_bytes })
}

fn open(nic: &str, endpoint: u32) -> RawLink {
    try_open(nic, endpoint, MIB).expect("a lane")
}

/// A packet for an endpoint, as far as the lane reads it.
fn packet(endpoint: u32, len: usize, salt: u64) -> Vec<u8> {
    let mut random = Random::new(salt);
    let mut bytes: Vec<u8> = (0..len).map(|_| random.next_u64() as u8).collect();
    bytes[ENDPOINT].copy_from_slice(&endpoint.to_le_bytes());
    bytes
}

fn push(link: &mut RawLink, to: Mac, packet: &[u8]) {
    let taken = link.queue(to, packet.len(), |into| {
        into.copy_from_slice(packet);
        packet.len()
    });
    assert!(taken, "queue full");
}

/// Takes packets until at least so many have come and no further one is there. A busy kernel delivers later
/// than it sends (ksoftirqd). The time limit keeps a defect from hanging the test.
fn receive(link: &mut RawLink, least: usize) -> Vec<Vec<u8>> {
    let (mut all, end) = (Vec::new(), Instant::now() + Duration::from_secs(30));
    while link.receive(7, |bytes| all.push(bytes.to_vec())) > 0 || (all.len() < least && Instant::now() < end)
    {
        thread::yield_now();
    }
    all
}

#[test]
fn packets_of_all_sizes_arrive_whole_and_in_order() {
    let mut random = seeded();
    for mtu in [1500, 9000] {
        if !cable(mtu) {
            return;
        }
        let (mut a, mut b) = (open("e0", 7), open("e1", 8));
        assert_eq!([a.mac(), b.mac()], MACS);
        let mut lengths = vec![16, 17, 45, 46, 47, 59, 60, 61, 1279, 1280, mtu as usize - 1, mtu as usize];
        lengths.extend((0..50).map(|_| 16 + random.below(u64::from(mtu) - 15) as usize));
        let to_b: Vec<_> = lengths.iter().map(|len| packet(8, *len, random.next_u64())).collect();
        let to_a: Vec<_> = lengths.iter().map(|len| packet(7, *len, random.next_u64())).collect();
        // The packets go one by one, and then as one batch.
        for batch in [1, 64] {
            for (b_gets, a_gets) in to_b.chunks(batch).zip(to_a.chunks(batch)) {
                b_gets.iter().for_each(|packet| push(&mut a, MACS[1], packet));
                a_gets.iter().for_each(|packet| push(&mut b, MACS[0], packet));
                assert_eq!((a.flush(), b.flush()), (b_gets.len(), a_gets.len()));
                assert!(receive(&mut b, b_gets.len()) == b_gets, "MTU {mtu}: another packet");
                assert!(receive(&mut a, a_gets.len()) == a_gets, "MTU {mtu}: another packet");
            }
        }
        let bytes: usize = 2 * to_b.iter().map(Vec::len).sum::<usize>();
        let frames = 2 * to_b.len() as u64;
        assert_eq!((a.stats().sent_frames, a.stats().sent_bytes), (frames, bytes as u64));
        assert_eq!((b.stats().received_frames, b.stats().received_bytes), (frames, bytes as u64));
        assert_eq!(a.stats().send_calls, to_b.len() as u64 + 1, "one call for one packet, and for a batch");
    }
}

#[test]
fn every_endpoint_of_a_host_gets_its_own_packets_alone() {
    if !cable(1500) {
        return;
    }
    let mut sender = open("e0", 1);
    // A filter that compared these numbers in the wrong order of bytes, or half of them, would confuse them.
    let ids = [0x0102_0304, 0x0403_0201, 0x0102_0000, 0x0000_0304, 0, u32::MAX];
    let mut links: Vec<RawLink> = ids.iter().map(|id| open("e1", *id)).collect();
    for round in 0..20 {
        for id in ids {
            push(&mut sender, MACS[1], &packet(id, 64, round));
        }
    }
    sender.flush();
    for (link, id) in links.iter_mut().zip(ids) {
        let got = receive(link, 20);
        let wanted: Vec<_> = (0..20).map(|round| packet(id, 64, round)).collect();
        assert!(got == wanted, "{id:x}: {} packets", got.len());
        assert_eq!(link.stats().kernel_drops, 0);
    }
}

/// A frame as it stands on the cable.
fn frame(to: Mac, types: &[u16], payload: &[u8]) -> Vec<u8> {
    let types: Vec<u8> = types.iter().flat_map(|word| word.to_be_bytes()).collect();
    [&to[..], &MACS[0][..], &types[..], payload].concat()
}

#[test]
fn what_is_not_a_packet_for_this_nic_is_dropped() {
    if !cable(1500) {
        return;
    }
    // The NIC takes in everything on the cable, be it for this NIC or not.
    run("ip", &["link", "set", "e1", "promisc", "on"]);
    let (foreign, mut link) = (PacketSocket::open("e0", 0x88b6).expect("a socket"), open("e1", 7));
    foreign.bind().expect("bound");
    let good = packet(7, 64, 1);
    let strange = [
        ("another type", frame(MACS[1], &[ETHERTYPE + 1], &good)),
        ("a VLAN", frame(MACS[1], &[0x8100, 5, ETHERTYPE], &good)),
        ("a VLAN within a VLAN", frame(MACS[1], &[0x88a8, 5, 0x8100, 5, ETHERTYPE], &good)),
        ("to another host", frame([2, 0, 0, 0, 0, 9], &[ETHERTYPE], &good)),
        ("to everybody", frame([0xff; 6], &[ETHERTYPE], &good)),
        ("to a group", frame([3, 0, 0, 0, 0, 9], &[ETHERTYPE], &good)),
        ("ends too soon", frame(MACS[1], &[ETHERTYPE], &good[..15])),
        ("nothing at all", frame(MACS[1], &[ETHERTYPE], &[])),
    ];
    for (what, bytes) in &strange {
        foreign.send(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(receive(&mut link, 0), [[0u8; 0]; 0], "{what}");
    }
    // A packet that this host sends to its own address does not come in.
    push(&mut link, MACS[0], &good);
    link.flush();
    assert_eq!(receive(&mut link, 0), [[0u8; 0]; 0]);
    foreign.send(&frame(MACS[1], &[ETHERTYPE], &good)).expect("sent");
    assert_eq!(receive(&mut link, 1), [good]);
    assert_eq!(link.stats().truncated, 0);
}

/// A capture of all types sees the priority in the tags (IEEE 802.1Q-2022, 9.6: priority in the three highest
/// bits, VLAN in the twelve lowest), and frames of the full MTU still pass.
#[test]
fn frames_with_a_priority_have_a_tag_and_arrive_like_others() {
    for mtu in [1500, 9000] {
        if !cable(mtu) {
            return;
        }
        // 3 is ETH_P_ALL: frames of every type.
        let capture = PacketSocket::open("e1", 3).expect("a socket");
        let mut capture = capture.into_ring(RingSize::within(MIB, mtu)).expect("a ring");
        let (mut a, mut b) = (open("e0", 7), open("e1", 8));
        for priority in [None, Some(0), Some(5), Some(7), None] {
            a.set_priority(priority);
            for len in [16, 64, mtu as usize] {
                let sent = packet(8, len, 1);
                push(&mut a, MACS[1], &sent);
                assert_eq!(a.flush(), 1, "{priority:?}, {len}");
                assert!(receive(&mut b, 1) == [sent], "{priority:?}, {len}");
                let tag = capture.next_frame().expect("captured").vlan();
                assert_eq!(tag, priority.map(|priority| u16::from(priority) << 13));
            }
        }
        assert_eq!(a.stats().sent_bytes, b.stats().received_bytes);
    }
}

#[test]
fn a_full_ring_drops_counts_and_goes_on_and_takes_no_more_memory_than_it_may() {
    for (mtu, least) in [(1500, 32), (9000, 4)] {
        if !cable(mtu) {
            return;
        }
        for ring_bytes in [0, 200_000, MIB] {
            let mut sender = open("e0", 1);
            let mut link = try_open("e1", 7, ring_bytes).expect("a lane");
            assert!(link.ring_bytes() as u64 <= ring_bytes.max(64 << 10), "{} B", link.ring_bytes());
            let numbers: Vec<_> = (0..1200).map(|number| packet(7, 64, number)).collect();
            for batch in numbers.chunks(100) {
                batch.iter().for_each(|packet| push(&mut sender, MACS[1], packet));
                assert_eq!(sender.flush(), batch.len());
            }
            let got = receive(&mut link, least);
            link.look_for_drops().expect("counters");
            assert!(got.len() >= least && got == numbers[..got.len()], "the oldest are kept");
            assert_eq!(link.stats().kernel_drops, (numbers.len() - got.len()) as u64);
            push(&mut sender, MACS[1], &numbers[0]);
            sender.flush();
            assert_eq!(receive(&mut link, 1), [numbers[0].clone()]);
        }
    }
}

#[test]
fn packets_that_do_not_go_are_counted_and_hold_up_nothing() {
    if !cable(1500) {
        return;
    }
    let (mut a, mut b) = (open("e0", 1), open("e1", 7));
    for len in [1500, 1519, 64] {
        push(&mut a, MACS[1], &packet(7, len.min(1500), 1));
        if len > 1500 {
            // Longer than a frame with a VLAN tag may be.
            let long = packet(7, len, 1);
            assert!(a.queue(MACS[1], len, |into| {
                into.copy_from_slice(&long);
                len
            }));
        }
    }
    a.flush();
    assert_eq!((a.stats().send_refused, a.queued()), (1, 0));
    assert_eq!(receive(&mut b, 3).iter().map(Vec::len).collect::<Vec<_>>(), [1500, 1500, 64]);
    // Without its other end the cable has no carrier.
    run("ip", &["link", "set", "e1", "down"]);
    let (mut handed, small) = (0, packet(7, 64, 2));
    for _ in 0..200 {
        push(&mut a, MACS[1], &small);
        handed += a.flush();
    }
    let stats = a.stats();
    assert!(stats.send_stuck + stats.send_refused > 0, "{stats:?}");
    assert_eq!(
        handed as u64 + stats.send_stuck + stats.send_refused - 1 + a.queued() as u64,
        200,
        "{stats:?}"
    );
    run("ip", &["link", "set", "e1", "up"]);
    a.flush();
    receive(&mut b, 0);
    push(&mut a, MACS[1], &small);
    a.flush();
    assert_eq!(receive(&mut b, 1), [small]);
}

#[test]
fn an_ordinary_user_is_told_that_it_is_forbidden() {
    if !cable(1500) {
        return;
    }
    // SAFETY: no pointers are passed. The call itself, unlike the library's function, changes this thread
    // alone.
    let changed = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
    assert_eq!(changed, 0, "{}", std::io::Error::last_os_error());
    let error = try_open("e0", 7, MIB).err().expect("forbidden");
    assert!(error.is_forbidden(), "{error}");
    assert!(error.to_string().contains("CAP_NET_RAW"), "{error}");
}

#[test]
fn a_nic_that_is_not_there_is_named() {
    if !cable(1500) {
        return;
    }
    let error = try_open("e9", 7, MIB).err().expect("no such NIC");
    assert!(!error.is_forbidden() && error.to_string().contains("e9"), "{error}");
}
