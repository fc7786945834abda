//! Calls for atomic operations: fi_atomic(3). The caller vouches for its pointers, as that page demands;
//! every function here has that contract.

mod call;
mod kind;

pub use self::kind::Kind;

use self::call::{Local, NONE, count, elements, one, post, post_message};
use crate::abi::*;
use crate::guard;

/// The table of these calls.
pub static ATOMIC_OPS: OpsAtomic = OpsAtomic {
    size: size_of::<OpsAtomic>(),
    write,
    writev,
    writemsg,
    inject,
    readwrite,
    readwritev,
    readwritemsg,
    compwrite,
    compwritev,
    compwritemsg,
    writevalid,
    readwritevalid,
    compwritevalid,
};

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn write(
    ep: *mut FidEp,
    buf: *mut u8,
    count: usize,
    _desc: Ptr,
    peer: FiAddr,
    addr: u64,
    key: u64,
    datatype: i32,
    op: i32,
    context: Ptr,
) -> isize {
    let operand = Ioc { addr: buf, count };
    let local = Local { operand: one(&operand), comparand: NONE, result: NONE };
    let (call, place) = ((peer, None, Some(context)), RmaIoc { addr, count, key });
    // SAFETY: the caller's promise.
    unsafe { post(ep, Kind::Base, (datatype, op), &local, &[place], call) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn writev(
    ep: *mut FidEp,
    iov: *const Ioc,
    _desc: *mut Ptr,
    pieces: usize,
    peer: FiAddr,
    addr: u64,
    key: u64,
    datatype: i32,
    op: i32,
    context: Ptr,
) -> isize {
    // SAFETY: the caller's promise.
    let operand = unsafe { elements(iov, pieces) };
    let place = RmaIoc { addr, count: count(operand), key };
    let (local, call) = (Local { operand, comparand: NONE, result: NONE }, (peer, None, Some(context)));
    // SAFETY: the caller's promise.
    unsafe { post(ep, Kind::Base, (datatype, op), &local, &[place], call) }
}

unsafe extern "C" fn writemsg(ep: *mut FidEp, msg: *const MsgAtomic, flags: u64) -> isize {
    // SAFETY: the caller's promise.
    unsafe { post_message(ep, Kind::Base, msg, (NONE, NONE), flags) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn inject(
    ep: *mut FidEp,
    buf: *mut u8,
    count: usize,
    peer: FiAddr,
    addr: u64,
    key: u64,
    datatype: i32,
    op: i32,
) -> isize {
    let operand = Ioc { addr: buf, count };
    let local = Local { operand: one(&operand), comparand: NONE, result: NONE };
    let place = RmaIoc { addr, count, key };
    // SAFETY: the caller's promise.
    unsafe { post(ep, Kind::Base, (datatype, op), &local, &[place], (peer, None, None)) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn readwrite(
    ep: *mut FidEp,
    buf: *mut u8,
    count: usize,
    _desc: Ptr,
    result: *mut u8,
    _result_desc: Ptr,
    peer: FiAddr,
    addr: u64,
    key: u64,
    datatype: i32,
    op: i32,
    context: Ptr,
) -> isize {
    let [operand, result] = [buf, result].map(|addr| Ioc { addr, count });
    let local = Local { operand: one(&operand), comparand: NONE, result: one(&result) };
    let (call, place) = ((peer, None, Some(context)), RmaIoc { addr, count, key });
    // SAFETY: the caller's promise.
    unsafe { post(ep, Kind::Fetch, (datatype, op), &local, &[place], call) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn readwritev(
    ep: *mut FidEp,
    iov: *const Ioc,
    _desc: *mut Ptr,
    pieces: usize,
    resultv: *const Ioc,
    _result_desc: *mut Ptr,
    result_pieces: usize,
    peer: FiAddr,
    addr: u64,
    key: u64,
    datatype: i32,
    op: i32,
    context: Ptr,
) -> isize {
    // SAFETY: the caller's promise.
    let operand = unsafe { elements(iov, pieces) };
    // SAFETY: the caller's promise.
    let result = unsafe { elements(resultv, result_pieces) };
    let place = RmaIoc { addr, count: count(result), key };
    let (local, call) = (Local { operand, comparand: NONE, result }, (peer, None, Some(context)));
    // SAFETY: the caller's promise.
    unsafe { post(ep, Kind::Fetch, (datatype, op), &local, &[place], call) }
}

unsafe extern "C" fn readwritemsg(
    ep: *mut FidEp,
    msg: *const MsgAtomic,
    resultv: *const Ioc,
    _result_desc: *mut Ptr,
    result_pieces: usize,
    flags: u64,
) -> isize {
    // SAFETY: the caller's promise.
    let result = unsafe { elements(resultv, result_pieces) };
    // SAFETY: the caller's promise.
    unsafe { post_message(ep, Kind::Fetch, msg, (NONE, result), flags) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn compwrite(
    ep: *mut FidEp,
    buf: *mut u8,
    count: usize,
    _desc: Ptr,
    compare: *mut u8,
    _compare_desc: Ptr,
    result: *mut u8,
    _result_desc: Ptr,
    peer: FiAddr,
    addr: u64,
    key: u64,
    datatype: i32,
    op: i32,
    context: Ptr,
) -> isize {
    let [operand, comparand, result] = [buf, compare, result].map(|addr| Ioc { addr, count });
    let local = Local { operand: one(&operand), comparand: one(&comparand), result: one(&result) };
    let (call, place) = ((peer, None, Some(context)), RmaIoc { addr, count, key });
    // SAFETY: the caller's promise.
    unsafe { post(ep, Kind::Compare, (datatype, op), &local, &[place], call) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn compwritev(
    ep: *mut FidEp,
    iov: *const Ioc,
    _desc: *mut Ptr,
    pieces: usize,
    comparev: *const Ioc,
    _compare_desc: *mut Ptr,
    compare_pieces: usize,
    resultv: *const Ioc,
    _result_desc: *mut Ptr,
    result_pieces: usize,
    peer: FiAddr,
    addr: u64,
    key: u64,
    datatype: i32,
    op: i32,
    context: Ptr,
) -> isize {
    // SAFETY: the caller's promise.
    let operand = unsafe { elements(iov, pieces) };
    // SAFETY: the caller's promise.
    let comparand = unsafe { elements(comparev, compare_pieces) };
    // SAFETY: the caller's promise.
    let result = unsafe { elements(resultv, result_pieces) };
    let place = RmaIoc { addr, count: count(operand), key };
    let (local, call) = (Local { operand, comparand, result }, (peer, None, Some(context)));
    // SAFETY: the caller's promise.
    unsafe { post(ep, Kind::Compare, (datatype, op), &local, &[place], call) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn compwritemsg(
    ep: *mut FidEp,
    msg: *const MsgAtomic,
    comparev: *const Ioc,
    _compare_desc: *mut Ptr,
    compare_pieces: usize,
    resultv: *const Ioc,
    _result_desc: *mut Ptr,
    result_pieces: usize,
    flags: u64,
) -> isize {
    // SAFETY: the caller's promise.
    let comparand = unsafe { elements(comparev, compare_pieces) };
    // SAFETY: the caller's promise.
    let result = unsafe { elements(resultv, result_pieces) };
    // SAFETY: the caller's promise.
    unsafe { post_message(ep, Kind::Compare, msg, (comparand, result), flags) }
}

/// `fi_atomicvalid` and its like.
unsafe fn valid(kind: Kind, datatype: i32, op: i32, count: *mut usize) -> i32 {
    guard::int(|| {
        let attr = kind.attributes(datatype, op)?;
        // SAFETY: null or the caller's.
        if let Some(count) = unsafe { count.as_mut() } {
            *count = attr.count;
        }
        Ok(())
    })
}

unsafe extern "C" fn writevalid(_: *mut FidEp, datatype: i32, op: i32, count: *mut usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { valid(Kind::Base, datatype, op, count) }
}

unsafe extern "C" fn readwritevalid(_: *mut FidEp, datatype: i32, op: i32, count: *mut usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { valid(Kind::Fetch, datatype, op, count) }
}

unsafe extern "C" fn compwritevalid(_: *mut FidEp, datatype: i32, op: i32, count: *mut usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { valid(Kind::Compare, datatype, op, count) }
}
