//! `tasuki_checkpoint.h`: checkpoints of programs that say what they need to go on.

mod group;
mod options;

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::ops::Range;

use tasuki_checkpoint::{Checkpoint, Error as CheckpointError};

use crate::code::{Code, Error};
use crate::guard;
use crate::pointer;
use crate::types::{RawCheckpointCounters, RawCheckpointGroup, RawCheckpointOptions};

use group::Callbacks;

/// What a handle points to.
pub struct Handle {
    checkpoint: Checkpoint<Callbacks>,
    memory: BTreeMap<u32, Memory>,
    counters: RawCheckpointCounters,
    notes: String,
}

/// Memory of the program.
#[derive(Clone, Copy, Debug)]
struct Memory {
    at: *mut u8,
    bytes: usize,
}

impl Memory {
    /// # Safety
    /// The program lets the memory be, and nothing writes to it.
    unsafe fn get<'a>(&self) -> &'a [u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: `tasuki_checkpoint_add` asks for so many bytes that live, and the caller promises the rest.
        unsafe { std::slice::from_raw_parts(self.at, self.bytes) }
    }

    /// # Safety
    /// The program lets the memory be, and nothing else reads or writes it.
    unsafe fn get_mut<'a>(&self) -> &'a mut [u8] {
        if self.bytes == 0 {
            return &mut [];
        }
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.bytes) }
    }

    fn range(&self) -> Range<usize> {
        self.at.addr()..self.at.addr() + self.bytes
    }
}

impl From<CheckpointError> for Error {
    fn from(error: CheckpointError) -> Error {
        let code = match error {
            CheckpointError::Group(_) => Code::Failed,
            CheckpointError::Order(_) | CheckpointError::Twice(_) => Code::Invalid,
            _ => Code::Checkpoint,
        };
        Error::new(code, error)
    }
}

/// The object behind a handle.
///
/// # Safety
/// `checkpoint` is null, or `tasuki_checkpoint_open` gave it, it was not closed, and no other thread uses it.
unsafe fn handle<'a>(checkpoint: *mut Handle) -> Result<&'a mut Handle, Error> {
    // SAFETY: as the caller promises.
    unsafe { checkpoint.as_mut() }.ok_or_else(|| pointer::null("checkpoint"))
}

/// See `tasuki_checkpoint.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_checkpoint_open(
    group: *const RawCheckpointGroup,
    options: *const RawCheckpointOptions,
    checkpoint: *mut *mut Handle,
) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki_checkpoint.h` asks for a group, and from here on its context is ours.
        let callbacks = Callbacks(*unsafe { pointer::get(group, "group") }?);
        // SAFETY: it asks for a place to write to.
        unsafe { pointer::put(checkpoint, std::ptr::null_mut(), "checkpoint") }?;
        let raw = &callbacks.0;
        if raw.gather.is_none() || raw.exchange.is_none() {
            return Err(pointer::null("group: gather or exchange"));
        }
        if raw.size < 1 || !(0..raw.size).contains(&raw.rank) {
            return Err(Error::invalid(format!("group: no process {} of {}", raw.rank, raw.size)));
        }
        // SAFETY: it asks for options, or null.
        let options = unsafe { options::read(options) };
        // The others are told of options that cannot be, or would wait for this process.
        let told = options.as_ref().map(Clone::clone).map_err(|error| error.text.clone());
        let opened = Checkpoint::open(callbacks, told);
        options?;
        let opened = Handle {
            checkpoint: opened?,
            memory: BTreeMap::new(),
            counters: RawCheckpointCounters::default(),
            notes: String::new(),
        };
        // SAFETY: as above.
        unsafe { pointer::put(checkpoint, Box::into_raw(Box::new(opened)), "checkpoint") }
    })
}

/// See `tasuki_checkpoint.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_checkpoint_close(checkpoint: *mut Handle) {
    guard::unit(|| {
        if !checkpoint.is_null() {
            // SAFETY: `tasuki_checkpoint_open` made the handle from a box, and the header asks that nobody
            // uses it any more.
            drop(unsafe { Box::from_raw(checkpoint) });
        }
        Ok(())
    });
}

/// See `tasuki_checkpoint.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_checkpoint_add(
    checkpoint: *mut Handle,
    number: u32,
    memory: *mut c_void,
    bytes: usize,
) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki_checkpoint.h` asks for an open handle.
        let handle = unsafe { handle(checkpoint) }?;
        let buffer = pointer::buffer(memory.cast(), bytes)?;
        let new = Memory { at: buffer.ptr, bytes };
        if new.at.addr().checked_add(bytes).is_none() {
            return Err(Error::invalid("the memory goes on after the end of all addresses"));
        }
        let (from, end) = (new.range().start, new.range().end);
        let others = handle.memory.iter().filter(|(other, _)| **other != number);
        for (other, memory) in others {
            if memory.range().start < end && from < memory.range().end {
                return Err(Error::invalid(format!("memory {number} overlaps memory {other}")));
            }
        }
        handle.memory.insert(number, new);
        Ok(())
    })
}

/// See `tasuki_checkpoint.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_checkpoint_remove(checkpoint: *mut Handle, number: u32) -> c_int {
    guard::unit(|| {
        // SAFETY: as above.
        match unsafe { handle(checkpoint) }?.memory.remove(&number) {
            Some(_) => Ok(()),
            None => Err(Error::new(Code::NotFound, format!("no memory is registered as {number}"))),
        }
    })
}

/// See `tasuki_checkpoint.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_checkpoint_restore(checkpoint: *mut Handle) -> c_int {
    guard::call(|| {
        // SAFETY: as above.
        let handle = unsafe { handle(checkpoint) }?;
        // SAFETY: the program does not use the memory during a call, and pieces of it do not overlap.
        let places = handle.memory.iter().map(|(number, memory)| (*number, unsafe { memory.get_mut() }));
        let restored = handle.checkpoint.restore(places.collect())?;
        handle.notes = restored.notes.join("\n");
        handle.counters.epoch = restored.epoch.unwrap_or(0);
        Ok(c_int::from(restored.epoch.is_some()))
    })
}

/// See `tasuki_checkpoint.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_checkpoint_is_due(checkpoint: *mut Handle) -> c_int {
    guard::call(|| {
        // SAFETY: as above.
        let handle = unsafe { handle(checkpoint) }?;
        let bytes = || handle.memory.values().map(|memory| memory.bytes as u64).sum();
        let is_due = handle.checkpoint.is_due(bytes)?;
        Ok(c_int::from(is_due))
    })
}

/// See `tasuki_checkpoint.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_checkpoint_save(checkpoint: *mut Handle) -> c_int {
    guard::unit(|| {
        // SAFETY: as above.
        let handle = unsafe { handle(checkpoint) }?;
        // SAFETY: the program does not change the memory during a call.
        let memory =
            handle.memory.iter().map(|(number, memory)| (*number, unsafe { memory.get() })).collect();
        let counters = &mut handle.counters;
        let saved = handle.checkpoint.save(memory).inspect_err(|_| counters.failed += 1)?;
        let took = saved.took.as_micros() as u64;
        counters.epoch = saved.epoch;
        counters.saved += 1;
        (counters.bytes, counters.copied) = (saved.bytes, saved.copied);
        (counters.last_us, counters.all_us) = (took, counters.all_us + took);
        Ok(())
    })
}

/// See `tasuki_checkpoint.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_checkpoint_finish(checkpoint: *mut Handle) -> c_int {
    guard::unit(|| {
        // SAFETY: as above.
        let handle = unsafe { handle(checkpoint) }?;
        handle.checkpoint.finish()?;
        handle.counters.epoch = 0;
        Ok(())
    })
}

/// See `tasuki_checkpoint.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_checkpoint_count(
    checkpoint: *const Handle,
    counters: *mut RawCheckpointCounters,
) -> c_int {
    guard::unit(|| {
        // SAFETY: as above.
        let handle = unsafe { pointer::get(checkpoint, "checkpoint") }?;
        let aim_us = handle.checkpoint.aim().as_micros() as u64;
        let counted = RawCheckpointCounters { aim_us, ..handle.counters };
        // SAFETY: `tasuki_checkpoint.h` asks for a place to write to.
        unsafe { pointer::put(counters, counted, "counters") }
    })
}

/// See `tasuki_checkpoint.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_checkpoint_notes(
    checkpoint: *const Handle,
    buffer: *mut c_char,
    size: usize,
) -> c_int {
    guard::call(|| {
        // SAFETY: as above, and the header asks that so many bytes may be written.
        unsafe { pointer::write_text(&pointer::get(checkpoint, "checkpoint")?.notes, buffer, size) }
    })
}
