//! What Slurm must know of a cluster: its nodes, which of them are near each other, and their rails.
//! Sources: slurm.conf(5), topology.conf(5) and gres.conf(5) of Slurm 22.05.
#![forbid(unsafe_code)]

mod near;

use serde::Serialize;
use std::fmt::Write as _;
use tasuki_cluster::Cluster;

/// The generic resource of which a node has one for each NIC that is a rail.
pub const RAIL: &str = "rail";

/// The files for Slurm's folder of configuration, `/etc/slurm` on Debian.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Files {
    /// Lines for `slurm.conf`, which includes them: nodes, and a partition of all of them.
    pub nodes: String,
    /// `topology.conf`: groups of nodes of which each two have a rail between them.
    pub topology: String,
    /// `gres.conf`: how many rails a node has.
    pub gres: String,
}

impl Files {
    /// Names of the files within their folder, with their texts.
    pub fn named(&self) -> [(&'static str, &str); 3] {
        [("tasuki-nodes.conf", &self.nodes), ("topology.conf", &self.topology), ("gres.conf", &self.gres)]
    }

    /// The files for a cluster.
    pub fn of(cluster: &Cluster) -> Files {
        Files { nodes: nodes(cluster), topology: topology(cluster), gres: gres(cluster) }
    }
}

fn head(cluster: &Cluster, what: &str) -> String {
    format!("# {what} of the cluster {:?}, by `tasuki slurm conf`.\n", cluster.name)
}

fn names<'a>(hosts: impl IntoIterator<Item = usize>, cluster: &'a Cluster) -> String {
    let names: Vec<&'a str> = hosts.into_iter().map(|host| cluster.hosts[host].name.as_str()).collect();
    names.join(",")
}

fn nodes(cluster: &Cluster) -> String {
    let mut text = head(cluster, "Nodes");
    text += "# In slurm.conf:  include tasuki-nodes.conf\n";
    text += "# Steps get rails (srun --gres=rail:2) if slurm.conf also says  SelectType=select/cons_tres\n";
    let _ = writeln!(text, "GresTypes={RAIL}\nTopologyPlugin=topology/tree");
    for host in &cluster.hosts {
        if host.cores.is_none() {
            let note = "its cores are not in the cluster file: add what `slurmd -C` says there";
            let _ = writeln!(text, "# {}: {note}", host.name);
        }
        let address = host.management.as_ref().map(|at| format!(" NodeAddr={}", at.address()));
        let cores = host.cores.map(|cores| format!(" CPUs={cores}"));
        let (address, cores) = (address.unwrap_or_default(), cores.unwrap_or_default());
        let rails = host.nics.len();
        let _ = writeln!(text, "NodeName={}{address}{cores} Gres={RAIL}:{rails} State=UNKNOWN", host.name);
    }
    let all = names(0..cluster.hosts.len(), cluster);
    let _ = writeln!(text, "PartitionName=tasuki Nodes={all} Default=YES MaxTime=INFINITE State=UP");
    text
}

fn topology(cluster: &Cluster) -> String {
    let mut text = head(cluster, "Nearness");
    text += "# Nodes of one group have a rail between any two of them: Slurm gives a job few groups, so that \
             little is relayed.\n";
    let groups = near::groups(cluster);
    for (at, group) in groups.iter().enumerate() {
        let _ = writeln!(text, "SwitchName=near{} Nodes={}", at + 1, names(group.iter().copied(), cluster));
    }
    if groups.len() > 1 {
        let all: Vec<_> = (1..=groups.len()).map(|at| format!("near{at}")).collect();
        let _ = writeln!(text, "SwitchName=all Switches={}", all.join(","));
    }
    text
}

fn gres(cluster: &Cluster) -> String {
    let mut text = head(cluster, "Rails");
    text += "# How many rails a node has, for jobs that ask for some (srun --gres=rail:2).\n";
    for host in &cluster.hosts {
        let count = host.nics.len();
        let _ = writeln!(text, "NodeName={} Name={RAIL} Count={count} Flags=CountOnly", host.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_cluster::generate::{Options, generate};

    fn cluster(shape: &str) -> Cluster {
        let options = Options { cores: Some(4), ..Options::default() };
        generate(&shape.parse().unwrap(), &options).unwrap()
    }

    #[test]
    fn a_host_is_a_node_with_its_cores_and_rails() {
        let mut cluster = cluster("full:3");
        cluster.hosts[2].cores = None;
        let files = Files::of(&cluster);
        let line = |name: &str| {
            let start = format!("NodeName={name} ");
            files.nodes.lines().find(|line| line.starts_with(&start)).unwrap().to_owned()
        };
        assert!(line("n1").contains(" CPUs=4 Gres=rail:2 "), "{}", files.nodes);
        assert!(!line("n3").contains("CPUs") && files.nodes.contains("# n3: its cores"), "{}", files.nodes);
        assert!(files.nodes.contains("Nodes=n1,n2,n3 Default=YES"), "{}", files.nodes);
        assert!(files.gres.contains("NodeName=n2 Name=rail Count=2 "), "{}", files.gres);
    }

    #[test]
    fn hosts_that_all_have_rails_to_each_other_are_one_group() {
        for shape in ["full:4", "star:4"] {
            let files = Files::of(&cluster(shape));
            assert!(files.topology.ends_with("\nSwitchName=near1 Nodes=n1,n2,n3,n4\n"), "{}", files.topology);
        }
    }

    #[test]
    fn of_a_ring_neighbours_are_groups() {
        let files = Files::of(&cluster("ring:4"));
        let lines: Vec<_> = files.topology.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines[..2], ["SwitchName=near1 Nodes=n1,n2", "SwitchName=near2 Nodes=n3,n4"]);
        assert_eq!(lines[2], "SwitchName=all Switches=near1,near2");
    }
}
