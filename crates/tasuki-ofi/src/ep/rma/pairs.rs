//! Pieces of this side's memory and places in a peer's, cut into pairs of one length.

use tasuki_engine::Buffer;

use crate::abi::FI_EINVAL;
use crate::guard::{Errno, Ret};

/// A piece of a peer's memory.
#[derive(Clone, Copy)]
pub struct Place {
    pub addr: u64,
    pub len: u64,
    pub key: u64,
}

/// No memory: a transfer that moves nothing.
pub const NO_BYTES: Buffer = Buffer { ptr: std::ptr::null_mut(), len: 0 };

/// Cuts local pieces and places of the peer so that the parts of each pair have one length.
pub fn pair(local: &[Buffer], remote: &[Place]) -> Ret<Vec<(Buffer, Place)>> {
    let here: u64 = local.iter().map(|buffer| buffer.len as u64).sum();
    let there =
        remote.iter().try_fold(0u64, |sum, place| sum.checked_add(place.len)).ok_or(Errno(FI_EINVAL))?;
    if here != there || remote.is_empty() {
        return Err(Errno(FI_EINVAL));
    }
    let mut pairs = Vec::with_capacity(local.len() + remote.len());
    let mut places = remote.iter().copied();
    let mut place = places.next().ok_or(Errno(FI_EINVAL))?;
    for buffer in local {
        let mut rest = *buffer;
        while rest.len > 0 {
            while place.len == 0 {
                place = places.next().ok_or(Errno(FI_EINVAL))?;
            }
            let len = place.len.min(rest.len as u64);
            pairs.push((Buffer { ptr: rest.ptr, len: len as usize }, Place { len, ..place }));
            place = Place { addr: place.addr.wrapping_add(len), len: place.len - len, ..place };
            rest = Buffer { ptr: rest.ptr.wrapping_add(len as usize), len: rest.len - len as usize };
        }
    }
    if pairs.is_empty() {
        // Nothing is moved; the peer is asked all the same, so that a wrong key is noticed.
        pairs.push((NO_BYTES, place));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the pairs, and where each begins here and there, for pieces and places of these
    /// lengths. Pieces lie one behind the other from 1000 on, and so do places from 5000 on.
    fn cut(here: &[usize], there: &[u64]) -> Option<Vec<(u64, usize, u64)>> {
        let mut at = 1000;
        let local: Vec<Buffer> = here
            .iter()
            .map(|&len| {
                at += len;
                Buffer { ptr: std::ptr::without_provenance_mut(at - len), len }
            })
            .collect();
        let mut at = 5000u64;
        let remote: Vec<Place> = there
            .iter()
            .map(|&len| {
                let addr = at;
                // One test has a length that no memory has.
                at = at.wrapping_add(len);
                Place { addr, len, key: 7 }
            })
            .collect();
        let pairs = pair(&local, &remote).ok()?;
        Some(pairs.iter().map(|(buffer, place)| (place.len, buffer.ptr.addr(), place.addr)).collect())
    }

    #[test]
    fn pieces_and_places_are_cut_where_either_ends() {
        assert_eq!(cut(&[8], &[8]), Some(vec![(8, 1000, 5000)]));
        assert_eq!(cut(&[3, 5], &[6, 2]), Some(vec![(3, 1000, 5000), (3, 1003, 5003), (2, 1006, 5006)]));
        assert_eq!(cut(&[4, 0, 4], &[0, 8]), Some(vec![(4, 1000, 5000), (4, 1004, 5004)]));
        assert_eq!(cut(&[], &[0]), Some(vec![(0, 0, 5000)]), "a wrong key must be noticed");
    }

    #[test]
    fn both_sides_have_one_length() {
        assert_eq!(cut(&[8], &[9]), None);
        assert_eq!(cut(&[8], &[4, 3]), None);
        assert_eq!(cut(&[], &[]), None);
        assert_eq!(cut(&[8], &[u64::MAX, 9]), None, "the sum does not fit");
    }
}
