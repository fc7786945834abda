//! When streams are polled, fed and judged.

use tasuki_proto::Time;

use super::Engine;
use crate::rendezvous::Context;

/// Polls what fetches or streams messages, if something is to come by it or may come. True if something was
/// done.
#[inline]
pub(super) fn poll(engine: &mut Engine, now: Time) -> bool {
    let Engine { messages, rendezvous, peers, net, .. } = engine;
    let due = rendezvous.is_active()
        || (messages.has_streams() && (messages.awaits_streams() || rendezvous.is_look_due(now)));
    if !due {
        return false;
    }
    let progress = rendezvous.poll(&mut Context { messages, peers, net, now });
    if progress.streamed {
        net.spare_udp();
    }
    let mut any = progress.any;
    while let Some(peer) = rendezvous.next_owing() {
        if let Some(conn) = peers.get(peer).and_then(|record| record.conn) {
            any |= net.acknowledge(conn);
        }
    }
    any
}

/// Hands the pieces of messages that go by stream to their streams.
#[inline]
pub(super) fn push(engine: &mut Engine, now: Time) {
    let Engine { messages, rendezvous, peers, net, .. } = engine;
    if messages.has_pushes() {
        rendezvous.push(&mut Context { messages, peers, net, now });
    }
}

/// Judges which peers should send by stream, and invites them unless this endpoint is closing.
pub(super) fn invite(engine: &mut Engine, now: Time) {
    let welcome = !engine.is_closing();
    let Engine { messages, rendezvous, peers, net, .. } = engine;
    rendezvous.invite(&mut Context { messages, peers, net, now }, welcome);
}

/// A connection has come about.
pub(super) fn connected(engine: &mut Engine, now: Time) {
    if engine.rendezvous.invites_all() {
        invite(engine, now);
    }
}
