//! Whether a host is set up by the cluster file that it is examined for.

use crate::{Finding, HostFacts};
use std::path::Path;
use tasuki_cluster::{AddressPlan, RailTable};
use tasuki_fleet::Fleet;
use tasuki_job::{OTHER_FILE, RunError, is_same_cabling};

/// What a host of a fleet should be.
pub(crate) struct Expected {
    /// The command that sets the fleet's hosts up.
    pub(crate) apply: String,
    /// The host's table of rails, as the fleet's cluster file has it.
    pub(crate) table: RailTable,
}

impl Expected {
    /// What every host of a fleet should be, in the order of the hosts; empty for this machine alone, which
    /// need not be set up.
    ///
    /// # Errors
    /// If the fleet's cluster has no plan of addresses.
    pub(crate) fn of_all(fleet: &Fleet) -> Result<Vec<Self>, RunError> {
        let Some(cluster) = fleet.cluster() else { return Ok(Vec::new()) };
        let tables = RailTable::of_all(cluster, &AddressPlan::new(cluster)?, None);
        Ok(tables.into_iter().map(|table| Self { apply: fleet.apply_command(), table }).collect())
    }
}

/// The finding that `tasuki apply` has written the host's table of rails for another cluster file: then
/// `tasuki run` refuses the host. `None`: the table is the expected one, there is none, or the user has named
/// one with TASUKI_RAILS, which `tasuki run` takes as it is.
pub(crate) fn other_file(facts: &HostFacts, expected: &Expected) -> Option<Finding> {
    let table = facts.rails.as_ref()?;
    let is_named = facts.rails_file != Path::new(RailTable::PATH);
    if is_named || is_same_cabling(table, &expected.table) {
        return None;
    }
    let what = format!("between hosts: nothing, as the host is set up by {OTHER_FILE}");
    let remedy = format!("{}; until then tasuki run works with --transport tcp alone", expected.apply);
    Some(Finding::broken(&facts.host, what, remedy))
}

/// The finding that the host has no table of rails, which `tasuki apply` writes.
pub(crate) fn no_rails(facts: &HostFacts, expected: Option<&Expected>) -> Finding {
    let problem = facts.rails_problem.clone().unwrap_or_default();
    let what = format!("between hosts: udp over one route only, as there is no table of rails ({problem})");
    let rest = "or name a table with TASUKI_RAILS; until then tasuki run works with --transport tcp alone";
    match expected {
        Some(Expected { apply, .. }) => Finding::broken(&facts.host, what, format!("{apply}, {rest}")),
        None => Finding::slower(&facts.host, what, format!("tasuki apply with a cluster file, {rest}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weight;
    use tasuki_cluster::{
        Cluster,
        generate::{Options, generate},
    };

    fn tables(cluster: &Cluster) -> Vec<RailTable> {
        RailTable::of_all(cluster, &AddressPlan::new(cluster).unwrap(), None)
    }

    #[test]
    fn a_host_that_another_file_has_set_up_is_named_with_the_command_that_helps() {
        let cluster = generate(&"full:3".parse().unwrap(), &Options::default()).unwrap();
        let mut other = cluster.clone();
        other.hosts[1].nics[0].name = "eth9".into();
        let [own, changed] = [&cluster, &other].map(tables);
        let expected = Expected { apply: "tasuki apply my.toml".into(), table: own[1].clone() };
        let facts = |table: &RailTable| HostFacts {
            host: "n2".into(),
            rails_file: RailTable::PATH.into(),
            rails: Some(table.clone()),
            ..HostFacts::default()
        };
        assert_eq!(other_file(&facts(&own[1]), &expected), None);
        let found = other_file(&facts(&changed[1]), &expected).unwrap();
        assert_eq!((found.weight, found.about.as_str()), (Weight::Broken, "n2"));
        assert!(found.what.contains("another cluster file"), "{found:?}");
        assert!(found.remedy.unwrap().starts_with("tasuki apply my.toml"));
        // A table that TASUKI_RAILS names may be any.
        let named = HostFacts { rails_file: "/tmp/rails.json".into(), ..facts(&changed[1]) };
        assert_eq!(other_file(&named, &expected), None);
    }
}
