//! Rendezvous keys: how the first frame of a long message says where its receiver can fetch the bytes.

use std::collections::HashMap;

/// Set in the encoded form of every key that is not an address. No address of user space has this bit.
const NUMBERED: u64 = 1 << 63;
/// Set besides in keys of messages that are fetched by stream.
const BY_STREAM: u64 = 1 << 62;

/// Where the receiver of a message can fetch its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RendezvousKey {
    /// At this address of the sender's process, which is on the same host.
    Memory(u64),
    /// As length-coded bulk, by this number of the sender.
    LengthCoded(u64),
    /// By stream, by this number of the sender.
    Stream(u64),
}

impl RendezvousKey {
    /// The key as it travels in the frame (`remote_key` of `docs/reference/wire.md`).
    pub fn encode(self) -> u64 {
        match self {
            RendezvousKey::Memory(address) => address & !NUMBERED,
            RendezvousKey::LengthCoded(number) => NUMBERED | number,
            RendezvousKey::Stream(number) => NUMBERED | BY_STREAM | number,
        }
    }

    /// Reads what [`RendezvousKey::encode`] wrote. Every value is a key of some kind.
    pub fn decode(key: u64) -> RendezvousKey {
        let number = key & !(NUMBERED | BY_STREAM);
        match (key & NUMBERED != 0, key & BY_STREAM != 0) {
            (false, _) => RendezvousKey::Memory(key),
            (true, false) => RendezvousKey::LengthCoded(number),
            (true, true) => RendezvousKey::Stream(number),
        }
    }
}

/// The sends of this endpoint that peers may fetch by number.
#[derive(Default)]
pub(crate) struct KeyTable {
    /// Index of the send, by number.
    sends: HashMap<u64, usize>,
    last: u64,
}

impl KeyTable {
    /// A number that was never given before.
    pub fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// From now on peers may fetch the send with this index under this key. An address needs no entry.
    pub fn insert(&mut self, key: RendezvousKey, send: usize) {
        if let Some(number) = number(key) {
            self.sends.insert(number, send);
        }
    }

    /// The send is over.
    pub fn remove(&mut self, key: RendezvousKey) {
        if let Some(number) = number(key) {
            self.sends.remove(&number);
        }
    }

    /// The index of the send with this number.
    pub fn find(&self, number: u64) -> Option<usize> {
        self.sends.get(&number).copied()
    }
}

fn number(key: RendezvousKey) -> Option<u64> {
    match key {
        RendezvousKey::Memory(_) => None,
        RendezvousKey::LengthCoded(number) | RendezvousKey::Stream(number) => Some(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_survives_the_wire_and_no_two_kinds_are_confused() {
        // The largest address of user space on x86-64 with five-level paging and on aarch64 is below 2^57.
        for number in [0, 1, 4096, (1 << 57) - 1] {
            let keys = [
                RendezvousKey::Memory(number),
                RendezvousKey::LengthCoded(number),
                RendezvousKey::Stream(number),
            ];
            for key in keys {
                assert_eq!(RendezvousKey::decode(key.encode()), key);
            }
        }
    }

    #[test]
    fn a_number_leads_to_its_send_until_that_is_over() {
        let mut table = KeyTable::default();
        let keys = [0, 1].map(|_| RendezvousKey::Stream(table.next_number()));
        assert_ne!(keys[0], keys[1]);
        keys.iter().zip([10, 11]).for_each(|(key, send)| table.insert(*key, send));
        let find = |table: &KeyTable, key| match key {
            RendezvousKey::Stream(number) => table.find(number),
            _ => None,
        };
        assert_eq!((find(&table, keys[0]), find(&table, keys[1])), (Some(10), Some(11)));
        table.remove(keys[0]);
        assert_eq!((find(&table, keys[0]), find(&table, keys[1])), (None, Some(11)));
    }
}
