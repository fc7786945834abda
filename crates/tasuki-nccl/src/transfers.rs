//! The functions that move data: memory, sends, receives, and what has become of them.

use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use tasuki_engine::Buffer;

use crate::abi::{PTR_HOST, Result as Code};
use crate::border::{call, get, put, with_comm};
use crate::comm::{Comm, Request};
use crate::error::{Code as Reason, Error};
use crate::properties::GROUP_MAX;

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
        // SAFETY: NCCL gives a place to write to.
        unsafe { put(handle, null_mut(), "the memory handle") }?;
        let registration = Box::new(Registration { address: data as usize, len });
        // SAFETY: as above.
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
