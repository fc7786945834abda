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
        domain.regions.insert(wanted.key, Region { pieces: pieces.to_vec(), rights, ends: false })?;
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
        if attr.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: only domains have this table.
        let api_version = unsafe { guard::object::<Domain, Fid>(domain) }?.shared.fabric.api_version;
        // SAFETY: the caller's. Fields are read one by one, so that none is touched that an older structure
        // lacks; from `iface` on they mean something only to programs that have got FI_HMEM.
        let (wanted, context, has_auth_key) = unsafe {
            let wanted = Wanted {
                iov: (*attr).mr_iov,
                count: (*attr).iov_count,
                access: (*attr).access,
                offset: (*attr).offset,
                key: (*attr).requested_key,
                flags,
            };
            let has_auth_key = api_version >= fi_version(1, 5) && (*attr).auth_key_size != 0;
            (wanted, (*attr).context, has_auth_key)
        };
        if has_auth_key {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: as fi_mr(3) demands.
        unsafe { register(domain, &wanted, mr, context) }
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

unsafe extern "C" fn control(fid: *mut Fid, command: i32, argument: Ptr) -> i32 {
    match command {
        FI_ENABLE => 0,
        // SAFETY: as fi_mr(3) demands.
        FI_GET_RAW_MR => guard::int(|| unsafe { raw_attr(fid, argument.cast()) }),
        _ => -FI_ENOSYS,
    }
}

/// `fi_mr_raw_attr`: the raw key is the key, in this machine's order of bytes. Peers count offsets from the
/// beginning of the memory, so that the base address is 0.
///
/// # Safety
/// As fi_mr(3) demands.
unsafe fn raw_attr(fid: *mut Fid, attr: *mut MrRawAttr) -> Ret {
    // SAFETY: only registrations have this table; null or the caller's.
    let (mr, attr) = unsafe { (guard::object::<Mr, Fid>(fid)?, attr.as_ref()) };
    let attr = attr.ok_or(Errno(FI_EINVAL))?;
    if attr.key_size.is_null() || attr.flags != 0 {
        return Err(Errno(FI_EINVAL));
    }
    // SAFETY: the caller's places; the raw key has as many bytes as `key_size` says on entry.
    unsafe {
        let room = attr.key_size.replace(RAW_KEY);
        if room < RAW_KEY {
            return Err(Errno(FI_ETOOSMALL));
        }
        if attr.raw_key.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        attr.raw_key.copy_from_nonoverlapping(mr.handle.key.to_ne_bytes().as_ptr(), RAW_KEY);
        if !attr.base_addr.is_null() {
            attr.base_addr.write(0);
        }
    }
    Ok(())
}

/// Bytes of a raw key.
const RAW_KEY: usize = size_of::<u64>();

/// `fi_control` of a domain: `fi_mr_map_raw` gives the key in a peer's raw key, `fi_mr_unmap_key` has nothing
/// to undo.
///
/// # Safety
/// As fi_mr(3) demands.
pub unsafe extern "C" fn control_domain(_: *mut Fid, command: i32, argument: Ptr) -> i32 {
    match command {
        FI_UNMAP_KEY => 0,
        // SAFETY: null or the caller's.
        FI_MAP_RAW_MR => guard::int(|| match unsafe { argument.cast::<MrMapRaw>().as_ref() } {
            Some(map) if map.key_size == RAW_KEY && !map.raw_key.is_null() && !map.key.is_null() => {
                // SAFETY: as many bytes as said, and the caller's place for the key.
                unsafe { map.key.write(map.raw_key.cast::<u64>().read_unaligned()) };
                Ok(())
            }
            _ => Err(Errno(FI_EINVAL)),
        }),
        _ => -FI_ENOSYS,
    }
}
