//! The shared heap: blocks of powers of two, from chunks that each process takes for itself, so that small
//! blocks of different processes share no page as long as they are not handed on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bytes of a page.
const PAGE: usize = tasuki_shared::PAGE;
/// Bytes that a process takes at a time for blocks of less than a page.
const CHUNK: usize = 16 * PAGE;
/// The smallest block, and the room before each block for its [`Head`].
const LEAST: usize = 32;
const HEAD: usize = 16;

/// What lies before each block that the program was given.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Head {
    /// The whole block begins so many bytes before this memory.
    before: usize,
    /// The whole block has 2^`class` bytes.
    class: u32,
    /// Tells a block from something that was never given.
    mark: u32,
}

const MARK: u32 = 0x6b6c_6f62;

/// The part of the shared memory from which blocks are taken, as one process sees it.
pub struct Heap {
    start: usize,
    end: usize,
    /// In shared memory: where what was never taken begins.
    top: &'static AtomicUsize,
    own: Mutex<Own>,
}

/// What this process has to give.
struct Own {
    /// Free blocks by class; each holds the address of the next one in its first word.
    free: [usize; usize::BITS as usize],
    /// The rest of the chunk.
    chunk: usize,
    chunk_end: usize,
}

impl Heap {
    /// The heap between two addresses. `top` is in shared memory, and was set to `start` by one process.
    pub fn new(start: usize, end: usize, top: &'static AtomicUsize) -> Heap {
        let own = Own { free: [0; usize::BITS as usize], chunk: 0, chunk_end: 0 };
        Heap { start, end, top, own: Mutex::new(own) }
    }

    /// Whether an address lies in the heap.
    pub fn has(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Where blocks are.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.start..self.end
    }

    /// Memory of at least so many bytes; null, with ENOMEM, if there is none. `align` is a power of two.
    pub fn take(&self, bytes: usize, align: usize) -> *mut u8 {
        self.take_block(bytes, align).0
    }

    /// As [`Heap::take`], and whether the memory was never given before, so that it holds zeros.
    fn take_block(&self, bytes: usize, align: usize) -> (*mut u8, bool) {
        let room = if align > HEAD { align } else { HEAD };
        let Some(size) = bytes.checked_add(room).filter(|&size| size <= self.end - self.start) else {
            return (no_memory(), false);
        };
        // Large arrays begin with a page: parts of a loop over them share fewer pages then.
        let (align, size) =
            if size > PAGE { (align.max(PAGE), size - room + align.max(PAGE)) } else { (align, size) };
        let class = size.max(LEAST).next_power_of_two().trailing_zeros();
        let Some((block, fresh)) = self.block(class) else { return (no_memory(), false) };
        let memory = (block + HEAD).next_multiple_of(align);
        let head = Head { before: memory - block, class, mark: MARK };
        // SAFETY: the block is this thread's alone, and its head lies in it, before the memory.
        unsafe { ((memory - HEAD) as *mut Head).write(head) };
        (memory as *mut u8, fresh)
    }

    /// As [`Heap::take`], filled with zeros.
    pub fn take_zeroed(&self, bytes: usize) -> *mut u8 {
        let (memory, fresh) = self.take_block(bytes, HEAD);
        // Pages that hold zeros are left to the thread that uses them first.
        if !memory.is_null() && !fresh {
            // SAFETY: the memory was just given, and has so many bytes.
            unsafe { memory.write_bytes(0, bytes) };
        }
        memory
    }

    /// Takes memory back.
    ///
    /// # Safety
    /// It was given by this heap, in any process, and is not used any more.
    pub unsafe fn give(&self, memory: *mut u8) {
        // SAFETY: as the caller promises.
        let head = unsafe { head(memory) };
        let block = memory as usize - head.before;
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let free = &mut own.free[head.class as usize];
        // SAFETY: the block belongs to nobody any more, and has room for a word.
        unsafe { (block as *mut usize).write(*free) };
        *free = block;
    }

    /// Bytes that the memory has room for.
    ///
    /// # Safety
    /// It was given by this heap.
    pub unsafe fn room(&self, memory: *mut u8) -> usize {
        // SAFETY: as the caller promises.
        let head = unsafe { head(memory) };
        (1 << head.class) - head.before
    }

    /// Memory of another size with the same content.
    ///
    /// # Safety
    /// As [`Heap::give`], unless null is returned.
    pub unsafe fn resize(&self, memory: *mut u8, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        let room = unsafe { self.room(memory) };
        if bytes <= room && bytes >= room / 4 {
            return memory;
        }
        let new = self.take(bytes, HEAD);
        if !new.is_null() {
            // SAFETY: both have so many bytes, and do not overlap.
            unsafe { new.copy_from_nonoverlapping(memory, room.min(bytes)) };
            // SAFETY: as the caller promises.
            unsafe { self.give(memory) };
        }
        new
    }

    /// A block of 2^`class` bytes, and whether it was never given before.
    fn block(&self, class: u32) -> Option<(usize, bool)> {
        let size = 1 << class;
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let free = own.free[class as usize];
        if free != 0 {
            // SAFETY: the first word of a free block holds the address of the next one.
            own.free[class as usize] = unsafe { (free as *const usize).read() };
            return Some((free, false));
        }
        if size >= PAGE {
            drop(own);
            return self.fresh(size).map(|block| (block, true));
        }
        if own.chunk_end - own.chunk < size {
            own.chunk = self.fresh(CHUNK)?;
            own.chunk_end = own.chunk + CHUNK;
        }
        let block = own.chunk;
        own.chunk += size;
        Some((block, true))
    }

    /// Memory that was never taken: a multiple of the page size.
    fn fresh(&self, bytes: usize) -> Option<usize> {
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            let end = top.checked_add(bytes).filter(|&end| end <= self.end)?;
            match self.top.compare_exchange_weak(top, end, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(top),
                Err(now) => top = now,
            }
        }
    }
}

/// The head of memory that was given.
///
/// # Safety
/// The memory was given by a heap.
unsafe fn head(memory: *mut u8) -> Head {
    // SAFETY: as the caller promises, a head lies there.
    let head = unsafe { ((memory as usize - HEAD) as *const Head).read() };
    assert!(head.mark == MARK, "{memory:?} was not given by malloc, or what lies before it was written to");
    head
}

fn no_memory() -> *mut u8 {
    // SAFETY: the function gives the place of this thread's errno.
    unsafe { *libc::__errno_location() = libc::ENOMEM };
    std::ptr::null_mut()
}
