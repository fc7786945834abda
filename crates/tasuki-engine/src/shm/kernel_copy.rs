//! Copies by the kernel between this process's memory and a peer's, around a weakness of some processors.
//!
//! The kernel copies by one instruction (rep movsb). Where the destination's address is beyond the source's
//! by less than 32 bytes, counted in their lowest twelve bits, it takes five times as long on AMD's Zen 5,
//! and Zen 3 and Zen 4 have the weakness, too. Two ranks whose heaps differ by 16 bytes have such addresses
//! for as long as they run. Then bytes go through a buffer that lies half a page away from both.

use std::{io, ops::Range};

use tasuki_ring::Cma;
use tasuki_tuning::shm;

use crate::arrived::copy_bytes;

/// Only the lowest twelve bits of two addresses are compared by the processor.
const COMPARED: u64 = 4096;

/// By how much a destination beyond its source makes the copy slow.
const SLOW_BEYOND: Range<u64> = 1..32;

/// A buffer for one piece, wherever in a page it is to begin. Functions of their own have it, so that other
/// copies do not touch so much of the stack.
type Room = [u8; shm::AROUND_PIECE + COMPARED as usize];

/// Whether the kernel's copy is slow.
fn collides(from: u64, to: u64, len: usize) -> bool {
    let beyond = to.wrapping_sub(from) % COMPARED;
    cfg!(target_arch = "x86_64") && len as u64 >= COMPARED && SLOW_BEYOND.contains(&beyond)
}

/// The part of a buffer, of `len` bytes, that lies half a page away from an address.
fn away_from(address: u64, room: &mut Room, len: usize) -> &mut [u8] {
    let here = room.as_ptr() as u64;
    let start = address.wrapping_add(COMPARED / 2).wrapping_sub(here) % COMPARED;
    &mut room[start as usize..][..len]
}

/// Fills `into` from the peer's memory at `address`, as [`Cma::read`] does.
pub(super) fn read(cma: Cma, address: u64, into: &mut [u8]) -> io::Result<()> {
    match collides(address, into.as_ptr() as u64, into.len()) {
        false => cma.read(address, into),
        true => read_around(cma, address, into),
    }
}

#[cold]
#[inline(never)]
fn read_around(cma: Cma, address: u64, into: &mut [u8]) -> io::Result<()> {
    let mut room: Room = [0; size_of::<Room>()];
    let mut done = 0;
    for piece in into.chunks_mut(shm::AROUND_PIECE) {
        let bytes = away_from(address, &mut room, piece.len());
        cma.read(address.wrapping_add(done), bytes)?;
        // SAFETY: both have the piece's length, and the buffer is this function's own.
        unsafe { copy_bytes(bytes.as_ptr(), piece.as_mut_ptr(), piece.len()) };
        done += piece.len() as u64;
    }
    Ok(())
}

/// Writes `from` to the peer's memory at `address`, as [`Cma::write`] does.
///
/// # Safety
/// As for [`Cma::write`].
pub(super) unsafe fn write(cma: Cma, address: u64, from: *const u8, len: usize) -> io::Result<()> {
    // SAFETY: as the caller promises.
    unsafe {
        match collides(from as u64, address, len) {
            false => cma.write(address, from, len),
            true => write_around(cma, address, from, len),
        }
    }
}

/// # Safety
/// As for [`Cma::write`].
#[cold]
#[inline(never)]
unsafe fn write_around(cma: Cma, address: u64, from: *const u8, len: usize) -> io::Result<()> {
    let mut room: Room = [0; size_of::<Room>()];
    let mut done = 0;
    while done < len {
        let piece = (len - done).min(shm::AROUND_PIECE);
        let bytes = away_from(address, &mut room, piece);
        // SAFETY: `from` can be read for `len` bytes, as the caller promises; the buffer is this function's
        // own. The peer has asked for these bytes, which are a part of those that the caller vouches for.
        unsafe {
            copy_bytes(from.add(done), bytes.as_mut_ptr(), piece);
            cma.write(address.wrapping_add(done as u64), bytes.as_ptr(), piece)?;
        }
        done += piece;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_ring::{Outbox, Segment, SegmentOptions, Token};

    /// The permission to copy from and to this process's own memory.
    fn own_memory() -> Option<Cma> {
        let token = Token::random().expect("random bytes");
        let segment = Segment::create(&SegmentOptions::new(token)).expect("a segment");
        Cma::probe(&Outbox::open(&segment.token(), &token).expect("the segment"))
    }

    #[test]
    fn bytes_arrive_and_none_beside_them_wherever_they_are() {
        let Some(cma) = own_memory() else { return eprintln!("skipped: process_vm_readv is forbidden here") };
        let from: Vec<u8> = (0..200_000u32).map(|at| (at * 7 + at / 251) as u8).collect();
        for (len, begin) in [1, 4096, 32 << 10, (32 << 10) + 1, 100_001].into_iter().zip([0, 5, 16, 31, 4095])
        {
            for beyond in [0, 1, 16, 31, 32, 4095] {
                let source = &from[begin..begin + len];
                let mut into = vec![0xee; len + 3 * 4096];
                let at = (source.as_ptr() as usize + beyond).wrapping_sub(into.as_ptr() as usize) % 4096;
                let expected = |into: &[u8]| {
                    into[at..at + len] == *source
                        && into[..at].iter().chain(&into[at + len..]).all(|&byte| byte == 0xee)
                };
                read(cma, source.as_ptr() as u64, &mut into[at..at + len]).expect("own memory");
                assert!(expected(&into), "read {len} bytes, {beyond} beyond");
                into[at..at + len].fill(0);
                let target = into[at..].as_mut_ptr() as u64;
                // SAFETY: both are this function's own, and nothing else uses them meanwhile.
                unsafe { write(cma, target, source.as_ptr(), len) }.expect("own memory");
                assert!(expected(&into), "wrote {len} bytes, {beyond} beyond");
            }
        }
    }

    #[test]
    fn addresses_collide_a_little_beyond_each_other_in_any_page() {
        let from = 0x7000_0ff8;
        let is_slow = |beyond: i64| collides(from, from.wrapping_add_signed(beyond), 4096);
        assert!([1, 16, 31, 4096 + 16, -4096 + 16].into_iter().all(is_slow));
        assert!(![0, -1, -16, 32, 48, 2048, 4096, 4095].into_iter().any(is_slow));
        assert!(!collides(from, from + 16, 4095), "short");
    }

    #[test]
    fn the_buffer_collides_with_neither_side() {
        let mut room: Room = [0; size_of::<Room>()];
        for (from, beyond) in (0..4096u64).flat_map(|from| [(from, 1), (from, 31)]) {
            let there = away_from(from, &mut room, shm::AROUND_PIECE).as_ptr() as u64;
            assert!(!collides(from, there, 4096) && !collides(there, from + beyond, 4096), "{from}");
        }
    }
}
