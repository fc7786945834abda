//! Segments whose contents were damaged, and files that are no segments.

mod common;

use std::os::unix::fs::FileExt;

use common::{SMALLEST_RING, all, departures, push};
use tasuki_random::Random;
use tasuki_ring::{Departure, OpenError, Outbox, Segment, SegmentOptions, Token, Verdict};
use tasuki_testkit::replay::Replay;

#[test]
fn hostile_contents_shut_the_slot_and_nothing_else() {
    let command = "cargo test -p tasuki-ring --test hostile";
    let replay = Replay { variable: "TASUKI_SEED", command };
    let mut random = Random::new(replay.one(|| u64::from(std::process::id())));
    for _ in 0..200 {
        // The segment has a directory of its own, because the test opens its file behind the crate's back.
        // (Closing a file ends all locks that the process has on it.)
        let directory = tempfile::tempdir().unwrap();
        let token = Token::random().unwrap();
        let options =
            SegmentOptions { ring_bytes: SMALLEST_RING, max_peers: 3, ..SegmentOptions::new(token) };
        let mut inbox = Segment::create_in(directory.path(), &options).unwrap();
        let mut outbox = Outbox::open_in(directory.path(), &token, &token).unwrap();
        assert!(push(&mut outbox, &[5; 100]));
        let path = directory.path().join(format!("tasuki-ring.{token}"));
        let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        let len = file.metadata().unwrap().len();
        for _ in 0..1 + random.next_u64() % 40 {
            // Half of the damage goes to the first pages, where the header, the bells, the slots and the ring
            // in use are.
            let reach = if random.next_u64().is_multiple_of(2) { 4096 + 512 } else { len - 8 };
            let at = random.next_u64() % reach;
            let value = match random.next_u64() % 4 {
                0 => u64::MAX,
                1 => random.next_u64() % 8,
                _ => random.next_u64(),
            };
            file.write_all_at(&value.to_ne_bytes(), at).unwrap();
            let mut records = 0;
            inbox.receive(100, |slot, bytes| {
                assert!(slot.index() < 3 && bytes.len() <= SMALLEST_RING / 2);
                records += 1;
                Verdict::Consumed
            });
            assert!(records <= SMALLEST_RING / 64 * 3, "more than the rings can hold");
            inbox.reap(|slot, _, _| assert!(slot.index() < 3));
            inbox.idle();
            push(&mut outbox, &[6; 200]);
            let _ = (outbox.is_drained(), outbox.is_shut(), outbox.alive());
            let _ =
                Outbox::open_in(directory.path(), &token, &token).map(|mut other| push(&mut other, &[7; 9]));
        }
    }
}

#[test]
fn a_corrupt_ring_is_counted_and_its_sender_told() {
    let directory = tempfile::tempdir().unwrap();
    let token = Token::random().unwrap();
    let options = SegmentOptions { ring_bytes: SMALLEST_RING, max_peers: 1, ..SegmentOptions::new(token) };
    let mut inbox = Segment::create_in(directory.path(), &options).unwrap();
    let mut outbox = Outbox::open_in(directory.path(), &token, &token).unwrap();
    assert!(push(&mut outbox, &[5; 100]));
    let path = directory.path().join(format!("tasuki-ring.{token}"));
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    // The only ring is at the end of the file.
    let ring = file.metadata().unwrap().len() - SMALLEST_RING as u64;
    file.write_all_at(&[0xff; 8], ring).unwrap();
    assert_eq!(inbox.receive(9, |_, _| panic!("corrupt")), 0);
    assert_eq!(inbox.stats().corrupt, 1);
    assert!(outbox.is_shut());
    assert_eq!(departures(&mut inbox), [Departure::Corrupt]);
    assert_eq!(departures(&mut inbox), []);
    drop(outbox);
    inbox.receive(9, |_, _| panic!("corrupt"));
    let mut outbox = Outbox::open_in(directory.path(), &token, &token).unwrap();
    assert!(push(&mut outbox, b"anew"));
    assert_eq!(all(&mut inbox), [b"anew"]);
}

#[test]
fn files_that_are_no_segments_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let token = Token::random().unwrap();
    for contents in [vec![], vec![0; 4096], b"tasukirg".repeat(1000)] {
        std::fs::write(directory.path().join(format!("tasuki-ring.{token}")), &contents).unwrap();
        let outcome = Outbox::open_in(directory.path(), &token, &token);
        assert!(matches!(outcome, Err(OpenError::Layout { .. })), "{:?}", outcome.err());
    }
}
