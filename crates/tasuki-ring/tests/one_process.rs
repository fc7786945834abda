//! Rings between ends in one process: order, wrap-around, verdicts, slots, hostile contents.

use std::os::unix::fs::FileExt;
use std::path::Path;

use tasuki_random::Random;
use tasuki_ring::{Departure, OpenError, Outbox, Peek, RingError, Segment, SegmentOptions, Token, Verdict};
use tasuki_testkit::replay::Replay;

/// Bounds that the layout states.
const SMALLEST_RING: usize = 4096;

fn segment(ring_bytes: usize, max_peers: usize) -> Segment {
    let token = Token::random().unwrap();
    Segment::create(&SegmentOptions { ring_bytes, max_peers, ..SegmentOptions::new(token) }).unwrap()
}

fn push(outbox: &mut Outbox, bytes: &[u8]) -> bool {
    outbox.push(bytes.len(), |into| into.copy_from_slice(bytes))
}

fn all(segment: &mut Segment) -> Vec<Vec<u8>> {
    let mut got = Vec::new();
    while segment.receive(64, |_, bytes| {
        got.push(bytes.to_vec());
        Verdict::Consumed
    }) > 0
    {}
    got
}

fn departures(segment: &mut Segment) -> Vec<Departure> {
    let mut got = Vec::new();
    segment.reap(|_, _, departure| got.push(departure));
    got
}

#[test]
fn records_of_every_size_arrive_in_order_over_many_wraps() {
    let mut inbox = segment(SMALLEST_RING, 4);
    let mut outbox = Outbox::open(&inbox.token(), &inbox.token()).unwrap();
    assert_eq!(outbox.max_record(), SMALLEST_RING / 2 - 8);
    let mut sent = 0_u64;
    for round in 0..3_u64 {
        for len in 0..=outbox.max_record() {
            let record: Vec<u8> = (0..len).map(|at| (at as u64 * 7 + len as u64 + round) as u8).collect();
            assert!(push(&mut outbox, &record), "no room for {len} bytes in an empty ring");
            assert_eq!(all(&mut inbox), [record]);
            sent += 1;
        }
    }
    let beyond = vec![0; outbox.max_record() + 1];
    assert!(!push(&mut outbox, &beyond));
    assert_eq!(inbox.stats().records, sent);
    assert!(outbox.is_drained() && inbox.idle());
}

#[test]
fn a_full_ring_says_so_and_loses_nothing() {
    let mut inbox = segment(SMALLEST_RING, 1);
    let mut outbox = Outbox::open(&inbox.token(), &inbox.token()).unwrap();
    for round in 0..10_u32 {
        let mut sent = Vec::new();
        // 56 bytes and the word before them are one line of 64; one line stays free.
        for number in 0.. {
            let record = [[round as u8, number].as_slice(), &[9; 54]].concat();
            if !push(&mut outbox, &record) {
                break;
            }
            sent.push(record);
        }
        assert_eq!(sent.len(), SMALLEST_RING / 64 - 1);
        assert!(!outbox.push(1, |_| panic!("asked although full")));
        assert!(!outbox.is_drained());
        assert_eq!(all(&mut inbox), sent);
    }
}

/// The next record, if a glance finds it.
fn glance(inbox: &mut Segment) -> Option<Vec<u8>> {
    let Peek::Found(found) = inbox.peek() else { return None };
    let record = inbox.line(found)?;
    let (bytes, len) = (record.words().copy(), record.len());
    let words: Vec<u8> = (0..7).flat_map(|at| record.word(at).to_ne_bytes()).collect();
    assert_eq!(words[..len], bytes[..len]);
    record.consume();
    Some(bytes[..len].to_vec())
}

/// A glance takes the next record, or leaves it to a full visit: whatever is written and read how, all arrive once and in order.
#[test]
fn glances_and_visits_take_turns() {
    let mut inbox = segment(SMALLEST_RING, 2);
    assert!(matches!(inbox.peek(), Peek::Other), "nobody has come yet");
    let mut outbox = Outbox::open(&inbox.token(), &inbox.token()).unwrap();
    assert!(all(&mut inbox).is_empty());
    assert!(matches!(inbox.peek(), Peek::Nothing));
    let mut random = Random::new(7);
    let (mut glances, mut visits) = (0, 0);
    for round in 0..20_000_u64 {
        let len = random.below(120) as usize;
        let record = vec![round as u8; len];
        // 56 bytes and the word before them are one line of 64. What comes behind the ring's end begins with a word that says so.
        if len <= 56 && round % 2 == 0 {
            let mut line = outbox.line().expect("room");
            line.bytes()[..len].copy_from_slice(&record);
            line.push(len);
        } else {
            assert!(push(&mut outbox, &record));
        }
        match glance(&mut inbox) {
            Some(short) => {
                assert!(len <= 56 && short == record);
                glances += 1;
            }
            None => {
                assert_eq!(all(&mut inbox), [record]);
                visits += 1;
            }
        }
        assert!(outbox.is_drained() && inbox.idle());
    }
    assert!(glances > 8000 && visits > 9000, "{glances} {visits}");
    assert_eq!(inbox.stats().records, 20_000);
}

/// Lines fill a ring to the last place, and room for a line is room for a record of two, wherever the ring stands.
#[test]
fn there_is_room_for_what_was_promised() {
    let mut inbox = segment(SMALLEST_RING, 1);
    let mut outbox = Outbox::open(&inbox.token(), &inbox.token()).unwrap();
    assert!(all(&mut inbox).is_empty());
    for offset in 0..SMALLEST_RING / 64 {
        let mut sent = 0;
        while let Some(mut line) = outbox.line() {
            line.bytes()[0] = sent as u8;
            line.push(1);
            sent += 1;
        }
        assert_eq!(sent, SMALLEST_RING / 64 - 3);
        let received = all(&mut inbox);
        assert!(
            received.iter().enumerate().all(|(at, record)| *record == [at as u8]) && received.len() == sent
        );
        let line = outbox.line().expect("an empty ring");
        assert!(push(line.give_back(), &[offset as u8; 120]), "offset {offset}");
        assert_eq!(all(&mut inbox), [[offset as u8; 120]]);
    }
}

#[test]
fn no_sender_waits_for_another() {
    let mut inbox = segment(SMALLEST_RING, 3);
    let token = inbox.token();
    let mut senders: Vec<Outbox> = (0..3).map(|_| Outbox::open(&token, &token).unwrap()).collect();
    assert!(all(&mut inbox).is_empty());
    for round in 0..20u8 {
        for sender in 0..3u8 {
            (0..4u8)
                .for_each(|number| assert!(push(&mut senders[sender as usize], &[round, sender, number])));
        }
        let taken: Vec<Vec<u8>> = std::iter::from_fn(|| glance(&mut inbox)).collect();
        assert_eq!(taken.len(), 12);
        for number in 0..4u8 {
            let mut from: Vec<u8> =
                taken[3 * usize::from(number)..][..3].iter().map(|record| record[1]).collect();
            from.sort_unstable();
            assert_eq!(from, [0, 1, 2], "each in its turn");
            assert!(taken[3 * usize::from(number)..][..3].iter().all(|record| record[2] == number));
        }
    }
    // One that is silent long enough while others are not sleeps until it rings.
    for _ in 0..20_000 {
        assert!(push(&mut senders[0], &[1]));
        if glance(&mut inbox).is_none() {
            assert_eq!(all(&mut inbox), [[1]]);
        }
    }
    assert!(push(&mut senders[2], &[3]));
    assert_eq!(glance(&mut inbox), None, "it has rung: a visit's task");
    assert_eq!(all(&mut inbox), [[3]]);
}

#[test]
fn verdicts_and_budgets_end_a_visit_where_they_say() {
    let mut inbox = segment(SMALLEST_RING, 1);
    let mut outbox = Outbox::open(&inbox.token(), &inbox.token()).unwrap();
    (0..6).for_each(|number| assert!(push(&mut outbox, &[number])));
    assert!(!inbox.idle());
    assert_eq!(inbox.receive(2, |_, _| Verdict::Consumed), 2);
    assert_eq!(inbox.receive(9, |_, bytes| if bytes == [2] { Verdict::Last } else { Verdict::Consumed }), 1);
    assert_eq!(inbox.receive(9, |_, bytes| if bytes == [4] { Verdict::Stop } else { Verdict::Consumed }), 1);
    assert_eq!(inbox.receive(0, |_, _| panic!("no budget")), 0);
    assert_eq!(all(&mut inbox), [[4], [5]]);
}

#[test]
fn raw_records_are_read_in_parts_and_never_beyond() {
    let mut inbox = segment(SMALLEST_RING, 1);
    let mut outbox = Outbox::open(&inbox.token(), &inbox.token()).unwrap();
    assert!(push(&mut outbox, b"header+payload"));
    let taken = inbox.receive_raw(1, |_, record| {
        let (mut head, mut rest) = ([0; 7], [0; 7]);
        assert!(record.copy_to(0, &mut head) && record.copy_to(7, &mut rest));
        assert_eq!((&head, &rest), (b"header+", b"payload"));
        assert!(!record.copy_to(8, &mut rest) && !record.copy_to(usize::MAX, &mut rest));
        Verdict::Consumed
    });
    assert_eq!(taken, 1);
}

#[test]
fn a_sleeping_ring_is_woken_by_the_next_record() {
    let mut inbox = segment(SMALLEST_RING, 1);
    let mut outbox = Outbox::open(&inbox.token(), &inbox.token()).unwrap();
    for round in 0..3 {
        assert!(push(&mut outbox, &[round]));
        assert_eq!(all(&mut inbox), [[round]]);
        // More visits in vain than a ring is looked at.
        (0..10_000).for_each(|_| assert_eq!(inbox.receive(1, |_, _| Verdict::Consumed), 0));
    }
}

#[test]
fn a_slot_is_given_on_after_its_records_have_been_received() {
    let mut inbox = segment(SMALLEST_RING, 1);
    let (first, second) = (Token::from_bytes([1; 16]), Token::from_bytes([2; 16]));
    let mut outbox = Outbox::open(&inbox.token(), &first).unwrap();
    assert!(push(&mut outbox, b"last words"));
    drop(outbox);
    assert!(matches!(Outbox::open(&inbox.token(), &second), Err(OpenError::Full { slots: 1, .. })));
    let mut seen = Vec::new();
    inbox.receive(9, |slot, bytes| {
        seen.push((slot, bytes.to_vec()));
        Verdict::Consumed
    });
    assert_eq!(seen[0].1, b"last words");
    assert_eq!(departures(&mut inbox), [Departure::Closed]);
    assert_eq!(inbox.sender(seen[0].0), None);
    let mut outbox = Outbox::open(&inbox.token(), &second).unwrap();
    assert!(push(&mut outbox, b"hello"));
    let mut slot = None;
    assert_eq!(
        inbox.receive(9, |from, bytes| {
            slot = Some(from);
            assert_eq!(bytes, b"hello");
            Verdict::Consumed
        }),
        1
    );
    let slot = slot.unwrap();
    assert_eq!((slot.index(), inbox.sender(slot)), (0, Some(second)));
    assert_ne!(slot, seen[0].0, "a new sender is a new slot");
    assert_eq!(departures(&mut inbox), []);
}

#[test]
fn every_sender_is_served_and_known() {
    let mut inbox = segment(SMALLEST_RING, 130);
    let tokens: Vec<Token> = (0..130).map(|n| Token::from_bytes([n; 16])).collect();
    let mut outboxes: Vec<Outbox> =
        tokens.iter().map(|me| Outbox::open(&inbox.token(), me).unwrap()).collect();
    for (n, outbox) in outboxes.iter_mut().enumerate() {
        assert!(push(outbox, &[n as u8]) && push(outbox, &[n as u8]));
    }
    let mut seen = Vec::new();
    while inbox.receive(7, |slot, bytes| {
        seen.push((slot, bytes[0]));
        Verdict::Consumed
    }) > 0
    {}
    assert_eq!(seen.len(), 260);
    assert!(seen.iter().all(|&(slot, n)| inbox.sender(slot) == Some(tokens[n as usize])));
}

#[test]
fn a_token_that_is_not_here_is_another_host() {
    let nowhere = Token::random().unwrap();
    assert!(matches!(Outbox::open(&nowhere, &nowhere), Err(OpenError::NotHere { .. })));
    let inbox = segment(SMALLEST_RING, 1);
    let again = SegmentOptions::new(inbox.token());
    assert!(matches!(Segment::create(&again), Err(RingError::Exists { .. })));
    let mut outbox = Outbox::open(&inbox.token(), &nowhere).unwrap();
    assert!(outbox.alive());
    let token = inbox.token();
    drop(inbox);
    assert!(
        !outbox.alive() && outbox.is_shut() && !Path::new(&format!("/dev/shm/tasuki-ring.{token}")).exists()
    );
    // What has room still goes into the ring and nobody reads it; what has none is refused for good.
    while push(&mut outbox, &[0; 100]) {}
    // This process still has the file open, though it has no name any more.
    assert!(matches!(Outbox::open(&token, &nowhere), Err(OpenError::Dead { .. })));
    drop(outbox);
    assert!(matches!(Outbox::open(&token, &nowhere), Err(OpenError::NotHere { .. })));
}

#[test]
fn sizes_outside_the_bounds_are_refused() {
    let token = Token::random().unwrap();
    for (ring_bytes, max_peers) in [(1, 1), (usize::MAX, 1), (1 << 40, 1), (4096, 0), (4096, usize::MAX)] {
        let options = SegmentOptions { ring_bytes, max_peers, ..SegmentOptions::new(token) };
        assert!(matches!(Segment::create(&options), Err(RingError::Size { .. })), "{options:?}");
    }
}

#[test]
fn hostile_contents_shut_the_slot_and_nothing_else() {
    let command = "cargo test -p tasuki-ring --test one_process hostile";
    let replay = Replay { variable: "TASUKI_SEED", command };
    let mut random = Random::new(replay.one(|| u64::from(std::process::id())));
    for _ in 0..200 {
        // Its own directory, as the file is opened behind the crate's back (which would end the locks of this process).
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
            // Half of the damage goes to the first pages: header, bells, slots, the ring in use.
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
    // The only ring is the last thing in the file.
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
