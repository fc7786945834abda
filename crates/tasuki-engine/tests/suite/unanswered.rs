//! A peer that has never answered, as behind a firewall that drops UDP, or whose process is gone, is an error
//! after a while, no hang.

use crate::node::{Lane, Node, options, run};
use crate::other::Other;
use std::{fs::remove_file, net::UdpSocket, time::Duration};
use tasuki_engine::{Address, Completion, Endpoint, Options, Standing};
use tasuki_ring::Token;
use tasuki_testkit::ports::own_port;

/// Sends to a peer that does not answer at this port, and waits until the receive of its answer has failed.
/// `greeting`: how long silence alone is waited for.
fn ask(greeting: Duration, port: u16) -> Vec<Completion> {
    let patient = Options { greeting, ..options(Lane::Packets) };
    let mut nodes = Node::acquainted(vec![Endpoint::open(&patient).unwrap()]);
    let other = Endpoint::open(&options(Lane::Packets)).unwrap();
    let mut address = other.address();
    address.port = port;
    let peer = nodes[0].endpoint.add_peer(&address);
    nodes[0].peers.push(peer);
    // A short send is done once its bytes are copied; a program that waits for the answer must not wait for
    // ever.
    nodes[0].send(1, Some(1), b"hello");
    let answer = nodes[0].recv(Some(1), Some(2), 0, 8);
    let failed = |done: &Completion| matches!(done, Completion::Error { context, .. } if *context == answer);
    run(&mut nodes, |nodes| nodes[0].done.iter().any(failed));
    nodes.remove(0).done
}

#[test]
fn who_waits_for_a_peer_that_never_answers_is_told() {
    // A socket that takes everything and says nothing: its host refuses nothing either.
    let mute = UdpSocket::bind("127.0.0.1:0").unwrap();
    let done = ask(Duration::from_secs(1), mute.local_addr().unwrap().port());
    assert!(!done.iter().any(|done| matches!(done, Completion::Recv { .. })), "{done:?}");
}

/// The peer's process has ended without a word: its host refuses what is sent to its port. That is enough,
/// even if silence alone is waited for without an end.
#[test]
fn who_waits_for_a_peer_whose_port_is_closed_is_told() {
    ask(Duration::ZERO, own_port());
}

/// The peer's process lives, and may write into memory here; this endpoint reaches it by packets alone, and
/// these are not answered.
#[test]
fn a_peer_that_writes_here_and_never_answers_has_failed() {
    let (mut other, address) = Other::start("stopped::helper", "");
    // Without a name its segment is out of reach, as in a container of its own.
    let token = Token::derive(&address.secret, address.incarnation, address.endpoint);
    remove_file(format!("/dev/shm/tasuki-ring.{token}")).unwrap();
    let patient = Options { greeting: Duration::from_secs(1), ..options(Lane::Shared) };
    let mut all = Node::acquainted(vec![Endpoint::open(&patient).unwrap()]);
    // A socket that takes everything and says nothing stands for a firewall that drops UDP.
    let mute = UdpSocket::bind("127.0.0.1:0").unwrap();
    let peer = all[0].endpoint.add_peer(&Address { port: mute.local_addr().unwrap().port(), ..address });
    all[0].peers.push(peer);
    other.tell("say");
    other.tell(&format!("{:x}", all[0].endpoint.address()));
    assert_eq!(other.hear_with(|| {}), "said");
    all[0].send(1, Some(1), b"hello");
    run(&mut all, |all| all[0].endpoint.standing(peer) != Standing::Present);
    let reason = all[0].endpoint.failure_reason(peer).expect("a reason");
    assert!(reason.contains("has not answered"), "{reason}");
    other.kill();
}
