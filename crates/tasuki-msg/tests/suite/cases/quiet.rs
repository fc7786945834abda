//! Quiesce and resume.

use super::*;

/// In the middle of a rendezvous everything stops, nothing is under way, and after `resume` it goes on where
/// it stopped.
#[test]
fn a_transfer_stops_and_goes_on() {
    let window = Window { window: 4096, quantum: 1024, ..WINDOW };
    let mut w = world_with(2, CONFIG, window, Habits { rooms: [500; 3], ..Habits::PLAIN });
    let recv = w.recv(1, RecvSpec { capacity: 1 << 20, ..anything() }).unwrap();
    let name = w.say(0, 1, 1, 100_000, 1);
    for _ in 0..6 {
        w.hand_to_carriers(0);
        w.deliver(0, 1).unwrap();
        w.hand_to_carriers(1);
        w.deliver(1, 0).unwrap();
    }
    w.quiesce(0).unwrap();
    w.carry();
    assert!(w.nodes[0].silent, "agreed");
    let (before, frames) = (w.sent[name].arrived.total(), w.coverage.count("data"));
    assert!(before > 0 && before < 100_000, "{before}");
    // Operations can still be posted; they wait.
    let later = w.say(0, 1, 2, 4, 2);
    let other = w.say(1, 0, 2, 4, 3);
    w.carry();
    assert_eq!(w.coverage.count("data"), frames);
    assert!(!w.sent[later].started && !w.sent[other].started);
    w.resume(0).unwrap();
    w.carry();
    assert_eq!(w.heard(1, recv), [1]);
    assert!(w.sent[later].started && w.sent[other].started);
}

/// Silence towards one peer does not stop messages between others.
#[test]
fn the_others_go_on() {
    let mut w = world(3);
    w.quiesce(0).unwrap();
    let recv = w.listen(2, Some(1), 1, 0);
    w.say(1, 2, 1, 50_000, 1);
    w.carry();
    assert!(w.nodes[0].silent);
    assert_eq!(w.heard(2, recv), [1]);
}

/// A peer that never answers delays the silence; its death does not prevent it.
#[test]
fn a_death_ends_the_waiting() {
    let mut w = world(3);
    w.kill(2);
    w.quiesce(0).unwrap();
    w.carry();
    assert!(!w.nodes[0].silent, "node 2 has not answered");
    w.peer_failed(0, 2).unwrap();
    assert!(w.nodes[0].silent);
}

/// A request is taken back before its frame leaves, after the frame of an earlier one left: the peer must get
/// a `Resume`.
#[test]
fn requests_in_quick_succession_end() {
    let mut w = world(2);
    for _ in 0..3 {
        w.quiesce(0).unwrap();
        w.hand_to_carriers(0);
        w.resume(0).unwrap();
        w.quiesce(0).unwrap();
        w.resume(0).unwrap();
    }
    w.say(1, 0, 1, 4, 1);
    w.carry();
    let recv = w.listen(0, None, 1, 0);
    assert_eq!(w.heard(0, recv), [1]);
}

/// A node that joins during silence is asked for silence first.
#[test]
fn a_newcomer_is_asked_too() {
    let mut w = world(2);
    w.quiesce(0).unwrap();
    w.carry();
    assert!(w.nodes[0].silent);
    let new = w.add_node(PeerOptions::default());
    assert!(!w.nodes[0].ep.is_quiesced());
    w.say(new, 0, 1, 4, 1);
    w.carry();
    assert!(w.nodes[0].silent && w.nodes[0].ep.is_quiesced());
    w.resume(0).unwrap();
    w.carry();
    let recv = w.listen(0, Some(new), 1, 0);
    w.carry();
    assert_eq!(w.heard(0, recv), [1]);
}
