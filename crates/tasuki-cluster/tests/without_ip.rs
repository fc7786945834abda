//! NICs with `ip = false`: addresses, routes and rails are as if their cables were not there.

use tasuki_cluster::{AddressPlan, AddressStyle, BarePlan, Cluster, End, HostId, NicId, generate};

fn cluster(shape: &str, style: AddressStyle) -> Cluster {
    let mut cluster = generate::generate(&shape.parse().unwrap(), &generate::Options::default()).unwrap();
    cluster.addressing.style = style;
    cluster.with_lab_macs()
}

/// The last NIC of every host.
fn last_nics(cluster: &Cluster) -> Vec<NicId> {
    let nic =
        |(host, of): (usize, &tasuki_cluster::Host)| NicId { host: HostId(host), index: of.nics.len() - 1 };
    cluster.hosts.iter().enumerate().map(nic).collect()
}

/// A second rail for frames of other programs, like SCore III's second Ethernet: one switch per NIC, or a
/// second cable.
#[test]
fn the_plan_is_that_without_the_cables() {
    for style in [AddressStyle::Identity, AddressStyle::Subnets] {
        for shape in ["planes:4x2", "pair:2", "mixed:6/3"] {
            if shape.starts_with("mixed") && style == AddressStyle::Subnets {
                continue;
            }
            let plain = cluster(shape, style);
            let bare = last_nics(&plain);
            let mut with = plain.clone();
            bare.iter().for_each(|nic| with.hosts[nic.host.0].nics[nic.index].ip = false);
            let mut without = plain.clone();
            without
                .cables
                .retain(|cable| !cable.ends.iter().any(|end| bare.iter().any(|nic| *end == End::Nic(*nic))));
            if shape.starts_with("mixed") {
                // The groups of this cluster are joined by those cables only.
                assert!(AddressPlan::new(&with).is_err() && AddressPlan::new(&without).is_err());
                continue;
            }
            let mut plan = AddressPlan::new(&with).unwrap();
            for (host, nic) in plan.hosts.iter_mut().zip(&bare) {
                let interface = with.nic_of(*nic).name.clone();
                let own = format!("net/ipv4/conf/{interface}/");
                let (of_it, others): (Vec<_>, Vec<_>) =
                    host.sysctls.drain(..).partition(|setting| setting.path.starts_with(&own));
                assert_eq!(of_it.len(), 2, "{of_it:?}");
                host.sysctls = others;
                assert_eq!(host.cabled().last(), Some((interface.as_str(), 1500)));
                assert_eq!(std::mem::take(&mut host.bare), [BarePlan { interface, mtu: 1500 }]);
            }
            assert_eq!(plan, AddressPlan::new(&without).unwrap(), "{shape}");
            assert_eq!(with.all_rails().len(), without.all_rails().len());
            assert_eq!(Cluster::parse(&with.to_toml(), None).unwrap(), with, "as it was written");
        }
    }
}
