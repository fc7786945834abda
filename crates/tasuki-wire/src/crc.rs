//! CRC32C of packets. The library multiplies polynomials with the widest instructions that the processor has,
//! but takes as long as a short packet before it begins. So short inputs are computed here, with an
//! instruction for eight bytes.
#![allow(unsafe_code)] // for the instruction, which not every processor has

use crc_fast::{CrcAlgorithm, Digest};
#[cfg(target_arch = "x86_64")]
use tasuki_tuning::packets;

#[cfg(target_arch = "x86_64")]
use crate::header::CHECKSUM_OFFSET;

/// The CRC32C of `head` followed by `rest`.
pub(crate) fn of(head: &[u8], rest: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if head.len() + rest.len() <= packets::CHECKSUM_SHORT_MAX && std::arch::is_x86_feature_detected!("sse4.2")
    {
        // SAFETY: the processor has SSE 4.2, as was just tested.
        return unsafe { of_short(head, rest) };
    }
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(head);
    digest.update(rest);
    // The library returns the CRC of 32 bits in a wider type.
    digest.finalize() as u32
}

/// Like [`of`], with the processor's instruction.
///
/// # Safety
///
/// The processor has SSE 4.2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn of_short(head: &[u8], rest: &[u8]) -> u32 {
    // The head of a packet has this length, which the compiler then knows, so that it needs no loop.
    let crc = match <&[u8; CHECKSUM_OFFSET]>::try_from(head) {
        Ok(head) => append(!0, head),
        Err(_) => append(!0, head),
    };
    !append(crc, rest)
}

/// Continues the checksum with `bytes`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
#[inline]
fn append(sum: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u16, _mm_crc32_u32, _mm_crc32_u64};
    let (words, mut rest) = bytes.as_chunks::<8>();
    let mut sum = u64::from(sum);
    for word in words {
        sum = _mm_crc32_u64(sum, u64::from_le_bytes(*word));
    }
    // The instruction leaves the upper half of its result 0.
    let mut sum = sum as u32;
    if let Some((half, tail)) = rest.split_first_chunk::<4>() {
        sum = _mm_crc32_u32(sum, u32::from_le_bytes(*half));
        rest = tail;
    }
    if let Some((two, tail)) = rest.split_first_chunk::<2>() {
        sum = _mm_crc32_u16(sum, u16::from_le_bytes(*two));
        rest = tail;
    }
    if let [last] = rest {
        sum = _mm_crc32_u8(sum, *last);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 3720, appendix B.4: CRC32C of 32 bytes.
    #[test]
    fn the_examples_of_the_specification_hold() {
        let ascending: [u8; 32] = std::array::from_fn(|at| at as u8);
        let descending: [u8; 32] = std::array::from_fn(|at| 31 - at as u8);
        for (bytes, sum) in [
            ([0; 32], 0x8a91_36aa),
            ([0xff; 32], 0x62a8_ab43),
            (ascending, 0x46dd_794e),
            (descending, 0x113f_db5c),
        ] {
            assert_eq!(of(&[], &bytes), sum);
        }
    }

    #[test]
    fn any_cut_gives_the_same_as_another_library() {
        let bytes: Vec<u8> = (0..9000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let lengths = (0..600).chain([1440, 1500, 4096, 8972, 9000]);
        for len in lengths {
            let whole = crc32c::crc32c(&bytes[..len]);
            for cut in [0, 1, 7, 28, len / 2, len].into_iter().filter(|cut| *cut <= len) {
                assert_eq!(of(&bytes[..cut], &bytes[cut..len]), whole, "{len} bytes cut at {cut}");
            }
        }
    }
}
