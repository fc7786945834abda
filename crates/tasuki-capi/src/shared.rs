//! `tasuki_shared.h`: memory that processes share.

use std::ffi::{c_int, c_void};

use tasuki_engine::Options;
use tasuki_shared::{Access, Counters, Lost, Meeting, OpenError, Shared};

use crate::code::{Code, Error};
use crate::guard;
use crate::pointer;

impl From<Lost> for Error {
    fn from(lost: Lost) -> Error {
        Error::new(Code::Failed, lost)
    }
}

/// The object behind a handle.
///
/// # Safety
/// `shared` is null, or `tasuki_shared_open` gave it and it was not closed.
unsafe fn handle<'a>(shared: *const Shared) -> Result<&'a Shared, Error> {
    // SAFETY: as the caller promises.
    unsafe { pointer::get(shared, "shared") }
}

/// See `tasuki_shared.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_shared_open(bytes: usize, shared: *mut *mut Shared) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki_shared.h` asks for a place to write to.
        unsafe { pointer::put(shared, std::ptr::null_mut(), "shared") }?;
        let default = tasuki_shared::Options::default();
        let options =
            tasuki_shared::Options { bytes: if bytes == 0 { default.bytes } else { bytes }, ..default };
        let environment = |error: &dyn std::error::Error| Error::new(Code::Environment, error);
        let endpoint = Options::from_env().map_err(|error| environment(&error))?;
        let meeting = Meeting::from_env().map_err(|error| environment(&error))?;
        let opened = Shared::open(&meeting, &options, &endpoint).map_err(|error| match error {
            OpenError::Size(_) => Error::invalid(error),
            error => Error::new(Code::Open, error),
        })?;
        // SAFETY: as above.
        unsafe { pointer::put(shared, Box::into_raw(Box::new(opened)), "shared") }
    })
}

/// See `tasuki_shared.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_shared_close(shared: *mut Shared) -> c_int {
    guard::unit(|| {
        if shared.is_null() {
            return Ok(());
        }
        // SAFETY: `tasuki_shared_open` made the handle from a box, and `tasuki_shared.h` asks that nobody
        // uses it any more.
        let shared = unsafe { Box::from_raw(shared) };
        Ok(shared.close()?)
    })
}

/// See `tasuki_shared.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_shared_rank(shared: *const Shared) -> c_int {
    // SAFETY: `tasuki_shared.h` asks for an open handle.
    guard::call(|| Ok(unsafe { handle(shared) }?.rank() as c_int))
}

/// See `tasuki_shared.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_shared_size(shared: *const Shared) -> c_int {
    // SAFETY: as above.
    guard::call(|| Ok(unsafe { handle(shared) }?.size() as c_int))
}

/// See `tasuki_shared.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_shared_allocate(
    shared: *const Shared,
    bytes: usize,
    align: usize,
    memory: *mut *mut c_void,
) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki_shared.h` asks for an open handle, and for a place to write to.
        let shared = unsafe { handle(shared) }?;
        // SAFETY: as above.
        unsafe { pointer::put(memory, std::ptr::null_mut(), "memory") }?;
        let align = align.max(1);
        if !align.is_power_of_two() {
            return Err(Error::invalid(format!("an alignment of {align} bytes is no power of two")));
        }
        let place = shared.allocate(bytes, align).ok_or_else(|| {
            Error::invalid(format!(
                "{bytes} bytes are not left of the shared memory: tasuki_shared_open says how large it is"
            ))
        })?;
        // SAFETY: as above.
        unsafe { pointer::put(memory, place.cast(), "memory") }
    })
}

/// See `tasuki_shared.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_shared_barrier(shared: *const Shared) -> c_int {
    // SAFETY: as above.
    guard::unit(|| Ok(unsafe { handle(shared) }?.barrier()?))
}

/// See `tasuki_shared.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_shared_lock(shared: *const Shared, lock: u32) -> c_int {
    // SAFETY: as above.
    guard::unit(|| Ok(unsafe { handle(shared) }?.lock(lock)?))
}

/// See `tasuki_shared.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_shared_unlock(shared: *const Shared, lock: u32) -> c_int {
    guard::unit(|| {
        // SAFETY: as above.
        if unsafe { handle(shared) }?.unlock(lock)? {
            return Ok(());
        }
        Err(Error::invalid(format!("no thread of this process has lock {lock}")))
    })
}

/// See `tasuki_shared.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_shared_fetch(
    shared: *const Shared,
    from: *const c_void,
    bytes: usize,
    write: c_int,
) -> c_int {
    guard::unit(|| {
        let access = if write == 0 { Access::Read } else { Access::Write };
        // SAFETY: as above.
        Ok(unsafe { handle(shared) }?.fetch(from.cast(), bytes, access)?)
    })
}

/// See `tasuki_shared.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_shared_phase(shared: *const Shared, key: u64) -> c_int {
    // SAFETY: as above.
    guard::unit(|| Ok(unsafe { handle(shared) }?.phase(key)?))
}

/// See `tasuki_shared.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_shared_count(shared: *const Shared, counters: *mut Counters) -> c_int {
    guard::unit(|| {
        // SAFETY: as above.
        let counted = unsafe { handle(shared) }?.counters();
        // SAFETY: `tasuki_shared.h` asks for a place to write to.
        unsafe { pointer::put(counters, counted, "counters") }
    })
}
