//! Calls for one-sided access: fi_rma(3). The caller vouches for its pointers, as that page demands; every
//! function here has that contract.

mod atomic;
mod operation;
mod pairs;

pub use self::atomic::Atomic;
pub use self::operation::{Access, Rma};
pub use self::pairs::Place;

use tasuki_engine::Buffer;

use super::post::pieces;
use super::shared;
use crate::abi::*;
use crate::guard::{self, Errno, Ret};
use crate::limits::{IOV_LIMIT, TX_FLAGS};

/// Direction of a call: the peer's memory is read.
const READ: bool = true;
/// Direction of a call: the peer's memory is written.
const WRITE: bool = false;

/// The table of these calls.
pub static RMA_OPS: OpsRma = OpsRma {
    size: size_of::<OpsRma>(),
    read: single::<READ>,
    readv: vector::<READ>,
    readmsg: message::<READ>,
    write: single::<WRITE>,
    writev: vector::<WRITE>,
    writemsg: message::<WRITE>,
    inject,
    writedata,
    injectdata,
};

/// Posts an operation on one place of the peer's memory, with the endpoint's default flags in place of
/// `access.flags`.
unsafe fn post(ep: *mut FidEp, pieces: Ret<&[Buffer]>, (addr, key): (u64, u64), access: Access) -> isize {
    guard::size(|| {
        // SAFETY: the caller's promise.
        let ep = unsafe { shared(ep) }?;
        let access = Access { flags: ep.tx_flags, ..access };
        let pieces = pieces?;
        let len = pieces.iter().map(|buffer| buffer.len as u64).sum();
        // SAFETY: the caller's promise.
        unsafe { ep.access(pieces, &[Place { addr, len, key }], &access) }
    })
}

/// `fi_read`, `fi_write`.
#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn single<const DIRECTION: bool>(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    _desc: Ptr,
    peer: FiAddr,
    addr: u64,
    key: u64,
    context: Ptr,
) -> isize {
    let access = Access { peer, read: DIRECTION, data: None, flags: 0, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { post(ep, Ok(&[Buffer { ptr: buf, len }]), (addr, key), access) }
}

/// `fi_readv`, `fi_writev`.
#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn vector<const DIRECTION: bool>(
    ep: *mut FidEp,
    iov: *const IoVec,
    _desc: *mut Ptr,
    count: usize,
    peer: FiAddr,
    addr: u64,
    key: u64,
    context: Ptr,
) -> isize {
    let access = Access { peer, read: DIRECTION, data: None, flags: 0, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { post(ep, pieces(iov, count), (addr, key), access) }
}

/// `fi_readmsg`, `fi_writemsg`.
unsafe extern "C" fn message<const DIRECTION: bool>(ep: *mut FidEp, msg: *const MsgRma, flags: u64) -> isize {
    guard::size(|| {
        // SAFETY: null or the caller's.
        let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        let data = (flags & FI_REMOTE_CQ_DATA != 0).then_some(msg.data);
        if flags & !TX_FLAGS != 0 || (DIRECTION == READ && data.is_some()) {
            return Err(Errno(FI_EBADFLAGS));
        }
        if msg.rma_iov.is_null() || msg.rma_iov_count > IOV_LIMIT {
            return Err(Errno(FI_EINVAL));
        }
        let mut places = [Place { addr: 0, len: 0, key: 0 }; IOV_LIMIT];
        for (index, place) in places.iter_mut().take(msg.rma_iov_count).enumerate() {
            // SAFETY: less than the number of entries.
            let RmaIov { addr, len, key } = unsafe { msg.rma_iov.add(index).read() };
            *place = Place { addr, len: len as u64, key };
        }
        let access = Access { peer: msg.addr, read: DIRECTION, data, flags, context: Some(msg.context) };
        // SAFETY: the caller's promise.
        unsafe {
            let pieces = pieces(msg.msg_iov, msg.iov_count)?;
            shared(ep)?.access(pieces, &places[..msg.rma_iov_count], &access)
        }
    })
}

unsafe extern "C" fn inject(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    peer: FiAddr,
    addr: u64,
    key: u64,
) -> isize {
    let access = Access { peer, read: false, data: None, flags: 0, context: None };
    // SAFETY: the caller's promise.
    unsafe { post(ep, Ok(&[Buffer { ptr: buf, len }]), (addr, key), access) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn writedata(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    _desc: Ptr,
    data: u64,
    peer: FiAddr,
    addr: u64,
    key: u64,
    context: Ptr,
) -> isize {
    let access = Access { peer, read: false, data: Some(data), flags: 0, context: Some(context) };
    // SAFETY: the caller's promise.
    unsafe { post(ep, Ok(&[Buffer { ptr: buf, len }]), (addr, key), access) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn injectdata(
    ep: *mut FidEp,
    buf: *mut u8,
    len: usize,
    data: u64,
    peer: FiAddr,
    addr: u64,
    key: u64,
) -> isize {
    let access = Access { peer, read: false, data: Some(data), flags: 0, context: None };
    // SAFETY: the caller's promise.
    unsafe { post(ep, Ok(&[Buffer { ptr: buf, len }]), (addr, key), access) }
}
