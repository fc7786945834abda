//! The functions that make and end things: devices, contexts, listeners, connections. Those that all versions
//! share are here as C calls them; those that differ are made of the others in [`crate::plugin`].

use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use crate::abi::{Ignored, Result as Code};
use crate::border::{call, get, put};
use crate::comm::Comm;
use crate::context::Context;
use crate::error::{Code as Reason, Error};
use crate::listen::{self, HANDLE_LEN, Listener};
use crate::log::{Log, LogFunction};

pub(crate) unsafe extern "C" fn devices(count: *mut c_int) -> Code {
    // SAFETY: NCCL gives a place to write to.
    call(|_| (), || unsafe { put(count, 1, "the number of devices") })
}

/// Refuses devices that are not there.
pub(crate) fn check_device(device: c_int) -> Result<(), Error> {
    if device == 0 {
        return Ok(());
    }
    Err(Error::new(Reason::Argument, format!("there is no device {device}, only device 0")))
}

/// `getProperties` with the properties of one version.
///
/// # Safety
/// `into` is null, or there is room for a `T`.
pub(crate) unsafe fn properties<T>(device: c_int, into: *mut T, make: impl FnOnce() -> T) -> Code {
    call(
        |_| (),
        || {
            check_device(device)?;
            // SAFETY: as the caller promises.
            unsafe { put(into, make(), "the properties") }
        },
    )
}

/// `listen` for a context.
///
/// # Safety
/// `handle` is null, or has room for [`HANDLE_LEN`] bytes; `into` is null, or there is room for a pointer.
pub(crate) unsafe fn listen(
    context: &Arc<Context>,
    device: c_int,
    handle: *mut c_void,
    into: *mut *mut c_void,
) -> Code {
    call(
        |error| context.log.warn(&error.text),
        || {
            check_device(device)?;
            // SAFETY: as the caller promises.
            unsafe { put(into, null_mut(), "the listener") }?;
            let handle =
                NonNull::new(handle.cast::<[u8; HANDLE_LEN]>()).ok_or_else(|| Error::null("the handle"))?;
            let (listener, bytes) = Listener::open(context)?;
            // SAFETY: as the caller promises; bytes need no alignment.
            unsafe { handle.as_ptr().write(bytes) };
            // SAFETY: as above.
            unsafe { put(into, Box::into_raw(Box::new(listener)).cast(), "the listener") }
        },
    )
}

/// `connect` for a context.
///
/// # Safety
/// As [`listen`], with a handle to read.
pub(crate) unsafe fn connect(
    context: &Arc<Context>,
    device: c_int,
    handle: *const c_void,
    into: *mut *mut c_void,
) -> Code {
    call(
        |error| context.log.warn(&error.text),
        || {
            check_device(device)?;
            // SAFETY: as the caller promises; bytes need no alignment.
            let handle = unsafe { get::<[u8; HANDLE_LEN]>(handle, "the handle") }?;
            let comm = listen::connect(context, handle)?;
            // SAFETY: as the caller promises.
            unsafe { put(into, Arc::into_raw(comm).cast_mut().cast(), "the connection") }
        },
    )
}

pub(crate) unsafe extern "C" fn accept(listener: *mut c_void, into: *mut *mut c_void, _: Ignored) -> Code {
    // SAFETY: NCCL gives what `listen` gave.
    let found = unsafe { get::<Listener>(listener, "the listener") };
    let log = found.as_ref().map_or(Log(None), |listener| listener.context().log);
    call(
        |error| log.warn(&error.text),
        || {
            let comm = found?.accept()?;
            let comm = comm.map_or(null_mut(), |comm| Arc::into_raw(comm).cast_mut().cast());
            // SAFETY: NCCL gives a place to write to.
            unsafe { put(into, comm, "the connection") }
        },
    )
}

pub(crate) unsafe extern "C" fn close_comm(of: *mut c_void) -> Code {
    let body = || {
        let Some(comm) = NonNull::new(of.cast::<Comm>()) else { return Ok(()) };
        // SAFETY: `connect` or `accept` gave it, and NCCL closes it once.
        unsafe { Arc::from_raw(comm.as_ptr()) }.close();
        Ok(())
    };
    call(|_| (), body)
}

pub(crate) unsafe extern "C" fn close_listener(listener: *mut c_void) -> Code {
    let body = || {
        let Some(listener) = NonNull::new(listener.cast::<Listener>()) else { return Ok(()) };
        // SAFETY: `listen` made it from a box, and NCCL closes it once.
        unsafe { Box::from_raw(listener.as_ptr()) }.close();
        Ok(())
    };
    call(|_| (), body)
}

/// Makes a context for a communicator, as versions from 11 on ask.
///
/// # Safety
/// `into` is null, or there is room for a pointer.
pub(crate) unsafe fn open(into: *mut *mut c_void, function: LogFunction) -> Code {
    let log = Log(function);
    call(
        |error| log.warn(&error.text),
        || {
            let context = Arc::new(Context::open(log)?);
            // SAFETY: as the caller promises.
            unsafe { put(into, Arc::into_raw(context).cast_mut().cast(), "the context") }
        },
    )
}

/// The context of [`open`].
///
/// # Safety
/// `context` is null, or came from [`open`].
pub(crate) unsafe fn context(context: *mut c_void) -> Result<Arc<Context>, Error> {
    let context = NonNull::new(context.cast::<Context>()).ok_or_else(|| Error::null("the context"))?;
    // SAFETY: as the caller promises; the reference that NCCL holds stays.
    Ok(unsafe {
        Arc::increment_strong_count(context.as_ptr());
        Arc::from_raw(context.as_ptr())
    })
}

/// The end of a communicator. The context itself stays, some 100 bytes: communicators may share one, and
/// whether the last of them ends it or each does differs between versions of NCCL (`commFree` of its
/// `src/init.cc`).
pub(crate) unsafe extern "C" fn finalize(of: *mut c_void) -> Code {
    let body = || {
        // A failed `init` leaves none.
        if !of.is_null() {
            // SAFETY: `open` gave it.
            unsafe { context(of) }?.close_if_idle();
        }
        Ok(())
    };
    call(|_| (), body)
}
