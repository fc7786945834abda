//! What must hold at every step, and when everything has come to rest.

use tasuki_msg::ENVELOPE;

use super::Oracle;
use crate::content::GUARD;
use crate::{Check, demand, same};

/// Most bytes that peers may hold of a node's pool: its size, and the initial credit of each peer.
fn pool_limit(oracle: &Oracle, node: usize) -> u64 {
    oracle.config.pool_bytes + oracle.config.initial_credit * oracle.nodes[node].peers.len() as u64
}

/// Checks that early buffers are within the pool, in all and by peer.
pub(super) fn pool(oracle: &Oracle, node: usize) -> Check {
    let here = &oracle.nodes[node];
    let limit = pool_limit(oracle, node);
    demand(here.pool <= limit, || format!("{} bytes in a pool of {limit}", here.pool))?;
    for (peer, &bytes) in &here.pool_of {
        let most = oracle.config.peer_bytes.max(oracle.config.initial_credit);
        demand(bytes <= most, || format!("{bytes} bytes in the pool from {peer}"))?;
    }
    Ok(())
}

/// Checks that a node's memory is bounded: early buffers by the pool, envelopes by the sends that are
/// open at their senders.
pub(super) fn memory(oracle: &Oracle, node: usize) -> Check {
    pool(oracle, node)?;
    let here = &oracle.nodes[node];
    let (status, limit) = (here.ep.status(), pool_limit(oracle, node));
    demand(status.pool_held <= limit, || format!("{} bytes given of {limit}", status.pool_held))?;
    same("early buffers", status.early_buffers, here.early.len())?;
    for known in &here.peers {
        let Some(status) = here.ep.peer_status(known.peer).filter(|status| !status.gone) else {
            continue;
        };
        let other = &oracle.nodes[known.there];
        let Some(back) = other.peer_for(node).filter(|&back| other.alive && other.lives(back)) else {
            continue;
        };
        let open = other.ep.peer_status(back).map_or(0, |status| status.sends_open);
        let bound = open as u64 + status.pool_held / ENVELOPE;
        demand(status.messages as u64 <= bound, || {
            format!("{} envelopes from {}, which has {open} sends open", status.messages, known.there)
        })?;
    }
    Ok(())
}

/// To be called when everything has been delivered and received: checks that nothing is left over.
pub(super) fn rest(oracle: &Oracle) -> Check {
    for (name, sent) in oracle.sent.iter().enumerate().filter(|(_, sent)| oracle.nodes[sent.from].alive) {
        demand(sent.result.is_some(), || {
            format!("message {name} from {} to {} never ends: {}", sent.from, sent.to, dump(oracle))
        })?;
    }
    for (at, node) in oracle.nodes.iter().enumerate().filter(|(_, node)| node.alive) {
        for (name, buffer) in node.recvs.iter().enumerate() {
            demand(buffer.over, || {
                let waiting = (&buffer.outstanding, buffer.open, buffer.ending);
                format!("receive {name} of node {at} never ends: {waiting:?} {}", dump(oracle))
            })?;
            same("bytes behind a buffer", &buffer.bytes[buffer.capacity as usize..], &GUARD[..])?;
        }
        let lent = node.frames.values().filter(|out| !out.detached).count();
        same(format!("payloads of node {at} with carriers"), lent, 0)?;
        let status = node.ep.status();
        let left = (status.sends, status.receives, status.posted, status.messages, status.early_buffers);
        demand(left == (0, 0, 0, 0, 0), || format!("node {at} keeps {left:?}: {}", dump(oracle)))?;
        same("grants under way", status.granted_in_flight, 0)?;
    }
    credit(oracle)?;
    counters(oracle)
}

/// Checks that both sides of each pair agree about credit, and that it is as much as it should be.
fn credit(oracle: &Oracle) -> Check {
    for (a, b, there, back) in oracle.pairs() {
        let (here, other) = (oracle.nodes[a].ep.peer_status(there), oracle.nodes[b].ep.peer_status(back));
        let (Some(here), Some(other)) = (here, other) else { return Err("status missing".into()) };
        same(format!("credit of {b} at {a}, held and unspent"), here.pool_held, here.pool_unspent)?;
        let told = other.credit == here.pool_held;
        demand(told || (here.credit_untold && other.credit < here.pool_held), || {
            format!("credit of {b} at {a}: got {}, expected {}", other.credit, here.pool_held)
        })?;
        same(format!("messages from {b} to {a}"), here.next_receive, other.next_send)?;
    }
    for (at, node) in oracle.nodes.iter().enumerate().filter(|(_, node)| node.alive) {
        let held = node.peers.iter().filter(|known| node.lives(known.peer));
        let held: u64 = held.filter_map(|known| node.ep.peer_status(known.peer)).map(|s| s.pool_held).sum();
        same(format!("pool of node {at}"), node.ep.status().pool_held, held)?;
    }
    Ok(())
}

/// Checks that both sides of each pair agree about what they count.
fn counters(oracle: &Oracle) -> Check {
    for (a, b, there, back) in oracle.pairs() {
        let (here, other) = (oracle.nodes[a].ep.counters(there), oracle.nodes[b].ep.counters(back));
        let (Some(here), Some(other)) = (here, other) else { return Err("counters missing".into()) };
        let started = oracle.links.get(&(a, b)).map_or(0, |link| link.started as u64);
        same(format!("sent from {a} to {b}"), here.sent_messages, started)?;
        same(format!("received at {b}"), other.received_messages, here.sent_messages)?;
        same(format!("bytes from {a} to {b}"), other.received_bytes, here.sent_bytes)?;
        // The sender does not know of messages that were cut short.
        demand(here.fetched_bytes >= other.pulled_bytes, || {
            format!("{b} has pulled {} bytes of {a}, which counts {}", other.pulled_bytes, here.fetched_bytes)
        })?;
        let tally = oracle.nodes[a].tally.get(&there).copied().unwrap_or_default();
        let counted = (here.received_messages, here.matched_messages, here.discarded_messages);
        let expected = (tally.received, tally.matched, tally.discarded);
        same(format!("received, matched, discarded at {a} from {b}"), counted, expected)?;
        same("frames refused", here.dropped_frames, 0)?;
    }
    Ok(())
}

/// The state of the message layers as text, for complaints.
pub(super) fn dump(oracle: &Oracle) -> String {
    let mut text = String::new();
    for (at, node) in oracle.nodes.iter().enumerate().filter(|(_, node)| node.alive) {
        let s = node.ep.status();
        text += &format!(
            "\nnode {at}: {} posted, {} unexpected, {} sends, {} receives, {} messages, \
             {} early buffers, pool {} of {}",
            s.posted,
            s.unexpected,
            s.sends,
            s.receives,
            s.messages,
            s.early_buffers,
            s.pool_held,
            s.pool_size
        );
        for known in &node.peers {
            let Some(status) = node.ep.peer_status(known.peer) else { continue };
            let there = known.there;
            // Fields that have their initial value are left out.
            let all = format!("{status:?}");
            let all = all.trim_start_matches("PeerStatus { ").trim_end_matches(" }");
            let told: Vec<&str> =
                all.split(", ").filter(|one| !one.ends_with(": 0") && !one.ends_with(": false")).collect();
            let link = oracle.links.get(&(at, there));
            let out = link.map(|link| (link.controls.len(), link.starts_out, link.bytes_out));
            let active = if known.active { "active, " } else { "" };
            let told = told.join(", ");
            text += &format!(
                "\n  with node {there}: {active}under way (controls, starts, bytes) {out:?}, {told}"
            );
        }
    }
    text
}
