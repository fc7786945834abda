//! Counters of completed operations: the calls of fi_cntr(3). The counts are in `counter.rs`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::deadline::Deadline;
use super::refs;
use super::shared::DomainShared;
use crate::abi::*;
use crate::counter::{Counter, DONE, FAILED};
use crate::ep::EpShared;
use crate::guard::{self, Errno, Ret};

/// A counter.
#[repr(C)]
pub struct Cntr {
    handle: FidCntr,
    /// Held by every endpoint that is bound to the counter.
    pub shared: Arc<Counter<EpShared>>,
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

unsafe fn shared<'a>(cntr: *mut FidCntr) -> Ret<&'a Counter<EpShared>> {
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
        let failed = counter.of(FAILED).load(Ordering::Acquire);
        let deadline = Deadline::after_ms(timeout_ms);
        loop {
            counter.members.progress(None);
            if counter.of(DONE).load(Ordering::Acquire) >= threshold {
                return Ok(());
            }
            if counter.of(FAILED).load(Ordering::Acquire) != failed {
                return Err(Errno(FI_EAVAIL));
            }
            let left = deadline.left().ok_or(Errno(FI_ETIMEDOUT))?;
            counter.members.wait(left);
        }
    })
}
