//! The entries of a completion queue, and the reader to which what completes during a read is written. A
//! queue grows as needed and never overruns; the number of outstanding operations bounds it.

use std::collections::VecDeque;
use std::mem::offset_of;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::abi::*;
use crate::guard::{Errno, Ret, lock};

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

/// Completions in order that wait to be read.
pub struct Entries {
    entry_size: usize,
    waiting: Mutex<VecDeque<Entry>>,
    /// How many entries there are: spares the lock when there are none, as most reads find.
    count: AtomicUsize,
}

impl Entries {
    /// No entries, of a queue whose reader takes the first `entry_size` bytes of `struct fi_cq_tagged_entry`.
    pub fn new(entry_size: usize) -> Entries {
        Entries { entry_size, waiting: Mutex::new(VecDeque::with_capacity(256)), count: AtomicUsize::new(0) }
    }

    /// Appends an entry.
    pub fn push(&self, entry: Entry) {
        let mut entries = lock(&self.waiting);
        entries.push_back(entry);
        self.count.store(entries.len(), Ordering::Release);
    }

    /// Whether no entry is waiting to be read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Reports an entry: to `reader` if that reads this queue and may take it, otherwise by appending it.
    pub fn report(&self, entry: Entry, reader: Option<&mut Reader<'_>>) {
        let taken = reader.is_some_and(|reader| ptr::eq(reader.entries, self) && reader.take(&entry));
        if !taken {
            self.push(entry);
        }
    }

    /// Reads entries that are in the queue.
    pub fn read_waiting(&self, mut reader: Reader<'_>) -> Ret<usize> {
        let mut entries = lock(&self.waiting);
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
            let mut entries = lock(&self.waiting);
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
            // There is no further data. Before libfabric 1.5 the structure ended with the pointer to it;
            // since then the size says on entry how much the caller's buffer holds.
            if api_version < fi_version(1, 5) {
                (&raw mut (*into).err_data).write(ptr::null_mut());
            } else {
                (&raw mut (*into).err_data_size).write(0);
            }
            if api_version >= fi_version(1, 20) {
                (&raw mut (*into).src_addr).write(entry.source);
            }
        }
        Ok(1)
    }
}

/// The place to which a read writes entries. What completes during the read is written there, not appended.
pub struct Reader<'a> {
    entries: &'a Entries,
    buf: *mut u8,
    room: usize,
    sources: *mut FiAddr,
    /// The caller wants entries and gives no place for them.
    is_nowhere: bool,
    read: usize,
}

impl<'a> Reader<'a> {
    /// A reader that has read nothing yet.
    ///
    /// # Safety
    /// `buf` is null or has room for `room` entries of the queue's size; `sources` is null or has room for as
    /// many addresses. Both stay for as long as the reader is used.
    #[inline(always)]
    pub unsafe fn new(entries: &'a Entries, buf: *mut u8, room: usize, sources: *mut FiAddr) -> Reader<'a> {
        let is_nowhere = buf.is_null() && room > 0;
        Reader { entries, buf, room: if buf.is_null() { 0 } else { room }, sources, is_nowhere, read: 0 }
    }

    /// Whether another entry fits.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.read < self.room
    }

    /// Number of entries that have been written.
    #[inline(always)]
    pub fn written(&self) -> usize {
        self.read
    }

    /// Writes a completion, if it is a success and may be written here now.
    fn take(&mut self, entry: &Entry) -> bool {
        let takes = entry.fault.is_none() && self.waits_for(self.entries);
        if takes {
            self.write(&entry.to_raw(), || entry.source);
        }
        takes
    }

    /// Whether a completion for the queue with these entries may be written here now: it is the queue that is
    /// read, there is room, and no entry is in the queue that must come before.
    #[inline(always)]
    pub fn waits_for(&self, entries: &Entries) -> bool {
        ptr::eq(self.entries, entries) && self.has_room() && entries.is_empty()
    }

    /// Writes an entry, for which there is room.
    #[inline(always)]
    pub fn write(&mut self, raw: &CqTaggedEntry, source: impl FnOnce() -> FiAddr) {
        assert!(self.has_room());
        let size = self.entries.entry_size;
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
