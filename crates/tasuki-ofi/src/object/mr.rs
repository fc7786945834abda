//! Registered memory: fi_mr(3). Only memory that peers are to reach needs registration. A program that
//! registers memory for itself alone gets an object that holds nothing.

use std::ptr;
use std::sync::Arc;

use tasuki_engine::Rights;

use super::domain::Domain;
use super::shared::DomainShared;
use crate::abi::*;
use crate::ep::pieces;
use crate::guard::{self, Errno, Ret};
use crate::regions::Region;

#[repr(C)]
struct Mr {
    handle: FidMr,
    domain: Arc<DomainShared>,
    /// Peers can reach the memory, under the handle's key.
    exposed: bool,
}

/// What a call asks to be registered.
struct Wanted {
    iov: *const IoVec,
    count: usize,
    access: u64,
    offset: u64,
    key: u64,
    flags: u64,
}

static OPS: Ops = Ops::new(close, bind, control);

/// The table of a domain's calls for registration.
pub static DOMAIN_MR_OPS: OpsMr = OpsMr { size: size_of::<OpsMr>(), reg, regv, regattr };

unsafe fn register(domain: *mut Fid, wanted: &Wanted, mr: *mut *mut FidMr, context: Ptr) -> Ret {
    // SAFETY: only domains have this table.
    let domain = unsafe { guard::object::<Domain, Fid>(domain) }?.shared.clone();
    // Each flag asks for something that is not offered: events, devices' memory, persistent memory.
    if wanted.flags != 0 {
        return Err(Errno(FI_EBADFLAGS));
    }
    if wanted.offset != 0 {
        return Err(Errno(FI_EINVAL));
    }
    let rights =
        Rights { get: wanted.access & FI_REMOTE_READ != 0, put: wanted.access & FI_REMOTE_WRITE != 0 };
    // SAFETY: null or `count` entries of the caller.
    let pieces = unsafe { pieces(wanted.iov, wanted.count) }?;
    let exposed = rights != Rights { get: false, put: false };
    if exposed {
        // MPICH asks for all memory by a piece at the address null. It is refused, because a peer's wrong
        // address would end the process then.
        if pieces.is_empty() || pieces.iter().any(|piece| piece.ptr.is_null()) {
            return Err(Errno(FI_EINVAL));
        }
        domain.regions.insert(wanted.key, Region { pieces: pieces.to_vec(), rights })?;
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
    offset: u64,
    key: u64,
    flags: u64,
    mr: *mut *mut FidMr,
    context: Ptr,
) -> i32 {
    let piece = IoVec { iov_base: buf.cast_mut().cast(), iov_len: len };
    let wanted = Wanted { iov: &piece, count: 1, access, offset, key, flags };
    // SAFETY: as fi_mr(3) demands.
    guard::int(|| unsafe { register(domain, &wanted, mr, context) })
}

#[allow(clippy::too_many_arguments)] // C's interface
unsafe extern "C" fn regv(
    domain: *mut Fid,
    iov: *const IoVec,
    count: usize,
    access: u64,
    offset: u64,
    key: u64,
    flags: u64,
    mr: *mut *mut FidMr,
    context: Ptr,
) -> i32 {
    let wanted = Wanted { iov, count, access, offset, key, flags };
    // SAFETY: as fi_mr(3) demands.
    guard::int(|| unsafe { register(domain, &wanted, mr, context) })
}

unsafe extern "C" fn regattr(domain: *mut Fid, attr: *const MrAttr, flags: u64, mr: *mut *mut FidMr) -> i32 {
    guard::int(|| {
        // SAFETY: null or the caller's.
        let attr = unsafe { attr.as_ref() }.ok_or(Errno(FI_EINVAL))?;
        // FI_HMEM_SYSTEM is 0: the memory of devices cannot be reached.
        if attr.iface != 0 {
            return Err(Errno(FI_ENOSYS));
        }
        if attr.auth_key_size != 0 {
            return Err(Errno(FI_EINVAL));
        }
        let MrAttr { mr_iov: iov, iov_count: count, access, offset, requested_key: key, .. } = *attr;
        // SAFETY: as fi_mr(3) demands.
        unsafe { register(domain, &Wanted { iov, count, access, offset, key, flags }, mr, attr.context) }
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

/// Memory is known to every endpoint of its domain, so that binding it to one changes nothing. Nothing else
/// may be bound: a counter would wait for events at the target, which are not offered (`FI_RMA_EVENT`).
unsafe extern "C" fn bind(_: *mut Fid, other: *mut Fid, _: u64) -> i32 {
    // SAFETY: null or an object.
    match unsafe { other.as_ref() } {
        Some(other) if other.fclass == FI_CLASS_EP => 0,
        _ => -FI_EINVAL,
    }
}

unsafe extern "C" fn control(_: *mut Fid, command: i32, _: Ptr) -> i32 {
    if command == FI_ENABLE { 0 } else { -FI_ENOSYS }
}
