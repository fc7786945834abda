//! Probes, claims, discards, cancels (fi_tagged(3); MPI_Iprobe, MPI_Mprobe, MPI_Cancel).

use super::*;

fn tag(tag: u64) -> RecvSpec {
    RecvSpec::tagged(None, tag, 0)
}

/// A probe sees messages whose turn has come, changes nothing, and sees past those that do not match.
#[test]
fn peek_changes_nothing() {
    let mut w = world(2);
    assert_eq!(w.peek(1, &tag(2)).unwrap(), None, "FI_ENOMSG");
    w.say(0, 1, 1, 4, 10);
    let wanted = w.say(0, 1, 2, 4, 20);
    w.hand_to_carriers(0);
    w.deliver_at(0, 1, 1).unwrap();
    assert_eq!(w.peek(1, &tag(2)).unwrap(), None, "it has arrived, but another comes before it");
    w.carry();
    for _ in 0..2 {
        assert_eq!(w.peek(1, &tag(2)).unwrap(), Some(wanted));
    }
    let recv = w.listen(1, None, 2, 0);
    assert_eq!(w.heard(1, recv), [20]);
    assert_eq!(w.peek(1, &tag(2)).unwrap(), None);
}

/// The probe of a rendezvous tells the length of a message of which no byte has come.
#[test]
fn a_large_message_can_be_probed_before_its_payload_comes() {
    let mut w = world(2);
    let name = w.say(0, 1, 1, 60_000, 1);
    w.carry();
    assert_eq!(w.sent[name].arrived.total(), 0);
    assert_eq!(w.peek(1, &tag(1)).unwrap(), Some(name));
    let claim = w.claim(1, &tag(1)).unwrap().unwrap();
    let recv = w.use_claim(1, claim, Some(60_000)).unwrap().unwrap();
    w.carry();
    assert_eq!(w.dones(1, recv)[0].len, 60_000);
}

/// A claimed message belongs to the claim: neither a wildcard receive nor another probe finds it.
#[test]
fn a_claim_keeps_others_away() {
    let mut w = world(2);
    w.say(0, 1, 1, 4, 1);
    w.say(0, 1, 1, 4, 2);
    w.carry();
    let claim = w.claim(1, &tag(1)).unwrap().unwrap();
    let thief = w.recv(1, anything()).unwrap();
    assert_eq!(w.heard(1, thief), [2]);
    assert_eq!(w.claim(1, &tag(1)).unwrap(), None);
    let recv = w.use_claim(1, claim, Some(100)).unwrap().unwrap();
    assert_eq!(w.heard(1, recv), [1]);
}

/// Discarding a message ends its send as a receive would, for small and large, probed and claimed messages;
/// nothing of it is left.
#[test]
fn discarded_messages_end_their_sends() {
    let mut w = world(2);
    let names = [8, 8, 50_000, 50_000].map(|len| {
        let spec = SendSpec { delivery: true, ..SendSpec::tagged(1, len) };
        w.send(0, 1, spec).unwrap()
    });
    w.carry();
    assert_eq!(names.map(|name| w.sent_ok(name)), [false; 4]);
    for _ in 0..2 {
        w.discard(1, &tag(1)).unwrap().unwrap();
        let claim = w.claim(1, &tag(1)).unwrap().unwrap();
        w.use_claim(1, claim, None).unwrap();
    }
    w.carry();
    assert_eq!(names.map(|name| w.sent_ok(name)), [true; 4]);
    let late = w.listen(1, None, 1, 0);
    w.carry();
    assert_eq!(w.dones(1, late), []);
    w.cancel_recv(1, late).unwrap();
    w.audit_rest().unwrap();
}

/// A receive can be cancelled until it is matched; then it completes and the cancel has no effect.
#[test]
fn a_cancel_comes_in_time_or_has_no_effect() {
    let mut w = world(2);
    let (early, late) = (w.listen(1, Some(0), 1, 0), w.listen(1, Some(0), 1, 0));
    w.cancel_recv(1, early).unwrap();
    assert!(w.nodes[1].recvs[early].over);
    w.say(0, 1, 1, 50_000, 1);
    w.hand_to_carriers(0);
    w.deliver_at(0, 1, 0).unwrap();
    w.cancel_recv(1, late).unwrap();
    assert!(!w.nodes[1].recvs[late].over, "matched: too late");
    w.carry();
    assert_eq!(w.heard(1, late), [1]);
}

/// A send can be cancelled as long as nothing of it has left; those behind it keep their order.
#[test]
fn a_send_can_be_cancelled_until_it_starts() {
    let mut w = world(2);
    let names = [1, 2, 3].map(|data| w.say(0, 1, 1, 4, data));
    w.cancel_send(names[1]).unwrap();
    w.hand_to_carriers(0);
    w.cancel_send(names[0]).unwrap();
    w.carry();
    let recvs = [(); 3].map(|()| w.recv(1, anything()).unwrap());
    w.carry();
    assert_eq!(recvs.map(|recv| w.heard(1, recv)), [vec![1], vec![3], vec![]]);
}

/// Many sends are cancelled while nothing can leave; the others leave in order.
#[test]
fn a_queue_full_of_cancelled_sends() {
    let mut w = world(2);
    let names: Vec<usize> = (0..500).map(|data| w.say(0, 1, 1, 4, data)).collect();
    for name in names.iter().filter(|&&name| name % 100 != 0) {
        w.cancel_send(*name).unwrap();
    }
    let peer = w.nodes[0].peer_for(1).unwrap();
    assert_eq!(w.nodes[0].ep.peer_status(peer).unwrap().sends_queued, 5);
    w.carry();
    let recvs = [(); 5].map(|()| w.recv(1, anything()).unwrap());
    assert_eq!(recvs.map(|recv| w.heard(1, recv)[0]), [0, 100, 200, 300, 400]);
}
