//! Pictures of networks as SVG, and pages with them that need no other file.

mod course;
mod layout;
mod page;
mod sketch;
mod svg;

pub use page::{Page, Section};
pub use sketch::Sketch;

use crate::PlanningError;
use svg::Drawing;
use tasuki_cluster::Cluster;
use tasuki_topo::Network;

/// Largest number of hosts and switches of a picture; more could not be seen.
const NODES_MAX: usize = 1500;

/// Like [`draw`], with the cluster's names of NICs and its racks, and with the parts at fault marked: hosts,
/// switches and NICs by their names, cables as `n1:eth1 - n2:eth1`. The network must be the cluster's
/// ([`Network::from_cluster`]).
pub fn draw_cluster(net: &Network, cluster: &Cluster, faults: &[&str]) -> Result<String, PlanningError> {
    drawn(net, Some(cluster), faults)
}

/// The picture of a network as SVG, with names, numbers of ports and rates; an error if the network is too
/// large for one.
pub fn draw(net: &Network) -> Result<String, PlanningError> {
    drawn(net, None, &[])
}

/// Where its parts stand and how its cables lead; an error if the network is too large for a picture.
pub fn sketch(net: &Network) -> Result<Sketch, PlanningError> {
    fits(net)?;
    Ok(Sketch::of(net))
}

fn drawn(net: &Network, cluster: Option<&Cluster>, faults: &[&str]) -> Result<String, PlanningError> {
    fits(net)?;
    Ok(svg::svg(&Drawing { net, cluster, faults }))
}

fn fits(net: &Network) -> Result<(), PlanningError> {
    match net.nodes().len() {
        count if count > NODES_MAX => Err(PlanningError::request(format!(
            "{} has {count} hosts and switches; pictures are drawn of up to {NODES_MAX}",
            net.name()
        ))),
        _ => Ok(()),
    }
}
