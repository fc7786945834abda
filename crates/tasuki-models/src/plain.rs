//! Memory that is read and written as plain bytes. Two accesses of two threads of which one writes, and none
//! happens before the other, are a data race, and end the check.

use loom::cell::UnsafeCell;

use crate::layout::LINE;

/// Plain bytes, watched by the cache line.
#[derive(Debug)]
pub(crate) struct Plain {
    lines: Box<[UnsafeCell<()>]>,
    bytes: Box<[std::cell::UnsafeCell<u8>]>,
}

impl Plain {
    pub(crate) fn new(len: usize) -> Plain {
        let lines = (0..len.div_ceil(LINE)).map(|_| UnsafeCell::new(())).collect();
        Plain { lines, bytes: (0..len).map(|_| std::cell::UnsafeCell::new(0)).collect() }
    }

    fn lines(&self, offset: usize, len: usize) -> &[UnsafeCell<()>] {
        assert!(len > 0 && offset + len <= self.bytes.len(), "inside the memory");
        &self.lines[offset / LINE..=(offset + len - 1) / LINE]
    }

    /// Copies what is at `offset`.
    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) {
        if into.is_empty() {
            return;
        }
        self.lines(offset, into.len()).iter().for_each(|line| line.with(|_| ()));
        for (byte, place) in self.bytes[offset..].iter().zip(into) {
            // SAFETY: loom runs all threads of a model on one thread of the system, so that nothing writes
            // meanwhile.
            *place = unsafe { *byte.get() };
        }
    }

    /// The bytes of a range, to write into at once: before the thread's next access to anything that loom
    /// watches.
    #[expect(clippy::mut_from_ref, reason = "exclusive for the reason that is given below")]
    pub(crate) fn writable(&self, offset: usize, len: usize) -> &mut [u8] {
        if len == 0 {
            return &mut [];
        }
        self.lines(offset, len).iter().for_each(|line| line.with_mut(|_| ()));
        // SAFETY: inside the memory. loom runs all threads of a model on one thread of the system, and goes
        // from one to another only at accesses that it watches, before which the reference ends.
        unsafe { std::slice::from_raw_parts_mut(self.bytes[offset].get(), len) }
    }
}
