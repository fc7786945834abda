//! Length-coded bulk between endpoints, over loopback, where nothing is lost: no byte more than the messages
//! travels, and none is copied.

use tasuki_engine::{Buffer, Completion, Endpoint, Framing, Report, SendArgs};

use crate::node::{Lane, Node, nodes, options, run};

fn pattern(len: usize, salt: usize) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(31) ^ (at >> 9) ^ salt) as u8).collect()
}

fn received(node: &Node) -> usize {
    node.done.iter().filter(|done| matches!(done, Completion::Recv { .. })).count()
}

fn sent(node: &Node) -> usize {
    node.done.iter().filter(|done| matches!(done, Completion::Send { .. })).count()
}

#[test]
fn long_messages_take_no_header_and_no_copy() {
    let mut all = nodes(2, Lane::Bulk);
    // Several rounds, one round, one packet less or more than a round, several messages at once; both
    // directions.
    let sizes = [64 << 10, 3_000_000, 100_001, 5_000_000, 470_000, 65_537];
    let mut expected = Vec::new();
    for (at, &size) in sizes.iter().enumerate() {
        for (from, to) in [(0, 1), (1, 0)] {
            let bytes = pattern(size, at + from);
            let recv = all[to].recv(Some(from), Some(at as u64), 0, size);
            all[from].send(to, Some(at as u64), &bytes);
            expected.push((to, recv, bytes));
        }
    }
    run(&mut all, |all| all.iter().all(|node| received(node) == sizes.len() && sent(node) == sizes.len()));
    for (to, recv, bytes) in expected {
        assert!(all[to].bytes(recv) == bytes, "{} bytes", bytes.len());
    }
    let total: usize = sizes.iter().sum();
    for node in &all {
        let counters = node.endpoint.bulk().expect("asked for");
        assert_eq!((counters.bytes, counters.sent_bytes), (total as u64, total as u64), "{counters:?}");
        assert_eq!((counters.moved_bytes, counters.again, counters.given_up), (0, 0, 0), "{counters:?}");
    }
}

#[test]
fn what_cannot_be_length_coded_goes_in_frames() {
    let mut all = nodes(2, Lane::Bulk);
    let bytes = pattern(300_000, 1);
    // Into two pieces of memory, and of two pieces.
    let (first, one) = all[1].room(100_000);
    let (second, two) = all[1].room(200_000);
    let (from, memory) = all[0].room(300_000);
    let args = tasuki_engine::RecvArgs {
        source: None,
        tag: Some(1),
        ignore: 0,
        buffers: &[one, two],
        multi: None,
        report: Report::Completion,
        context: first,
    };
    // SAFETY: nodes keep their rooms to the end of the test.
    unsafe { all[1].endpoint.recv(&args) }.unwrap();
    all[0].send(1, Some(1), &bytes);
    // SAFETY: as above; nobody else writes there.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.ptr, bytes.len()) };
    let halves =
        [Buffer { ptr: memory.ptr, len: 1000 }, Buffer { ptr: memory.ptr.wrapping_add(1000), len: 299_000 }];
    let third = all[1].recv(None, Some(2), 0, 300_000);
    let send = SendArgs {
        peer: all[0].peers[1],
        tag: Some(2),
        data: None,
        buffers: &halves,
        inject: false,
        report: Report::Completion,
        delivery: false,
        more: false,
        context: from,
    };
    // SAFETY: as above.
    unsafe { all[0].endpoint.send(&send) }.unwrap();
    run(&mut all, |all| received(&all[1]) == 2);
    assert!(all[1].bytes(first) == &bytes[..100_000] && all[1].bytes(second) == &bytes[100_000..]);
    assert!(all[1].bytes(third) == bytes);
    assert_eq!(all[1].endpoint.bulk().unwrap().bytes, 0);
}

#[test]
fn whoever_does_not_speak_it_gets_frames() {
    let endpoints = [Framing::Length, Framing::Frames].map(|framing| {
        Endpoint::open(&tasuki_engine::Options { framing, ..options(Lane::Packets) }).unwrap()
    });
    let mut all = Node::acquainted(endpoints.into());
    let bytes = pattern(1_000_000, 7);
    let recvs = [all[0].recv(Some(1), Some(1), 0, 1_000_000), all[1].recv(Some(0), Some(1), 0, 1_000_000)];
    all[0].send(1, Some(1), &bytes);
    all[1].send(0, Some(1), &bytes);
    run(&mut all, |all| all.iter().all(|node| received(node) == 1 && sent(node) == 1));
    assert!(all[0].bytes(recvs[0]) == bytes && all[1].bytes(recvs[1]) == bytes);
    assert_eq!(all[0].endpoint.bulk().unwrap().sent_bytes, 0);
}

#[test]
fn a_message_that_is_cut_short_is_taken_as_far_as_it_fits() {
    let mut all = nodes(2, Lane::Bulk);
    let bytes = pattern(2_000_000, 3);
    let recv = all[1].recv(Some(0), Some(1), 0, 700_001);
    all[0].send(1, Some(1), &bytes);
    run(&mut all, |all| received(&all[1]) == 1 && sent(&all[0]) == 1);
    assert!(all[1].bytes(recv) == &bytes[..700_001]);
    assert_eq!(all[1].endpoint.bulk().unwrap().bytes, 700_001);
}

#[test]
fn a_taker_that_goes_ends_the_send() {
    let mut all = nodes(2, Lane::Bulk);
    let bytes = pattern(20_000_000, 3);
    all[1].recv(Some(0), Some(1), 0, bytes.len());
    all[0].send(1, Some(1), &bytes);
    // In the middle of it.
    let mut rounds = 0;
    run(&mut all, |all| {
        rounds += 1;
        all[0].endpoint.bulk().unwrap().sent_bytes > 1_000_000 || rounds > 1_000_000
    });
    let gone = all.pop().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(gone));
        run(&mut all, |all| !all[0].done.is_empty());
    });
}
