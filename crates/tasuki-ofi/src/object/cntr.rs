//! Counters of completed operations: fi_cntr(3).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::cq::deadline;
use super::domain::DomainShared;
use super::refs;
use crate::abi::*;
use crate::ep::EpShared;
use crate::guard::{self, Errno, Ret};
use crate::members::{Members, SLICE};

/// Kind of count: operations that have succeeded.
const DONE: bool = true;
/// Kind of count: operations that have failed.
const FAILED: bool = false;

/// Two counts, and the endpoints whose operations they count.
#[derive(Default)]
pub struct Counter {
    done: AtomicU64,
    failed: AtomicU64,
    /// Messages are counted, not one-sided operations alone.
    messages: AtomicBool,
    /// Endpoints whose operations are counted: reading the counter makes them progress.
    pub members: Members,
}

impl Counter {
    fn of(&self, kind: bool) -> &AtomicU64 {
        if kind == DONE { &self.done } else { &self.failed }
    }

    /// Counts an operation that is over.
    pub fn count(&self, success: bool) {
        self.of(success).fetch_add(1, Ordering::Release);
    }

    /// The counter is bound to messages.
    pub fn count_messages(&self) {
        self.messages.store(true, Ordering::Release);
    }

    /// Makes progress if that can change the counts. MPICH reads the counter of its one-sided operations
    /// after each read of its queue, which has just made progress.
    fn progress(&self) {
        if self.messages.load(Ordering::Acquire) || self.members.any(EpShared::accesses) {
            self.members.progress(None);
        }
    }
}

/// A counter.
#[repr(C)]
pub struct Cntr {
    handle: FidCntr,
    /// Held by every endpoint that is bound to the counter.
    pub shared: Arc<Counter>,
    _domain: Arc<DomainShared>,
}

static OPS: Ops = Ops::new(close, refs::no_bind, refs::no_control);

static CNTR_OPS: OpsCntr = OpsCntr {
    size: size_of::<OpsCntr>(),
    read: read::<DONE>,
    readerr: read::<FAILED>,
    add: add::<DONE>,
    set: set::<DONE>,
    wait,
    adderr: add::<FAILED>,
    seterr: set::<FAILED>,
};

/// `fi_cntr_open`.
///
/// # Safety
/// The arguments are as fi_cntr(3) demands.
pub unsafe fn open(
    domain: &Arc<DomainShared>,
    attr: *mut CntrAttr,
    cntr: *mut *mut FidCntr,
    context: Ptr,
) -> Ret {
    // SAFETY: null or the caller's.
    if let Some(attr) = unsafe { attr.as_ref() } {
        // Operations are counted, not bytes.
        if attr.events != FI_CNTR_EVENTS_COMP {
            return Err(Errno(FI_ENOSYS));
        }
        if attr.flags != 0 {
            return Err(Errno(FI_EBADFLAGS));
        }
        refs::check_wait(attr.wait_obj)?;
    }
    let handle = FidCntr { fid: Fid { fclass: FI_CLASS_CNTR, context, ops: &OPS }, ops: &CNTR_OPS };
    let object = Cntr { handle, shared: Arc::default(), _domain: domain.clone() };
    // SAFETY: the caller's place for the result; Cntr is repr(C) and begins with the handle.
    unsafe { guard::expose(cntr, object) }
}

unsafe extern "C" fn close(fid: *mut Fid) -> i32 {
    // SAFETY: only counters have this table.
    guard::int(|| unsafe { refs::close::<Cntr, _>(fid, |cntr| &cntr.shared) })
}

unsafe fn shared<'a>(cntr: *mut FidCntr) -> Ret<&'a Counter> {
    // SAFETY: only counters have these tables.
    Ok(&unsafe { guard::object::<Cntr, _>(cntr) }?.shared)
}

/// `fi_cntr_read`, `fi_cntr_readerr`. They return a count and cannot fail: 0 if they panic.
unsafe extern "C" fn read<const KIND: bool>(cntr: *mut FidCntr) -> u64 {
    let mut count = 0;
    guard::int(|| {
        // SAFETY: only counters have this table.
        let counter = unsafe { shared(cntr) }?;
        counter.progress();
        count = counter.of(KIND).load(Ordering::Acquire);
        Ok(())
    });
    count
}

/// `fi_cntr_add`, `fi_cntr_adderr`.
unsafe extern "C" fn add<const KIND: bool>(cntr: *mut FidCntr, value: u64) -> i32 {
    guard::int(|| {
        // SAFETY: only counters have this table.
        unsafe { shared(cntr) }?.of(KIND).fetch_add(value, Ordering::Release);
        Ok(())
    })
}

/// `fi_cntr_set`, `fi_cntr_seterr`.
unsafe extern "C" fn set<const KIND: bool>(cntr: *mut FidCntr, value: u64) -> i32 {
    guard::int(|| {
        // SAFETY: only counters have this table.
        unsafe { shared(cntr) }?.of(KIND).store(value, Ordering::Release);
        Ok(())
    })
}

unsafe extern "C" fn wait(cntr: *mut FidCntr, threshold: u64, timeout_ms: i32) -> i32 {
    guard::int(|| {
        // SAFETY: only counters have this table.
        let counter = unsafe { shared(cntr) }?;
        let failed = counter.failed.load(Ordering::Acquire);
        let deadline = deadline(timeout_ms);
        loop {
            counter.members.progress(None);
            if counter.done.load(Ordering::Acquire) >= threshold {
                return Ok(());
            }
            if counter.failed.load(Ordering::Acquire) != failed {
                return Err(Errno(FI_EAVAIL));
            }
            let left = deadline.map_or(SLICE, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(Errno(FI_ETIMEDOUT));
            }
            counter.members.wait(left);
        }
    })
}
