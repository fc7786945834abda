//! How long closing takes, in wall-clock time. It is printed, for the constants of `leaving`; what is proven
//! is only that everything ends.

use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use tasuki_engine::{Completion, Endpoint, Options, Standing};

use crate::node::{LANES, Lane, Node, nodes, options, run};

/// Closes an endpoint on a thread of its own.
pub fn close_by_thread(node: Node) -> JoinHandle<()> {
    spawn(move || {
        // The other fields, among them the memory of operations, stay until the endpoint is closed.
        let node = node;
        let endpoint = node.endpoint;
        endpoint.close();
    })
}

/// The time in which all have closed, each on a thread of its own.
fn close_all(nodes: Vec<Node>) -> Duration {
    let start = Instant::now();
    let threads: Vec<_> = nodes.into_iter().map(close_by_thread).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    start.elapsed()
}

/// Endpoints each of which has had a word from each other one.
fn met(count: usize, lane: Lane) -> Vec<Node> {
    let mut all = nodes(count, lane);
    for (at, node) in all.iter_mut().enumerate() {
        for other in (0..count).filter(|other| *other != at) {
            node.recv(Some(other), Some(1), 0, 8);
            node.send(other, Some(1), &[1; 8]);
        }
    }
    run(&mut all, |all| all.iter().all(|node| node.done.len() == 2 * (count - 1)));
    all
}

fn told(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let (least, most) = (times[0], times[times.len() - 1]);
    println!("{what}: median {:.1?} ({least:.1?} to {most:.1?})", times[times.len() / 2]);
}

#[test]
#[ignore = "measures"]
fn closing_timed() {
    for lane in [Lane::Shared, Lane::Packets] {
        let times = (0..20).map(|_| close_all(met(8, lane))).collect();
        told(&format!("{lane:?}, eight endpoints at once"), times);
        let times = (0..5).map(|_| {
            let mut all = met(2, lane);
            all[0].send(1, Some(2), &vec![1; 1 << 20]);
            all[0].turn();
            close_all(all)
        });
        told(&format!("{lane:?}, with a message that is never received"), times.collect());
    }
}

/// What an endpoint has begun to send when it is closed arrives, also where the engines have to agree on how.
#[test]
fn what_is_under_way_to_a_receive_when_its_sender_closes_arrives() {
    for lane in LANES {
        let mut all = nodes(2, lane);
        let bytes = vec![7; 3_000_000];
        let recv = all[1].recv(Some(0), Some(1), 0, bytes.len());
        all[0].send(1, Some(1), &bytes);
        let closing = close_by_thread(all.remove(0));
        run(&mut all, |all| !all[0].done.is_empty());
        assert!(matches!(all[0].done[..], [Completion::Recv { .. }]), "{lane:?}: {:?}", all[0].done);
        assert!(all[0].bytes(recv) == bytes, "{lane:?}");
        run(&mut all, |_| closing.is_finished());
    }
}

/// A peer whose first message comes when an endpoint closes hears of a proper end, too: it would take another
/// one for a death.
#[test]
fn a_peer_that_comes_while_an_endpoint_closes_is_said_goodbye_to() {
    for lane in [Lane::Shared, Lane::Packets].into_iter().cycle().take(32) {
        let mut all = nodes(2, lane);
        all[1].send(0, Some(1), &[1; 8]);
        let closing = close_by_thread(all.remove(0));
        let peer = all[0].peers[0];
        run(&mut all, |all| all[0].endpoint.standing(peer) != Standing::Present);
        assert_eq!(all[0].endpoint.standing(peer), Standing::Parted, "{lane:?}");
        run(&mut all, |_| closing.is_finished());
    }
}

/// Peers knock at an endpoint as long as they have operations open, which must not keep it from closing.
#[test]
fn a_peer_that_waits_for_something_does_not_hold_up_an_endpoint_that_closes() {
    let patient = Options { linger: Duration::from_secs(3600), ..options(Lane::Packets) };
    let mut all = Node::acquainted([(); 2].map(|()| Endpoint::open(&patient).unwrap()).into());
    // Its receiver never wants it, and waits for another one.
    all[0].send(1, Some(1), &vec![1; 1 << 20]);
    all[1].recv(None, Some(2), 0, 8);
    let closing = close_by_thread(all.remove(0));
    run(&mut all, |_| closing.is_finished());
}

/// A receiver on the same host fetches long messages from the sender's memory, which belongs to the sender's
/// program again once its endpoint is closed.
#[test]
fn what_a_sender_has_closed_upon_is_not_taken_from_memory_that_it_uses_again() {
    let mut all = nodes(2, Lane::Shared);
    let bytes = vec![7; 64 << 10];
    all[0].send(1, Some(1), &bytes);
    all[0].turn();
    all[1].turn();
    let used = all.remove(0).close_and_reuse();
    let recv = all[0].recv(Some(0), Some(1), 0, bytes.len());
    run(&mut all, |all| !all[0].done.is_empty());
    let is_received = matches!(all[0].done[0], Completion::Recv { .. });
    assert!(!is_received || all[0].bytes(recv) == bytes, "{:?}", &all[0].bytes(recv)[..8]);
    drop(used);
}

/// A ring that is full when its reader says goodbye is never emptied.
#[test]
fn a_full_ring_to_a_peer_that_has_left_is_given_up() {
    let mut all = nodes(2, Lane::Shared);
    all[1].recv(Some(0), Some(1), 0, 8);
    all[0].send(1, Some(1), &[1; 8]);
    run(&mut all, |all| all[1].done.len() == 1);
    let stalled = |node: &Node| !node.endpoint.describe().contains("stalled rings []");
    for _ in 0..400 {
        all[0].send_with(1, Some(2), &[2; 8 << 10], |args| args.inject = true);
    }
    all[0].turn();
    assert!(stalled(&all[0]), "{}", all[0].endpoint.describe());
    drop(all.pop());
    run(&mut all, |all| !stalled(&all[0]));
}
