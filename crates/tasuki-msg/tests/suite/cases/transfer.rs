//! Payload: truncation, empty messages, completion data, multi-receive, delivery, pulls, and no deadlock.

use super::*;

/// A message that is too long fills the buffer, and its completion says how long it was (FI_ETRUNC), however
/// it travels.
#[test]
fn truncation() {
    for (len, capacity) in [(100, 60), (100, 0), (50_000, 60), (50_000, 20_000), (1, 0)] {
        for unscheduled in [0, 500] {
            for expected in [true, false] {
                let mut w = world_with(2, CONFIG, Window { unscheduled, ..WINDOW }, Habits::PLAIN);
                let spec = RecvSpec { capacity, ..anything() };
                let posted = expected.then(|| w.recv(1, spec).unwrap());
                let name = w.say(0, 1, 1, len, 1);
                w.carry();
                let recv = posted.unwrap_or_else(|| w.recv(1, spec).unwrap());
                w.carry();
                let done = w.dones(1, recv)[0];
                assert_eq!((done.len, done.total), (capacity, len));
                assert!(w.sent_ok(name), "the sender does not learn of it");
                w.audit_rest().unwrap();
            }
        }
    }
}

/// Empty messages are matched and ordered like others, and carry a tag and all 64 bits of completion data.
#[test]
fn empty_messages_carry_their_data() {
    let mut w = world(2);
    let first = w.listen(1, Some(0), u64::MAX, 0);
    w.say(0, 1, u64::MAX, 0, u64::MAX);
    w.send(0, 1, SendSpec::tagged(u64::MAX, 0)).unwrap();
    w.carry();
    let second = w.listen(1, Some(0), u64::MAX, 0);
    assert_eq!(w.dones(1, first)[0].data, Some(u64::MAX));
    assert_eq!(w.dones(1, second)[0].data, None);
    assert_eq!((w.dones(1, second)[0].len, w.dones(1, second)[0].tag), (0, u64::MAX));
}

/// fi_msg(3), FI_MULTI_RECV: messages are packed one behind the other until less than the minimum is free;
/// the last completion says that the buffer is free.
#[test]
fn multi_receive_packs_and_retires() {
    let mut w = world(2);
    let buffer = RecvSpec { capacity: 100, multi: Some(30), ..anything() };
    let (first, second) = (w.recv(1, buffer).unwrap(), w.recv(1, buffer).unwrap());
    for len in [40, 0, 25, 10, 90] {
        w.say(0, 1, 1, len, len);
    }
    w.carry();
    let places = |w: &World, recv| -> Vec<(u64, u64, u64, bool)> {
        w.dones(1, recv).iter().map(|done| (done.offset, done.len, done.total, done.last)).collect()
    };
    assert_eq!(
        places(&w, first),
        [(0, 40, 40, false), (40, 0, 0, false), (40, 25, 25, false), (65, 10, 10, true)],
        "after the fourth, 25 bytes are free, which is less than 30"
    );
    assert_eq!(places(&w, second), [(0, 90, 90, true)]);
}

/// A buffer is free only when every message in it is complete, in whatever order they complete. A cancelled
/// multi-receive finishes the messages that it has begun to take.
#[test]
fn multi_receive_waits_for_its_messages() {
    let mut w = world(2);
    let large = 50_000;
    let retired = w.recv(1, RecvSpec { capacity: large + 10, multi: Some(10), ..anything() }).unwrap();
    w.say(0, 1, 1, large, 1);
    w.say(0, 1, 1, 5, 2);
    w.hand_to_carriers(0);
    w.deliver_at(0, 1, 0).unwrap();
    w.deliver_at(0, 1, 0).unwrap();
    assert_eq!(w.heard(1, retired), [2]);
    assert!(!w.dones(1, retired)[0].last, "the large one is still coming");
    w.carry();
    assert!(w.dones(1, retired)[1].last);

    let cancelled = w.recv(1, RecvSpec { capacity: 2 * large, multi: Some(10), ..anything() }).unwrap();
    w.say(0, 1, 1, large, 3);
    w.hand_to_carriers(0);
    w.deliver_at(0, 1, 0).unwrap();
    w.cancel_recv(1, cancelled).unwrap();
    assert!(!w.nodes[1].recvs[cancelled].over);
    w.carry();
    assert_eq!(w.heard(1, cancelled), [3]);
    assert!(!w.dones(1, cancelled)[0].last && w.nodes[1].recvs[cancelled].over, "the cancel comes last");
}

/// FI_DELIVERY_COMPLETE and MPI_Ssend complete only when the message has been received; an ordinary small
/// send completes before.
#[test]
fn delivery_waits_for_the_receive() {
    let mut w = world(2);
    let plain = w.send(0, 1, SendSpec::tagged(1, 8)).unwrap();
    let synchronous = w.send(0, 1, SendSpec { delivery: true, ..SendSpec::tagged(2, 8) }).unwrap();
    w.carry();
    assert!(w.sent_ok(plain) && !w.sent_ok(synchronous));
    w.listen(1, None, 1, 0);
    w.listen(1, None, 2, 0);
    w.carry();
    assert!(w.sent_ok(synchronous));
}

/// Both sides send a large message before either receives, with no pool at all.
#[test]
fn large_messages_in_both_directions_need_no_pool() {
    let none = Config { pool_bytes: 0, ..CONFIG };
    let small_window = Window { unscheduled: 1 << 16, window: 1, ..WINDOW };
    let mut w = world_with(2, none, small_window, Habits { rooms: [1400; 3], ..Habits::PLAIN });
    let len = 1 << 20;
    let sends = [(0, 1), (1, 0)].map(|(from, to)| w.say(from, to, 1, len, 1));
    w.carry();
    for (node, from) in [(0, 1), (1, 0)] {
        w.recv(node, RecvSpec { capacity: len, ..RecvSpec::tagged(Some(from), 1, 0) }).unwrap();
    }
    w.carry();
    assert_eq!(sends.map(|name| w.sent_ok(name)), [true; 2]);
    w.audit_rest().unwrap();
    assert_eq!(w.nodes[0].ep.status().pool_held_max, 0);
}

/// Where the receiver can read the sender's memory, the payload is pulled and no grant is sent; if the pull
/// fails, the payload is granted.
#[test]
fn pulls_replace_grants() {
    for pull_fails in [0, 100] {
        let mut w = World::new(Random::new(1), CONFIG, WINDOW, Habits { pull_fails, ..Habits::PLAIN }, None);
        for _ in 0..2 {
            w.add_node(PeerOptions { pull: true, ..PeerOptions::default() });
        }
        let name = w.send(0, 1, SendSpec { remote_key: Some(0), ..SendSpec::tagged(1, 50_000) }).unwrap();
        let recv = w.listen(1, None, 1, 0);
        w.carry();
        assert!(w.sent_ok(name));
        assert_eq!(w.dones(1, recv)[0].len, 50_000);
        let granted = w.coverage.count("grant");
        assert_eq!(granted > 0, pull_fails > 0);
    }
}

/// A stream of small messages does not shut out a large one, nor does a large one shut out small ones.
#[test]
fn small_and_large_messages_share_the_link() {
    let mut w = world_with(2, CONFIG, WINDOW, Habits { rooms: [1000; 3], ..Habits::PLAIN });
    w.listen(1, Some(0), 9, 0);
    let large = w.say(0, 1, 9, 20_000, 9);
    w.carry();
    assert!(w.sent_ok(large));
    let recv = w.listen(1, Some(0), 9, 0);
    w.say(0, 1, 9, 20_000, 9);
    w.hand_to_carriers(0);
    w.deliver(0, 1).unwrap();
    w.hand_to_carriers(1);
    w.deliver(1, 0).unwrap();
    // The grant has arrived; now a hundred small messages are posted before anything leaves.
    for data in 0..100 {
        w.say(0, 1, 1, 8, data);
    }
    for _ in 0..40 {
        w.transmit(0).unwrap();
    }
    let under_way = w.under_way(0, 1);
    assert_eq!(under_way, 40);
    (0..under_way).for_each(|_| w.deliver(0, 1).unwrap());
    let large_bytes = w.sent.iter().rfind(|sent| sent.tag == 9).map(|sent| sent.arrived.total());
    assert_eq!(large_bytes, Some(2000), "one piece after sixteen starts");
    w.carry();
    assert_eq!(w.heard(1, recv), [9]);
}
