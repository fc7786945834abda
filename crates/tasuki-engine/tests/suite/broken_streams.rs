//! What becomes of messages whose stream breaks. Each test has a process of its own.

use std::time::{Duration, Instant};

use tasuki_engine::Completion;

use crate::{
    closing::close_by_thread,
    node::{Node, run},
    sockets::{break_streams, cut_streams},
    streams::{counters, joined, pattern},
};

/// Runs the test of this name in a process of its own, because all of the process's streams are broken. False
/// in that process.
fn runs_by_itself(name: &str) -> bool {
    let is_here = std::env::var_os("TASUKI_TEST_BREAKS").is_some();
    if !is_here {
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env("TASUKI_TEST_BREAKS", "1")
            .status();
        assert!(again.unwrap().success());
    }
    !is_here
}

#[test]
fn a_stream_that_breaks_again_and_again_is_given_up() {
    if runs_by_itself("broken_streams::a_stream_that_breaks_again_and_again_is_given_up") {
        return;
    }
    let mut all = joined(200_000);
    let bytes = pattern(200_000, 1);
    for tag in 1..=20 {
        break_streams();
        let recv = all[1].recv(Some(0), Some(tag), 0, bytes.len());
        let done = all[1].done.len() + 1;
        all[0].send(1, Some(tag), &bytes);
        run(&mut all, |all| all[1].done.len() == done);
        assert_eq!(all[1].bytes(recv), bytes);
        // Longer than an endpoint waits before it invites anew.
        let begin = Instant::now();
        run(&mut all, |_| begin.elapsed() > Duration::from_millis(50));
    }
    let invited = all.iter().map(|node| counters(node).invited).sum::<u64>();
    assert!(
        (2..=6).contains(&invited),
        "{invited} invitations, and no peer is invited more than three times"
    );
}

#[test]
fn what_a_broken_stream_owes_comes_in_frames() {
    if runs_by_itself("broken_streams::what_a_broken_stream_owes_comes_in_frames") {
        return;
    }
    // The helper threads may have sent everything before this thread gets a processor to break the streams.
    let broken = (0..100).any(|_| break_in_the_middle());
    assert!(broken, "everything was sent before the streams could be broken");
}

/// Breaks the stream in the middle of the second of four messages, all of which must arrive. False: it was
/// too late for that.
fn break_in_the_middle() -> bool {
    let mut all = joined(1_000_000);
    let before = counters(&all[0]).sent_bytes;
    let bytes: Vec<Vec<u8>> = (0..4).map(|salt| pattern(30_000_000, salt)).collect();
    let mut recvs = Vec::new();
    for (tag, bytes) in bytes.iter().enumerate() {
        recvs.push(all[1].recv(Some(0), Some(tag as u64), 0, bytes.len()));
        all[0].send(1, Some(tag as u64), bytes);
    }
    run(&mut all, |all| counters(&all[0]).sent_bytes > before + 31_000_000);
    assert!(break_streams() > 0);
    run(&mut all, |all| all[1].done.len() == 4 && all[0].done.len() == 4);
    assert!(recvs.iter().zip(&bytes).all(|(&recv, bytes)| all[1].bytes(recv) == bytes));
    let seen = counters(&all[1]);
    if seen.given_up == 0 {
        return false;
    }
    assert_eq!(seen.broken, 1, "{seen:?}");
    true
}

/// Messages that begin in a stream, and those after them, arrive though the stream is dead in one or both
/// directions: neither end hears of it by the stream.
#[test]
fn messages_that_began_in_a_dead_stream_come_in_frames() {
    if runs_by_itself("broken_streams::messages_that_began_in_a_dead_stream_come_in_frames") {
        return;
    }
    for senders in [&[0][..], &[1], &[0, 1]] {
        let mut all = joined(30_000);
        assert!(cut_streams() > 0);
        let mut expected = Vec::new();
        // The first ones keep the stream warm, so that the others begin in it.
        for tag in 0..40 {
            for &from in senders {
                let bytes = pattern(20_000 + 300 * tag, from);
                let recv = all[1 - from].recv(Some(from), Some(tag as u64), 0, bytes.len());
                all[from].send(1 - from, Some(tag as u64), &bytes);
                expected.push((1 - from, recv, bytes));
            }
        }
        let count = |all: &[Node]| all.iter().map(|node| node.done.len()).sum::<usize>();
        run(&mut all, |all| count(all) == 2 * expected.len());
        assert!(expected.iter().all(|(at, recv, bytes)| all[*at].bytes(*recv) == *bytes), "{senders:?}");
    }
}

/// Messages that are told to be complete before they have arrived do arrive, though their sender closes and
/// the stream is dead.
#[test]
fn messages_of_a_dead_stream_come_in_frames_while_their_sender_closes() {
    if runs_by_itself("broken_streams::messages_of_a_dead_stream_come_in_frames_while_their_sender_closes") {
        return;
    }
    let mut all = joined(30_000);
    assert!(cut_streams() > 0);
    let messages: Vec<Vec<u8>> = (0..8).map(|salt| pattern(15_000, salt)).collect();
    messages.iter().for_each(|bytes| _ = all[0].send(1, Some(1), bytes));
    run(&mut all[..1], |all| all[0].done.len() == messages.len());
    let closing = close_by_thread(all.remove(0));
    run(&mut all, |_| closing.is_finished());
    let recvs: Vec<u64> =
        messages.iter().map(|bytes| all[0].recv(Some(0), Some(1), 0, bytes.len())).collect();
    run(&mut all, |all| all[0].done.len() == messages.len());
    let is_received = |done: &Completion| matches!(done, Completion::Recv { .. });
    assert!(all[0].done.iter().all(is_received), "{:?}", all[0].done);
    assert!(recvs.iter().zip(&messages).all(|(&recv, bytes)| all[0].bytes(recv) == bytes));
}
