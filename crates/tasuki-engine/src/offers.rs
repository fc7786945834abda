//! Long messages to other hosts that are *offered*: their start carries a key instead of payload, by which the receiver asks for the bytes, as
//! length-coded bulk ([`crate::bulk`]) or by stream ([`crate::stream`]).

use std::collections::HashMap;

use crate::api::Peer;
use crate::bulk;
use crate::core::{Core, SendOp};
use crate::memory::Memory;
use crate::stream;

/// Keys of offers have this bit: no address of a program's memory has it, so neither can be taken for the other.
pub(crate) const OFFERED: u64 = 1 << 63;
/// And those of offers by stream have this one besides.
pub(crate) const STREAMED: u64 = 1 << 62;

/// Sends by the keys under which they are offered.
#[derive(Default)]
pub(crate) struct Offers {
    sends: HashMap<u64, usize>,
    keys: u64,
}

impl Offers {
    /// A send that was offered is over.
    pub fn withdraw(&mut self, key: u64) {
        self.sends.remove(&key);
    }
}

impl Core {
    /// Offers of peers may be taken.
    pub fn takes_offers(&self) -> bool {
        self.bulk.is_some() || self.streams.is_some()
    }

    /// A key under which the peer may ask for a message to it; `None`: it goes in frames.
    #[inline]
    pub fn offer(&mut self, peer: Peer, memory: &Memory) -> Option<u64> {
        let kind = if memory.len() < bulk::LEAST.min(stream::LEAST) {
            return None;
        } else if self.bulk.is_some() {
            self.sends_rounds(peer, memory).then_some(0)
        } else {
            self.sends_by_stream(peer, memory).then_some(STREAMED)
        }?;
        memory.contiguous()?;
        self.offers.keys += 1;
        Some(OFFERED | kind | self.offers.keys)
    }

    /// The send under this key is the one that was offered.
    pub fn offered(&mut self, key: u64, send: usize) {
        self.offers.sends.insert(key, send);
    }

    /// The send that was offered to a peer, if it is under way.
    pub fn offered_send(&self, key: u64, peer: Peer) -> Option<&SendOp> {
        self.sends.get(*self.offers.sends.get(&key)?).filter(|send| send.peer == peer)
    }
}
