//! Operations that are not over, on the statistics page: what `tasuki hang` needs to say who waits for whom.

use tasuki_msg::{Outstanding, PeerId, Queue, Source};
use tasuki_ring::stats_page::{OPERATIONS_MAX, Operation, OperationRecord, Writer};

use super::{Engine, stats};
use crate::api::Peer;

/// Operations of each kind that are listed, at most: receives, sends and unexpected messages share the page.
const EACH_MAX: usize = OPERATIONS_MAX / 3;

/// Lists what is not over; returns how many operations are listed, and whether these are all.
pub(super) fn list(engine: &Engine, page: &mut Writer) -> (u64, bool) {
    let mut records = Vec::new();
    let complete =
        engine.messages.layer().outstanding(EACH_MAX, |operation| records.push(record(&operation)));
    for (index, record) in records.iter().enumerate() {
        page.operation(index, record);
        // A peer to which nothing has gone yet may be waited for as well, so that its name is wanted.
        let peer = record.peer.map(Peer).and_then(|peer| Some((peer, engine.peers.get(peer)?)));
        if let Some((peer, known)) = peer.filter(|(_, known)| !known.is_acquainted()) {
            page.peer(peer.0 as usize, &stats::peer_row(engine, known));
        }
    }
    (records.len() as u64, complete)
}

fn record(operation: &Outstanding) -> OperationRecord {
    let index = |peer: PeerId| u32::try_from(peer.index()).ok();
    let of_message = |operation, peer, queue, tag, bytes| {
        let (tagged, peer) = (queue == Queue::Tagged, index(peer));
        OperationRecord { operation, tagged, peer, tag, ignore: 0, bytes }
    };
    match *operation {
        Outstanding::Receive { matching, capacity } => OperationRecord {
            operation: Operation::Receive,
            tagged: matching.queue == Queue::Tagged,
            peer: match matching.source {
                Source::Peer(peer) => index(peer),
                Source::Any => None,
            },
            tag: matching.tag,
            ignore: matching.ignore,
            bytes: capacity,
        },
        Outstanding::Send { peer, queue, tag, len } => of_message(Operation::Send, peer, queue, tag, len),
        Outstanding::Unexpected { peer, queue, tag, len } => {
            of_message(Operation::Unexpected, peer, queue, tag, len)
        }
    }
}
