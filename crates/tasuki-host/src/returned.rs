//! Setting a NIC up that was taken out of a running host and put back, for `tasuki watch`. An adapter that is
//! plugged in again, or a driver that is loaded anew, makes an interface of the same name that has nothing of
//! what `apply` had set.

use crate::{
    Change, HostError, Key, NicWish, Value,
    desired::{forwarding, insert_before_settings, of_plan, offloads_of},
    difference::difference,
    journal::Journal,
    kernel::Kernel,
    reroute::Rerouting,
    rings::rings_of,
    setup::other_nic,
};
use std::path::Path;
use tasuki_cluster::{HostPlan, MacAddr};

impl Rerouting {
    /// Gives a NIC what the plan says that it has, what else `apply` has set there by its record in `folder`,
    /// and what it was asked to set on all NICs. In the record this is noted first, so that `undo` takes it
    /// back. Routes are left to
    /// [`Rerouting::set_routes`]. `mac`: the address that the cluster file gives it. Returns false, and does
    /// nothing, on a host that `apply` has not set up.
    ///
    /// # Errors
    /// If it is not there, or has another MAC address: then it is another NIC. If another process has the
    /// record, or the kernel refuses a setting; those before it are made.
    pub fn set_up_again(
        &mut self,
        plan: &HostPlan,
        interface: &str,
        mac: Option<MacAddr>,
        folder: &Path,
    ) -> Result<bool, HostError> {
        if Journal::read_only(&plan.host, folder).load()?.is_none() {
            return Ok(false);
        }
        let kernel = self.kernel();
        kernel.refresh()?;
        if let Some(other) = other_nic(&plan.host, interface, kernel.link(interface)?, mac) {
            return Err(other);
        }
        let journal = Journal::lock(&plan.host, folder)?;
        let Some((mut record, _)) = journal.load()? else { return Ok(false) };
        let mut desired = of_nic(plan, &record.changes, interface);
        let mut wished = of_wish(kernel, plan, interface, record.nics)?;
        wished.retain(|(key, _)| !desired.iter().any(|(known, _)| known == key));
        insert_before_settings(&mut desired, wished);
        let actual = kernel.read_all(desired.iter().map(|(key, _)| key))?;
        let changes = difference(&desired, &actual, &[]);
        record.add(&changes);
        record.guard(kernel.read_all(&[forwarding(interface)])?);
        journal.save(&record)?;
        for change in changes {
            kernel.write(&change.key, &change.to)?;
        }
        Ok(true)
    }
}

/// What a NIC is to have, in the order in which it is made. What `apply` has set counts where the plan says
/// something else, since it was asked for it. Striping is of all NICs: its program has to be told which
/// interface the NIC is now.
fn of_nic(plan: &HostPlan, made: &[Change], interface: &str) -> Vec<(Key, Value)> {
    let is_its = |key: &Key| key.interface() == Some(interface);
    let mut desired = of_plan(plan);
    desired.retain(|(key, _)| is_its(key) || *key == Key::Striping);
    for (key, value) in &mut desired {
        if let Some(change) = made.iter().find(|change| change.key == *key) {
            value.clone_from(&change.to);
        }
    }
    let is_planned = |wanted: &Key| desired.iter().any(|(key, _)| key == wanted);
    let is_more =
        |change: &&Change| is_its(&change.key) && change.to != Value::Absent && !is_planned(&change.key);
    let more: Vec<_> = made.iter().filter(is_more).map(|c| (c.key.clone(), c.to.clone())).collect();
    insert_before_settings(&mut desired, more);
    desired
}

/// What a NIC is to have as all cabled NICs of the host. It may have been away when they were given it, or
/// have had it by itself until it was made anew.
fn of_wish(
    kernel: &mut Kernel,
    plan: &HostPlan,
    interface: &str,
    wish: NicWish,
) -> Result<Vec<(Key, Value)>, HostError> {
    let mut all = offloads_of(kernel, plan, interface, wish.offloads)?;
    if let Some(length) = wish.rings {
        all.extend(rings_of(kernel, interface, length)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_cluster::{AddressPlan, Cluster};

    const PAIR: &str = r#"
        [[host]]
        name = "a"
        nic = [{ name = "eth1" }, { name = "eth2" }]
        [[host]]
        name = "b"
        nic = [{ name = "eth1" }, { name = "eth2" }]
        [[cable]]
        ends = ["a:eth1", "b:eth1"]
        [[cable]]
        ends = ["a:eth2", "b:eth2"]
    "#;

    fn text(value: &str) -> Value {
        Value::Text(value.into())
    }

    #[test]
    fn a_nic_gets_what_is_its_own_as_it_was_asked_for() {
        let cluster = Cluster::parse(PAIR, None).unwrap();
        let plan = &AddressPlan::new(&cluster).unwrap().hosts[0];
        let offload = |interface: &str| Key::Offload { interface: interface.into(), feature: "tx".into() };
        let forwarding = Key::Sysctl { path: "net/ipv4/conf/eth1/forwarding".into() };
        let off = |key: &Key| Change { key: key.clone(), from: Value::On(true), to: Value::On(false) };
        // Forwarding was left on for others, and recorded because the watch may change it.
        let on = Change { key: forwarding.clone(), from: text("1"), to: text("1") };
        let made = [off(&offload("eth1")), off(&offload("eth2")), on];
        let desired = of_nic(plan, &made, "eth1");
        assert!(desired.iter().all(|(key, _)| key.interface() == Some("eth1")), "{desired:?}");
        let at = |wanted: &Key| desired.iter().position(|(key, _)| key == wanted);
        let up = at(&Key::Up { interface: "eth1".into() });
        assert!(up.is_some() && up < at(&offload("eth1")) && at(&offload("eth1")) < at(&forwarding));
        assert_eq!(desired[at(&forwarding).unwrap()].1, text("1"));
        assert!(desired.iter().any(|(key, _)| matches!(key, Key::Address { .. })));
    }
}
