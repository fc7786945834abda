//! The memory of operations: the program's buffers, and buffers of the engine's own.

use tasuki_tuning::prefetch;

use crate::api::Buffer;
pub(crate) use crate::arrived::{Arrived, copy_bytes};

/// The bytes of one operation, in pieces that follow each other.
pub(crate) enum Memory {
    /// One piece of the program's memory.
    One(Buffer),
    /// Several pieces of the program's memory.
    Many(Box<[Buffer]>),
    /// A buffer of the engine: a copy of what a program sends, or room for a message of the engine itself.
    Own(Vec<u8>),
}

impl Memory {
    /// Memory of the program.
    #[inline(always)]
    pub fn of(buffers: &[Buffer]) -> Memory {
        match buffers {
            [] => Memory::One(Buffer { ptr: std::ptr::null_mut(), len: 0 }),
            [one] => Memory::One(*one),
            many => Memory::Many(many.into()),
        }
    }

    /// A copy of `buffers` in `room`, whose content is replaced.
    ///
    /// # Safety
    /// The buffers can be read.
    pub unsafe fn copy_of(buffers: &[Buffer], mut room: Vec<u8>) -> Memory {
        room.clear();
        for piece in buffers.iter().filter(|piece| piece.len > 0) {
            // SAFETY: the caller says that the piece can be read; the program does not change it during the
            // call.
            room.extend_from_slice(unsafe { std::slice::from_raw_parts(piece.ptr, piece.len) });
        }
        Memory::Own(room)
    }

    /// Total size, bytes.
    #[inline]
    pub fn len(&self) -> u64 {
        match self {
            Memory::One(piece) => piece.len as u64,
            Memory::Many(pieces) => pieces.iter().map(|piece| piece.len as u64).sum(),
            Memory::Own(bytes) => bytes.len() as u64,
        }
    }

    /// The bytes of a buffer of the engine; empty if the memory is the program's.
    pub fn own(&self) -> &[u8] {
        match self {
            Memory::Own(bytes) => bytes,
            Memory::One(_) | Memory::Many(_) => &[],
        }
    }

    /// Bytes `offset..offset + len` alone, all of which are inside.
    pub fn part(&self, offset: u64, len: u64) -> Memory {
        if let Memory::One(one) = self {
            return Memory::One(Buffer { ptr: one.ptr.wrapping_add(offset as usize), len: len as usize });
        }
        let mut pieces = Vec::new();
        self.walk(offset, usize::try_from(len).unwrap_or(usize::MAX), |ptr, len| {
            pieces.push(Buffer { ptr, len })
        });
        Memory::of(&pieces)
    }

    /// Address of the first byte, if the memory is one piece of the program's memory.
    pub fn contiguous(&self) -> Option<*mut u8> {
        match self {
            Memory::One(piece) if piece.len > 0 => Some(piece.ptr),
            _ => None,
        }
    }

    /// Address of byte `offset`, if bytes `offset..offset + len` are in one piece.
    pub fn piece(&self, offset: u64, len: u64) -> Option<*mut u8> {
        let mut found = None;
        self.walk(offset, usize::try_from(len).ok()?, |ptr, size| {
            if size as u64 == len {
                found = Some(ptr);
            }
        });
        found
    }

    /// Address of byte `offset`; null if there is none.
    pub fn address_of(&self, offset: u64) -> *mut u8 {
        let mut address: *mut u8 = std::ptr::null_mut();
        self.walk(offset, usize::MAX, |ptr, _| {
            if address.is_null() {
                address = ptr;
            }
        });
        address
    }

    /// Copies bytes from `offset` on into `into`. The part of `into` that lies beyond the end stays as it is.
    ///
    /// # Safety
    /// The operation has not completed, so that its memory may be read.
    pub unsafe fn read(&self, offset: u64, into: &mut [u8]) {
        let mut done = 0;
        self.walk(offset, into.len(), |ptr, len| {
            // SAFETY: `walk` stays inside of the operation's pieces, which can be read as long as the
            // operation is under way; `into` has room for what is left.
            unsafe { copy_bytes(ptr, into[done..done + len].as_mut_ptr(), len) };
            done += len;
        });
    }

    /// Has the processor fetch what a long message's packets after one of `len` bytes at `offset` will hold.
    pub fn fetch_ahead(&self, offset: u64, len: usize) {
        self.walk(offset, len, |ptr, len| fetch_ahead(ptr, len));
    }

    /// Copies the first `len` bytes of `from`, or all if there are fewer, to byte `offset` and those that
    /// follow. What does not fit is dropped.
    ///
    /// # Safety
    /// The operation is a receive that has not completed, so that its memory is ours to write.
    pub unsafe fn write(&self, offset: u64, from: &dyn Arrived, len: usize) {
        let mut done = 0;
        self.walk(offset, len.min(from.len()), |ptr, len| {
            // SAFETY: `walk` stays inside of the operation's pieces, which are ours as long as the operation
            // is under way.
            unsafe { from.copy_to(done, ptr, len) };
            done += len;
        });
    }

    /// Calls `visit` with address and length of each piece of bytes `offset..offset + len`, as far as there
    /// are so many.
    pub fn walk(&self, offset: u64, len: usize, mut visit: impl FnMut(*mut u8, usize)) {
        let (mut skip, mut left) = (offset, len);
        let mut piece = |ptr: *mut u8, size: usize| {
            if skip >= size as u64 {
                skip -= size as u64;
                return;
            }
            let inside = skip as usize;
            let take = (size - inside).min(left);
            if take > 0 {
                visit(ptr.wrapping_add(inside), take);
            }
            (skip, left) = (0, left - take);
        };
        match self {
            Memory::One(one) => piece(one.ptr, one.len),
            Memory::Many(many) => many.iter().for_each(|one| piece(one.ptr, one.len)),
            Memory::Own(bytes) => piece(bytes.as_ptr().cast_mut(), bytes.len()),
        }
    }
}

/// Begins to fetch the bytes of a later packet into the cache, after `len` bytes of a long message have been
/// copied from `ptr` into one. When memory is read in one go the processor fetches ahead by itself; here the
/// reading stops after each packet.
fn fetch_ahead(ptr: *const u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if len >= prefetch::LENGTH_MIN {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = ptr.wrapping_add(prefetch::PACKETS_AHEAD * len);
        for offset in (0..len).step_by(64) {
            // SAFETY: every x86-64 processor has the instruction, which accesses nothing: where there is no
            // memory it does nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(offset).cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (ptr, len, prefetch::LENGTH_MIN, prefetch::PACKETS_AHEAD);
}

/// Total size of pieces of the program's memory, bytes; `None` if it exceeds the address space.
pub(crate) fn total(pieces: &[Buffer]) -> Option<usize> {
    pieces.iter().try_fold(0usize, |sum, piece| sum.checked_add(piece.len))
}

/// Copies all pieces, one behind the other, to the beginning of `into`, which has room for them.
///
/// # Safety
/// The pieces can be read, and none of them lies in `into`.
pub(crate) unsafe fn copy_pieces(pieces: &[Buffer], mut into: &mut [u8]) {
    for piece in pieces.iter().filter(|piece| piece.len > 0) {
        let (place, rest) = into.split_at_mut(piece.len);
        // SAFETY: the caller promises that the piece can be read; `place` has its length.
        unsafe { copy_bytes(piece.ptr, place.as_mut_ptr(), piece.len) };
        into = rest;
    }
}

/// Copies at most 32 bytes without a function call: most messages are a number or two.
///
/// # Safety
/// `from` can be read and `to` written for `len` bytes.
#[inline(always)]
pub(crate) unsafe fn copy_few(from: *const u8, to: *mut u8, len: usize) {
    debug_assert!(len <= 32);
    // Copies two pieces of one size, which overlap unless `len` is twice their size. Both are read before
    // either is written.
    macro_rules! twice {
        ($piece:ty) => {{
            let rest = len - size_of::<$piece>();
            // SAFETY: `len` is at least a piece, so both lie inside; unaligned accesses need no alignment.
            unsafe {
                let first = from.cast::<$piece>().read_unaligned();
                let last = from.add(rest).cast::<$piece>().read_unaligned();
                to.cast::<$piece>().write_unaligned(first);
                to.add(rest).cast::<$piece>().write_unaligned(last);
            }
        }};
    }
    match len {
        17.. => twice!(u128),
        8..=16 => twice!(u64),
        4..=7 => twice!(u32),
        2..=3 => twice!(u16),
        1 => twice!(u8),
        0 => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_bytes_are_copied_and_none_beside_them() {
        let from: [u8; 34] = std::array::from_fn(|at| at as u8 + 1);
        for len in 0..=32 {
            let mut to = [0u8; 34];
            // SAFETY: both have 33 bytes from the second on.
            unsafe { copy_few(from[1..].as_ptr(), to[1..].as_mut_ptr(), len) };
            let expected: [u8; 34] =
                std::array::from_fn(|at| if (1..=len).contains(&at) { from[at] } else { 0 });
            assert_eq!(to, expected, "{len} bytes");
        }
    }

    #[test]
    fn pieces_are_read_and_written_as_one() {
        let mut parts = [vec![0u8; 3], vec![0u8; 0], vec![0u8; 5]];
        let buffers: Vec<Buffer> =
            parts.iter_mut().map(|part| Buffer { ptr: part.as_mut_ptr(), len: part.len() }).collect();
        let memory = Memory::of(&buffers);
        assert_eq!(memory.len(), 8);
        // SAFETY: the parts live to the end of the test.
        unsafe {
            memory.write(1, &[1u8, 2, 3, 4].as_slice(), 4);
            memory.write(6, &[9u8, 9, 9, 9, 9].as_slice(), 9); // three bytes too many are dropped
            let mut all = [7; 10];
            memory.read(0, &mut all);
            assert_eq!(all, [0, 1, 2, 3, 4, 0, 9, 9, 7, 7]);
        }
        assert_eq!(memory.piece(1, 2), Some(parts[0].as_mut_ptr().wrapping_add(1)));
        assert_eq!(memory.piece(4, 4), Some(parts[2].as_mut_ptr().wrapping_add(1)));
        assert_eq!((memory.piece(2, 2), memory.piece(7, 2)), (None, None), "in two pieces, beyond the end");
        assert_eq!(memory.address_of(3), parts[2].as_mut_ptr());
        assert!(memory.address_of(8).is_null());
    }
}
