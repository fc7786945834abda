//! A second socket for the peer that sends most: nothing but the cost may change by it.

mod common;

use common::{bind, push, receive_all};
use std::net::{SocketAddr, UdpSocket};
use tasuki_link::{RefusalKind, UdpLink};

/// Sends `count` packets with a number each, and receives them.
fn stream(sender: &mut UdpLink, receiver: &mut UdpLink, count: u32) {
    for number in 0..count {
        push(sender, receiver.local(), &number.to_le_bytes());
        sender.flush().unwrap();
        assert_eq!(receive_all(receiver, 1), [(sender.local(), number.to_le_bytes().to_vec())]);
    }
}

/// A sender, and a lane that has a second socket for it.
fn followed(family: &str) -> (UdpLink, UdpLink) {
    let (mut sender, mut receiver) = (bind(family), bind(family));
    assert!(!receiver.follow(), "nobody has sent anything");
    stream(&mut sender, &mut receiver, 1000);
    assert_eq!(receiver.fds().count(), 1);
    assert!(receiver.follow());
    assert_eq!(receiver.fds().count(), 2);
    assert!(!receiver.follow(), "it has just been done");
    (sender, receiver)
}

fn sorted(mut packets: Vec<(SocketAddr, Vec<u8>)>) -> Vec<(SocketAddr, Vec<u8>)> {
    packets.sort();
    packets
}

#[test]
fn packets_of_all_peers_arrive_with_their_senders_whichever_is_followed() {
    for family in ["127.0.0.1", "::1"] {
        let (mut first, mut receiver) = followed(family);
        let mut second = bind(family);
        for round in 0..2 {
            for _ in 0..20 {
                for (sender, word) in [(&mut first, b"first.".as_slice()), (&mut second, b"second")] {
                    push(sender, receiver.local(), word);
                    sender.flush().unwrap();
                }
                let expected = [(first.local(), b"first.".to_vec()), (second.local(), b"second".to_vec())];
                assert_eq!(sorted(receive_all(&mut receiver, 2)), sorted(expected.to_vec()), "round {round}");
            }
            // The second socket now follows the other sender.
            stream(&mut second, &mut receiver, 1000);
            assert!(!receiver.follow());
            assert_eq!(receiver.fds().count(), 2);
        }
        assert_eq!(receiver.stats().kernel_drops, 0);
    }
}

/// A stream that never ends must not keep the packets of others waiting: a receive that takes one packet at a
/// time finds theirs within some dozens of calls.
#[test]
fn a_stream_does_not_hide_others() {
    let (mut first, mut receiver) = followed("127.0.0.1");
    let mut second = bind("127.0.0.1");
    push(&mut second, receiver.local(), b"second");
    second.flush().unwrap();
    let mut found = false;
    for _ in 0..64 {
        push(&mut first, receiver.local(), b"first.");
        first.flush().unwrap();
        let look = |_: SocketAddr, bytes: &[u8]| found |= bytes == b"second";
        receiver.receive(1, look).unwrap();
    }
    assert!(found);
}

#[test]
fn answers_still_come_from_the_same_address() {
    let (mut sender, mut receiver) = followed("127.0.0.1");
    let from = receiver.local();
    push(&mut receiver, sender.local(), b"answer");
    receiver.flush().unwrap();
    assert_eq!(receive_all(&mut sender, 1), [(from, b"answer".to_vec())]);
}

#[test]
fn nobody_else_can_have_the_port() {
    let (_sender, receiver) = followed("127.0.0.1");
    let other = socket_that_shares();
    // SAFETY: the address lives through the call and has the length that is given.
    let bound = unsafe {
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: receiver.local().port().to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
            sin_zero: [0; 8],
        };
        let len = size_of_val(&address) as libc::socklen_t;
        libc::bind(std::os::fd::AsRawFd::as_raw_fd(&other), (&raw const address).cast(), len)
    };
    assert_eq!((bound, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EADDRINUSE)));
}

/// An unbound socket with SO_REUSEADDR.
fn socket_that_shares() -> std::os::fd::OwnedFd {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    // SAFETY: no pointers are passed, and nothing else owns the new descriptor.
    let socket = unsafe { OwnedFd::from_raw_fd(libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)) };
    let one: libc::c_int = 1;
    // SAFETY: the pointer and length are those of `one`, which lives through the call.
    let set = unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_REUSEADDR);
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const one).cast(), size_of_val(&one) as _)
    };
    assert_eq!(set, 0);
    socket
}

#[test]
fn the_end_of_a_followed_peer_is_noticed() {
    let (sender, mut receiver) = followed("127.0.0.1");
    let gone = sender.local();
    drop(sender);
    push(&mut receiver, gone, b"anybody there?");
    receiver.flush().unwrap();
    assert_eq!(receive_all(&mut receiver, 0), []);
    let refusal = receiver.poll_refusal().expect("a refusal");
    assert_eq!((refusal.to, refusal.kind, refusal.own), (gone, RefusalKind::PortUnreachable, false));
    assert_eq!(receiver.poll_refusal(), None);
    // Another process may have its port later.
    let heir = UdpSocket::bind(gone).unwrap();
    heir.send_to(b"new", receiver.local()).unwrap();
    assert_eq!(receive_all(&mut receiver, 1), [(gone, b"new".to_vec())]);
}

#[test]
fn drops_at_the_second_socket_are_counted() {
    let (mut sender, mut receiver) = followed("127.0.0.1");
    let packet = vec![0; 60_000];
    let mut sent = 0;
    while sent < 2000 {
        push(&mut sender, receiver.local(), &packet);
        sender.flush().unwrap();
        sent += 1;
    }
    let came = receive_all(&mut receiver, 1).len() as u64;
    assert!(came > 0 && came < sent);
    assert_eq!(came + receiver.stats().kernel_drops, sent);
}
