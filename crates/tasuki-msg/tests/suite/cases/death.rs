//! Peers that die, part, and return as new incarnations.

use tasuki_msg::{Failure, Gone};

use super::*;

/// Kills `dead` and tells `node`; returns the failure that its operations must have.
fn lose_peer(w: &mut World, node: usize, dead: usize) -> Failure {
    w.kill(dead);
    w.peer_failed(node, dead).unwrap();
    Failure::PeerGone(w.nodes[node].peer_for(dead).unwrap(), Gone::Failed)
}

/// Everything that only the dead peer could complete fails; a receive from any source waits for other peers.
#[test]
fn death_ends_what_only_the_peer_could_complete() {
    let mut w = world(3);
    let (directed, open) = (w.listen(0, Some(1), 1, 0), w.listen(0, None, 2, 0));
    let half = w.listen(0, None, 3, 0);
    w.say(1, 0, 3, 50_000, 3);
    w.hand_to_carriers(1);
    w.deliver(1, 0).unwrap();
    let (waiting, queued) = (w.say(0, 1, 4, 50_000, 4), w.say(0, 1, 5, 4, 5));
    let failure = lose_peer(&mut w, 0, 1);
    assert_eq!([waiting, queued].map(|name| w.sent[name].result), [Some(Err(failure)); 2]);
    let over = [directed, half, open].map(|recv| w.nodes[0].recvs[recv].over);
    assert_eq!(over, [true, true, false]);
    w.say(2, 0, 2, 4, 22);
    w.carry();
    assert_eq!(w.heard(0, open), [22]);
    let after = w.say(0, 1, 1, 4, 1);
    assert_eq!(w.sent[after].result, Some(Err(failure)), "a later operation fails at once");
    let after = w.listen(0, Some(1), 1, 0);
    assert!(w.nodes[0].recvs[after].over);
}

/// A message that had arrived can be received after its sender's death, once; a message that had not is lost,
/// and so is everything behind it.
#[test]
fn complete_messages_outlive_their_sender() {
    let mut w = world(2);
    for (len, data) in [(10, 1), (50_000, 2), (10, 3), (10, 4), (10, 5)] {
        w.say(1, 0, 7, len, data);
    }
    w.hand_to_carriers(1);
    (0..3).for_each(|_| w.deliver_at(1, 0, 0).unwrap());
    w.deliver_at(1, 0, 1).unwrap();
    lose_peer(&mut w, 0, 1);
    let recvs = [(); 3].map(|()| w.listen(0, Some(1), 7, 0));
    assert_eq!(
        recvs.map(|recv| w.heard(0, recv)),
        [vec![1], vec![3], vec![]],
        "2 had no payload here, 4 is missing, so it is never 5's turn"
    );
    assert!(w.nodes[0].recvs[recvs[2]].over, "nothing more can come");
}

/// The use of a claim on a lost message fails with the reason.
#[test]
fn a_claim_can_be_lost() {
    let mut w = world(2);
    w.say(1, 0, 7, 50_000, 1);
    w.say(1, 0, 7, 10, 2);
    w.carry();
    let claims = [(); 2].map(|()| w.claim(0, &RecvSpec::tagged(None, 7, 0)).unwrap().unwrap());
    lose_peer(&mut w, 0, 1);
    assert_eq!(w.use_claim(0, claims[0], Some(100)).unwrap(), None, "lost");
    let recv = w.use_claim(0, 0, Some(100)).unwrap().unwrap();
    assert_eq!(w.heard(0, recv), [2]);
}

/// A process that returns is a new peer: a receive from the old incarnation does not take the new one's
/// messages.
#[test]
fn a_new_incarnation_is_a_new_peer() {
    let mut w = world(2);
    let old = w.listen(0, Some(1), 7, 0);
    w.kill(1);
    let again = w.add_node(PeerOptions::default());
    let new = w.listen(0, Some(again), 7, 0);
    w.say(again, 0, 7, 4, 2);
    w.carry();
    assert_eq!((w.heard(0, old), w.heard(0, new)), (vec![], vec![2]));
    w.peer_failed(0, 1).unwrap();
    assert!(w.nodes[0].recvs[old].over);
    w.say(again, 0, 7, 4, 3);
    w.carry();
    let recv = w.listen(0, Some(again), 7, 0);
    assert_eq!(w.heard(0, recv), [3]);
}

/// Parting waits for what is under way, then both sides know of it; messages that had arrived stay.
#[test]
fn goodbye_is_said_when_all_is_done() {
    let mut w = world(2);
    w.say(0, 1, 1, 10, 1);
    let large = w.say(0, 1, 2, 50_000, 2);
    w.close(0, 1).unwrap();
    w.carry();
    let (here, there) = (w.nodes[0].peer_for(1).unwrap(), w.nodes[1].peer_for(0).unwrap());
    assert!(w.nodes[0].lives(here), "a message is still to be received");
    let refused = w.say(0, 1, 3, 4, 3);
    assert_eq!(w.sent[refused].result, Some(Err(Failure::PeerGone(here, Gone::Closed))));
    let recv = w.listen(1, Some(0), 2, 0);
    w.carry();
    assert!(w.sent_ok(large));
    assert_eq!(w.heard(1, recv), [2]);
    assert!(!w.nodes[0].lives(here) && !w.nodes[1].lives(there));
    let kept = w.listen(1, Some(0), 1, 0);
    assert_eq!(w.heard(1, kept), [1]);
    w.audit_rest().unwrap();
}

/// What is under way may need words of the engines about it: they leave before the goodbye, unlike messages
/// of the program.
#[test]
fn messages_of_the_engine_itself_go_to_a_closed_peer() {
    let mut w = world(2);
    let large = w.say(0, 1, 2, 50_000, 2);
    w.close(0, 1).unwrap();
    w.carry();
    let word = w.send(0, 1, SendSpec { queue: Queue::Internal, ..SendSpec::tagged(9, 10) }).unwrap();
    let unheard = w.listen(1, Some(0), 2, 0);
    w.carry();
    assert!(w.sent_ok(word) && w.sent_ok(large));
    assert_eq!(w.heard(1, unheard), [2]);
    w.recv(1, RecvSpec { queue: Queue::Internal, ..RecvSpec::tagged(Some(0), 9, 0) }).unwrap();
    let peer = w.nodes[0].peer_for(1).unwrap();
    assert!(!w.nodes[0].lives(peer), "goodbye is said");
    let late = w.send(0, 1, SendSpec { queue: Queue::Internal, ..SendSpec::tagged(9, 10) }).unwrap();
    assert_eq!(w.sent[late].result, Some(Err(Failure::PeerGone(peer, Gone::Closed))));
    w.audit_rest().unwrap();
}

/// The record of a peer that is gone can be dropped, with all that it left.
#[test]
fn forgetting_a_peer_frees_what_it_left() {
    let mut w = world(2);
    for data in 0..5 {
        w.say(1, 0, 7, 100, data);
    }
    w.carry();
    let peer = w.nodes[0].peer_for(1).unwrap();
    assert!(!w.nodes[0].ep.forget_peer(peer), "it lives");
    lose_peer(&mut w, 0, 1);
    assert_eq!(w.nodes[0].ep.status().unexpected, 5);
    assert!(w.nodes[0].ep.forget_peer(peer));
    w.settle(0).unwrap();
    let status = w.nodes[0].ep.status();
    assert_eq!((status.unexpected, status.messages, status.early_buffers), (0, 0, 0));
    assert!(w.nodes[0].ep.counters(peer).is_none());
    assert!(!w.nodes[0].ep.forget_peer(peer));
}
