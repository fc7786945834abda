//! The border to C: error numbers, panics, and objects behind pointers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard};

use crate::abi::{FI_EINVAL, FI_EOTHER};
use crate::note;

/// A positive error number of libfabric. Calls return it negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

/// The result of a call's body.
pub type Ret<T = ()> = Result<T, Errno>;

/// Runs the body of a call that returns `ssize_t`.
#[inline(always)]
pub fn size(body: impl FnOnce() -> Ret<usize>) -> isize {
    // A call that panicked may have left locks poisoned. `lock` takes them all the same: the data behind them
    // is consistent between any two statements that can panic.
    let number = || match body() {
        Ok(value) => value as isize,
        Err(Errno(errno)) => -(errno as isize),
    };
    catch_unwind(AssertUnwindSafe(number)).unwrap_or_else(|_| panicked())
}

#[cold]
fn panicked() -> isize {
    note!("a call panicked: this is a defect of Tasuki");
    -(FI_EOTHER as isize)
}

/// Runs the body of a call that returns `int`, which is 0 for success.
pub fn int(body: impl FnOnce() -> Ret) -> i32 {
    size(|| body().map(|()| 0)) as i32
}

/// Takes a lock, even if a call panicked while it held it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The object behind a caller's handle.
///
/// # Safety
/// `handle` is null, or [`expose`] gave it for a `T` and the object is not closed. `T` is `repr(C)` and
/// begins with an `H`, or with a structure that begins with an `H`.
#[inline(always)]
pub unsafe fn object<'a, T, H>(handle: *mut H) -> Ret<&'a T> {
    // SAFETY: by the contract above.
    unsafe { handle.cast::<T>().as_ref() }.ok_or(Errno(FI_EINVAL))
}

/// Gives an object to the caller, which owns it until it closes it.
///
/// # Safety
/// `at` is null or may be written. `T` is `repr(C)` and begins with an `H`.
pub unsafe fn expose<T, H>(at: *mut *mut H, object: T) -> Ret {
    if at.is_null() {
        return Err(Errno(FI_EINVAL));
    }
    let handle = Box::into_raw(Box::new(object)).cast::<H>();
    // SAFETY: the pointer is not null, so that the caller lets us write there.
    unsafe { at.write(handle) };
    Ok(())
}

/// Takes an object back from the caller.
///
/// # Safety
/// As for [`object`]; besides, `handle` is not null, and nobody uses it any more.
pub unsafe fn retake<T, H>(handle: *mut H) -> Box<T> {
    // SAFETY: `expose` made the pointer from a box of a T.
    unsafe { Box::from_raw(handle.cast::<T>()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_error_numbers() {
        assert_eq!(size(|| panic!("as a test")), -256, "FI_EOTHER");
        assert_eq!(int(|| Err(Errno(22))), -22);
        assert_eq!(size(|| Ok(7)), 7);
    }
}
