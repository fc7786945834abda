//! Streams between endpoints, over loopback: what goes by them, and what does not.

use std::time::{Duration, Instant};

use tasuki_engine::{Completion, Endpoint, Framing, Options, StreamCounters};

use crate::node::{Lane, Node, nodes, options, run};

pub fn pattern(len: usize, salt: usize) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(31) ^ (at >> 9) ^ salt) as u8).collect()
}

pub fn counters(node: &Node) -> StreamCounters {
    node.endpoint.streams().expect("asked for")
}

fn over(node: &Node, count: usize) -> bool {
    let receives = node.done.iter().filter(|done| matches!(done, Completion::Recv { .. })).count();
    let sends = node.done.iter().filter(|done| matches!(done, Completion::Send { .. })).count();
    receives >= count && sends >= count
}

/// Two endpoints, of which messages of `len` bytes in both directions go by stream.
pub fn joined(len: usize) -> Vec<Node> {
    join(nodes(2, Lane::Streams), len)
}

/// Exchanges messages of `len` bytes until they go by stream.
pub fn join(mut all: Vec<Node>, len: usize) -> Vec<Node> {
    let bytes = pattern(len, 0);
    let mut rounds = 0;
    while all.iter().any(|node| counters(node).received_bytes == 0) {
        rounds += 1;
        let recvs = [all[0].recv(Some(1), Some(0), 0, len), all[1].recv(Some(0), Some(0), 0, len)];
        all[0].send(1, Some(0), &bytes);
        all[1].send(0, Some(0), &bytes);
        run(&mut all, |all| all.iter().all(|node| over(node, rounds)));
        assert!(all.iter().zip(recvs).all(|(node, recv)| node.bytes(recv) == bytes));
    }
    all.iter_mut().for_each(|node| node.done.clear());
    all
}

#[test]
fn long_messages_go_by_stream_and_none_twice() {
    let mut all = joined(200_000);
    let before: Vec<StreamCounters> = all.iter().map(counters).collect();
    let sizes = [48 << 10, 3_000_000, 100_001, 9_000_000, 470_000, 65_537];
    let mut expected = Vec::new();
    for (at, &size) in sizes.iter().enumerate() {
        for (from, to) in [(0, 1), (1, 0)] {
            let bytes = pattern(size, at + from);
            // Some wait for their receive, others find it.
            let early = at % 2 == 0;
            let recv = early.then(|| all[to].recv(Some(from), Some(at as u64), 0, size));
            all[from].send(to, Some(at as u64), &bytes);
            expected.push((to, from, at as u64, recv, bytes));
        }
    }
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(to, from, tag, recv, bytes)| {
            (to, recv.unwrap_or_else(|| all[to].recv(Some(from), Some(tag), 0, bytes.len())), bytes)
        })
        .collect();
    run(&mut all, |all| all.iter().all(|node| over(node, sizes.len())));
    for (to, recv, bytes) in expected {
        assert!(all[to].bytes(recv) == bytes, "{} bytes", bytes.len());
    }
    let total: u64 = sizes.iter().map(|&size| size as u64).sum();
    let least = total - sizes.len() as u64 * FIRST_MAX;
    for (node, before) in all.iter().zip(before) {
        let now = counters(node);
        let moved = [now.received_bytes - before.received_bytes, now.sent_bytes - before.sent_bytes];
        assert!(moved.iter().all(|bytes| (least..=total).contains(bytes)), "{now:?}");
        assert_eq!((now.broken, now.given_up), (0, 0), "{now:?}");
    }
}

/// Bytes that may travel in the first frame of a message, by packet, whatever else goes by stream.
const FIRST_MAX: u64 = 1500;

#[test]
fn messages_of_all_lengths_go_by_stream_matched_or_not() {
    let mut all = joined(200_000);
    let before: Vec<StreamCounters> = all.iter().map(counters).collect();
    let sizes: Vec<usize> = (0..40).map(|at| 6_000 + 12_345 * at % 400_000).collect();
    let mut expected = Vec::new();
    for (at, &size) in sizes.iter().enumerate() {
        for (from, to) in [(0, 1), (1, 0)] {
            let bytes = pattern(size, at + from);
            let recv = (at % 3 == 0).then(|| all[to].recv(Some(from), Some(at as u64), 0, size));
            all[from].send(to, Some(at as u64), &bytes);
            expected.push((to, from, at as u64, recv, bytes));
        }
    }
    // Messages for which nobody waits arrive as far as credit goes.
    let begin = Instant::now();
    run(&mut all, |_| begin.elapsed() > Duration::from_millis(20));
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(to, from, tag, recv, bytes)| {
            // Every fifth is cut short.
            let len = if tag % 5 == 4 { bytes.len() / 2 } else { bytes.len() };
            (to, recv.unwrap_or_else(|| all[to].recv(Some(from), Some(tag), 0, len)), bytes)
        })
        .collect();
    run(&mut all, |all| all.iter().all(|node| over(node, sizes.len())));
    for (to, recv, bytes) in expected {
        let got = all[to].bytes(recv);
        assert!(got == &bytes[..got.len()] && got.len() >= bytes.len() / 2, "{} bytes", bytes.len());
    }
    for (node, before) in all.iter().zip(before) {
        let now = counters(node);
        assert!(now.received_bytes - before.received_bytes > 1_000_000, "{now:?}");
        assert_eq!((now.broken, now.given_up), (0, 0), "{now:?}");
    }
}

#[test]
fn short_messages_and_those_that_are_cut_short() {
    let mut all = joined(100_000);
    let before = counters(&all[1]).received_bytes;
    let (short, long) = (pattern(4_000, 1), pattern(2_000_000, 2));
    let recvs = [all[1].recv(Some(0), Some(1), 0, 4_000), all[1].recv(Some(0), Some(2), 0, 700_001)];
    all[0].send(1, Some(1), &short);
    all[0].send(1, Some(2), &long);
    run(&mut all, |all| all[1].done.len() == 2 && all[0].done.len() == 2);
    assert!(all[1].bytes(recvs[0]) == short && all[1].bytes(recvs[1]) == &long[..700_001]);
    assert_eq!(counters(&all[1]).received_bytes - before, 700_001);
}

#[test]
fn whoever_wants_no_streams_gets_frames() {
    for framing in [Framing::Frames, Framing::Length] {
        let endpoints = [Framing::Streams, framing]
            .map(|framing| Endpoint::open(&Options { framing, ..options(Lane::Packets) }).unwrap());
        let mut all = Node::acquainted(endpoints.into());
        let bytes = pattern(1_000_000, 7);
        for round in 1..4 {
            let recvs = [
                all[0].recv(Some(1), Some(1), 0, bytes.len()),
                all[1].recv(Some(0), Some(1), 0, bytes.len()),
            ];
            all[0].send(1, Some(1), &bytes);
            all[1].send(0, Some(1), &bytes);
            run(&mut all, |all| all.iter().all(|node| over(node, round)));
            assert!(all[0].bytes(recvs[0]) == bytes && all[1].bytes(recvs[1]) == bytes);
        }
        let seen = counters(&all[0]);
        assert_eq!((seen.received_bytes, seen.sent_bytes), (0, 0));
    }
}

#[test]
fn a_taker_that_goes_ends_the_send() {
    let mut all = joined(1_000_000);
    let before = counters(&all[0]).sent_bytes;
    let bytes = pattern(200_000_000, 3);
    all[1].recv(Some(0), Some(1), 0, bytes.len());
    all[0].send(1, Some(1), &bytes);
    // In the middle of it.
    run(&mut all, |all| counters(&all[0]).sent_bytes > before + 1_000_000);
    assert!(all[0].done.is_empty());
    let gone = all.pop().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(gone));
        run(&mut all, |all| !all[0].done.is_empty());
    });
}

/// What is asked for first comes first, although the question goes without credit and the one behind it has
/// some: its bytes come only when the peer has granted them.
#[test]
fn bytes_are_asked_for_in_one_order_whatever_credit_there_is() {
    let small = Options { peer_bytes: 20_000, ..options(Lane::Streams) };
    let endpoints = [(); 2].map(|()| Endpoint::open(&small).unwrap());
    let mut all = join(Node::acquainted(endpoints.into()), 400_000);
    let messages = [pattern(1_000_000, 1), pattern(1_000_000, 2)];
    all[0].send(1, Some(1), &messages[0]);
    all[0].send(1, Some(2), &messages[1]);
    // These use up all credit for what the receiver asks, the short ones what the others leave.
    let flood = [[1_000; 60], [30; 60]].concat();
    flood.iter().for_each(|len| _ = all[1].send(0, Some(9), &vec![9; *len]));
    let begin = Instant::now();
    run(&mut all, |_| begin.elapsed() > Duration::from_millis(50));
    let first = all[1].recv(Some(0), Some(1), 0, 1_000_000);
    all[1].turn();
    // To receive what has come gives credit back at once.
    flood.iter().for_each(|len| _ = all[0].recv(Some(1), Some(9), 0, *len));
    all[1].turn();
    let second = all[1].recv(Some(0), Some(2), 0, 1_000_000);
    run(&mut all, |all| {
        let got = all[0].done.iter().filter(|done| matches!(done, Completion::Recv { .. })).count();
        got == flood.len() && over(&all[1], 2)
    });
    assert!(all[1].bytes(first) == messages[0] && all[1].bytes(second) == messages[1]);
}
