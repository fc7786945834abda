//! What a program can do with a socket that the broker gave, and what not: the claims of
//! `docs/guide/security.md`, tried as a user without any capability.

mod common;

use common::*;
use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tasuki_broker::{Options, guard};
use tasuki_link::RawLink;
use tasuki_sys::packet::{PacketSocket, RingSize};

/// The user that the broker runs as, in tests where that matters.
const SERVICE: u32 = 4242;

/// A socket in any of the forms in which a test holds one.
trait Held {
    fn raw(&self) -> i32;
}

impl Held for RawLink {
    fn raw(&self) -> i32 {
        self.as_fd().as_raw_fd()
    }
}

impl Held for OwnedFd {
    fn raw(&self) -> i32 {
        self.as_raw_fd()
    }
}

fn set(socket: &impl Held, level: i32, option: i32, value: &[u32]) -> Result<(), i32> {
    let fd = socket.raw();
    let len = size_of_val(value) as libc::socklen_t;
    // SAFETY: pointer and length are those of a live slice.
    let result = unsafe { libc::setsockopt(fd, level, option, value.as_ptr().cast(), len) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)) }
}

fn address(interface: &str, ethertype: u16) -> libc::sockaddr_ll {
    let index = nix::net::if_::if_nametoindex(interface).expect("an interface");
    // SAFETY: plain old data; all zeroes is a valid value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = ethertype.to_be();
    address.sll_ifindex = index as i32;
    address
}

fn bind(socket: &impl Held, interface: &str, ethertype: u16) -> Result<(), i32> {
    let address = address(interface, ethertype);
    let len = size_of_val(&address) as u32;
    // SAFETY: the address is initialised and as long as is said.
    let result = unsafe { libc::bind(socket.raw(), (&raw const address).cast(), len) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)) }
}

fn send_to(socket: &impl Held, interface: &str, frame: &[u8]) -> io::Result<()> {
    let to = address(interface, ETHERTYPE);
    let (fd, len) = (socket.raw(), size_of_val(&to) as u32);
    // SAFETY: the frame and the address live through the call and are as long as is said.
    let sent =
        unsafe { libc::sendto(fd, frame.as_ptr().cast(), frame.len(), 0, (&raw const to).cast(), len) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn frame(to: [u8; 6], from: [u8; 6], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = [&to[..], &from, &ethertype.to_be_bytes(), payload].concat();
    frame.resize(frame.len().max(60), 0);
    frame
}

/// A packet for an endpoint (`docs/reference/wire.md`: its id is at byte 12).
fn packet(endpoint: u32) -> Vec<u8> {
    let mut packet = vec![0xaa; 64];
    packet[12..16].copy_from_slice(&endpoint.to_le_bytes());
    packet
}

/// How long it is waited for a frame that must come: a busy kernel delivers later than it sends (ksoftirqd).
const LATE: Duration = Duration::from_secs(30);

/// Everything that has come, which is something.
fn everything(lane: &mut RawLink) -> Vec<Vec<u8>> {
    let (mut all, end) = (Vec::new(), Instant::now() + LATE);
    while lane.receive(16, |packet| all.push(packet.to_vec())) > 0 || (all.is_empty() && Instant::now() < end)
    {
    }
    all
}

/// A ring that receives every frame on an interface. Opening it needs root.
fn tap(interface: &str) -> tasuki_sys::packet::PacketRing {
    const ALL: u16 = 3;
    PacketSocket::open(interface, ALL).expect("a tap").into_ring(RingSize { slots: 64 }).expect("its ring")
}

/// The types of all frames that have come, which are at least so many.
fn tapped(tap: &mut tasuki_sys::packet::PacketRing, least: usize) -> Vec<u16> {
    let (mut types, end) = (Vec::new(), Instant::now() + LATE);
    loop {
        match tap.next_frame() {
            Some(frame) => types.push(u16::from_be_bytes([frame[12], frame[13]])),
            None if types.len() < least && Instant::now() < end => {}
            None => return types,
        }
    }
}

#[test]
fn members_get_lanes_that_carry_packets_both_ways() {
    if !network("members_get_lanes") {
        return;
    }
    // The broker has no more privileges than its systemd unit gives it.
    let broker = Running::start_as(options(), || become_service(SERVICE));
    let mut near = as_user(MEMBER, || lane(&broker.path, "e0", 7)).expect("a lane");
    let mut far = as_user(OTHER, || lane(&broker.path, "e1", 8)).expect("a lane");
    assert_eq!((near.mac(), far.mac(), near.mtu()), (MACS[0], MACS[1], 1500));
    for (from, to, mac, endpoint) in [(0, 1, MACS[1], 8), (1, 0, MACS[0], 7)] {
        let lanes = [&mut near, &mut far];
        let packet = packet(endpoint);
        assert!(lanes[from].queue(mac, packet.len(), |into| {
            into.copy_from_slice(&packet);
            packet.len()
        }));
        assert_eq!(lanes[from].flush(), 1);
        assert_eq!(everything(lanes[to]), [packet]);
    }
}

#[test]
fn whoever_has_the_socket_cannot_hear_more_than_one_endpoints_packets() {
    if !network("whoever_has_the_socket_cannot_hear_more") {
        return;
    }
    let broker = Running::start(options());
    // The source address of an IPv4 packet stands where a packet of Tasuki has its endpoint: a socket bound
    // to all types would receive all that 10.0.0.5 sends, if the filter did not ask for the type.
    let endpoint = u32::from_le_bytes([10, 0, 0, 5]);
    let mut mine = as_user(MEMBER, || {
        let lane = lane(&broker.path, "e0", endpoint).expect("a lane");
        for (nic, ethertype) in [("e0", 3), ("e0", 0x0800), ("other0", ETHERTYPE), ("lo", 3)] {
            assert_eq!(bind(&lane, nic, ethertype), Err(libc::EINVAL), "bound anew to {nic}");
        }
        // A filter that lets every frame pass: one instruction, "return all".
        let all = libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0x4_0000 };
        let program = [1_u32, 0, (&raw const all) as usize as u32, ((&raw const all) as usize >> 32) as u32];
        assert_eq!(set(&lane, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program), Err(libc::EPERM));
        assert_eq!(set(&lane, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &[0]), Err(libc::EPERM));
        assert_eq!(set(&lane, libc::SOL_SOCKET, libc::SO_LOCK_FILTER, &[0]), Err(libc::EPERM));
        assert_eq!(set(&lane, libc::SOL_PACKET, libc::PACKET_FANOUT, &[7]), Err(libc::EALREADY));
        // A client may turn promiscuous mode on, and receives nothing more by it.
        let index = nix::net::if_::if_nametoindex("e0").expect("an index");
        let promiscuous = [index, 1, 0, 0];
        assert_eq!(set(&lane, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous), Ok(()));
        lane
    });
    let root = PacketSocket::open("e1", ETHERTYPE).expect("a socket of root's");
    root.bind().expect("bound");
    let from = MACS[1];
    let mut ipv4 = vec![0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 5, 10, 0, 0, 1];
    ipv4.resize(46, 0);
    for (ethertype, payload) in [(0x0800, &ipv4), (0x0806, &packet(endpoint)), (ETHERTYPE, &packet(9))] {
        root.send(&frame(MACS[0], from, ethertype, payload)).expect("sends");
    }
    root.send(&frame([2, 0, 0, 0, 0, 77], from, ETHERTYPE, &packet(endpoint))).expect("sends");
    root.send(&frame([255; 6], from, ETHERTYPE, &packet(endpoint))).expect("sends");
    root.send(&frame(MACS[0], from, ETHERTYPE, &packet(endpoint))).expect("sends");
    assert_eq!(everything(&mut mine), [packet(endpoint)], "only what is for it");
}

#[test]
fn whoever_has_the_socket_cannot_take_more_memory() {
    if !network("whoever_has_the_socket_cannot_take_more_memory") {
        return;
    }
    let broker = Running::start(options());
    as_user(MEMBER, || {
        let connection = connection(&broker.path);
        let (_, sockets) = say(&connection, &request("e0", 1).to_bytes()).expect("an answer");
        // The client has not mapped the ring; the broker's own mapping alone prevents its replacement.
        let huge = [1 << 20, 1024, 2048, 512 * 1024];
        for ring in [libc::PACKET_RX_RING, libc::PACKET_TX_RING] {
            for size in [huge, [0; 4]] {
                assert_eq!(set(&sockets[0], libc::SOL_PACKET, ring, &size), Err(libc::EBUSY));
            }
        }
        assert_eq!(set(&sockets[0], libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &[1 << 30]), Err(libc::EPERM));
        assert_eq!(set(&sockets[0], libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &[1 << 30]), Err(libc::EPERM));
    });
}

/// This states a limit, not a wish: without the guard's rules a client can send any frame on any interface.
#[test]
fn whoever_has_the_socket_can_send_any_frame_on_any_interface() {
    if !network("whoever_has_the_socket_can_send_any_frame") {
        return;
    }
    let broker = Running::start(options());
    let (mut there, mut elsewhere) = (tap("e1"), tap("other1"));
    as_user(MEMBER, || {
        let lane = lane(&broker.path, "e0", 1).expect("a lane");
        let forged = frame(MACS[1], [6; 6], 0x0800, &[0x45; 46]);
        send_to(&lane, "e0", &forged).expect("sends");
        send_to(&lane, "other0", &forged).expect("sends");
    });
    assert_eq!((tapped(&mut there, 1), tapped(&mut elsewhere, 1)), (vec![0x0800], vec![0x0800]));
}

fn load(rules: &str) {
    let mut nft =
        Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).spawn().expect("nft (apt: nftables)");
    io::Write::write_all(nft.stdin.as_mut().expect("a pipe"), rules.as_bytes()).expect("written");
    drop(nft.stdin.take());
    assert!(nft.wait().expect("ends").success(), "{rules}");
}

#[test]
fn the_guard_lets_nothing_out_but_tasukis_frames() {
    if !network("the_guard_lets_nothing_out") {
        return;
    }
    let guarded = Options { bypass: false, ..options() };
    let broker = Running::start_as(guarded, || become_service(SERVICE));
    let rules = guard(SERVICE, |nic| ["e0", "e1"].contains(&nic)).expect("rules");
    // Loading the rules again replaces them.
    load(&rules);
    load(&rules);
    let (mut there, mut elsewhere) = (tap("e1"), tap("other1"));
    let mut receiver = as_user(OTHER, || lane(&broker.path, "e1", 2)).expect("a lane");
    as_user(MEMBER, || {
        let mut lane = lane(&broker.path, "e0", 1).expect("a lane");
        for bypass in [0, 1] {
            assert_eq!(set(&lane, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &[bypass]), Ok(()));
            // Whether sending reports that the frame was dropped differs between kernels, so it is not
            // checked.
            let _ = send_to(&lane, "e0", &frame(MACS[1], MACS[0], 0x0800, &[0x45; 46]));
            let _ = send_to(&lane, "e0", &frame(MACS[1], [6; 6], ETHERTYPE, &packet(2)));
            let _ = send_to(&lane, "e0", &frame(MACS[1], MACS[0], 0x8100, &packet(2)));
            let _ = send_to(&lane, "other0", &frame(MACS[1], MACS[0], ETHERTYPE, &packet(2)));
            let _ = send_to(&lane, "lo", &frame([0; 6], MACS[0], 0x0800, &[0x45; 46]));
        }
        assert_eq!(set(&lane, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &[0]), Ok(()));
        lane.queue(MACS[1], 64, |into| {
            into.copy_from_slice(&packet(2));
            64
        });
        assert_eq!(lane.flush(), 1);
    });
    assert_eq!(everything(&mut receiver), [packet(2)]);
    assert_eq!((tapped(&mut there, 1), tapped(&mut elsewhere, 0)), (vec![ETHERTYPE], vec![]));
    // The rules do not affect other sockets of the machine.
    let root = PacketSocket::open("other0", ETHERTYPE).expect("a socket of root's");
    root.bind().expect("bound");
    root.send(&frame(MACS[1], MACS[0], 0x0800, &[0x45; 46])).expect("sends");
    assert_eq!(tapped(&mut elsewhere, 1), [0x0800]);
    assert!(guard(0, |_| true).is_err(), "rules for root's sockets");
}

#[test]
fn a_socket_is_looked_at_before_it_is_used() {
    if !network("a_socket_is_looked_at_before_it_is_used") {
        return;
    }
    let udp: OwnedFd = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket").into();
    assert!(PacketSocket::adopt(udp, "e0", ETHERTYPE).is_err(), "no packet socket");
    let given = |nic: &str, ethertype| {
        let socket = PacketSocket::open(nic, ethertype).expect("a socket");
        socket.bind().expect("bound");
        socket.as_fd().try_clone_to_owned().expect("a copy")
    };
    assert!(PacketSocket::adopt(given("e0", ETHERTYPE), "e0", ETHERTYPE).is_ok());
    assert!(PacketSocket::adopt(given("e1", ETHERTYPE), "e0", ETHERTYPE).is_err(), "another NIC");
    assert!(PacketSocket::adopt(given("e0", 3), "e0", ETHERTYPE).is_err(), "another type");
    // A broker of another network namespace, whose e0 is another interface.
    let theirs = std::thread::spawn(move || {
        assert!(network("elsewhere"));
        given("e0", ETHERTYPE)
    });
    let theirs = theirs.join().expect("a socket");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let text = PacketSocket::adopt(theirs, "lo", ETHERTYPE).err().expect("refused").to_string();
            assert!(text.contains("namespace"), "{text}");
        });
    });
}
