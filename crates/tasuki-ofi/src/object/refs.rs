//! What objects have in common: one that is in use cannot be closed, and most calls of most objects do
//! nothing.

use std::sync::Arc;

use crate::abi::*;
use crate::guard::{self, Errno, Ret};

/// Closes an object, unless something holds its shared part.
///
/// # Safety
/// As for [`guard::retake`], with `T` the object; `shared` gives its shared part.
pub unsafe fn close<T, S>(fid: *mut Fid, shared: impl FnOnce(&T) -> &Arc<S>) -> Ret {
    // SAFETY: by the contract.
    let object = unsafe { guard::object::<T, Fid>(fid) }?;
    if Arc::strong_count(shared(object)) > 1 {
        return Err(Errno(FI_EBUSY));
    }
    // SAFETY: by the contract; the reference above is not used any more.
    drop(unsafe { guard::retake::<T, Fid>(fid) });
    Ok(())
}

/// `bind` of objects to which nothing can be bound.
///
/// # Safety
/// Always safe; has the type of the table's entry.
pub unsafe extern "C" fn no_bind(_: *mut Fid, _: *mut Fid, _: u64) -> i32 {
    -FI_ENOSYS
}

/// `control` of objects without commands.
///
/// # Safety
/// Always safe; has the type of the table's entry.
pub unsafe extern "C" fn no_control(_: *mut Fid, _: i32, _: Ptr) -> i32 {
    -FI_ENOSYS
}

/// `bind` of objects that report nothing by themselves: an event queue may be bound, and gets no events.
///
/// # Safety
/// `other` is null or an object.
pub unsafe extern "C" fn bind_events(_: *mut Fid, other: *mut Fid, _: u64) -> i32 {
    // SAFETY: by the contract.
    match unsafe { other.as_ref() } {
        Some(other) if other.fclass == FI_CLASS_EQ => 0,
        _ => -FI_EINVAL,
    }
}

/// Whether a queue or counter can be waited for in this way (`enum fi_wait_obj`). There is no descriptor for
/// others to wait on: the carriers have several, and shared memory has none.
pub fn check_wait(wait_obj: i32) -> Ret {
    match wait_obj {
        FI_WAIT_NONE | FI_WAIT_UNSPEC | FI_WAIT_YIELD => Ok(()),
        _ => Err(Errno(FI_ENOSYS)),
    }
}
