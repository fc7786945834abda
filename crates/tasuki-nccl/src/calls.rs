//! The functions of the tables. Those that all versions share are here as C calls them; those that differ are
//! made of the others in [`crate::plugin`].

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use tasuki_engine::Buffer;

use crate::abi::{Ignored, PTR_HOST, Result as Code};
use crate::comm::{Comm, Request};
use crate::context::Context;
use crate::error::{Code as Reason, Error};
use crate::listen::{self, HANDLE_LEN, Listener};
use crate::log::{Log, LogFunction};
use crate::properties::GROUP_MAX;

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
unsafe fn get<'a, T>(object: *const c_void, name: &str) -> Result<&'a T, Error> {
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
unsafe fn with_comm(of: *mut c_void, body: impl FnOnce(&Arc<Comm>) -> Result<(), Error>) -> Code {
    // SAFETY: as the caller promises.
    let found = unsafe { comm(of) };
    match found {
        Ok(comm) => call(|error| comm.context.log.warn(&error.text), || body(&comm)),
        Err(error) => error.code as Code,
    }
}

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

/// Memory that NCCL has announced.
struct Registration {
    address: usize,
    len: usize,
}

pub(crate) unsafe extern "C" fn register(
    of: *mut c_void,
    data: *mut c_void,
    len: usize,
    kind: c_int,
    handle: *mut *mut c_void,
) -> Code {
    let body = |_: &Arc<Comm>| {
        if kind != PTR_HOST {
            return Err(Error::new(
                Reason::Internal,
                "memory of a GPU was registered, which was not offered",
            ));
        }
        let registration = Box::new(Registration { address: data as usize, len });
        // SAFETY: NCCL gives a place to write to.
        unsafe { put(handle, Box::into_raw(registration).cast(), "the memory handle") }
    };
    // SAFETY: NCCL gives a connection that is open.
    unsafe { with_comm(of, body) }
}

pub(crate) unsafe extern "C" fn deregister(of: *mut c_void, handle: *mut c_void) -> Code {
    let body = |comm: &Arc<Comm>| {
        let Some(handle) = NonNull::new(handle.cast::<Registration>()) else { return Ok(()) };
        // SAFETY: `register` made it from a box, and NCCL gives it back once.
        let registration = unsafe { Box::from_raw(handle.as_ptr()) };
        comm.settle(Some((registration.address, registration.len)));
        Ok(())
    };
    // SAFETY: NCCL gives a connection that is open.
    unsafe { with_comm(of, body) }
}

/// A buffer of NCCL's.
fn buffer(data: *mut c_void, len: usize) -> Result<Buffer, Error> {
    if data.is_null() && len > 0 {
        return Err(Error::null("the data"));
    }
    Ok(Buffer { ptr: data.cast(), len })
}

/// `isend`.
///
/// # Safety
/// As `isend` of NCCL's interface.
pub(crate) unsafe fn send(
    of: *mut c_void,
    data: *mut c_void,
    len: usize,
    tag: c_int,
    request: *mut *mut c_void,
) -> Code {
    let body = |comm: &Arc<Comm>| {
        let buffer = buffer(data, len)?;
        // SAFETY: NCCL gives a place to write to.
        unsafe { put(request, null_mut(), "the request") }?;
        // SAFETY: NCCL leaves the data alone until `test` says that the request is over.
        let made = unsafe { comm.send(tag, buffer) }?;
        // SAFETY: as above.
        unsafe { put(request, made.cast(), "the request") }
    };
    // SAFETY: NCCL gives a connection that is open.
    unsafe { with_comm(of, body) }
}

/// `irecv`. What `*request` says, that the caller needs no completion, does not matter here.
///
/// # Safety
/// As `irecv` of NCCL's interface; `len` gives the length of the buffer with an index below `count`.
pub(crate) unsafe fn recv(
    of: *mut c_void,
    count: c_int,
    data: *const *mut c_void,
    len: impl Fn(usize) -> Result<usize, Error>,
    tags: *const c_int,
    request: *mut *mut c_void,
) -> Code {
    let body = |comm: &Arc<Comm>| {
        let count = usize::try_from(count).ok().filter(|count| (1..=GROUP_MAX).contains(count));
        let count = count.ok_or_else(|| {
            Error::new(Reason::Internal, format!("a group of receives has 1 to {GROUP_MAX} members"))
        })?;
        // SAFETY: NCCL gives arrays of `count` elements, and a place to write to.
        unsafe {
            get::<*mut c_void>(data.cast(), "the data")?;
            get::<c_int>(tags.cast(), "the tags")?;
            put(request, null_mut(), "the request")?;
        }
        let mut group = Vec::with_capacity(count);
        for at in 0..count {
            // SAFETY: as above.
            let (data, tag) = unsafe { (data.add(at).read(), tags.add(at).read()) };
            group.push((tag, buffer(data, len(at)?)?));
        }
        // SAFETY: NCCL leaves the buffers alone until `test` says that the request is over.
        let made = unsafe { comm.recv(&group) }?;
        // SAFETY: as above.
        unsafe { put(request, made.cast(), "the request") }
    };
    // SAFETY: NCCL gives a connection that is open.
    unsafe { with_comm(of, body) }
}

/// Nothing to flush: data come to host memory, by the host's processor.
pub(crate) unsafe extern "C" fn flush(
    _: *mut c_void,
    _: c_int,
    _: *const *mut c_void,
    _: *const c_int,
    _: *const *mut c_void,
    request: *mut *mut c_void,
) -> Code {
    // SAFETY: NCCL gives a place to write to.
    call(|_| (), || unsafe { put(request, null_mut(), "the request") })
}

pub(crate) unsafe extern "C" fn test(request: *mut c_void, done: *mut c_int, sizes: *mut c_int) -> Code {
    // SAFETY: NCCL gives what `isend` or `irecv` gave, until it is over or its connection is closed.
    let found = match unsafe { get::<Request>(request, "the request") } {
        Ok(found) => found,
        Err(error) => return error.code as Code,
    };
    let body = || {
        // SAFETY: NCCL gives a place to write to.
        unsafe { put(done, 0, "done") }?;
        let Some(moved) = found.test()? else { return Ok(()) };
        if !sizes.is_null() {
            for (at, &len) in moved.iter().enumerate() {
                // SAFETY: NCCL gives room for as many sizes as the request has parts.
                unsafe { sizes.add(at).write(c_int::try_from(len).unwrap_or(c_int::MAX)) };
            }
        }
        // SAFETY: as above.
        unsafe { put(done, 1, "done") }?;
        // SAFETY: it is over, and NCCL forgets it.
        unsafe { Request::end(request.cast()) };
        Ok(())
    };
    // A request that has failed is there until its connection is closed.
    call(|error| found.tell(error), body)
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
/// `context` is null, or came from [`open`] and was not finalized.
pub(crate) unsafe fn context(context: *mut c_void) -> Result<Arc<Context>, Error> {
    let context = NonNull::new(context.cast::<Context>()).ok_or_else(|| Error::null("the context"))?;
    // SAFETY: as the caller promises; the reference that NCCL holds stays.
    Ok(unsafe {
        Arc::increment_strong_count(context.as_ptr());
        Arc::from_raw(context.as_ptr())
    })
}

pub(crate) unsafe extern "C" fn finalize(of: *mut c_void) -> Code {
    let body = || {
        // A failed `init` leaves none.
        let Some(context) = NonNull::new(of.cast::<Context>()) else { return Ok(()) };
        // SAFETY: `open` gave it, and NCCL finalizes it once.
        drop(unsafe { Arc::from_raw(context.as_ptr()) });
        Ok(())
    };
    call(|_| (), body)
}
