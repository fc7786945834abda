//! Memory regions that peers may reach, by key.

use std::collections::HashMap;

use super::api::{Rights, UnregisterError};
use super::request::Request;
use crate::memory::Memory;

/// One region.
struct Region {
    memory: Memory,
    rights: Rights,
    /// Transfers under way in it.
    busy: usize,
    /// The region is being unregistered and takes no new transfers.
    closed: bool,
}

/// All regions of an endpoint.
#[derive(Default)]
pub(super) struct Regions(HashMap<u64, Region>);

impl Regions {
    /// Registers memory under a key; false if the key is taken. Offsets count through all of its pieces, in
    /// order.
    pub fn register(&mut self, key: u64, memory: Memory, rights: Rights) -> bool {
        let free = !self.0.contains_key(&key);
        if free {
            self.0.insert(key, Region { memory, rights, busy: 0, closed: false });
        }
        free
    }

    /// Closes a region, and removes it if no transfer is under way in it.
    pub fn unregister(&mut self, key: u64) -> Result<(), UnregisterError> {
        let region = self.0.get_mut(&key).ok_or(UnregisterError::Unknown)?;
        region.closed = true;
        match region.busy {
            0 => {
                self.0.remove(&key);
                Ok(())
            }
            busy => Err(UnregisterError::Busy(busy)),
        }
    }

    /// The bytes that a request names, if all of them are inside of a region that is registered for such a
    /// request.
    pub fn find(&self, request: &Request) -> Option<Memory> {
        let region = self.0.get(&request.key).filter(|region| !region.closed)?;
        let (reads, writes) = request.uses();
        let allowed = (!reads || region.rights.get) && (!writes || region.rights.put);
        let end = request.offset.checked_add(request.len)?;
        (allowed && end <= region.memory.len()).then(|| region.memory.part(request.offset, request.len))
    }

    /// As [`Regions::find`], and a transfer is under way in the region until [`Regions::leave`].
    pub fn occupy(&mut self, request: &Request) -> Option<Memory> {
        let found = self.find(request)?;
        self.0.get_mut(&request.key)?.busy += 1;
        Some(found)
    }

    /// A transfer that has occupied the region is over.
    pub fn leave(&mut self, key: u64) {
        if let Some(region) = self.0.get_mut(&key) {
            region.busy = region.busy.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::atomic::Atomic;
    use super::super::operations::{AtomicOp, Datatype};
    use super::super::request::{GET, PUT, PUT_INLINE, atomic};
    use super::*;
    use crate::api::Buffer;

    #[test]
    fn only_registered_memory_is_found() {
        let mut memory = [0u8; 100];
        let start = memory.as_mut_ptr();
        let mut regions = Regions::default();
        let one = |len| Memory::One(Buffer { ptr: start, len });
        assert!(regions.register(7, one(100), Rights::BOTH));
        assert!(!regions.register(7, one(1), Rights::BOTH), "a key names one region");
        let request = |key, offset, len| Request { what: GET, key, offset, len, number: 1 };
        for (offset, len) in [(0, 100), (100, 0), (99, 1), (50, 50)] {
            let found = regions.find(&request(7, offset, len)).expect("inside");
            let begin = (len > 0).then(|| start.wrapping_add(offset as usize));
            assert_eq!((found.contiguous(), found.len()), (begin, len));
        }
        for (key, offset, len) in [(8, 0, 1), (7, 0, 101), (7, 101, 0), (7, u64::MAX, 2), (7, 1, u64::MAX)] {
            assert!(regions.find(&request(key, offset, len)).is_none(), "{key} {offset} {len}");
        }
        assert!(regions.occupy(&request(7, 0, 1)).is_some());
        assert_eq!(regions.unregister(7), Err(UnregisterError::Busy(1)));
        assert!(regions.occupy(&request(7, 0, 1)).is_none(), "nothing new begins");
        regions.leave(7);
        assert_eq!(regions.unregister(7), Ok(()));
        assert_eq!(regions.unregister(7), Err(UnregisterError::Unknown));
    }

    #[test]
    fn memory_is_used_only_for_what_it_is_registered_for() {
        let mut memory = [0u8; 8];
        let memory = Buffer { ptr: memory.as_mut_ptr(), len: 8 };
        for (get, put) in [(true, false), (false, true), (true, true), (false, false)] {
            let mut regions = Regions::default();
            regions.register(7, Memory::One(memory), Rights { get, put });
            let atomic = |op, fetch| atomic(&Atomic { op, datatype: Datatype::U64, fetch });
            let of_atomic = [
                (atomic(AtomicOp::Sum, false), put),
                (atomic(AtomicOp::Sum, true), get && put),
                (atomic(AtomicOp::Read, true), get),
            ];
            for (what, allowed) in [(GET, get), (PUT, put), (PUT_INLINE, put)].into_iter().chain(of_atomic) {
                let request = Request { what, key: 7, offset: 0, len: 8, number: 1 };
                let found = regions.find(&request).is_some();
                assert_eq!(found, allowed, "operation {what}, get {get}, put {put}");
            }
        }
    }

    #[test]
    fn offsets_count_through_all_pieces() {
        let mut memory = [0u8; 100];
        let start = memory.as_mut_ptr();
        let pieces = [(0, 10), (50, 20), (90, 5)];
        let pieces = pieces.map(|(at, len)| Buffer { ptr: start.wrapping_add(at), len });
        let mut regions = Regions::default();
        regions.register(7, Memory::of(&pieces), Rights::BOTH);
        let find = |offset, len| regions.find(&Request { what: PUT, key: 7, offset, len, number: 1 });
        let found = find(8, 24).expect("inside");
        // SAFETY: the places are inside of `memory`.
        unsafe { found.write(0, &[7u8; 24].as_slice(), 24) };
        let written: Vec<usize> = (0..100).filter(|&at| memory[at] == 7).collect();
        let expected: Vec<usize> = (8..10).chain(50..70).chain(90..92).collect();
        assert_eq!(written, expected);
        assert!(find(34, 2).is_none() && find(35, 0).is_some());
    }
}
