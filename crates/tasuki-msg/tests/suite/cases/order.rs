//! Which receive gets which message (MPI 4.1, section 3.5; FI_ORDER_SAS).

use super::*;

/// "If a sender sends two messages in succession to the same destination, and both match the same receive,
/// then this operation cannot receive the second message if the first one is still pending." That holds
/// whatever the carriers do.
#[test]
fn messages_do_not_overtake() {
    let mut w = world(2);
    let (first, second) = (w.listen(1, Some(0), 5, 0), w.listen(1, Some(0), 5, 0));
    w.say(0, 1, 5, 10, 100);
    w.say(0, 1, 5, 10, 200);
    w.hand_to_carriers(0);
    w.deliver_at(0, 1, 1).unwrap();
    assert!(w.heard(1, first).is_empty(), "the second message has arrived, but it is not its turn");
    w.carry();
    assert_eq!((w.heard(1, first), w.heard(1, second)), (vec![100], vec![200]));
}

/// A small message after a large one is matched after it, though it has arrived whole long before.
#[test]
fn eager_does_not_overtake_rendezvous() {
    let mut w = world(2);
    w.say(0, 1, 5, 50_000, 1);
    w.say(0, 1, 5, 8, 2);
    w.carry();
    let (first, second) = (w.listen(1, Some(0), 5, 0), w.listen(1, Some(0), 5, 0));
    assert_eq!(w.heard(1, second), [2], "its bytes are here");
    assert!(w.heard(1, first).is_empty(), "these are not");
    w.carry();
    assert_eq!(w.heard(1, first), [1]);
}

/// "If a receiver posts two receives in succession, and both match the same message, then the second receive
/// operation cannot be satisfied by this message, if the first one is still pending": also if only the second
/// receive names source and tag.
#[test]
fn the_first_posted_receive_wins_whatever_its_wildcards() {
    for wild_first in [true, false] {
        let mut w = world(2);
        let mut posts = [(None, u64::MAX), (Some(0), 0)];
        if !wild_first {
            posts.reverse();
        }
        let recvs = posts.map(|(source, ignore)| w.listen(1, source, 7, ignore));
        w.say(0, 1, 7, 4, 1);
        w.say(0, 1, 7, 4, 2);
        w.carry();
        assert_eq!(recvs.map(|recv| w.heard(1, recv)), [vec![1], vec![2]], "wild first: {wild_first}");
    }
}

/// For each pair of kinds of wildcard, in both orders, the first posted receive that accepts the message gets
/// it.
#[test]
fn any_source_and_any_tag_wait_in_line_with_the_others() {
    let kinds = [(None, u64::MAX), (None, 0), (Some(0), u64::MAX), (Some(0), 0)];
    for first in kinds {
        for second in kinds {
            let mut w = world(3);
            let recvs = [first, second].map(|(source, ignore)| w.listen(1, source, 7, ignore));
            w.say(0, 1, 7, 4, 1);
            w.carry();
            assert_eq!(recvs.map(|recv| w.heard(1, recv)), [vec![1], vec![]], "{first:?} {second:?}");
        }
    }
}

/// A receive for one source does not take another's message, which goes to the receives behind it.
#[test]
fn a_directed_receive_leaves_others_alone() {
    let mut w = world(3);
    let (directed, open) = (w.listen(2, Some(1), 7, 0), w.listen(2, None, 7, 0));
    w.say(0, 2, 7, 4, 1);
    w.carry();
    assert_eq!((w.heard(2, directed), w.heard(2, open)), (vec![], vec![1]));
    w.say(1, 2, 7, 4, 2);
    w.carry();
    assert_eq!(w.heard(2, directed), [2]);
}

/// A wildcard takes the unexpected message that came first; a tag takes the first of its tag.
#[test]
fn unexpected_messages_are_taken_in_the_order_of_arrival() {
    let mut w = world(2);
    for (tag, data) in [(1, 10), (2, 20), (1, 11), (2, 21)] {
        w.say(0, 1, tag, 4, data);
    }
    w.carry();
    let recvs =
        [(2, 0), (0, u64::MAX), (2, 0), (1, 0)].map(|(tag, ignore)| w.listen(1, Some(0), tag, ignore));
    assert_eq!(recvs.map(|recv| w.heard(1, recv)), [vec![20], vec![10], vec![21], vec![11]]);
}

/// fi_tagged(3): `send_tag & ~ignore == recv_tag & ~ignore`, on all 64 bits, expected or not.
#[test]
fn ignored_bits_do_not_matter_and_all_others_do() {
    for unexpected in [true, false] {
        let mut w = world(2);
        let tag = 0x8000_0000_0000_0001;
        if unexpected {
            w.say(0, 1, tag, 4, 1);
            w.carry();
        }
        let misses = [(1, 0), (tag ^ 1 << 40, 1), (tag ^ 2, 0x8000_0000_0000_0001)];
        let misses = misses.map(|(other, ignore)| w.listen(1, None, other, ignore));
        let hit = w.listen(1, None, tag ^ 1 << 40 ^ 2, 1 << 40 | 2);
        if !unexpected {
            w.say(0, 1, tag, 4, 1);
        }
        w.carry();
        assert!(misses.into_iter().all(|recv| w.heard(1, recv).is_empty()));
        assert_eq!(w.heard(1, hit), [1]);
    }
}

/// Tagged and untagged messages have queues of their own, and one sequence.
#[test]
fn the_two_queues_do_not_mix_and_share_their_order() {
    let mut w = world(2);
    let tagged = w.recv(1, anything()).unwrap();
    let plain = w.recv(1, RecvSpec { queue: Queue::Msg, ..anything() }).unwrap();
    w.send(0, 1, untagged(4, 1)).unwrap();
    w.say(0, 1, 0, 4, 2);
    w.hand_to_carriers(0);
    w.deliver_at(0, 1, 1).unwrap();
    assert!(w.heard(1, tagged).is_empty(), "the untagged message comes first");
    w.carry();
    assert_eq!((w.heard(1, tagged), w.heard(1, plain)), (vec![2], vec![1]));
}

/// More kinds of wildcard than the unexpected queue keeps lists for are slower, and find the same messages.
#[test]
fn any_number_of_masks_works() {
    let mut w = world(2);
    for tag in 0..64 {
        w.say(0, 1, tag, 4, tag);
    }
    w.carry();
    // A receive that ignores bit k gets the lowest remaining tag that agrees in all other bits.
    let recvs: Vec<usize> = (0..24).map(|k| w.listen(1, Some(0), 63 - k, 1 << (k % 12) | 1)).collect();
    let heard: Vec<Vec<u64>> = recvs.iter().map(|&recv| w.heard(1, recv)).collect();
    for (k, heard) in heard.iter().enumerate() {
        let ignore = 1 << (k % 12) | 1;
        let wanted = 63 - k as u64;
        assert!(
            heard.len() <= 1 && heard.iter().all(|tag| tag & !ignore == wanted & !ignore),
            "{k} {heard:?}"
        );
    }
    assert_eq!(heard[0], [62], "63 or 62 would do, 62 came first");
}

/// A process may send to itself, with the receive posted before or after, small and large.
#[test]
fn messages_to_oneself() {
    for len in [0, 10, 100_000] {
        let mut w = world(1);
        let before = w.listen(0, Some(0), 1, 0);
        let first = w.say(0, 0, 1, len, 1);
        let second = w.say(0, 0, 1, len, 2);
        w.carry();
        let after = w.recv(0, RecvSpec { capacity: 1 << 17, ..anything() }).unwrap();
        w.carry();
        assert_eq!((w.heard(0, before), w.heard(0, after)), (vec![1], vec![2]), "{len}");
        assert!(w.sent_ok(first) && w.sent_ok(second));
    }
}
