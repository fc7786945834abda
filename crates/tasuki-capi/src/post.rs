//! Calls that post sends and receives, and that cancel them.

use std::ffi::{c_int, c_void};

use tasuki_engine::{Buffer, Peer, RecvArgs, Report, SendArgs};

use crate::code::{Code, Error};
use crate::endpoint::{Handle, handle};
use crate::guard;
use crate::pointer;
use crate::types::{ANY_SOURCE, DATA, DELIVERY, INJECT, MULTI, QUIET, RawMessage, RawPeer, TAGGED};

/// Most pieces of memory in one operation: Linux's `IOV_MAX`.
const PIECES_MAX: usize = 1024;

/// The sender that a receive names; `None` for `TASUKI_ANY_SOURCE`.
pub fn source(peer: RawPeer) -> Option<Peer> {
    (peer != ANY_SOURCE).then_some(Peer(peer))
}

/// Refuses flags that a call does not take, so that they can be given a meaning later.
pub fn check_flags(flags: u32, known: u32) -> Result<(), Error> {
    match flags & !known {
        0 => Ok(()),
        unknown => Err(Error::invalid(format!("flags {unknown:#x} have no meaning here"))),
    }
}

/// What the engine is to report of an operation with these flags.
pub(crate) fn report(flags: u32) -> Report {
    if flags & QUIET != 0 { Report::Failure } else { Report::Completion }
}

/// # Safety
/// `endpoint` is null or open; the buffers stay as [`tasuki_engine::Endpoint::send`] asks.
unsafe fn send(
    endpoint: *const Handle,
    peer: RawPeer,
    (tag, data): (Option<u64>, Option<u64>),
    buffers: &[Buffer],
    flags: u32,
    context: u64,
) -> Result<(), Error> {
    // SAFETY: as the caller promises.
    let handle = unsafe { handle(endpoint) }?;
    let args = SendArgs {
        peer: Peer(peer),
        tag,
        data,
        buffers,
        inject: flags & INJECT != 0,
        report: report(flags),
        delivery: flags & DELIVERY != 0,
        more: false,
        context,
    };
    // SAFETY: as the caller promises.
    Ok(unsafe { handle.endpoint.send(&args) }?)
}

/// # Safety
/// `endpoint` is null or open; the buffers stay as [`tasuki_engine::Endpoint::recv`] asks.
unsafe fn recv(
    endpoint: *const Handle,
    peer: RawPeer,
    (tag, ignore): (Option<u64>, u64),
    buffers: &[Buffer],
    (report, multi): (Report, Option<usize>),
    context: u64,
) -> Result<(), Error> {
    // SAFETY: as the caller promises.
    let handle = unsafe { handle(endpoint) }?;
    let args = RecvArgs { source: source(peer), tag, ignore, buffers, multi, report, context };
    // SAFETY: as the caller promises.
    Ok(unsafe { handle.endpoint.recv(&args) }?)
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_send(
    endpoint: *const Handle,
    peer: RawPeer,
    bytes: *const c_void,
    len: usize,
    flags: u32,
    context: u64,
) -> c_int {
    guard::unit(|| {
        check_flags(flags, INJECT | QUIET | DELIVERY)?;
        let buffer = pointer::buffer(bytes.cast_mut().cast(), len)?;
        // SAFETY: `tasuki.h` asks for what `send` does.
        unsafe { send(endpoint, peer, (None, None), &[buffer], flags, context) }
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_tsend(
    endpoint: *const Handle,
    peer: RawPeer,
    tag: u64,
    bytes: *const c_void,
    len: usize,
    flags: u32,
    context: u64,
) -> c_int {
    guard::unit(|| {
        check_flags(flags, INJECT | QUIET | DELIVERY)?;
        let buffer = pointer::buffer(bytes.cast_mut().cast(), len)?;
        // SAFETY: `tasuki.h` asks for what `send` does.
        unsafe { send(endpoint, peer, (Some(tag), None), &[buffer], flags, context) }
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_recv(
    endpoint: *const Handle,
    source: RawPeer,
    bytes: *mut c_void,
    len: usize,
    flags: u32,
    context: u64,
) -> c_int {
    guard::unit(|| {
        check_flags(flags, QUIET)?;
        let buffer = pointer::buffer(bytes.cast(), len)?;
        // SAFETY: `tasuki.h` asks for what `recv` does.
        unsafe { recv(endpoint, source, (None, 0), &[buffer], (report(flags), None), context) }
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_trecv(
    endpoint: *const Handle,
    source: RawPeer,
    tag: u64,
    ignore: u64,
    bytes: *mut c_void,
    len: usize,
    flags: u32,
    context: u64,
) -> c_int {
    guard::unit(|| {
        check_flags(flags, QUIET)?;
        let buffer = pointer::buffer(bytes.cast(), len)?;
        // SAFETY: `tasuki.h` asks for what `recv` does.
        unsafe { recv(endpoint, source, (Some(tag), ignore), &[buffer], (report(flags), None), context) }
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_sendmsg(endpoint: *const Handle, message: *const RawMessage) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for a message.
        let message = unsafe { pointer::get(message, "message") }?;
        check_flags(message.flags, TAGGED | DATA | INJECT | QUIET | DELIVERY)?;
        // SAFETY: `tasuki.h` asks for `iov_count` pieces at `iov`.
        let buffers = unsafe { pieces(message) }?;
        let (tag, data) = (flagged(message, TAGGED, message.tag), flagged(message, DATA, message.data));
        // SAFETY: `tasuki.h` asks for what `send` does.
        unsafe { send(endpoint, message.peer, (tag, data), &buffers, message.flags, message.context) }
    })
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_recvmsg(endpoint: *const Handle, message: *const RawMessage) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for a message.
        let message = unsafe { pointer::get(message, "message") }?;
        check_flags(message.flags, TAGGED | QUIET | MULTI)?;
        // SAFETY: `tasuki.h` asks for `iov_count` pieces at `iov`.
        let buffers = unsafe { pieces(message) }?;
        let multi = flagged(message, MULTI, message.min_free);
        if multi == Some(0) {
            return Err(Error::invalid("min_free must be at least 1: with 0 the receive would never end"));
        }
        let multi = multi.map(|free| usize::try_from(free).unwrap_or(usize::MAX));
        let matching = (flagged(message, TAGGED, message.tag), message.ignore);
        let modes = (report(message.flags), multi);
        // SAFETY: `tasuki.h` asks for what `recv` does.
        unsafe { recv(endpoint, message.peer, matching, &buffers, modes, message.context) }
    })
}

fn flagged<T>(message: &RawMessage, flag: u32, value: T) -> Option<T> {
    (message.flags & flag != 0).then_some(value)
}

/// # Safety
/// `iov` has `iov_count` pieces, or is null.
unsafe fn pieces(message: &RawMessage) -> Result<Vec<Buffer>, Error> {
    let count = message.iov_count;
    if count == 0 {
        return Ok(Vec::new());
    }
    if message.iov.is_null() {
        return Err(pointer::null("iov"));
    }
    if count > PIECES_MAX {
        return Err(Error::invalid(format!("{count} pieces are more than {PIECES_MAX}")));
    }
    // SAFETY: not null, and of `count` pieces as the caller promises.
    let pieces = unsafe { std::slice::from_raw_parts(message.iov, count) };
    let mut total = 0usize;
    let buffers = pieces.iter().map(|piece| {
        total = total.saturating_add(piece.iov_len);
        pointer::buffer(piece.iov_base.cast(), piece.iov_len)
    });
    let buffers = buffers.collect::<Result<Vec<_>, _>>()?;
    pointer::buffer(std::ptr::dangling_mut(), total)?;
    Ok(buffers)
}

/// See `tasuki.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tasuki_cancel(endpoint: *const Handle, context: u64) -> c_int {
    guard::unit(|| {
        // SAFETY: `tasuki.h` asks for an open endpoint.
        if unsafe { handle(endpoint) }?.endpoint.cancel(context) {
            return Ok(());
        }
        Err(Error::new(
            Code::NotFound,
            format!("no operation with context {context} can be cancelled any more"),
        ))
    })
}
