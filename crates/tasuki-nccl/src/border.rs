//! The border to C: no panic unwinds over it, null pointers are refused, and objects that NCCL holds are what
//! they point to.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::abi::Result as Code;
use crate::comm::Comm;
use crate::error::{Code as Reason, Error};

/// Runs the body of a call: no panic unwinds into C, and what fails is given to `tell`.
pub(crate) fn call(tell: impl FnOnce(&Error), body: impl FnOnce() -> Result<(), Error>) -> Code {
    let panicked = || Error::new(Reason::Internal, "a call panicked: this is a defect of Tasuki");
    // A panic may have left something half done behind a lock, which is taken all the same afterwards.
    match catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| Err(panicked())) {
        Ok(()) => 0,
        Err(error) => {
            tell(&error);
            error.code as Code
        }
    }
}

/// What an object that NCCL holds points to.
///
/// # Safety
/// `object` is null, or points to a `T` that lives through `'a`.
pub(crate) unsafe fn get<'a, T>(object: *const c_void, name: &str) -> Result<&'a T, Error> {
    // SAFETY: as the caller promises.
    unsafe { object.cast::<T>().as_ref() }.ok_or_else(|| Error::null(name))
}

/// Writes a value where NCCL wants it.
///
/// # Safety
/// `into` is null, or there is room for a `T`.
pub(crate) unsafe fn put<T>(into: *mut T, value: T, name: &str) -> Result<(), Error> {
    let into = NonNull::new(into).ok_or_else(|| Error::null(name))?;
    // SAFETY: not null, and as the caller promises.
    unsafe { into.as_ptr().write(value) };
    Ok(())
}

/// NCCL's object of a connection is a counted reference: requests hold others.
///
/// # Safety
/// `comm` is null, or came from `connect` or `accept` and was not closed.
unsafe fn comm(comm: *mut c_void) -> Result<Arc<Comm>, Error> {
    let comm = NonNull::new(comm.cast::<Comm>()).ok_or_else(|| Error::null("the connection"))?;
    // SAFETY: as the caller promises; the reference that NCCL holds stays.
    Ok(unsafe {
        Arc::increment_strong_count(comm.as_ptr());
        Arc::from_raw(comm.as_ptr())
    })
}

/// A call that concerns one connection.
///
/// # Safety
/// As [`comm`].
pub(crate) unsafe fn with_comm(of: *mut c_void, body: impl FnOnce(&Arc<Comm>) -> Result<(), Error>) -> Code {
    // SAFETY: as the caller promises.
    let found = unsafe { comm(of) };
    match found {
        Ok(comm) => call(|error| comm.context.log.warn(&error.text), || body(&comm)),
        Err(error) => error.code as Code,
    }
}
