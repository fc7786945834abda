//! A peer that has never answered, as behind a firewall that drops UDP, or whose process is gone, is an error
//! after a while, no hang.

use crate::node::{Lane, Node, options, run};
use std::{net::UdpSocket, time::Duration};
use tasuki_engine::{Completion, Endpoint, Options};
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
