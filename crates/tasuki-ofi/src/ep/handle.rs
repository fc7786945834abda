//! The object of an endpoint, which begins with the structure that C sees.

use std::sync::{Arc, Mutex};

use super::state::EpShared;
use super::wiring::Plan;
use crate::abi::*;
use crate::guard::{self, Errno, Ret, lock};
use crate::names::NameService;
use crate::object::shared::DomainShared;

/// An endpoint.
#[repr(C)]
pub struct Ep {
    pub(super) handle: FidEp,
    /// Tells the endpoint's address, if the program has named a port for it. It ends before the endpoint
    /// does.
    pub(super) _names: Option<NameService>,
    pub(super) shared: Arc<EpShared>,
    /// What has been bound before `fi_enable`.
    pub(super) plan: Mutex<Plan>,
    pub(super) _domain: Arc<DomainShared>,
}

impl Ep {
    /// `fi_enable`: the endpoint is bound to all that it will report to.
    pub fn enable(&self) -> Ret {
        let wiring = lock(&self.plan).wiring()?;
        self.shared.wiring.set(wiring).map_err(|_| Errno(FI_EOPBADSTATE))
    }
}

/// The shared part of the endpoint behind a handle.
///
/// # Safety
/// `ep` is null or an open endpoint, as `fid_ep` or as `fid`.
#[inline(always)]
pub unsafe fn shared<'a, H>(ep: *mut H) -> Ret<&'a EpShared> {
    // SAFETY: by the contract.
    Ok(&unsafe { guard::object::<Ep, H>(ep) }?.shared)
}
