//! Calls for one-sided access: fi_rma(3). The caller vouches for its pointers; every function here has that contract.

use tasuki_engine::Buffer;

use super::post::pieces;
use super::remote::{Access, Place};
use super::shared;
use crate::abi::*;
use crate::guard::{self, Errno, Ret};
use crate::limits::IOV_LIMIT;

/// Table of these calls. Remote completion data has no place in what peers tell each other about one-sided access.
pub static RMA_OPS: OpsRma = OpsRma {
    size: size_of::<OpsRma>(),
    read,
    readv,
    readmsg,
    write,
    writev,
    writemsg,
    inject,
    writedata: nosys,
    injectdata: nosys,
};

/// An operation on one place whose flags are the endpoint's.
unsafe fn plain(ep: *mut FidEp, pieces: Ret<&[Buffer]>, place: (u64, u64), access: Access) -> isize {
    guard::size(|| {
        // SAFETY: the caller's promise.
        let ep = unsafe { shared(ep) }?;
        let access = Access { flags: ep.tx_flags, ..access };
        let pieces = pieces?;
        let len = pieces.iter().map(|buffer| buffer.len as u64).sum();
        // SAFETY: the caller's promise.
        unsafe { ep.access(Ok(pieces), &[Place { addr: place.0, len, key: place.1 }], &access) }
    })
}

unsafe fn message(ep: *mut FidEp, msg: *const MsgRma, read: bool, flags: u64) -> isize {
    guard::size(|| {
        // SAFETY: null or the caller's.
        let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        if msg.rma_iov.is_null() || msg.rma_iov_count > IOV_LIMIT {
            return Err(Errno(FI_EINVAL));
        }
        let mut places = [Place { addr: 0, len: 0, key: 0 }; IOV_LIMIT];
        for (index, place) in places.iter_mut().take(msg.rma_iov_count).enumerate() {
            // SAFETY: less than the number of entries.
            let RmaIov { addr, len, key } = unsafe { msg.rma_iov.add(index).read() };
            *place = Place { addr, len: len as u64, key };
        }
        let access = Access { peer: msg.addr, read, flags, context: Some(msg.context) };
        // SAFETY: the caller's promise.
        unsafe {
            let pieces = pieces(msg.msg_iov, msg.iov_count);
            shared(ep)?.access(pieces, &places[..msg.rma_iov_count], &access)
        }
    })
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn read(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    _desc: Ptr,
    peer: FiAddr,
    addr: u64,
    key: u64,
    context: Ptr,
) -> isize {
    let access = Access { peer, read: true, flags: 0, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { plain(ep, Ok(&[Buffer { ptr: buf, len }]), (addr, key), access) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn readv(
    ep: *mut FidEp,
    iov: *const IoVec,
    _desc: *mut Ptr,
    count: usize,
    peer: FiAddr,
    addr: u64,
    key: u64,
    context: Ptr,
) -> isize {
    let access = Access { peer, read: true, flags: 0, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { plain(ep, pieces(iov, count), (addr, key), access) }
}

unsafe extern "C" fn readmsg(ep: *mut FidEp, msg: *const MsgRma, flags: u64) -> isize {
    // SAFETY: the caller's promise.
    unsafe { message(ep, msg, true, flags) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn write(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    _desc: Ptr,
    peer: FiAddr,
    addr: u64,
    key: u64,
    context: Ptr,
) -> isize {
    let access = Access { peer, read: false, flags: 0, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { plain(ep, Ok(&[Buffer { ptr: buf, len }]), (addr, key), access) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn writev(
    ep: *mut FidEp,
    iov: *const IoVec,
    _desc: *mut Ptr,
    count: usize,
    peer: FiAddr,
    addr: u64,
    key: u64,
    context: Ptr,
) -> isize {
    let access = Access { peer, read: false, flags: 0, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { plain(ep, pieces(iov, count), (addr, key), access) }
}

unsafe extern "C" fn writemsg(ep: *mut FidEp, msg: *const MsgRma, flags: u64) -> isize {
    // SAFETY: the caller's promise.
    unsafe { message(ep, msg, false, flags) }
}

unsafe extern "C" fn inject(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    peer: FiAddr,
    addr: u64,
    key: u64,
) -> isize {
    let access = Access { peer, read: false, flags: 0, context: None };
    // SAFETY: the caller's promise.
    unsafe { plain(ep, Ok(&[Buffer { ptr: buf, len }]), (addr, key), access) }
}
