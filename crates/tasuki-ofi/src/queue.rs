//! A completion queue: its entries, and the endpoints that report to it. Reading it makes them progress.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::abi::*;
use crate::entries::{Entries, Reader};
use crate::guard::{Errno, Ret};
use crate::members::{Member, Members};
use crate::recorder::Recorder;

/// A completion queue to which endpoints of type `E` report.
pub struct Queue<E> {
    /// Completions that wait to be read.
    pub entries: Entries,
    signalled: AtomicBool,
    /// Endpoints that report to the queue: reading it makes them progress.
    pub members: Members<E>,
}

impl<E: Member> Queue<E> {
    /// An empty queue whose reader takes the first `entry_size` bytes of `struct fi_cq_tagged_entry`.
    pub fn new(entry_size: usize, members: Members<E>) -> Queue<E> {
        Queue { entries: Entries::new(entry_size), signalled: AtomicBool::new(false), members }
    }

    /// Reads up to `count` successful completions; 0 only progresses.
    ///
    /// # Safety
    /// `buf` has room for `count` entries of this queue's size; `sources` is null or has room for as many
    /// addresses.
    #[inline(always)]
    pub unsafe fn read(&self, buf: *mut u8, count: usize, sources: *mut FiAddr) -> Ret<usize> {
        // SAFETY: by the contract.
        let reader = || unsafe { Reader::new(&self.entries, buf, count, sources) };
        if count > 0
            && !buf.is_null()
            && self.entries.is_empty()
            && let Some(ep) = self.members.only()
        {
            return match ep.poll(reader) {
                None => Err(Errno(FI_EAGAIN)),
                Some(reader) => self.end_read(reader),
            };
        }
        self.read_further(reader())
    }

    /// [`Queue::read`] for endpoints that record their messages: all completions go the long way, on which
    /// they are recorded.
    ///
    /// # Safety
    /// As for [`Queue::read`].
    pub unsafe fn read_recording(&self, buf: *mut u8, count: usize, sources: *mut FiAddr) -> Ret<usize> {
        self.members.each(|ep| ep.recorder().into_iter().for_each(Recorder::enter));
        // SAFETY: by the contract.
        let read = self.read_further(unsafe { Reader::new(&self.entries, buf, count, sources) });
        let idle = read == Err(Errno(FI_EAGAIN));
        self.members.each(|ep| ep.recorder().into_iter().for_each(|recorder| recorder.leave(idle)));
        read
    }

    /// The end of a read after its endpoint was polled.
    #[inline(never)]
    fn end_read(&self, reader: Reader<'_>) -> Ret<usize> {
        match reader.written() {
            0 if self.entries.is_empty() => Err(Errno(FI_EAGAIN)),
            0 => self.entries.read_waiting(reader),
            read => Ok(read),
        }
    }

    /// A read for a queue that several endpoints report to, that has entries, or that is to make progress
    /// only.
    #[inline(never)]
    fn read_further(&self, mut reader: Reader<'_>) -> Ret<usize> {
        if self.entries.is_empty() || !reader.has_room() {
            self.members.progress(Some(&mut reader));
            return self.end_read(reader);
        }
        self.entries.read_waiting(reader)
    }

    /// Whether the queue is empty after its endpoints have made progress.
    pub fn is_idle(&self) -> bool {
        if self.entries.is_empty() {
            self.members.progress(None);
        }
        self.entries.is_empty()
    }

    /// Ends a read that waits.
    pub fn signal(&self) {
        self.signalled.store(true, Ordering::Release);
    }

    /// Whether [`Queue::signal`] was called since the last time.
    pub fn take_signal(&self) -> bool {
        self.signalled.swap(false, Ordering::AcqRel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::{Entry, Fault};
    use crate::ep::EpShared;

    fn entry(context: u64, fault: Option<Fault>) -> Entry {
        Entry { context, flags: FI_RECV, len: 3, buf: 0, data: 5, tag: 7, source: context, fault }
    }

    #[test]
    fn errors_keep_their_place_among_successes() {
        let queue = Queue::<EpShared>::new(24, Members::default());
        let mut buf = [0u64; 12];
        let mut sources = [0; 4];
        // SAFETY: room for 4 entries of 24 bytes.
        let mut read =
            |queue: &Queue<EpShared>| unsafe { queue.read(buf.as_mut_ptr().cast(), 4, sources.as_mut_ptr()) };
        assert_eq!(read(&queue), Err(Errno(libc::EAGAIN)));
        queue.entries.push(entry(1, None));
        queue.entries.push(entry(2, None));
        queue.entries.push(entry(3, Some(Fault { err: FI_ETRUNC, olen: 9 })));
        queue.entries.push(entry(4, None));
        assert_eq!(read(&queue), Ok(2));
        assert_eq!(read(&queue), Err(Errno(259)), "FI_EAVAIL");
        // SAFETY: plain data.
        let mut error: CqErrEntry = unsafe { std::mem::zeroed() };
        error.src_addr = 77;
        // SAFETY: as large as any version's.
        assert_eq!(unsafe { queue.entries.read_error(&mut error, fi_version(1, 18)) }, Ok(1));
        assert_eq!((error.op_context as u64, error.err, error.olen, error.src_addr), (3, 265, 9, 77));
        // SAFETY: as above.
        let second = unsafe { queue.entries.read_error(&mut error, fi_version(1, 18)) };
        assert_eq!(second, Err(Errno(libc::EAGAIN)));
        assert_eq!(read(&queue), Ok(1));
        assert_eq!((buf[0], buf[1], buf[2], sources[0]), (4, FI_RECV, 3, 4));
    }

    /// `struct fi_cq_err_entry` of libfabric 1.4 (include/rdma/fi_eq.h) ends with `err_data`.
    #[test]
    fn nothing_is_written_behind_the_structure_of_an_old_program() {
        let queue = Queue::<EpShared>::new(24, Members::default());
        queue.entries.push(entry(3, Some(Fault { err: FI_ETRUNC, olen: 9 })));
        // SAFETY: plain data.
        let mut error: CqErrEntry = unsafe { std::mem::zeroed() };
        (error.err_data_size, error.src_addr) = (77, 78);
        // SAFETY: as large as any version's.
        assert_eq!(unsafe { queue.entries.read_error(&mut error, fi_version(1, 4)) }, Ok(1));
        assert_eq!((error.err, error.err_data_size, error.src_addr), (265, 77, 78));
    }
}
