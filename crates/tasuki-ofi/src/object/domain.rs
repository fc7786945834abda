//! Domains, in which queues, address vectors and endpoints are opened: fi_domain(3).

use std::sync::Arc;

use super::shared::{DomainShared, FabricShared};
use super::{av, cntr, cq, mr, refs};
use crate::abi::*;
use crate::ep::{self, AtomicKind};
use crate::guard::{self, Errno, Ret};
use crate::note;
use crate::regions::Regions;

/// A domain.
#[repr(C)]
pub struct Domain {
    handle: FidDomain,
    /// Held by every object of the domain.
    pub shared: Arc<DomainShared>,
}

static OPS: Ops = Ops::new(close, refs::bind_events, mr::control_domain);

static DOMAIN_OPS: OpsDomain = OpsDomain {
    size: size_of::<OpsDomain>(),
    av_open,
    cq_open,
    endpoint,
    scalable_ep: nosys,
    cntr_open,
    poll_open: nosys,
    stx_ctx: nosys,
    srx_ctx: nosys,
    query_atomic,
    query_collective: nosys,
    endpoint2,
};

/// `fi_domain`.
///
/// # Safety
/// The arguments are as fi_domain(3) demands.
pub unsafe fn open(
    fabric: &Arc<FabricShared>,
    info: *mut Info,
    domain: *mut *mut FidDomain,
    context: Ptr,
) -> Ret {
    // SAFETY: null or the caller's.
    let info = unsafe { info.as_ref() }.ok_or(Errno(FI_EINVAL))?;
    // SAFETY: null or valid, as the attributes of any info.
    let attr = unsafe { info.domain_attr.as_ref() };
    let one_caller = attr.is_some_and(|attr| attr.threading == FI_THREAD_DOMAIN);
    note!("domain: one caller at a time: {one_caller}");
    let handle = FidDomain {
        fid: Fid { fclass: FI_CLASS_DOMAIN, context, ops: &OPS },
        ops: &DOMAIN_OPS,
        mr: &mr::DOMAIN_MR_OPS,
    };
    let shared = Arc::new(DomainShared { fabric: fabric.clone(), regions: Regions::default(), one_caller });
    // SAFETY: the caller's place for the result; Domain is repr(C) and begins with the handle.
    unsafe { guard::expose(domain, Domain { handle, shared }) }
}

unsafe extern "C" fn close(fid: *mut Fid) -> i32 {
    // SAFETY: only domains have this table.
    guard::int(|| unsafe { refs::close::<Domain, _>(fid, |domain| &domain.shared) })
}

/// The shared part of the domain behind a handle.
unsafe fn shared<'a>(domain: *mut FidDomain) -> Ret<&'a Arc<DomainShared>> {
    // SAFETY: only domains have these tables.
    Ok(&unsafe { guard::object::<Domain, _>(domain) }?.shared)
}

unsafe extern "C" fn av_open(
    domain: *mut FidDomain,
    attr: *mut AvAttr,
    av: *mut *mut FidAv,
    context: Ptr,
) -> i32 {
    // SAFETY: as fi_av(3) demands.
    guard::int(|| unsafe { av::open(shared(domain)?, attr, av, context) })
}

unsafe extern "C" fn cq_open(
    domain: *mut FidDomain,
    attr: *mut CqAttr,
    cq: *mut *mut FidCq,
    context: Ptr,
) -> i32 {
    // SAFETY: as fi_cq(3) demands.
    guard::int(|| unsafe { cq::open(shared(domain)?, attr, cq, context) })
}

unsafe extern "C" fn cntr_open(
    domain: *mut FidDomain,
    attr: *mut CntrAttr,
    cntr: *mut *mut FidCntr,
    context: Ptr,
) -> i32 {
    // SAFETY: as fi_cntr(3) demands.
    guard::int(|| unsafe { cntr::open(shared(domain)?, attr, cntr, context) })
}

unsafe extern "C" fn endpoint(
    domain: *mut FidDomain,
    info: *mut Info,
    ep: *mut *mut FidEp,
    context: Ptr,
) -> i32 {
    // SAFETY: as fi_endpoint(3) demands.
    guard::int(|| unsafe { ep::open(shared(domain)?, info, ep, context) })
}

unsafe extern "C" fn query_atomic(
    _: *mut FidDomain,
    datatype: i32,
    op: i32,
    attr: *mut AtomicAttr,
    flags: u64,
) -> i32 {
    guard::int(|| {
        // SAFETY: null or the caller's.
        let attr = unsafe { attr.as_mut() }.ok_or(Errno(FI_EINVAL))?;
        *attr = AtomicKind::of_flags(flags)?.attributes(datatype, op)?;
        Ok(())
    })
}

unsafe extern "C" fn endpoint2(
    domain: *mut FidDomain,
    info: *mut Info,
    ep: *mut *mut FidEp,
    flags: u64,
    context: Ptr,
) -> i32 {
    if flags != 0 {
        return -FI_EBADFLAGS;
    }
    // SAFETY: the same arguments.
    unsafe { endpoint(domain, info, ep, context) }
}
