//! Memory regions that peers may reach, by key.

use std::collections::HashMap;

use super::api::UnregisterError;
use super::request::Request;
use crate::api::Buffer;

/// One region.
struct Region {
    memory: Buffer,
    /// Transfers under way in it.
    busy: usize,
    /// It takes no new ones.
    closed: bool,
}

/// All regions of an endpoint.
#[derive(Default)]
pub(super) struct Regions(HashMap<u64, Region>);

impl Regions {
    /// Registers memory under a key; false if the key is taken.
    pub fn register(&mut self, key: u64, memory: Buffer) -> bool {
        let free = !self.0.contains_key(&key);
        if free {
            self.0.insert(key, Region { memory, busy: 0, closed: false });
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

    /// The bytes that a request names, if all of them are inside of a region.
    pub fn find(&self, request: &Request) -> Option<Buffer> {
        let region = self.0.get(&request.key).filter(|region| !region.closed)?;
        let end = request.offset.checked_add(request.len)?;
        if end > region.memory.len as u64 {
            return None;
        }
        // Both fit into `usize`: they are at most the length of the region.
        let (offset, len) = (request.offset as usize, request.len as usize);
        Some(Buffer { ptr: region.memory.ptr.wrapping_add(offset), len })
    }

    /// As [`Regions::find`], and a transfer is under way in the region until [`Regions::leave`].
    pub fn occupy(&mut self, request: &Request) -> Option<Buffer> {
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
    use super::super::request::GET;
    use super::*;

    #[test]
    fn only_registered_memory_is_found() {
        let mut memory = [0u8; 100];
        let start = memory.as_mut_ptr();
        let mut regions = Regions::default();
        assert!(regions.register(7, Buffer { ptr: start, len: 100 }));
        assert!(!regions.register(7, Buffer { ptr: start, len: 1 }), "a key names one region");
        let request = |key, offset, len| Request { what: GET, key, offset, len, number: 1 };
        for (offset, len) in [(0, 100), (100, 0), (99, 1), (50, 50)] {
            let found = regions.find(&request(7, offset, len)).expect("inside");
            assert_eq!((found.ptr, found.len as u64), (start.wrapping_add(offset as usize), len));
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
}
