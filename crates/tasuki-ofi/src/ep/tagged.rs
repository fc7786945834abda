//! Calls for tagged messages: fi_tagged(3). The caller vouches for its pointers, as that page demands; every
//! function here has that contract.

use tasuki_engine::Buffer;

use super::EpShared;
use super::calls::{recv as post_recv, recvmsg, send as post_send, sendmsg};
use super::post::{Rx, Tx, pieces};
use crate::abi::*;

/// The table of these calls.
pub static TAGGED_OPS: OpsTagged = table::<false>();
/// The table of these calls for endpoints that record their messages.
pub static RECORDING_TAGGED_OPS: OpsTagged = table::<true>();

const fn table<const RECORDS: bool>() -> OpsTagged {
    OpsTagged {
        size: size_of::<OpsTagged>(),
        recv,
        recvv,
        recvmsg: recvmsg::<MsgTagged>,
        send: send::<RECORDS>,
        sendv: sendv::<RECORDS>,
        sendmsg: sendmsg::<MsgTagged, RECORDS>,
        inject: inject::<RECORDS>,
        senddata: senddata::<RECORDS>,
        injectdata: injectdata::<RECORDS>,
    }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn recv(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    _desc: Ptr,
    from: FiAddr,
    tag: u64,
    ignore: u64,
    context: Ptr,
) -> isize {
    let rx = move |ep: &EpShared| Rx { from, tag: Some(tag), ignore, flags: ep.tagged_rx_flags, context };
    // SAFETY: the caller's promise.
    unsafe { post_recv(ep, Ok([Buffer { ptr: buf, len }]), rx) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn recvv(
    ep: *mut FidEp,
    iov: *const IoVec,
    _desc: *mut Ptr,
    count: usize,
    from: FiAddr,
    tag: u64,
    ignore: u64,
    context: Ptr,
) -> isize {
    let rx = move |ep: &EpShared| Rx { from, tag: Some(tag), ignore, flags: ep.tagged_rx_flags, context };
    // SAFETY: the caller's promise.
    unsafe { post_recv(ep, pieces(iov, count), rx) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn send<const RECORDS: bool>(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    _desc: Ptr,
    to: FiAddr,
    tag: u64,
    context: Ptr,
) -> isize {
    let tx = move |flags| Tx { to, tag: Some(tag), data: None, flags, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { post_send::<RECORDS>(ep, Ok([Buffer { ptr: buf, len }]), tx) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn sendv<const RECORDS: bool>(
    ep: *mut FidEp,
    iov: *const IoVec,
    _desc: *mut Ptr,
    count: usize,
    to: FiAddr,
    tag: u64,
    context: Ptr,
) -> isize {
    let tx = move |flags| Tx { to, tag: Some(tag), data: None, flags, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { post_send::<RECORDS>(ep, pieces(iov, count), tx) }
}

unsafe extern "C" fn inject<const RECORDS: bool>(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    to: FiAddr,
    tag: u64,
) -> isize {
    let tx = move |flags| Tx { to, tag: Some(tag), data: None, flags, context: None };
    // SAFETY: the caller's promise.
    unsafe { post_send::<RECORDS>(ep, Ok([Buffer { ptr: buf, len }]), tx) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn senddata<const RECORDS: bool>(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    _desc: Ptr,
    data: u64,
    to: FiAddr,
    tag: u64,
    context: Ptr,
) -> isize {
    let tx = move |flags| Tx { to, tag: Some(tag), data: Some(data), flags, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { post_send::<RECORDS>(ep, Ok([Buffer { ptr: buf, len }]), tx) }
}

unsafe extern "C" fn injectdata<const RECORDS: bool>(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    data: u64,
    to: FiAddr,
    tag: u64,
) -> isize {
    let tx = move |flags| Tx { to, tag: Some(tag), data: Some(data), flags, context: None };
    // SAFETY: the caller's promise.
    unsafe { post_send::<RECORDS>(ep, Ok([Buffer { ptr: buf, len }]), tx) }
}
