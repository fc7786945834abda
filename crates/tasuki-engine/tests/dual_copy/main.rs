//! Long messages inside a host, which sender and receiver copy together, between real processes: this
//! executable is its own other process (a test named `helper` does what the environment asks for and is empty
//! otherwise).
//!
//! Truth from outside: the bytes that were sent; which process lives; what the kernel was told to refuse.
//! `TASUKI_SEED` replays a random test.

#[path = "../common/other.rs"]
mod other;
mod seccomp;
mod sender;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use other::Other;
use sender::{Node, content};
use tasuki_engine::{Completion, DualCopyCounters, Failure};
use tasuki_random::Random;
use tasuki_ring::Token;
use tasuki_testkit::replay::Replay;

/// A test that has waited for something for longer than this has failed: a hang is a defect, slowness is not.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Looks in which anything that can happen has happened.
const POLLS_MAX: usize = 20_000;

/// What did not happen in this time will most likely not happen at all. Beside programs that use all they get
/// a poll may take some hundredths of a second.
const POLLS_TIME: Duration = Duration::from_secs(3);

/// Many polls, as many as there is time for.
fn polls() -> impl Iterator<Item = usize> {
    let start = Instant::now();
    (0..POLLS_MAX).take_while(move |_| start.elapsed() < POLLS_TIME)
}

const LONG: usize = 3 << 20;

fn seed() -> u64 {
    let command = "cargo test -p tasuki-engine --test dual_copy";
    Replay { variable: "TASUKI_SEED", command }.one(|| u64::from(std::process::id()))
}

#[test]
fn helper() {
    let Ok(task) = std::env::var("TASUKI_TASK") else { return };
    sender::run(&task);
}

/// Looks until it is so.
fn until(node: &mut Node, what: &str, mut over: impl FnMut(&Node) -> bool) {
    let start = Instant::now();
    while !over(node) {
        node.turn();
        assert!(start.elapsed() < TIMEOUT, "never {what}: {}", node.endpoint.describe());
    }
}

fn ended(node: &Node, context: u64) -> bool {
    node.done.iter().any(|done| match done {
        Completion::Recv { context: of, .. } | Completion::Error { context: of, .. } => *of == context,
        _ => false,
    })
}

fn assert_content(node: &Node, context: u64, number: u64, len: usize) {
    let expected = content(number, len);
    let (got, rest) = node.bytes(context).split_at(len);
    if let Some(at) = (0..len).find(|at| got[*at] != expected[*at]) {
        panic!("message {number} of {len} bytes is another one from byte {at} on");
    }
    assert!(rest.iter().all(|byte| *byte == 0xee), "message {number}: something was written behind it");
}

/// Lengths at, below and beyond what is shared, and at the edges of parts.
fn length(random: &mut Random) -> usize {
    let base = random.pick(&[0, 1, 4095, 100_000, 131_071, 131_072, 262_144, 1_000_003, 4 << 20]) as usize;
    base + random.below(5) as usize
}

/// Receives so many random messages from `other`, some of them at once, while sending as many.
fn receive_and_send(other: &mut Other, node: &mut Node, seed: u64, rounds: u64) {
    let mut random = Random::new(seed);
    for _ in 0..rounds {
        let count = 1 + random.below(4);
        let both = random.below(2) == 0;
        let lens: Vec<usize> = (0..count).map(|_| length(&mut random)).collect();
        let first = node.numbers(count);
        let recvs: Vec<u64> = lens.iter().map(|len| node.recv(*len + 64)).collect();
        let words: Vec<String> = lens.iter().map(usize::to_string).collect();
        other.tell(&format!("send {first} {both} {}", words.join(" ")));
        if both {
            lens.iter().zip(first..).for_each(|(len, number)| node.send(number, *len));
        }
        until(node, "all received", |node| recvs.iter().all(|recv| ended(node, *recv)) && node.sends == 0);
        for ((recv, len), number) in recvs.iter().zip(lens).zip(first..) {
            assert_content(node, *recv, number, len);
        }
        assert_eq!(other.hear_with(|| node.turn()), "sent");
        node.done.clear();
    }
}

fn written(other: &mut Other, node: &mut Node) -> u64 {
    other.tell("count");
    other.hear_with(|| node.turn()).parse().expect("a number")
}

/// One direction and both, one message and several, of all lengths: every byte is as it was sent, and senders
/// that wait write some of them.
#[test]
fn all_bytes_arrive_whoever_copies_them() {
    let seed = seed();
    let (mut other, mut node) = sender::start("free");
    let start = Instant::now();
    for round in 0.. {
        receive_and_send(&mut other, &mut node, seed.wrapping_add(round), 25);
        let counters = node.endpoint.dual_copies();
        let theirs = written(&mut other, &mut node);
        assert!(counters.received <= theirs, "{counters:?} {theirs}");
        assert_eq!(counters.refused, 0);
        // Where the two are never on processors at the same time it takes a while.
        if counters.received > 0 || !node.can_share() {
            break;
        }
        assert!(start.elapsed() < TIMEOUT, "no sender has ever written: {counters:?}");
    }
    other.finish(|| node.turn());
}

/// A sender that computes is not waited for.
#[test]
fn a_sender_that_computes_writes_nothing() {
    let (mut other, mut node) = sender::start("free");
    let recv = node.recv(LONG);
    other.tell(&format!("post 7 {LONG}"));
    assert_eq!(other.hear_with(|| {}), "posted");
    until(&mut node, "received", |node| ended(node, recv));
    assert_content(&node, recv, 7, LONG);
    assert_eq!(node.endpoint.dual_copies().received, 0);
    assert_eq!(written(&mut other, &mut node), 0);
    other.finish(|| node.turn());
}

/// The kernel refuses to write: the receiver copies those bytes, too, and does not ask again.
#[test]
fn where_writing_is_forbidden_the_receiver_reads() {
    let (mut other, mut node) = sender::start("refused");
    let start = Instant::now();
    while node.endpoint.dual_copies().refused == 0 && node.can_share() {
        receive_and_send(&mut other, &mut node, 3, 10);
        assert!(start.elapsed() < TIMEOUT, "no sender has ever tried");
    }
    let DualCopyCounters { offered, received, refused, .. } = node.endpoint.dual_copies();
    receive_and_send(&mut other, &mut node, 4, 20);
    let after = node.endpoint.dual_copies();
    assert_eq!((after.offered, after.received, after.refused), (offered, received, refused));
    assert_eq!(received, 0);
    other.finish(|| node.turn());
}

/// Has the other process begin to write a part of a message, and not go on. The receive, unless it cannot be
/// done here.
fn writing_sender() -> Option<(Other, Node, u64)> {
    let (mut other, mut node) = sender::start("held");
    let start = Instant::now();
    while node.can_share() {
        let recv = node.recv(LONG);
        other.tell(&format!("send {} false {LONG}", node.numbers(1)));
        // Either the sender stands still in its write, or this end was faster.
        let word = other.hear_with(|| node.turn());
        if word == "held" {
            return Some((other, node, recv));
        }
        until(&mut node, "received", |node| ended(node, recv));
        assert!(start.elapsed() < TIMEOUT, "no sender has ever tried to write");
    }
    None
}

/// A sender that is killed while it writes: until then the receive is not over and everything else goes on;
/// then it fails.
#[test]
fn a_sender_that_dies_while_it_writes_ends_the_receive() {
    let Some((other, mut node, recv)) = writing_sender() else { return };
    let (mut second, address) = Other::start("helper", "free");
    let peer = node.endpoint.add_peer(&address);
    second.tell(&node.address());
    let further = node.recv_from(peer, LONG);
    second.tell(&format!("send 9 false {LONG}"));
    until(&mut node, "received from another", |node| ended(node, further));
    assert_content(&node, further, 9, LONG);
    polls().for_each(|_| node.turn());
    assert!(!ended(&node, recv), "its memory is not the program's yet");
    other.kill();
    until(&mut node, "failed", |node| ended(node, recv));
    let failed = |done: &Completion| match done {
        Completion::Error { context, failure: Failure::PeerFailed, .. } => *context == recv,
        _ => false,
    };
    assert_eq!(node.done.iter().filter(|done| failed(done)).count(), 1);
    second.finish(|| node.turn());
}

/// An endpoint that closes while another process writes into its program's memory waits for the end of that.
#[test]
fn closing_waits_for_senders_that_write() {
    let Some((other, node, _)) = writing_sender() else { return };
    let closed = Arc::new(AtomicBool::new(false));
    let said = Arc::clone(&closed);
    let closing = std::thread::spawn(move || {
        node.close();
        said.store(true, Ordering::Release);
    });
    for _ in polls() {
        std::thread::yield_now();
        assert!(!closed.load(Ordering::Acquire), "the memory was given back while it is written to");
    }
    other.kill();
    closing.join().expect("it ends");
}

/// A process that is killed leaves its shared memory behind; the last of the user's endpoints on the host to
/// be closed takes it away.
#[test]
fn files_of_the_killed_go_with_the_last_one_out() {
    let (mut other, node) = sender::start("free");
    other.tell("count");
    other.hear_with(|| {});
    let address = node.peer_address();
    let name = Token::derive(&address.secret, address.incarnation, address.endpoint);
    other.kill();
    node.close();
    let file = Path::new("/dev/shm").join(format!("tasuki-ring.{name}"));
    // Another process of this machine may be about to remove it.
    let end = Instant::now() + Duration::from_secs(60);
    while file.exists() {
        assert!(Instant::now() < end, "{} is still there", file.display());
        std::thread::yield_now();
    }
}
