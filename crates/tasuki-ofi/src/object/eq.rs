//! Event queues: fi_eq(3). Endpoints have no connections and nothing is asynchronous, so that an event queue
//! holds only what the program writes to it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};

use super::cq::describe;
use super::deadline::Deadline;
use super::refs;
use super::shared::FabricShared;
use crate::abi::*;
use crate::guard::{self, Errno, Ret, lock};

#[derive(Default)]
struct Events {
    waiting: Mutex<VecDeque<(u32, Vec<u8>)>>,
    written: Condvar,
}

#[repr(C)]
struct Eq {
    handle: FidEq,
    events: Arc<Events>,
    _fabric: Arc<FabricShared>,
}

static OPS: Ops = Ops::new(close, refs::no_bind, refs::no_control);

static EQ_OPS: OpsEq = OpsEq { size: size_of::<OpsEq>(), read, readerr, write, sread, strerror };

/// `fi_eq_open`.
///
/// # Safety
/// The arguments are as fi_eq(3) demands.
pub unsafe fn open(fabric: &Arc<FabricShared>, attr: *mut EqAttr, eq: *mut *mut FidEq, context: Ptr) -> Ret {
    // SAFETY: null or the caller's.
    let wait_obj = unsafe { attr.as_ref() }.map_or(FI_WAIT_NONE, |attr| attr.wait_obj);
    refs::check_wait(wait_obj)?;
    let handle = FidEq { fid: Fid { fclass: FI_CLASS_EQ, context, ops: &OPS }, ops: &EQ_OPS };
    let object = Eq { handle, events: Arc::default(), _fabric: fabric.clone() };
    // SAFETY: the caller's place for the result; Eq is repr(C) and begins with the handle.
    unsafe { guard::expose(eq, object) }
}

unsafe extern "C" fn close(fid: *mut Fid) -> i32 {
    // SAFETY: only event queues have this table.
    guard::int(|| unsafe { refs::close::<Eq, _>(fid, |eq| &eq.events) })
}

unsafe extern "C" fn write(eq: *mut FidEq, event: u32, buf: *const u8, len: usize, _flags: u64) -> isize {
    guard::size(|| {
        // SAFETY: only event queues have this table.
        let eq = unsafe { guard::object::<Eq, _>(eq) }?;
        let bytes = match len {
            0 => Vec::new(),
            _ if buf.is_null() => return Err(Errno(FI_EINVAL)),
            // SAFETY: as many bytes as the caller says.
            _ => unsafe { std::slice::from_raw_parts(buf, len) }.to_vec(),
        };
        lock(&eq.events.waiting).push_back((event, bytes));
        eq.events.written.notify_all();
        Ok(len)
    })
}

unsafe extern "C" fn read(eq: *mut FidEq, event: *mut u32, buf: *mut u8, len: usize, flags: u64) -> isize {
    // SAFETY: the same arguments; no waiting.
    unsafe { sread(eq, event, buf, len, 0, flags) }
}

unsafe extern "C" fn sread(
    eq: *mut FidEq,
    event: *mut u32,
    buf: *mut u8,
    len: usize,
    timeout_ms: i32,
    flags: u64,
) -> isize {
    guard::size(|| {
        // SAFETY: only event queues have this table.
        let eq = unsafe { guard::object::<Eq, _>(eq) }?;
        if event.is_null() || (buf.is_null() && len > 0) {
            return Err(Errno(FI_EINVAL));
        }
        let deadline = Deadline::after_ms(timeout_ms);
        let mut waiting = lock(&eq.events.waiting);
        while waiting.is_empty() {
            let left = deadline.left().ok_or(Errno(FI_EAGAIN))?;
            let (guard, _) = eq
                .events
                .written
                .wait_timeout(waiting, left)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            waiting = guard;
        }
        // SAFETY: the caller's places for the result.
        unsafe { take(&mut waiting, event, buf, len, flags) }
    })
}

/// Hands out the oldest event.
///
/// # Safety
/// `event` may be written, `buf` has `len` bytes.
unsafe fn take(
    waiting: &mut VecDeque<(u32, Vec<u8>)>,
    event: *mut u32,
    buf: *mut u8,
    len: usize,
    flags: u64,
) -> Ret<usize> {
    let (number, bytes) = waiting.front().ok_or(Errno(FI_EAGAIN))?;
    if bytes.len() > len {
        return Err(Errno(FI_ETOOSMALL));
    }
    // SAFETY: the bytes fit; the rest by the contract.
    unsafe {
        event.write(*number);
        if !bytes.is_empty() {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), buf, bytes.len());
        }
    }
    let size = bytes.len();
    if flags & FI_PEEK == 0 {
        waiting.pop_front();
    }
    Ok(size)
}

unsafe extern "C" fn readerr(_: *mut FidEq, _: Ptr, _: u64) -> isize {
    -(FI_EAGAIN as isize)
}

unsafe extern "C" fn strerror(_: *mut FidEq, errno: i32, _data: *const u8, buf: *mut u8, len: usize) -> Text {
    // SAFETY: null or as many bytes as said.
    unsafe { describe(errno, buf, len) }
}
