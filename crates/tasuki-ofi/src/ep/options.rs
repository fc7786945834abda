//! Calls of endpoints for names and options, and to cancel operations: fi_cm(3), fi_endpoint(3).

use std::sync::atomic::Ordering;

use super::shared;
use crate::abi::*;
use crate::guard::{self, Errno};
use crate::limits::QUEUE_SIZE;
use crate::object::av;

/// The table of calls for endpoints.
pub static EP_OPS: OpsEp = OpsEp {
    size: size_of::<OpsEp>(),
    cancel,
    getopt,
    setopt,
    tx_ctx: nosys,
    rx_ctx: nosys,
    rx_size_left: size_left,
    tx_size_left: size_left,
};

/// The table of calls for connections: endpoints have names and no connections.
pub static CM_OPS: OpsCm = OpsCm {
    size: size_of::<OpsCm>(),
    setname: nosys,
    getname,
    getpeer: nosys,
    connect: nosys,
    listen: nosys,
    accept: nosys,
    reject: nosys,
    shutdown: nosys,
    join: nosys,
};

unsafe extern "C" fn getname(fid: *mut Fid, buf: Ptr, len: *mut usize) -> i32 {
    guard::int(|| {
        // SAFETY: only endpoints have this table.
        let ep = unsafe { shared(fid) }?;
        // SAFETY: the caller's buffer and its length.
        unsafe { av::give(&ep.engine.address(), buf, len) }
    })
}

/// `fi_cancel`. After a success an MPI waits for the completion with `FI_ECANCELED`, so that there must be
/// one.
unsafe extern "C" fn cancel(fid: *mut Fid, context: Ptr) -> isize {
    guard::size(|| {
        // SAFETY: only endpoints have this table.
        let ep = unsafe { shared(fid) }?;
        if ep.engine.cancel(context as u64) { Ok(0) } else { Err(Errno(libc::ENOENT)) }
    })
}

unsafe extern "C" fn getopt(fid: *mut Fid, level: i32, name: i32, value: Ptr, len: *mut usize) -> i32 {
    guard::int(|| {
        // SAFETY: only endpoints have this table.
        let ep = unsafe { shared(fid) }?;
        let answer = match (level, name) {
            (FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV) => ep.min_multi_recv.load(Ordering::Relaxed),
            (FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE) => 0,
            (FI_OPT_ENDPOINT, FI_OPT_TX_SIZE | FI_OPT_RX_SIZE) => QUEUE_SIZE,
            _ => return Err(Errno(FI_ENOPROTOOPT)),
        };
        // SAFETY: null or the caller's.
        let len = unsafe { len.as_mut() }.ok_or(Errno(FI_EINVAL))?;
        let room = std::mem::replace(len, size_of::<usize>());
        if value.is_null() || room < size_of::<usize>() {
            return Err(Errno(FI_ETOOSMALL));
        }
        // SAFETY: the room was checked above; the place need not be aligned.
        unsafe { value.cast::<usize>().write_unaligned(answer) };
        Ok(())
    })
}

unsafe extern "C" fn setopt(fid: *mut Fid, level: i32, name: i32, value: *const u8, len: usize) -> i32 {
    guard::int(|| {
        // SAFETY: only endpoints have this table.
        let ep = unsafe { shared(fid) }?;
        if (level, name) != (FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV) {
            return Err(Errno(FI_ENOPROTOOPT));
        }
        if value.is_null() || len != size_of::<usize>() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: the length was checked above; the value need not be aligned.
        let value = unsafe { value.cast::<usize>().read_unaligned() };
        ep.min_multi_recv.store(value, Ordering::Relaxed);
        Ok(())
    })
}

/// `fi_rx_size_left`, `fi_tx_size_left`, which are deprecated: there is always room.
unsafe extern "C" fn size_left(_: *mut FidEp) -> isize {
    QUEUE_SIZE as isize
}
