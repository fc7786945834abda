//! One subnet per cable or switch domain: the style of the cross-connection paper (section 3.1), in which
//! every NIC is on a network segment of its own and hosts do not relay, so that the only route to a host is
//! the cable to it.

use super::addresses::PlanError;
use crate::{HostId, Ipv4Net, NicId, fabric::Fabric};
use std::net::Ipv4Addr;

/// The subnets of all segments, in the order of [`Fabric::segments`]: one after the other from the start of
/// the link range, each of the smallest size that has room for its NICs. A cable has a /30. Cables that are
/// appended to the file do not change the subnets of others.
pub(super) fn subnets(fabric: &Fabric<'_>) -> Result<Vec<Ipv4Net>, PlanError> {
    let range = fabric.cluster.addressing.link;
    let sizes: Vec<u64> = fabric.segments.iter().map(|nics| size(nics.len())).collect();
    let mut next = 0_u64;
    let mut subnets = Vec::with_capacity(sizes.len());
    for size in sizes {
        // A subnet begins at a multiple of its size. The range does so too, and is not smaller.
        let first = next.next_multiple_of(size);
        next = first + size;
        if next <= range.size() {
            let address = Ipv4Addr::from_bits(range.address.to_bits() + first as u32);
            subnets.push(Ipv4Net { address, prefix: 32 - size.ilog2() as u8 });
        }
    }
    if next > range.size() {
        return Err(PlanError::TooManySubnets { subnets: fabric.segments.len(), range, room: subnets.len() });
    }
    Ok(subnets)
}

/// Number of addresses of a subnet for this many NICs, of which the first and the last are not used.
fn size(nics: usize) -> u64 {
    (nics as u64 + 2).next_power_of_two()
}

/// The NIC of every host by which `from` reaches it: on the first cable or switch that both have. For `from`
/// itself it is its first NIC.
pub(super) fn nics_towards_all(
    fabric: &Fabric<'_>,
    from: HostId,
    own: Option<NicId>,
) -> Result<Vec<Option<NicId>>, PlanError> {
    let towards = |to: HostId| {
        if to == from {
            return Ok(own);
        }
        let name = |id: HostId| fabric.cluster.host_of(id).name.clone();
        let missing = || PlanError::NoCommonSubnet { from: name(from), to: name(to) };
        fabric.pairs(from, to).first().map(|[_, peer]| Some(*peer)).ok_or_else(missing)
    };
    (0..fabric.cluster.hosts.len()).map(HostId).map(towards).collect()
}

/// Checks that no host has two NICs in one subnet, because the kernel would use the first of them for
/// everything.
pub(super) fn check_one_nic_each(fabric: &Fabric<'_>) -> Result<(), PlanError> {
    let mut twice =
        fabric.by_host.iter().flat_map(|segments| segments.values()).filter(|nics| nics.len() > 1);
    match twice.next().map(Vec::as_slice) {
        Some([first, second, ..]) => {
            Err(PlanError::TwoInOneSubnet { nics: [*first, *second].map(|nic| fabric.cluster.nic_name(nic)) })
        }
        _ => Ok(()),
    }
}
