//! Calls for untagged messages: fi_msg(3). The caller vouches for its pointers, as that page demands; every
//! function here has that contract.

use tasuki_engine::Buffer;

use super::EpShared;
use super::calls::{recv as post_recv, recvmsg, send as post_send, sendmsg};
use super::post::{Rx, Tx, pieces};
use crate::abi::*;

/// The table of these calls.
pub static MSG_OPS: OpsMsg = table::<false>();
/// The table of these calls for endpoints that record their messages.
pub static RECORDING_MSG_OPS: OpsMsg = table::<true>();

const fn table<const RECORDS: bool>() -> OpsMsg {
    OpsMsg {
        size: size_of::<OpsMsg>(),
        recv,
        recvv,
        recvmsg: recvmsg::<Msg>,
        send: send::<RECORDS>,
        sendv: sendv::<RECORDS>,
        sendmsg: sendmsg::<Msg, RECORDS>,
        inject: inject::<RECORDS>,
        senddata: senddata::<RECORDS>,
        injectdata: injectdata::<RECORDS>,
    }
}

unsafe extern "C" fn recv(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    _desc: Ptr,
    from: FiAddr,
    context: Ptr,
) -> isize {
    let rx = move |ep: &EpShared| Rx { from, tag: None, ignore: 0, flags: ep.rx_flags, context };
    // SAFETY: the caller's promise.
    unsafe { post_recv(ep, Ok([Buffer { ptr: buf, len }]), rx) }
}

unsafe extern "C" fn recvv(
    ep: *mut FidEp,
    iov: *const IoVec,
    _desc: *mut Ptr,
    count: usize,
    from: FiAddr,
    context: Ptr,
) -> isize {
    let rx = move |ep: &EpShared| Rx { from, tag: None, ignore: 0, flags: ep.rx_flags, context };
    // SAFETY: the caller's promise.
    unsafe { post_recv(ep, pieces(iov, count), rx) }
}

unsafe extern "C" fn send<const RECORDS: bool>(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    _desc: Ptr,
    to: FiAddr,
    context: Ptr,
) -> isize {
    let tx = move |flags| Tx { to, tag: None, data: None, flags, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { post_send::<RECORDS>(ep, Ok([Buffer { ptr: buf, len }]), tx) }
}

unsafe extern "C" fn sendv<const RECORDS: bool>(
    ep: *mut FidEp,
    iov: *const IoVec,
    _desc: *mut Ptr,
    count: usize,
    to: FiAddr,
    context: Ptr,
) -> isize {
    let tx = move |flags| Tx { to, tag: None, data: None, flags, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { post_send::<RECORDS>(ep, pieces(iov, count), tx) }
}

unsafe extern "C" fn inject<const RECORDS: bool>(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    to: FiAddr,
) -> isize {
    let tx = move |flags| Tx { to, tag: None, data: None, flags, context: None };
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
    context: Ptr,
) -> isize {
    let tx = move |flags| Tx { to, tag: None, data: Some(data), flags, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { post_send::<RECORDS>(ep, Ok([Buffer { ptr: buf, len }]), tx) }
}

unsafe extern "C" fn injectdata<const RECORDS: bool>(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    data: u64,
    to: FiAddr,
) -> isize {
    let tx = move |flags| Tx { to, tag: None, data: Some(data), flags, context: None };
    // SAFETY: the caller's promise.
    unsafe { post_send::<RECORDS>(ep, Ok([Buffer { ptr: buf, len }]), tx) }
}
