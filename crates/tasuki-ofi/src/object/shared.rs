//! What the objects of a fabric and of a domain hold of it, so that it is not closed before them.

use std::sync::Arc;

use crate::regions::Regions;

/// The part of a fabric that all its objects hold.
pub struct FabricShared {
    /// The version of libfabric that the program was written for.
    pub api_version: u32,
}

/// The part of a domain that all its objects hold.
pub struct DomainShared {
    /// Its fabric, which cannot be closed before the domain.
    pub fabric: Arc<FabricShared>,
    /// Memory that peers may reach through any endpoint of the domain.
    pub regions: Regions,
    /// The program has asked for `FI_THREAD_DOMAIN`: it makes one call at a time for all that belongs to the
    /// domain.
    pub one_caller: bool,
}
