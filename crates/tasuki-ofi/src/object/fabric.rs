//! Fabrics, the root of all objects: fi_fabric(3).

use std::ffi::CStr;
use std::sync::Arc;

use super::shared::FabricShared;
use super::{cq, domain, eq, refs};
use crate::abi::*;
use crate::guard::{self, Errno, Ret};
use crate::limits::NAME;

/// A fabric.
#[repr(C)]
pub struct Fabric {
    handle: FidFabric,
    shared: Arc<FabricShared>,
}

static OPS: Ops = Ops::new(close, refs::no_bind, refs::no_control);

static FABRIC_OPS: OpsFabric = OpsFabric {
    size: size_of::<OpsFabric>(),
    domain: open_domain,
    passive_ep: nosys,
    eq_open,
    wait_open: nosys,
    trywait,
    domain2: open_domain2,
};

/// `fi_fabric`.
///
/// # Safety
/// The arguments are as fi_fabric(3) demands.
pub unsafe fn open(attr: *mut FabricAttr, fabric: *mut *mut FidFabric, context: Ptr) -> Ret {
    // SAFETY: null or the caller's.
    let attr = unsafe { attr.as_ref() }.ok_or(Errno(FI_EINVAL))?;
    // SAFETY: names are zero-terminated.
    if attr.name.is_null() || unsafe { CStr::from_ptr(attr.name) } != NAME {
        return Err(Errno(FI_ENODATA));
    }
    let handle = FidFabric {
        fid: Fid { fclass: FI_CLASS_FABRIC, context, ops: &OPS },
        ops: &FABRIC_OPS,
        api_version: attr.api_version,
    };
    let shared = Arc::new(FabricShared { api_version: attr.api_version });
    // SAFETY: the caller's place for the result; Fabric is repr(C) and begins with the handle.
    unsafe { guard::expose(fabric, Fabric { handle, shared }) }
}

unsafe extern "C" fn close(fid: *mut Fid) -> i32 {
    // SAFETY: only fabrics have this table.
    guard::int(|| unsafe { refs::close::<Fabric, _>(fid, |fabric| &fabric.shared) })
}

unsafe extern "C" fn open_domain(
    fabric: *mut FidFabric,
    info: *mut Info,
    domain: *mut *mut FidDomain,
    context: Ptr,
) -> i32 {
    guard::int(|| {
        // SAFETY: only fabrics have this table.
        let fabric = unsafe { guard::object::<Fabric, _>(fabric) }?;
        // SAFETY: as fi_domain(3) demands.
        unsafe { domain::open(&fabric.shared, info, domain, context) }
    })
}

unsafe extern "C" fn open_domain2(
    fabric: *mut FidFabric,
    info: *mut Info,
    domain: *mut *mut FidDomain,
    flags: u64,
    context: Ptr,
) -> i32 {
    if flags != 0 {
        return -FI_EBADFLAGS;
    }
    // SAFETY: the same arguments.
    unsafe { open_domain(fabric, info, domain, context) }
}

unsafe extern "C" fn eq_open(
    fabric: *mut FidFabric,
    attr: *mut EqAttr,
    eq: *mut *mut FidEq,
    context: Ptr,
) -> i32 {
    guard::int(|| {
        // SAFETY: only fabrics have this table.
        let fabric = unsafe { guard::object::<Fabric, _>(fabric) }?;
        // SAFETY: as fi_eq(3) demands.
        unsafe { eq::open(&fabric.shared, attr, eq, context) }
    })
}

/// `fi_trywait`: whether the program may sleep, because all these queues are empty.
unsafe extern "C" fn trywait(_: *mut FidFabric, fids: *mut *mut Fid, count: i32) -> i32 {
    guard::int(|| {
        if fids.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        for index in 0..count.max(0) as usize {
            // SAFETY: the caller gives `count` objects.
            let fid = unsafe { fids.add(index).read() };
            // SAFETY: null or an object of this provider.
            let class = unsafe { fid.as_ref() }.ok_or(Errno(FI_EINVAL))?.fclass;
            // SAFETY: of the class that it says.
            if class == FI_CLASS_CQ && !unsafe { cq::is_idle(fid) }? {
                return Err(Errno(FI_EAGAIN));
            }
        }
        Ok(())
    })
}
