//! What each rank waits for: the receives and sends that it has open, in the words of its program.

use crate::envelope::{Envelope, Layout};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use tasuki_ring::stats_page::{Operation, OperationRecord, Snapshot};

/// Operations of a rank that are told one by one, at most.
const TOLD_MAX: usize = 4;

/// What one rank waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The rank that waits.
    pub rank: u32,
    /// The ranks one of which must send or receive for it to go on; `None`: any may.
    pub whom: Option<BTreeSet<u32>>,
    /// Its open operations in words: "for a message of rank 1 with tag 2".
    pub operations: Vec<String>,
    /// Why no message that has come is taken, in words.
    pub reasons: Vec<String>,
}

/// Ranks by the addresses of their endpoints.
pub(crate) type Names<'a> = HashMap<&'a str, u32>;

/// What a rank with this page waits for. `layout` is that of its job's tags, if that is known.
pub(crate) fn wait(rank: u32, page: &Snapshot, names: &Names<'_>, layout: Option<Layout>) -> Wait {
    let look = Look { page, names, layout };
    // Untagged receives are the MPI's own, for what it does besides messages.
    let open: Vec<&OperationRecord> = page
        .operations
        .iter()
        .filter(|operation| operation.tagged && operation.operation != Operation::Unexpected)
        .collect();
    let is_known = page.endpoint.operations_complete && !open.is_empty();
    let whom = open.iter().map(|operation| look.rank_of(operation)).collect::<Option<BTreeSet<u32>>>();
    let mut operations: Vec<String> =
        open.iter().take(TOLD_MAX).map(|operation| look.in_words(operation)).collect();
    if open.len() > TOLD_MAX {
        operations.push(format!("and for {} more", open.len() - TOLD_MAX));
    }
    let mut reasons: Vec<String> = open.iter().filter_map(|operation| look.reason(operation)).collect();
    reasons.dedup();
    reasons.truncate(TOLD_MAX);
    Wait { rank, whom: whom.filter(|_| is_known), operations, reasons }
}

struct Look<'a> {
    page: &'a Snapshot,
    names: &'a Names<'a>,
    layout: Option<Layout>,
}

impl Look<'_> {
    /// The rank at the other end; `None`: any, or one that is not known.
    fn rank_of(&self, operation: &OperationRecord) -> Option<u32> {
        let peer = operation.peer? as usize;
        let known = self.page.peers.iter().find(|known| known.index == peer)?;
        self.names.get(known.peer.name.as_str()).copied()
    }

    fn rank_in_words(&self, operation: &OperationRecord) -> String {
        match (self.rank_of(operation), operation.peer) {
            (Some(rank), _) => format!("rank {rank}"),
            (None, None) => "any rank".into(),
            (None, Some(_)) => "a process that is not seen".into(),
        }
    }

    fn envelope(&self, operation: &OperationRecord) -> Option<Envelope> {
        Some(self.layout?.envelope(operation.tag, operation.ignore))
    }

    /// What goes on once this operation is over.
    fn in_words(&self, operation: &OperationRecord) -> String {
        let who = self.rank_in_words(operation);
        let envelope = self.envelope(operation);
        let tag = envelope.map_or(String::new(), |envelope| match envelope.tag {
            _ if envelope.is_collective => " of a collective operation".into(),
            Some(tag) => format!(" with tag {tag}"),
            None => " with any tag".into(),
        });
        match operation.operation {
            Operation::Send => format!("until {who} receives {} bytes{tag}", operation.bytes),
            _ if envelope.is_some_and(|envelope| envelope.is_answer) => {
                format!("until {who} receives its synchronous message{tag}")
            }
            _ => format!("for a message from {who}{tag}"),
        }
    }

    /// Why a receive has not taken what has come.
    fn reason(&self, receive: &OperationRecord) -> Option<String> {
        let wanted = self.envelope(receive).filter(|wanted| !wanted.is_answer && !wanted.is_collective)?;
        if receive.operation != Operation::Receive {
            return None;
        }
        let others = |wanted: i64| Some(wanted).filter(|&tag| tag >= 0);
        self.page.operations.iter().filter(|come| come.operation == Operation::Unexpected).find_map(|come| {
            let envelope = self.envelope(come).filter(|come| !come.is_collective)?;
            let (who, tag) = (self.rank_in_words(come), envelope.tag.and_then(others)?);
            let is_source = receive.peer.is_none() || receive.peer == come.peer;
            let is_tag = wanted.tag.is_none_or(|wanted| wanted == tag);
            let is_communicator = wanted.communicator == envelope.communicator;
            let differs = match (is_source, is_tag, is_communicator) {
                (true, false, true) => "the tag differs",
                (false, true, true) => "the source differs",
                (true, true, false) => "the communicator differs",
                _ => return None,
            };
            Some(format!("a message from {who} with tag {tag} has come, which it does not take: {differs}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_ring::stats_page::{EndpointRecord, PeerRecord, PeerSnapshot};

    const MARKS: u64 = 0b11 << 32;

    fn operation(operation: Operation, peer: Option<u32>, communicator: u64, tag: u32) -> OperationRecord {
        let ignore = if operation == Operation::Receive { MARKS } else { 0 };
        let tag = communicator << 34 | u64::from(tag);
        OperationRecord { operation, tagged: true, peer, tag, ignore, bytes: 8 }
    }

    fn page(operations: &[OperationRecord]) -> Snapshot {
        let peer = |index: usize| PeerSnapshot {
            index,
            peer: PeerRecord { name: format!("address {index}"), ..PeerRecord::default() },
            rails: Vec::new(),
        };
        Snapshot {
            operations: operations.to_vec(),
            endpoint: EndpointRecord { operations_complete: true, ..EndpointRecord::default() },
            peers: (0..3).map(peer).collect(),
            ..Snapshot::default()
        }
    }

    fn waits(operations: &[OperationRecord]) -> Wait {
        let page = page(operations);
        let names = [("address 0", 4), ("address 1", 5)].into_iter().collect();
        wait(9, &page, &names, Layout::of([&page]))
    }

    #[test]
    fn what_has_come_is_compared_with_what_is_waited_for() {
        let receive = operation(Operation::Receive, Some(1), 3, 7);
        let reason = |peer, communicator, tag| {
            let come = operation(Operation::Unexpected, Some(peer), communicator, tag);
            waits(&[receive.clone(), come]).reasons.join("; ")
        };
        assert!(
            reason(1, 3, 8).ends_with("rank 5 with tag 8 has come, which it does not take: the tag differs")
        );
        assert!(reason(0, 3, 7).contains("rank 4") && reason(0, 3, 7).ends_with("the source differs"));
        assert!(reason(1, 2, 7).ends_with("the communicator differs"));
        assert_eq!(reason(0, 2, 8), "", "it has nothing to do with the receive");
    }

    #[test]
    fn whom_a_rank_waits_for_is_known_only_if_all_of_it_is() {
        let receive = |peer| operation(Operation::Receive, peer, 0, 1);
        let of = |operations: &[OperationRecord]| waits(operations).whom.map(Vec::from_iter);
        assert_eq!(of(&[receive(Some(0)), operation(Operation::Send, Some(1), 0, 1)]), Some(vec![4, 5]));
        assert_eq!(of(&[receive(Some(0)), receive(None)]), None, "any rank may send");
        assert_eq!(of(&[receive(Some(2))]), None, "nothing is known of that process");
        assert_eq!(of(&[operation(Operation::Unexpected, Some(0), 0, 1)]), None, "it looks for messages");
        let untagged = OperationRecord { tagged: false, ..receive(None) };
        assert_eq!(of(&[untagged, receive(Some(1))]), Some(vec![5]), "the MPI's own receives");
    }

    #[test]
    fn operations_are_told_in_the_words_of_programs() {
        let told = |operation| waits(&[operation, operation_of_any()]).operations[0].clone();
        let receive = operation(Operation::Receive, Some(0), 0, 1);
        assert_eq!(told(receive.clone()), "for a message from rank 4 with tag 1");
        let any_tag = OperationRecord { ignore: MARKS | 0x7fff_ffff, ..receive.clone() };
        assert_eq!(told(any_tag), "for a message from rank 4 with any tag");
        let barrier = operation(Operation::Receive, Some(0), 0, -16_i32 as u32);
        assert_eq!(told(barrier), "for a message from rank 4 of a collective operation");
        let answer = OperationRecord { tag: receive.tag | 1 << 33, ignore: 0, ..receive };
        assert_eq!(told(answer), "until rank 4 receives its synchronous message with tag 1");
        let send = operation(Operation::Send, Some(1), 0, 3);
        assert_eq!(told(send), "until rank 5 receives 8 bytes with tag 3");
    }

    fn operation_of_any() -> OperationRecord {
        operation(Operation::Receive, None, 0, 1)
    }
}
