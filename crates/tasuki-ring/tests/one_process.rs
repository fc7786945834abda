//! Rings between ends in one process: order, wrap-around, verdicts, slots.

mod common;

use common::{SMALLEST_RING, all, departures, push, segment};
use tasuki_ring::{Departure, OpenError, Outbox, RingError, Segment, SegmentOptions, Token, Verdict};

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
        // 56 bytes and the word before them take one cache line of 64; one line stays free.
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
        // These are more visits in vain than those after which a ring is no longer looked at.
        (0..10_000).for_each(|_| assert_eq!(inbox.receive(1, |_, _| Verdict::Consumed), 0));
    }
}

#[test]
fn a_slot_is_given_on_after_its_records_have_been_received() {
    let mut inbox = segment(SMALLEST_RING, 1);
    let (first, second) = (Token::from_bytes([1; 16]), Token::from_bytes([2; 16]));
    let mut outbox = Outbox::open(&inbox.token(), &first).unwrap();
    assert!(!inbox.has_sender(&second));
    assert!(push(&mut outbox, b"last words"));
    assert!(inbox.has_sender(&first) && !inbox.has_left_rest(&first), "it lives");
    drop(outbox);
    assert!(inbox.has_sender(&first) && inbox.has_left_rest(&first), "its last words are still here");
    assert!(matches!(Outbox::open(&inbox.token(), &second), Err(OpenError::Full { slots: 1, .. })));
    let mut seen = Vec::new();
    inbox.receive(9, |slot, bytes| {
        seen.push((slot, bytes.to_vec()));
        Verdict::Consumed
    });
    assert_eq!(seen[0].1, b"last words");
    assert_eq!(departures(&mut inbox), [Departure::Closed]);
    assert!(!inbox.has_sender(&first) && !inbox.has_left_rest(&first));
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
    // A folder of its own: whoever makes a segment looks through the files beside it for those of processes
    // that have gone, and has each of them open for that moment.
    let folder = tempfile::tempdir().unwrap();
    let nowhere = Token::random().unwrap();
    let open = |token: &Token| Outbox::open_in(folder.path(), token, &nowhere);
    assert!(matches!(open(&nowhere), Err(OpenError::NotHere { .. })));
    let options = SegmentOptions {
        ring_bytes: SMALLEST_RING,
        max_peers: 1,
        ..SegmentOptions::new(Token::random().unwrap())
    };
    let inbox = Segment::create_in(folder.path(), &options).unwrap();
    assert!(matches!(Segment::create_in(folder.path(), &options), Err(RingError::Exists { .. })));
    let mut outbox = open(&options.token).unwrap();
    assert!(outbox.alive());
    let names = || std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names(), 1);
    drop(inbox);
    assert!(!outbox.alive() && outbox.is_shut());
    assert_eq!(names(), 0);
    // A record for which there is room still goes into the ring, where nobody reads it; the others are
    // refused for good.
    while push(&mut outbox, &[0; 100]) {}
    // This process still has the file open, although the file has no name any more.
    assert!(matches!(open(&options.token), Err(OpenError::Dead { .. })));
    drop(outbox);
    assert!(matches!(open(&options.token), Err(OpenError::NotHere { .. })));
}

#[test]
fn sizes_outside_the_bounds_are_refused() {
    let token = Token::random().unwrap();
    for (ring_bytes, max_peers) in [(1, 1), (usize::MAX, 1), (1 << 40, 1), (4096, 0), (4096, usize::MAX)] {
        let options = SegmentOptions { ring_bytes, max_peers, ..SegmentOptions::new(token) };
        assert!(matches!(Segment::create(&options), Err(RingError::Size { .. })), "{options:?}");
    }
}
