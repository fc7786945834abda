//! The entries of a completion queue. It grows as needed and never overruns; the number of outstanding
//! operations bounds it.

use std::collections::VecDeque;
use std::mem::offset_of;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::abi::*;
use crate::guard::{Errno, Ret, lock};
use crate::members::Members;

/// The failure of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Error number, positive.
    pub err: i32,
    /// Bytes of a message that did not fit into the buffer.
    pub olen: usize,
}

/// A completion, successful or not.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The program's pointer.
    pub context: u64,
    /// What kind of operation has completed: `FI_SEND` and the like.
    pub flags: u64,
    /// Bytes received.
    pub len: usize,
    /// The address in the program's buffer where they begin.
    pub buf: usize,
    /// Remote completion data.
    pub data: u64,
    /// The tag received.
    pub tag: u64,
    /// The sender, or `FI_ADDR_NOTAVAIL`.
    pub source: FiAddr,
    /// `None` if the operation has succeeded.
    pub fault: Option<Fault>,
}

/// Completions in order, and the endpoints that report them.
pub struct Queue {
    entry_size: usize,
    entries: Mutex<VecDeque<Entry>>,
    /// How many entries there are: spares the lock when there are none, as most reads find.
    count: AtomicUsize,
    signalled: AtomicBool,
    /// Endpoints that report to the queue: reading it makes them progress.
    pub members: Members,
}

impl Queue {
    /// An empty queue whose reader takes the first `entry_size` bytes of `struct fi_cq_tagged_entry`.
    pub fn new(entry_size: usize, members: Members) -> Queue {
        Queue {
            entry_size,
            entries: Mutex::new(VecDeque::with_capacity(256)),
            count: AtomicUsize::new(0),
            signalled: AtomicBool::new(false),
            members,
        }
    }

    /// Appends an entry.
    pub fn push(&self, entry: Entry) {
        let mut entries = lock(&self.entries);
        entries.push_back(entry);
        self.count.store(entries.len(), Ordering::Release);
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Reports an entry: to `reader` if that reads this queue and may take it, otherwise by appending it.
    pub fn report(&self, entry: Entry, reader: Option<&mut Reader<'_>>) {
        let taken = reader.is_some_and(|reader| ptr::eq(reader.queue, self) && reader.take(&entry));
        if !taken {
            self.push(entry);
        }
    }

    /// Reads up to `count` successful completions; 0 only progresses.
    ///
    /// # Safety
    /// `buf` has room for `count` entries of this queue's size; `sources` is null or has room for as many
    /// addresses.
    #[inline(always)]
    pub unsafe fn read(&self, buf: *mut u8, count: usize, sources: *mut FiAddr) -> Ret<usize> {
        // SAFETY: by the contract.
        let reader = || unsafe { Reader::new(self, buf, count, sources) };
        if count > 0
            && !buf.is_null()
            && self.is_empty()
            && let Some(ep) = self.members.only()
        {
            return match ep.poll(reader) {
                None => Err(Errno(FI_EAGAIN)),
                Some(reader) => self.end_read(reader),
            };
        }
        self.read_further(reader())
    }

    /// The end of a read after its endpoint was polled.
    #[inline(never)]
    fn end_read(&self, reader: Reader<'_>) -> Ret<usize> {
        match reader.read {
            0 if self.is_empty() => Err(Errno(FI_EAGAIN)),
            0 => self.read_waiting(reader),
            read => Ok(read),
        }
    }

    /// A read for a queue that several endpoints report to, that has entries, or that is to make progress only.
    #[inline(never)]
    fn read_further(&self, mut reader: Reader<'_>) -> Ret<usize> {
        if self.is_empty() || reader.room == 0 {
            self.members.progress(Some(&mut reader));
            return self.end_read(reader);
        }
        self.read_waiting(reader)
    }

    /// Reads entries that are in the queue.
    fn read_waiting(&self, mut reader: Reader<'_>) -> Ret<usize> {
        let mut entries = lock(&self.entries);
        match entries.front() {
            None => return Err(Errno(FI_EAGAIN)),
            Some(first) if first.fault.is_some() => return Err(Errno(FI_EAVAIL)),
            Some(_) if reader.is_nowhere => return Err(Errno(FI_EINVAL)),
            Some(_) => {}
        }
        while reader.has_room()
            && let Some(entry) = entries.pop_front_if(|entry| entry.fault.is_none())
        {
            reader.write(&entry.to_raw(), || entry.source);
        }
        self.count.store(entries.len(), Ordering::Release);
        Ok(reader.read)
    }

    /// Reads the next entry if it is a failed completion.
    ///
    /// # Safety
    /// `into` is a structure of the size that libfabric `api_version` has.
    pub unsafe fn read_error(&self, into: *mut CqErrEntry, api_version: u32) -> Ret<usize> {
        let entry = {
            let mut entries = lock(&self.entries);
            let entry = entries.pop_front_if(|entry| entry.fault.is_some()).ok_or(Errno(FI_EAGAIN))?;
            self.count.store(entries.len(), Ordering::Release);
            entry
        };
        let fault = entry.fault.unwrap_or(Fault { err: FI_EOTHER, olen: 0 });
        // SAFETY: fields are written one by one, so that none is touched that an older structure lacks.
        unsafe {
            (&raw mut (*into).op_context).write(entry.context as Ptr);
            (&raw mut (*into).flags).write(entry.flags);
            (&raw mut (*into).len).write(entry.len);
            (&raw mut (*into).buf).write(entry.buf as Ptr);
            (&raw mut (*into).data).write(entry.data);
            (&raw mut (*into).tag).write(entry.tag);
            (&raw mut (*into).olen).write(fault.olen);
            (&raw mut (*into).err).write(fault.err);
            (&raw mut (*into).prov_errno).write(fault.err);
            // There is no further data. Since libfabric 1.5 the size says on entry how much the caller's
            // buffer holds.
            (&raw mut (*into).err_data_size).write(0);
            if api_version < fi_version(1, 5) {
                (&raw mut (*into).err_data).write(ptr::null_mut());
            }
            if api_version >= fi_version(1, 20) {
                (&raw mut (*into).src_addr).write(entry.source);
            }
        }
        Ok(1)
    }

    /// Whether the queue is empty after its endpoints have made progress.
    pub fn is_idle(&self) -> bool {
        if self.is_empty() {
            self.members.progress(None);
        }
        self.is_empty()
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

/// The place to which a read writes entries. What completes during the read is written there, not appended.
pub struct Reader<'a> {
    queue: &'a Queue,
    buf: *mut u8,
    room: usize,
    sources: *mut FiAddr,
    /// The caller wants entries and gives no place for them.
    is_nowhere: bool,
    read: usize,
}

impl<'a> Reader<'a> {
    /// # Safety
    /// `buf` is null or has room for `room` entries of the queue's size; `sources` is null or has room for as
    /// many addresses. Both stay for as long as the reader is used.
    unsafe fn new(queue: &'a Queue, buf: *mut u8, room: usize, sources: *mut FiAddr) -> Reader<'a> {
        let is_nowhere = buf.is_null() && room > 0;
        Reader { queue, buf, room: if buf.is_null() { 0 } else { room }, sources, is_nowhere, read: 0 }
    }

    /// Whether another entry fits.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.read < self.room
    }

    /// Writes a completion, if it is a success and may be written here now.
    fn take(&mut self, entry: &Entry) -> bool {
        let takes = entry.fault.is_none() && self.waits_for(self.queue);
        if takes {
            self.write(&entry.to_raw(), || entry.source);
        }
        takes
    }

    /// Whether a completion for `queue` may be written here now: it is the queue that is read, there is room,
    /// and no entry is in the queue that must come before.
    #[inline(always)]
    pub fn waits_for(&self, queue: &Queue) -> bool {
        ptr::eq(self.queue, queue) && self.has_room() && queue.is_empty()
    }

    /// Writes an entry, for which there is room.
    #[inline(always)]
    pub fn write(&mut self, raw: &CqTaggedEntry, source: impl FnOnce() -> FiAddr) {
        assert!(self.has_room());
        let size = self.queue.entry_size;
        // SAFETY: `read` is less than `room`, so that by the contract of `new` there is room for the entry;
        // the queue's format is the beginning of a whole entry.
        unsafe {
            let at = self.buf.add(self.read * size);
            write_beginning(raw, at.cast(), size);
            if !self.sources.is_null() {
                self.sources.add(self.read).write(source());
            }
        }
        self.read += 1;
    }
}

/// Writes those fields of a whole entry that an entry of `size` bytes has. (It writes field by field, so that
/// `raw` can stay in registers.)
///
/// # Safety
/// `at` has room for `size` bytes.
#[inline(always)]
unsafe fn write_beginning(raw: &CqTaggedEntry, at: *mut CqTaggedEntry, size: usize) {
    // SAFETY: each field is inside of `size` bytes, and unaligned places are written as such.
    unsafe {
        (&raw mut (*at).op_context).write_unaligned(raw.op_context);
        if size >= offset_of!(CqTaggedEntry, buf) {
            (&raw mut (*at).flags).write_unaligned(raw.flags);
            (&raw mut (*at).len).write_unaligned(raw.len);
        }
        if size >= offset_of!(CqTaggedEntry, tag) {
            (&raw mut (*at).buf).write_unaligned(raw.buf);
            (&raw mut (*at).data).write_unaligned(raw.data);
        }
        if size >= size_of::<CqTaggedEntry>() {
            (&raw mut (*at).tag).write_unaligned(raw.tag);
        }
    }
}

impl Entry {
    fn to_raw(self) -> CqTaggedEntry {
        CqTaggedEntry {
            op_context: self.context as Ptr,
            flags: self.flags,
            len: self.len,
            buf: self.buf as Ptr,
            data: self.data,
            tag: self.tag,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(context: u64, fault: Option<Fault>) -> Entry {
        Entry { context, flags: FI_RECV, len: 3, buf: 0, data: 5, tag: 7, source: context, fault }
    }

    #[test]
    fn errors_keep_their_place_among_successes() {
        let queue = Queue::new(24, Members::default());
        let mut buf = [0u64; 12];
        let mut sources = [0; 4];
        // SAFETY: room for 4 entries of 24 bytes.
        let mut read =
            |queue: &Queue| unsafe { queue.read(buf.as_mut_ptr().cast(), 4, sources.as_mut_ptr()) };
        assert_eq!(read(&queue), Err(Errno(libc::EAGAIN)));
        queue.push(entry(1, None));
        queue.push(entry(2, None));
        queue.push(entry(3, Some(Fault { err: FI_ETRUNC, olen: 9 })));
        queue.push(entry(4, None));
        assert_eq!(read(&queue), Ok(2));
        assert_eq!(read(&queue), Err(Errno(259)), "FI_EAVAIL");
        // SAFETY: plain data.
        let mut error: CqErrEntry = unsafe { std::mem::zeroed() };
        error.src_addr = 77;
        // SAFETY: as large as any version's.
        assert_eq!(unsafe { queue.read_error(&mut error, fi_version(1, 18)) }, Ok(1));
        assert_eq!((error.op_context as u64, error.err, error.olen, error.src_addr), (3, 265, 9, 77));
        // SAFETY: as above.
        assert_eq!(unsafe { queue.read_error(&mut error, fi_version(1, 18)) }, Err(Errno(libc::EAGAIN)));
        assert_eq!(read(&queue), Ok(1));
        assert_eq!((buf[0], buf[1], buf[2], sources[0]), (4, FI_RECV, 3, 4));
    }
}
