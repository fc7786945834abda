//! Who uses what: an object that is in use cannot be closed.

use std::sync::Arc;

use crate::abi::{FI_EBUSY, FI_ENOSYS, Fid, Ptr};
use crate::guard::{self, Errno, Ret};

/// Closes an object whose shared part nobody else holds.
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

/// `bind` of objects to which nothing is bound.
///
/// # Safety
/// Always safe; has the type of the table's entry.
pub unsafe extern "C" fn no_bind(_: *mut Fid, _: *mut Fid, _: u64) -> i32 {
    -FI_ENOSYS
}

/// `control` of objects that know no commands.
///
/// # Safety
/// Always safe; has the type of the table's entry.
pub unsafe extern "C" fn no_control(_: *mut Fid, _: i32, _: Ptr) -> i32 {
    -FI_ENOSYS
}
