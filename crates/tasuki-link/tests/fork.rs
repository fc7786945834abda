//! A child that a process forks and that lives on: it keeps none of the sockets, so that their ends are seen
//! by peers, and the parent goes on using them.
//!
//! All of it is one test: a child of another one would inherit sockets that are just being opened.

mod common;

use common::{bind, child, private_network, push, receive_all, run};
use std::{
    fs,
    io::ErrorKind,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket},
    thread,
    time::{Duration, Instant},
};
use tasuki_link::{BulkSocket, RawLink, RawOptions, Stream, StreamEnd, StreamListener, UdpLink, UdpOptions};

#[test]
fn a_child_keeps_no_lane_and_no_stream() {
    datagrams();
    bulk();
    streams();
    raw_frames();
}

/// bind(2): EADDRINUSE as long as any process has a socket at the address. This address is one at which
/// nothing else of this machine listens.
fn is_free(at: SocketAddr) -> bool {
    UdpSocket::bind(at).is_ok() && TcpListener::bind(at).is_ok()
}

/// Whether something is so by now or soon. The limit keeps a defect from hanging the test.
fn comes(is_so: impl Fn() -> bool) -> bool {
    (0..1000).any(|_| {
        let so = is_so();
        thread::sleep(Duration::from_millis(if so { 0 } else { 10 }));
        so
    })
}

/// A lane whose peer has a socket of its own there goes on, and leaves its port when it is closed.
fn datagrams() {
    let (mut sender, mut receiver) = (bind("127.4.29.8"), bind("127.4.29.8"));
    let at = receiver.local();
    let mut exchange = |receiver: &mut UdpLink, word: &[u8]| {
        push(&mut sender, at, word);
        sender.flush().unwrap();
        assert_eq!(receive_all(receiver, 1), [(sender.local(), word.to_vec())]);
    };
    (0..1000).for_each(|_| exchange(&mut receiver, b"a stream"));
    assert!(receiver.follow() && receiver.fds().count() == 2);
    let _child = child();
    exchange(&mut receiver, b"a packet");
    exchange(&mut receiver, b"another one");
    assert!(!is_free(at));
    drop(receiver);
    assert!(is_free(at));
}

fn bulk() {
    let socket = BulkSocket::bind(&UdpOptions::new(Ipv4Addr::new(127, 4, 29, 8).into())).unwrap();
    let at = socket.local();
    let _child = child();
    assert!(!is_free(at));
    drop(socket);
    assert!(is_free(at));
}

/// tcp(7): the other side learns of the end of a stream when the last descriptor of it is closed.
fn streams() {
    let end = StreamEnd { address: IpAddr::V4(Ipv4Addr::new(127, 4, 29, 8)), device: None };
    let listener = StreamListener::open(&end).unwrap();
    let from = Stream::connect(&end, listener.local()).unwrap();
    let accepted = std::iter::repeat_with(|| listener.accept().unwrap());
    let (to, _) = accepted.flatten().next().expect("it comes");
    while !from.is_open().unwrap() {}
    let _child = child();
    let mut word = [0; 4];
    for (one, other) in [(&from, &to), (&to, &from)] {
        assert_eq!(one.send(b"word").unwrap(), 4);
        while !other.has_bytes() {}
        assert_eq!((other.receive(&mut word).unwrap(), &word), (4, b"word"));
    }
    drop(from);
    assert!(comes(|| to.has_bytes()), "the child has the stream");
    assert_eq!(to.receive(&mut word).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    let at = listener.local();
    drop(listener);
    // Nobody answers where nobody listens.
    let again = std::net::TcpStream::connect(at).expect_err("the child listens");
    assert_eq!(again.kind(), ErrorKind::ConnectionRefused);
}

/// Packet sockets of this thread's network namespace, which the kernel lists in a line each below a heading.
fn packet_sockets() -> usize {
    fs::read_to_string("/proc/thread-self/net/packet").expect("the list").lines().count() - 1
}

fn raw_frames() {
    if !private_network(1500) {
        return;
    }
    run("ip", &["link", "add", "e0", "type", "veth", "peer", "name", "e1"]);
    for nic in ["e0", "e1"] {
        run("sysctl", &["-qw", &format!("net.ipv6.conf.{nic}.disable_ipv6=1")]);
        run("ip", &["link", "set", nic, "up"]);
    }
    let open = |nic: &str| {
        RawLink::open(&RawOptions { nic: nic.to_owned(), endpoint: 7, ring_bytes: 1 << 20 }).expect("a lane")
    };
    let (mut from, mut to) = (open("e0"), open("e1"));
    let _child = child();
    let mut packet = vec![9; 64];
    packet[12..16].copy_from_slice(&7_u32.to_le_bytes());
    let mut got = Vec::new();
    // A busy kernel loses frames before they come to a ring.
    while got.is_empty() {
        assert!(from.queue(to.mac(), packet.len(), |into| {
            into.copy_from_slice(&packet);
            packet.len()
        }));
        assert_eq!(from.flush(), 1);
        let again = Instant::now() + Duration::from_millis(100);
        while !to.has_frames() && Instant::now() < again {}
        to.receive(8, |bytes| got.push(bytes.to_vec()));
    }
    assert!(got.iter().all(|one| *one == packet) && packet_sockets() == 2, "{got:?}");
    drop((from, to));
    assert_eq!(packet_sockets(), 0, "the child has them, or their rings");
}
