//! Control messages in the order in which their senders sent them.
//!
//! The messages of a peer are matched in order. Yet one whose bytes must be granted first ends later than one
//! behind it whose bytes have come along, and what control messages say of streams means something else in
//! another order: bytes are asked for by one after the other, and come without a name.

use std::collections::{HashMap, VecDeque};

use crate::api::Peer;
use crate::memory::Memory;

/// A control message that was matched.
struct Matched {
    number: u64,
    /// Its bytes, once they are there.
    bytes: Option<Memory>,
}

/// The control messages of all peers that were matched and have not been heard.
#[derive(Default)]
pub(crate) struct InOrder {
    next: u64,
    peers: HashMap<Peer, VecDeque<Matched>>,
}

impl InOrder {
    /// The next message of this peer was matched. Gives its number.
    pub fn matched(&mut self, peer: Peer) -> u64 {
        let number = self.next;
        self.next += 1;
        self.peers.entry(peer).or_default().push_back(Matched { number, bytes: None });
        number
    }

    /// A message has come whole.
    pub fn arrived(&mut self, peer: Peer, number: u64, bytes: Memory) {
        let matched = self.peers.get_mut(&peer).into_iter().flatten();
        if let Some(message) = matched.into_iter().find(|message| message.number == number) {
            message.bytes = Some(bytes);
        }
    }

    /// The next message of this peer that may be heard: it is whole, and so were all before it.
    pub fn take(&mut self, peer: Peer) -> Option<Memory> {
        let matched = self.peers.get_mut(&peer)?;
        let bytes = matched.front_mut()?.bytes.take()?;
        matched.pop_front();
        Some(bytes)
    }

    /// The peer is gone, and its messages with it.
    pub fn forget(&mut self, peer: Peer) {
        self.peers.remove(&peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(order: &mut InOrder, peer: Peer) -> Vec<u8> {
        std::iter::from_fn(|| order.take(peer)).map(|bytes| bytes.own()[0]).collect()
    }

    #[test]
    fn messages_are_heard_in_the_order_in_which_they_were_matched() {
        let (mut order, one, other) = (InOrder::default(), Peer(1), Peer(2));
        let numbers = [order.matched(one), order.matched(other), order.matched(one), order.matched(one)];
        order.arrived(one, numbers[2], Memory::Own(vec![2]));
        assert_eq!(heard(&mut order, one), [0; 0], "the first one has not come");
        order.arrived(other, numbers[1], Memory::Own(vec![1]));
        assert_eq!(heard(&mut order, other), [1], "peers do not wait for each other");
        order.arrived(one, numbers[0], Memory::Own(vec![0]));
        assert_eq!(heard(&mut order, one), [0, 2]);
        order.arrived(one, numbers[3], Memory::Own(vec![3]));
        assert_eq!(heard(&mut order, one), [3]);
    }

    #[test]
    fn what_comes_of_a_peer_that_is_gone_is_dropped() {
        let (mut order, peer) = (InOrder::default(), Peer(1));
        let number = order.matched(peer);
        order.forget(peer);
        order.arrived(peer, number, Memory::Own(vec![0]));
        assert_eq!(heard(&mut order, peer), [0; 0]);
    }
}
