//! What the other process does.

use std::path::Path;

use tasuki_random::Random;
use tasuki_ring::stats_page::{EndpointRecord, Identity, Layout, Writer};
use tasuki_ring::{Outbox, Segment, SegmentOptions, Token};

use super::other::{say, wait_for_word};

/// Size of a ring, in bytes.
pub const RING: usize = 8192;

/// Record number `number` of the stream with this seed: both processes compute it.
pub fn record(seed: u64, number: u64) -> Vec<u8> {
    let mut random = Random::new(seed ^ number.wrapping_mul(0x1234_5678_9abc_def1));
    // Most are small, and some as large as a record may be.
    let limit = [64, 256, (RING / 2 - 8) as u64][(random.next_u64() % 3) as usize];
    let len = 1 + random.next_u64() % limit;
    (0..len).map(|_| random.next_u64() as u8).collect()
}

/// The token that a text names.
pub fn token(text: &str) -> Token {
    Token::from_bytes(u128::from_str_radix(text, 16).expect("a token").to_be_bytes())
}

/// Does a task: its name, then its arguments, with spaces between them.
pub fn run(task: &str) {
    let words: Vec<&str> = task.split(' ').collect();
    match words[..] {
        ["stream", name, seed, count] => {
            stream(&token(name), seed.parse().expect("a seed"), count.parse().expect("a count"));
        }
        ["hold", name] => hold(&token(name)),
        ["own", name] => own(token(name)),
        ["page", directory] => page(Path::new(directory)),
        _ => panic!("no task {task}"),
    }
}

fn me() -> Token {
    Token::from_bytes([7; 16])
}

/// Sends the first `count` records of a stream to a segment.
fn stream(name: &Token, seed: u64, count: u64) {
    let mut outbox = Outbox::open(name, &me()).expect("the segment");
    for number in 0..count {
        let bytes = record(seed, number);
        while !outbox.push(bytes.len(), |into| into.copy_from_slice(&bytes)) {
            std::thread::yield_now();
        }
        // Sometimes there is a pause, long enough for the receiver to stop looking at the ring, or not quite.
        let pause = Random::new(seed ^ number).next_u64();
        if pause.is_multiple_of(32) {
            (0..(pause >> 8) % 100_000).for_each(|_| std::hint::spin_loop());
        }
    }
}

/// Sends a record to a segment and waits.
fn hold(name: &Token) {
    let mut outbox = Outbox::open(name, &me()).expect("the segment");
    assert!(outbox.push(5, |into| into.copy_from_slice(b"hello")));
    say("ready");
    wait_for_word();
}

/// Owns a segment, and memory to be read.
fn own(name: Token) {
    let _inbox = Segment::create(&SegmentOptions::new(name)).expect("a segment");
    let bytes: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
    say(&format!("{}", bytes.as_ptr() as u64));
    wait_for_word();
    drop(bytes);
}

/// Writes a statistics page again and again.
fn page(directory: &Path) {
    let identity = Identity { address: "addr".to_owned(), lanes: "shm".to_owned() };
    let layout = Layout { peers: 2, rails: 1, drops: 1, public: false };
    let mut writer = Writer::create_in(directory, &layout, &identity).expect("a page");
    say(&writer.path().display().to_string());
    for n in 1..=300_000 {
        writer.endpoint(&equal(n));
    }
    say("written");
    wait_for_word();
}

/// Counters that are all equal, so that a mixture of two records shows.
pub fn equal(n: u64) -> EndpointRecord {
    EndpointRecord {
        messages_sent: n,
        messages_received: n,
        bytes_sent: n,
        bytes_received: n,
        receives_posted: n,
        unexpected: n,
        pool_held: n,
        pool_limit: n,
        completions_waiting: n,
        progress_calls: n,
        helper_calls: n,
        granted_rate: n,
        grant_window: n,
        grants: n,
        slowed: n,
        operations_listed: n,
        operations_complete: n % 2 == 1,
    }
}
