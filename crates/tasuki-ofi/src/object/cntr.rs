//! Counters of completed operations.

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

/// Two counts, and the endpoints that they come from.
#[derive(Default)]
pub struct Counter {
    done: AtomicU64,
    failed: AtomicU64,
    /// It counts messages, not one-sided operations alone.
    messages: AtomicBool,
    /// Endpoints that count here: looking makes them progress.
    pub members: Members,
}

impl Counter {
    /// Counts an operation that is over.
    pub fn count(&self, success: bool) {
        let counter = if success { &self.done } else { &self.failed };
        counter.fetch_add(1, Ordering::Release);
    }

    /// Messages are counted here.
    pub fn counts_messages(&self) {
        self.messages.store(true, Ordering::Release);
    }

    /// Makes progress if that can change the counts. MPICH looks at the counter of its one-sided operations whenever it looks at
    /// its queue, which has just made progress.
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
    /// Held by every endpoint that counts here.
    pub shared: Arc<Counter>,
    _domain: Arc<DomainShared>,
}

static OPS: Ops = Ops {
    size: size_of::<Ops>(),
    close,
    bind: refs::no_bind,
    control: refs::no_control,
    ops_open: nosys,
    tostr: nosys,
    ops_set: nosys,
};

static CNTR_OPS: OpsCntr =
    OpsCntr { size: size_of::<OpsCntr>(), read, readerr, add, set, wait, adderr, seterr };

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
    let wait_obj = unsafe { attr.as_ref() }.map_or(FI_WAIT_NONE, |attr| attr.wait_obj);
    if !matches!(wait_obj, FI_WAIT_NONE | FI_WAIT_UNSPEC | FI_WAIT_YIELD) {
        return Err(Errno(FI_ENOSYS));
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

/// Both reads return a count and cannot fail: 0 if they panic.
fn count(body: impl FnOnce() -> Ret<u64>) -> u64 {
    let mut count = 0;
    guard::int(|| {
        count = body()?;
        Ok(())
    });
    count
}

unsafe extern "C" fn read(cntr: *mut FidCntr) -> u64 {
    count(|| {
        // SAFETY: a counter's table.
        let counter = unsafe { shared(cntr) }?;
        counter.progress();
        Ok(counter.done.load(Ordering::Acquire))
    })
}

unsafe extern "C" fn readerr(cntr: *mut FidCntr) -> u64 {
    count(|| {
        // SAFETY: a counter's table.
        let counter = unsafe { shared(cntr) }?;
        counter.progress();
        Ok(counter.failed.load(Ordering::Acquire))
    })
}

unsafe extern "C" fn add(cntr: *mut FidCntr, value: u64) -> i32 {
    guard::int(|| {
        // SAFETY: a counter's table.
        unsafe { shared(cntr) }?.done.fetch_add(value, Ordering::Release);
        Ok(())
    })
}

unsafe extern "C" fn set(cntr: *mut FidCntr, value: u64) -> i32 {
    guard::int(|| {
        // SAFETY: a counter's table.
        unsafe { shared(cntr) }?.done.store(value, Ordering::Release);
        Ok(())
    })
}

unsafe extern "C" fn adderr(cntr: *mut FidCntr, value: u64) -> i32 {
    guard::int(|| {
        // SAFETY: a counter's table.
        unsafe { shared(cntr) }?.failed.fetch_add(value, Ordering::Release);
        Ok(())
    })
}

unsafe extern "C" fn seterr(cntr: *mut FidCntr, value: u64) -> i32 {
    guard::int(|| {
        // SAFETY: a counter's table.
        unsafe { shared(cntr) }?.failed.store(value, Ordering::Release);
        Ok(())
    })
}

unsafe extern "C" fn wait(cntr: *mut FidCntr, threshold: u64, timeout_ms: i32) -> i32 {
    guard::int(|| {
        // SAFETY: a counter's table.
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
