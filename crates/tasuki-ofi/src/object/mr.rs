//! Registered memory. No memory needs registration here; programs that register theirs all the same get an object that
//! holds nothing.

use std::ptr;
use std::sync::Arc;

use super::domain::{Domain, DomainShared};
use crate::abi::*;
use crate::guard::{self, Errno, Ret};
use crate::limits::IOV_LIMIT;

#[repr(C)]
struct Mr {
    handle: FidMr,
    domain: Arc<DomainShared>,
}

static OPS: Ops =
    Ops { size: size_of::<Ops>(), close, bind, control, ops_open: nosys, tostr: nosys, ops_set: nosys };

/// Registration calls of a domain.
pub static DOMAIN_MR_OPS: OpsMr = OpsMr { size: size_of::<OpsMr>(), reg, regv, regattr };

unsafe fn register(domain: *mut Fid, count: usize, key: u64, mr: *mut *mut FidMr, context: Ptr) -> Ret {
    if count > IOV_LIMIT {
        return Err(Errno(FI_EINVAL));
    }
    // SAFETY: only domains have this table.
    let domain = unsafe { guard::object::<Domain, Fid>(domain) }?.shared.clone();
    let fid = Fid { fclass: FI_CLASS_MR, context, ops: &OPS };
    let handle = FidMr { fid, mem_desc: ptr::null_mut(), key };
    // SAFETY: the caller's place for the result; Mr is repr(C) and begins with the handle.
    unsafe { guard::expose(mr, Mr { handle, domain }) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn reg(
    domain: *mut Fid,
    _buf: *const u8,
    _len: usize,
    _access: u64,
    _offset: u64,
    key: u64,
    _flags: u64,
    mr: *mut *mut FidMr,
    context: Ptr,
) -> i32 {
    // SAFETY: as fi_mr(3) demands.
    guard::int(|| unsafe { register(domain, 1, key, mr, context) })
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn regv(
    domain: *mut Fid,
    _iov: *const IoVec,
    count: usize,
    _access: u64,
    _offset: u64,
    key: u64,
    _flags: u64,
    mr: *mut *mut FidMr,
    context: Ptr,
) -> i32 {
    // SAFETY: as fi_mr(3) demands.
    guard::int(|| unsafe { register(domain, count, key, mr, context) })
}

unsafe extern "C" fn regattr(domain: *mut Fid, attr: *const MrAttr, _flags: u64, mr: *mut *mut FidMr) -> i32 {
    guard::int(|| {
        // SAFETY: null or the caller's.
        let attr = unsafe { attr.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        // FI_HMEM_SYSTEM is 0: the memory of devices cannot be reached.
        if attr.iface != 0 {
            return Err(Errno(FI_ENOSYS));
        }
        // SAFETY: as fi_mr(3) demands.
        unsafe { register(domain, attr.iov_count, attr.requested_key, mr, attr.context) }
    })
}

unsafe extern "C" fn close(fid: *mut Fid) -> i32 {
    guard::int(|| {
        // SAFETY: only registrations have this table; the caller gives it up.
        let mr = unsafe { guard::retake::<Mr, Fid>(fid) };
        drop(mr.domain);
        Ok(())
    })
}

unsafe extern "C" fn bind(_: *mut Fid, _: *mut Fid, _: u64) -> i32 {
    0
}

unsafe extern "C" fn control(_: *mut Fid, command: i32, _: Ptr) -> i32 {
    if command == FI_ENABLE { 0 } else { -FI_ENOSYS }
}
