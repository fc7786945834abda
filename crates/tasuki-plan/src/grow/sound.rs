//! Makes grown clusters such that their files have no errors, and leaves out those that cannot be.

use crate::{Inventory, PlanningError, Proposal};
use tasuki_cluster::{Cluster, ClusterError, ClusterErrors, DEFAULT_MTU, NicId, Problem};

/// The inventory with the MTU of new NICs: that of the old ones if they have one, and no other than the usual
/// one is asked for.
pub(super) fn with_old_mtu(old: &Cluster, inventory: &Inventory) -> Inventory {
    let mut mtus: Vec<u32> = old.hosts.iter().flat_map(|host| &host.nics).map(|nic| nic.mtu).collect();
    mtus.dedup();
    match mtus[..] {
        [mtu] if inventory.mtu == DEFAULT_MTU => Inventory { mtu, ..inventory.clone() },
        _ => inventory.clone(),
    }
}

/// Gives all NICs of a cable, or of connected switches, one MTU, the least that an old one among them has: a
/// longer frame would be lost.
pub(super) fn level_mtus(cluster: &mut Cluster, old: &Cluster) {
    let is_old = |nic: &&NicId| old.hosts.get(nic.host.0).is_some_and(|host| nic.index < host.nics.len());
    for nics in cluster.segments() {
        let Some(mtu) = nics.iter().filter(is_old).map(|nic| cluster.nic_of(*nic).mtu).min() else {
            continue;
        };
        for nic in nics {
            cluster.hosts[nic.host.0].nics[nic.index].mtu = mtu;
        }
    }
}

/// The proposals whose clusters are files without errors. Where nothing is left to stripe over, `[striping]`
/// goes, which the proposal says.
///
/// # Errors
/// If there is none.
pub(super) fn sound(proposals: Vec<Proposal>) -> Result<Vec<Proposal>, PlanningError> {
    let mut first: Option<ClusterError> = None;
    let mut kept = Vec::new();
    for proposal in proposals {
        match checked(proposal) {
            Ok(proposal) => kept.push(proposal),
            Err(errors) => first = first.or(errors.errors.into_iter().next()),
        }
    }
    match first {
        Some(ClusterError { problem, .. }) if kept.is_empty() => Err(PlanningError::request(format!(
            "no cabling of so many hosts was found that this cluster could have; of the first: {problem}; {}",
            problem.help()
        ))),
        _ => Ok(kept),
    }
}

fn checked(mut proposal: Proposal) -> Result<Proposal, ClusterErrors> {
    let Err(errors) = Cluster::parse(&proposal.cluster.to_toml(), None) else { return Ok(proposal) };
    let is_of_striping = |error: &ClusterError| matches!(error.problem, Problem::NothingToStripe(_));
    if !errors.errors.iter().all(is_of_striping) {
        return Err(errors);
    }
    proposal.cluster.striping = None;
    proposal.what += ", nothing to stripe over";
    Ok(proposal)
}

#[cfg(test)]
mod tests {
    use crate::{Inventory, PlanningError, Proposal, grown, proposals};
    use std::collections::BTreeSet;
    use tasuki_cluster::{
        AddressStyle, Cluster, End, Striping,
        generate::{Options, generate},
    };

    fn cluster(shape: &str) -> Cluster {
        generate(&shape.parse().unwrap(), &Options::default()).unwrap()
    }

    fn all(old: &Cluster, hosts: usize, nics: usize) -> Result<Vec<Proposal>, PlanningError> {
        let inventory = Inventory::new(hosts, nics);
        let fresh = proposals(&inventory).unwrap_or_default();
        grown(old, &inventory, &fresh, &mut |_| ())
    }

    fn assert_sound(proposals: &[Proposal]) {
        assert!(!proposals.is_empty());
        for Proposal { what, cluster, .. } in proposals {
            if let Err(errors) = Cluster::parse(&cluster.to_toml(), None) {
                panic!("{what}: {errors}");
            }
        }
    }

    /// Frames of 9,000 bytes do not pass a NIC of 1,500: `tasuki cluster check` refuses such a file.
    #[test]
    fn new_nics_have_the_mtu_of_what_they_are_cabled_to() {
        let mut old = cluster("ring:4");
        old.hosts.iter_mut().flat_map(|host| &mut host.nics).for_each(|nic| nic.mtu = 9000);
        let found = all(&old, 5, 3).unwrap();
        assert_sound(&found);
        let mtus = found.iter().flat_map(|one| &one.cluster.hosts).flat_map(|host| &host.nics);
        assert_eq!(mtus.map(|nic| nic.mtu).collect::<BTreeSet<_>>(), [9000].into());
        // One cable that carries less keeps its MTU where it stays.
        for end in old.cables[0].ends {
            let End::Nic(nic) = end else { panic!("a ring has no switch") };
            old.hosts[nic.host.0].nics[nic.index].mtu = 1500;
        }
        let mixed = all(&old, 6, 4).unwrap();
        assert_sound(&mixed);
        for Proposal { what, cluster, moves, .. } in mixed {
            let stays = cluster.cables.iter().zip(moves.unwrap().there).filter(|(_, stays)| *stays);
            for end in stays.flat_map(|(cable, _)| cable.ends) {
                let End::Nic(nic) = end else { panic!("there is no switch") };
                assert_eq!(cluster.nic_of(nic).mtu, old.nic_of(nic).mtu, "{what}");
            }
        }
    }

    /// Two hosts with two cables stripe over them. Three hosts with two ports each have one cable for a pair.
    #[test]
    fn striping_goes_where_no_two_hosts_share_two_cables() {
        let mut old = cluster("pair:2");
        old.striping = Some(Striping::default());
        let found = all(&old, 3, 2).unwrap();
        assert_sound(&found);
        let full = found.iter().find(|one| one.what.starts_with("full")).unwrap();
        assert!(full.cluster.striping.is_none() && full.what.contains("nothing to stripe"), "{}", full.what);
    }

    /// With a subnet for each cable hosts do not relay, so that five hosts with three ports cannot be cabled.
    #[test]
    fn what_the_cluster_cannot_have_is_left_out_or_said() {
        let mut old = cluster("full:4");
        old.addressing.style = AddressStyle::Subnets;
        let error = all(&old, 5, 3).err().expect("no cabling").to_string();
        assert!(error.contains("cannot reach") && error.contains("leave `addresses` out"), "{error}");
        let found = all(&old, 5, 4).unwrap();
        assert_sound(&found);
    }
}
