//! The cabling as the page draws it.

use serde::Serialize;
use tasuki_cluster::{Cluster, End};
use tasuki_fleet::Fleet;
use tasuki_plan::picture::{Sketch, sketch};
use tasuki_topo::Network;

/// What does not change while the dashboard runs.
#[derive(Debug, Serialize)]
pub(crate) struct Layout {
    /// What the hosts are called together.
    title: String,
    /// All hosts, in their order.
    hosts: Vec<String>,
    /// All switches, in their order.
    switches: Vec<String>,
    /// Cables in the order of [`Sketch::cables`].
    cables: Vec<Cable>,
    /// Where all that is drawn; `None`: there is no cabling that is known, or it is too large for a picture.
    sketch: Option<Sketch>,
    /// Why there is no picture.
    no_sketch: Option<String>,
}

/// A cable.
#[derive(Debug, Serialize)]
struct Cable {
    /// Names of its ends, as `n1:eth1`.
    ends: [String; 2],
    /// Its nodes' numbers in [`Sketch::nodes`]: hosts, then switches.
    nodes: [usize; 2],
    /// Its rate, bit/s.
    rate: u64,
}

impl Layout {
    /// Of a fleet.
    pub fn of(fleet: &Fleet) -> Self {
        let title = fleet.title();
        let Some(cluster) = fleet.cluster() else {
            let hosts = (0..fleet.len()).map(|host| fleet.name(host)).collect();
            let why = "How this machine is cabled is not known: there is no cluster file.".to_owned();
            let (switches, cables) = (Vec::new(), Vec::new());
            return Self { title, hosts, switches, cables, sketch: None, no_sketch: Some(why) };
        };
        let drawn = Network::from_cluster(cluster).map_err(|error| error.to_string());
        let drawn = drawn.and_then(|net| sketch(&net).map_err(|error| error.to_string()));
        let (sketch, no_sketch) = match drawn {
            Ok(sketch) => (Some(sketch), None),
            Err(why) => (None, Some(why)),
        };
        Self {
            title,
            hosts: cluster.hosts.iter().map(|host| host.name.clone()).collect(),
            switches: cluster.switches.iter().map(|switch| switch.name.clone()).collect(),
            cables: cluster.cables.iter().map(|cable| Cable::new(fleet, cluster, cable.ends)).collect(),
            sketch,
            no_sketch,
        }
    }
}

impl Cable {
    fn new(fleet: &Fleet, cluster: &Cluster, ends: [End; 2]) -> Self {
        let node = |end| match end {
            End::Nic(nic) => nic.host.0,
            End::Port { switch, .. } => cluster.hosts.len() + switch.0,
        };
        let rate = |end| match end {
            End::Nic(nic) => fleet.line_rate(nic).unwrap_or(cluster.nic_of(nic).rate).bits_per_second,
            End::Port { switch, .. } => cluster.switch_of(switch).rate.bits_per_second,
        };
        let [a, b] = ends.map(rate);
        Self { ends: ends.map(|end| cluster.end_name(end)), nodes: ends.map(node), rate: a.min(b) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_fleet::SshHosts;

    #[test]
    fn cables_have_the_order_of_the_sketch_and_lead_between_its_nodes() {
        let file = "[[host]]\nname = \"n1\"\nnic = [{ name = \"eth1\", rate = \"2.5G\" }]\n[[host]]\n\
                    name = \"n2\"\nnic = [{ name = \"eth1\" }]\n[[switch]]\nname = \"s1\"\nports = 4\n\
                    [[cable]]\nends = [\"n1:eth1\", \"s1:1\"]\n[[cable]]\nends = [\"s1:3\", \"n2:eth1\"]\n";
        let cluster = Cluster::parse(file, None).expect("a cluster");
        let layout = Layout::of(&Fleet::Ssh(Box::new(SshHosts::new(cluster))));
        let nodes: Vec<_> = layout.cables.iter().map(|cable| cable.nodes).collect();
        assert_eq!(nodes, [[0, 2], [2, 1]]);
        assert_eq!(layout.cables[1].ends, ["s1:3", "n2:eth1"]);
        let sketch = layout.sketch.expect("a sketch");
        assert_eq!((sketch.nodes.len(), sketch.cables.len()), (3, 2));
        assert!(Layout::of(&Fleet::Local).no_sketch.is_some());
    }
}
