//! Peeking at records that take one cache line, beside full visits.

mod common;

use common::{SMALLEST_RING, all, push, segment};
use tasuki_random::Random;
use tasuki_ring::{Outbox, Peek, Segment};

/// The next record, if a peek finds it and it takes one cache line.
fn peek(inbox: &mut Segment) -> Option<Vec<u8>> {
    let Peek::Found(found) = inbox.peek() else { return None };
    let record = inbox.cache_line(found)?;
    let mut bytes = vec![0; record.len()];
    assert!(record.record().copy_to(0, &mut bytes));
    let words: Vec<u8> = (0..7).flat_map(|at| record.word(at).to_ne_bytes()).collect();
    assert_eq!(words[..bytes.len()], bytes);
    record.consume();
    Some(bytes)
}

/// The next record of any length, if a peek finds it.
fn peek_longer(inbox: &mut Segment) -> Option<Vec<u8>> {
    let Peek::Found(found) = inbox.peek() else { return None };
    let record = inbox.found_record(found)?;
    let mut bytes = vec![0; record.record().len()];
    assert!(record.record().copy_to(0, &mut bytes));
    record.consume();
    Some(bytes)
}

/// A peek takes the next record, or leaves it to a full visit. However records are written and read, all
/// arrive once and in order.
#[test]
fn peeks_and_visits_take_turns() {
    let mut inbox = segment(SMALLEST_RING, 2);
    assert!(matches!(inbox.peek(), Peek::Other), "nobody has come yet");
    let mut outbox = Outbox::open(&inbox.token(), &inbox.token()).unwrap();
    assert!(all(&mut inbox).is_empty());
    assert!(matches!(inbox.peek(), Peek::Nothing));
    let mut random = Random::new(7);
    let (mut peeks, mut longer, mut visits) = (0, 0, 0);
    for round in 0..20_000_u64 {
        let len = random.below(120) as usize;
        let record = vec![round as u8; len];
        // 56 bytes and the word before them take one cache line of 64. Before a record at the ring's
        // beginning stands a word that sends the receiver there, which no peek takes.
        if len <= 56 && round % 2 == 0 {
            let mut line = outbox.cache_line().expect("room");
            line.bytes()[..len].copy_from_slice(&record);
            line.push(len);
        } else {
            assert!(push(&mut outbox, &record));
        }
        match peek(&mut inbox) {
            Some(short) => {
                assert!(len <= 56 && short == record);
                peeks += 1;
            }
            None if round % 3 == 0 => {
                assert_eq!(peek_longer(&mut inbox), Some(record));
                longer += 1;
            }
            None => {
                assert_eq!(all(&mut inbox), [record]);
                visits += 1;
            }
        }
        assert!(outbox.is_drained() && inbox.idle());
    }
    assert!(peeks > 8000 && longer > 3000 && visits > 6000, "{peeks} {longer} {visits}");
    assert_eq!(inbox.stats().records, 20_000);
}

/// Records of one cache line fill a ring until three lines are left, and where there is room for such a
/// record there is room for one of two lines, wherever the ring stands.
#[test]
fn there_is_room_for_what_was_promised() {
    let mut inbox = segment(SMALLEST_RING, 1);
    let mut outbox = Outbox::open(&inbox.token(), &inbox.token()).unwrap();
    assert!(all(&mut inbox).is_empty());
    for offset in 0..SMALLEST_RING / 64 {
        let mut sent = 0;
        while let Some(mut line) = outbox.cache_line() {
            line.bytes()[0] = sent as u8;
            line.push(1);
            sent += 1;
        }
        assert_eq!(sent, SMALLEST_RING / 64 - 3);
        let received = all(&mut inbox);
        assert!(
            received.iter().enumerate().all(|(at, record)| *record == [at as u8]) && received.len() == sent
        );
        let line = outbox.cache_line().expect("an empty ring");
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
        let taken: Vec<Vec<u8>> = std::iter::from_fn(|| peek(&mut inbox)).collect();
        assert_eq!(taken.len(), 12);
        for number in 0..4u8 {
            let mut from: Vec<u8> =
                taken[3 * usize::from(number)..][..3].iter().map(|record| record[1]).collect();
            from.sort_unstable();
            assert_eq!(from, [0, 1, 2], "each in its turn");
            assert!(taken[3 * usize::from(number)..][..3].iter().all(|record| record[2] == number));
        }
    }
    // The ring of a sender that is silent for long while others are not is no longer looked at, until that
    // sender rings.
    for _ in 0..20_000 {
        assert!(push(&mut senders[0], &[1]));
        if peek(&mut inbox).is_none() {
            assert_eq!(all(&mut inbox), [[1]]);
        }
    }
    assert!(push(&mut senders[2], &[3]));
    assert_eq!(peek(&mut inbox), None, "it has rung: a visit's task");
    assert_eq!(all(&mut inbox), [[3]]);
}
