//! Registered memory. No memory needs registration but what peers are to reach; programs that register theirs all the same get
//! an object that holds nothing.

use std::ptr;
use std::sync::Arc;

use tasuki_engine::Buffer;

use super::domain::{Domain, DomainShared};
use crate::abi::*;
use crate::guard::{self, Errno, Ret};
use crate::limits::IOV_LIMIT;

#[repr(C)]
struct Mr {
    handle: FidMr,
    domain: Arc<DomainShared>,
    /// Peers can reach it.
    exposed: bool,
}

/// What is asked to be registered.
struct Wanted {
    iov: *const IoVec,
    count: usize,
    access: u64,
    key: u64,
}

static OPS: Ops =
    Ops { size: size_of::<Ops>(), close, bind, control, ops_open: nosys, tostr: nosys, ops_set: nosys };

/// Registration calls of a domain.
pub static DOMAIN_MR_OPS: OpsMr = OpsMr { size: size_of::<OpsMr>(), reg, regv, regattr };

unsafe fn register(domain: *mut Fid, wanted: &Wanted, mr: *mut *mut FidMr, context: Ptr) -> Ret {
    // SAFETY: only domains have this table.
    let domain = unsafe { guard::object::<Domain, Fid>(domain) }?.shared.clone();
    let exposed = wanted.access & (FI_REMOTE_READ | FI_REMOTE_WRITE) != 0;
    if wanted.count > if exposed { 1 } else { IOV_LIMIT } || (exposed && wanted.iov.is_null()) {
        return Err(Errno(FI_EINVAL));
    }
    if exposed && wanted.count == 1 {
        // SAFETY: one entry, of the caller.
        let piece = unsafe { wanted.iov.read() };
        // Some ask for all memory that way: a peer's wrong address would end the process.
        if piece.iov_base.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        domain.regions.insert(wanted.key, Buffer { ptr: piece.iov_base.cast(), len: piece.iov_len })?;
    }
    let fid = Fid { fclass: FI_CLASS_MR, context, ops: &OPS };
    let handle = FidMr { fid, mem_desc: ptr::null_mut(), key: wanted.key };
    // SAFETY: the caller's place for the result; Mr is repr(C) and begins with the handle.
    unsafe { guard::expose(mr, Mr { handle, domain, exposed }) }
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn reg(
    domain: *mut Fid,
    buf: *const u8,
    len: usize,
    access: u64,
    _offset: u64,
    key: u64,
    _flags: u64,
    mr: *mut *mut FidMr,
    context: Ptr,
) -> i32 {
    let piece = IoVec { iov_base: buf.cast_mut().cast(), iov_len: len };
    let wanted = Wanted { iov: &piece, count: 1, access, key };
    // SAFETY: as fi_mr(3) demands.
    guard::int(|| unsafe { register(domain, &wanted, mr, context) })
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn regv(
    domain: *mut Fid,
    iov: *const IoVec,
    count: usize,
    access: u64,
    _offset: u64,
    key: u64,
    _flags: u64,
    mr: *mut *mut FidMr,
    context: Ptr,
) -> i32 {
    // SAFETY: as fi_mr(3) demands.
    guard::int(|| unsafe { register(domain, &Wanted { iov, count, access, key }, mr, context) })
}

unsafe extern "C" fn regattr(domain: *mut Fid, attr: *const MrAttr, _flags: u64, mr: *mut *mut FidMr) -> i32 {
    guard::int(|| {
        // SAFETY: null or the caller's.
        let attr = unsafe { attr.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        // FI_HMEM_SYSTEM is 0: the memory of devices cannot be reached.
        if attr.iface != 0 {
            return Err(Errno(FI_ENOSYS));
        }
        let MrAttr { mr_iov: iov, iov_count: count, access, requested_key: key, .. } = *attr;
        // SAFETY: as fi_mr(3) demands.
        unsafe { register(domain, &Wanted { iov, count, access, key }, mr, attr.context) }
    })
}

unsafe extern "C" fn close(fid: *mut Fid) -> i32 {
    guard::int(|| {
        // SAFETY: only registrations have this table.
        let mr = unsafe { guard::object::<Mr, Fid>(fid) }?;
        if mr.exposed {
            mr.domain.regions.remove(mr.handle.key)?;
        }
        // SAFETY: as above; the caller gives it up.
        drop(unsafe { guard::retake::<Mr, Fid>(fid) });
        Ok(())
    })
}

unsafe extern "C" fn bind(_: *mut Fid, _: *mut Fid, _: u64) -> i32 {
    0
}

unsafe extern "C" fn control(_: *mut Fid, command: i32, _: Ptr) -> i32 {
    if command == FI_ENABLE { 0 } else { -FI_ENOSYS }
}
