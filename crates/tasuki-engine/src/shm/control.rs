//! Records in shared memory that are no frames: the introduction of an endpoint that writes to another, and
//! the request for a dual copy. Their first byte is of no kind of frame (`record.rs`).
//!
//! An introduction is the first record that an endpoint pushes into another's segment: its own address, and
//! the half of the addressee's secret that proves that it was given the address.

use tasuki_ring::SHORT as CACHE_LINE;

use super::record::word;
use crate::address::Address;

/// What a receiver asks the sender of a message to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CopyRequest {
    /// The receiver's number of the copy.
    pub generation: u16,
    /// Where the message begins in the sender's memory.
    pub base: u64,
    /// The bytes that are shared: place of the first in the message, and how many.
    pub offset: u64,
    pub len: u64,
    /// Where the receiver wants the first of them.
    pub target: u64,
}

/// Size of an introduction, bytes.
pub(super) const INTRODUCTION: usize = 1 + 8 + Address::LEN;

const INTRODUCE: u8 = 0x7f;

/// Size of a request for a dual copy, bytes: it crosses in one cache line.
pub(super) const COPY_REQUEST: usize = 40;
const _: () = assert!(COPY_REQUEST <= CACHE_LINE);

/// Kind of a request for a dual copy.
const REQUESTING: u8 = 0x7e;

/// Writes the introduction of `me` to the owner of the ring.
pub(super) fn introduce(me: &Address, to: &Address, into: &mut [u8]) {
    into[0] = INTRODUCE;
    into[1..9].copy_from_slice(&proof(to));
    into[9..INTRODUCTION].copy_from_slice(&me.to_bytes());
}

/// Reads an introduction to `me`; `None` if the record is none, or its writer was not given the address of
/// `me`.
pub(super) fn introduced(me: &Address, record: &[u8]) -> Option<Address> {
    let valid = record.len() == INTRODUCTION && record[0] == INTRODUCE && record[1..9] == proof(me);
    if valid { Address::from_bytes(&record[9..]).ok() } else { None }
}

/// Writes a request to the sender of a long message: please copy some of it.
pub(super) fn write_request(request: &CopyRequest, into: &mut [u8]) {
    let first = u64::from(REQUESTING) | u64::from(request.generation) << 16;
    let words = [first, request.base, request.offset, request.len, request.target];
    for (place, word) in into[..COPY_REQUEST].chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// Reads a request for a dual copy; `None` if the record is none.
pub(super) fn read_request(record: &[u8]) -> Option<CopyRequest> {
    if record.first() != Some(&REQUESTING) || record.len() != COPY_REQUEST {
        return None;
    }
    let generation = (word(record, 0)? >> 16) as u16;
    let [base, offset, len, target] =
        [word(record, 1)?, word(record, 2)?, word(record, 3)?, word(record, 4)?];
    Some(CopyRequest { generation, base, offset, len, target })
}

fn proof(address: &Address) -> [u8; 8] {
    let mut proof = [0; 8];
    proof.copy_from_slice(&address.secret[8..]);
    proof
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::record;

    #[test]
    fn a_request_comes_back_and_is_no_frame() {
        let request = CopyRequest { generation: 1, base: 2, offset: 3, len: 4, target: u64::MAX };
        let mut bytes = [0xee; COPY_REQUEST];
        write_request(&request, &mut bytes);
        assert_eq!((read_request(&bytes), record::read(&bytes, bytes.len())), (Some(request), None));
        assert_eq!(read_request(&bytes[..COPY_REQUEST - 1]), None);
    }
}
