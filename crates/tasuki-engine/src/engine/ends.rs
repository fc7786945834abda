//! How peers end: found gone, failed, or parted from.

use tasuki_proto::Time;

use super::{Engine, Phase};
use crate::api::Peer;
use crate::liveness::{Verdict, tell_user};
use crate::peers::Route;
use crate::shm::has_left_rest;

/// Does what follows from what hosts and silence say of peers.
#[cold]
pub(super) fn carry_out(engine: &mut Engine, verdicts: Vec<Verdict>, now: Time) {
    for verdict in verdicts {
        match verdict {
            Verdict::Greet(peer) => engine.choose_route(peer, now),
            // A process that is out of reach by packets may live and keep its ring here, so that a wait for
            // the last of what it says would never end.
            Verdict::Gone(peer, reason) if has_left_rest(&engine.shm, peer, &engine.peers) => {
                end_peer(engine, peer, reason);
            }
            Verdict::Gone(peer, reason) => fail_peer(engine, peer, reason),
        }
    }
}

/// Ends everything with a peer whose process has ended, once all that it has said on this host has come.
pub(super) fn end_peer(engine: &mut Engine, peer: Peer, reason: String) {
    if !engine.shm.wait_for_rest(peer, &reason, &engine.peers) {
        fail_peer(engine, peer, reason);
    }
}

/// Ends everything with a peer that is dead or broke the protocol, with an error and at once.
pub(super) fn fail_peer(engine: &mut Engine, peer: Peer, reason: String) {
    let (closing, now) = (engine.is_closing(), engine.now());
    let stranger = engine.liveness.forget(peer);
    let layer = engine.messages.layer();
    let Some(record) = engine.peers.get_mut(peer) else { return };
    if record.failure.is_some() {
        return;
    }
    // What a peer has said before it ended counts whether or not anything was ever sent to it. The user need
    // not hear of one that has left without having exchanged anything with this endpoint.
    let has_spoken = layer.counters(record.id).is_some_and(|counters| counters.received_frames > 0);
    // The peer's goodbye may have been taken in without having had its effects here yet.
    let has_parted = record.gone || layer.peer_status(record.id).is_some_and(|status| status.gone);
    let is_acquainted = has_spoken || (record.is_acquainted() && !stranger);
    record.is_lost = is_acquainted && !has_parted;
    if record.is_lost && !closing {
        tell_user(&format!("{} has failed: {reason}", record.address));
        if let Some(on_failure) = engine.on_failure {
            on_failure(&record.address);
        }
    }
    record.failure = Some(reason);
    record.route = Route::Gone;
    // The operations end first, with an error: what carriers give back is not sent. The program is told after
    // that.
    engine.messages.layer_mut().handle_peer_failed(record.id);
    engine.shm.abandon(peer, &mut engine.messages);
    engine.wait.processors().remove_peer(peer);
    engine.rendezvous.forget_peer(peer, &mut engine.messages);
    engine.net.give_up(peer, &mut engine.messages, &mut engine.peers, now);
}

/// A peer has made itself known. If that was while this endpoint closes, it is said goodbye to as the others
/// were when the closing began.
pub(super) fn part_from_newcomer(engine: &mut Engine, peer: Peer) {
    let Some(record) = engine.peers.get(peer).filter(|_| engine.is_closing()) else { return };
    // The only error is an unknown peer, and this one is known.
    let _ = engine.messages.layer_mut().close_peer(record.id);
    if let Some(conn) = record.conn.filter(|_| engine.phase == Phase::Confirming) {
        engine.net.close(conn);
    }
}

/// The message layer has parted from a peer. What is under way to it still gets there.
pub(super) fn part(engine: &mut Engine, peer: Peer) {
    let Some(record) = engine.peers.get_mut(peer) else { return };
    record.gone = true;
    let conn = record.conn;
    if record.route == Route::Shm && engine.shm.part(peer) {
        record.route = Route::Gone;
        engine.wait.processors().remove_peer(peer);
    }
    if let Some(conn) = conn {
        engine.net.close(conn);
    }
}
