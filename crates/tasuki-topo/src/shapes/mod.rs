//! Generators of networks: regular shapes, known graphs and random ones.
//!
//! Every generator takes a [`Fit`]: what stands at each vertex of the graph (a switch with hosts, or a host
//! that relays) and how fast the cables are. Vertices come first in node numbers, hosts follow vertex by
//! vertex.

mod dense;
mod grids;
mod known;
mod random;
mod score;
mod trees;

pub use dense::{dragonfly, full, leaf_spine};
pub use grids::{PairRing, hypercube, mesh, ring, torus};
pub use known::{hoffman_singleton, petersen};
pub(crate) use random::regular_edges;
pub use random::{irregular, random_regular};
pub use score::{score_iii_ethernet, score_iii_myrinet};
pub use trees::{ClosHosts, fat_tree, fat_tree_part, myrinet_clos};

use crate::builder::NetworkBuilder;
use crate::error::NetworkError;
use crate::network::{Network, NodeId};

/// What stands at a vertex of a generated graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// A switch with this many hosts.
    Switch {
        /// Hosts per switch.
        hosts: u32,
    },
    /// A host that relays; there are no switches at all.
    Relay,
}

/// How a generated graph is fitted out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// What stands at each vertex.
    pub site: Site,
    /// Rate of the cables between vertices, bit/s.
    pub fabric_bps: u64,
    /// Rate of the cables between switches and hosts, bit/s.
    pub host_bps: u64,
}

/// 1 Gbit/s: the rate of all cables unless said otherwise.
pub const DEFAULT_BPS: u64 = 1_000_000_000;

impl Fit {
    /// Switches with `hosts` hosts each, all cables at 1 Gbit/s.
    pub fn switches(hosts: u32) -> Self {
        Self { site: Site::Switch { hosts }, fabric_bps: DEFAULT_BPS, host_bps: DEFAULT_BPS }
    }
    /// Hosts that relay, all cables at 1 Gbit/s.
    pub fn relays() -> Self {
        Self { site: Site::Relay, fabric_bps: DEFAULT_BPS, host_bps: DEFAULT_BPS }
    }
    /// This fit with other rates, bit/s.
    pub fn rates(self, fabric_bps: u64, host_bps: u64) -> Self {
        Self { fabric_bps, host_bps, ..self }
    }

    /// Adds vertex number `v`, without its hosts.
    fn vertex(&self, builder: &mut NetworkBuilder, v: usize) -> NodeId {
        match self.site {
            Site::Switch { .. } => builder.switch(format!("switch{v}"), None),
            Site::Relay => builder.relay(format!("host{v}")),
        }
    }

    /// Adds the hosts of one vertex; nothing where the vertices are hosts.
    fn hosts(
        &self,
        builder: &mut NetworkBuilder,
        vertex: NodeId,
        next: &mut usize,
    ) -> Result<(), NetworkError> {
        let Site::Switch { hosts } = self.site else { return Ok(()) };
        if *next as u64 + u64::from(hosts) > MAX_VERTICES {
            return Err(NetworkError::TooLarge { what: "hosts", limit: MAX_VERTICES });
        }
        for _ in 0..hosts {
            let host = builder.host(format!("host{next}"));
            builder.cable(vertex, host, self.host_bps);
            *next += 1;
        }
        Ok(())
    }
}

/// Any graph from its edges; vertex `v` is node `v`. Ports follow the order of the edges, hosts come last.
pub fn from_edges(
    name: &str,
    vertices: usize,
    edges: &[(usize, usize)],
    fit: &Fit,
) -> Result<Network, NetworkError> {
    let mut builder = NetworkBuilder::new(name);
    let ids: Vec<NodeId> = (0..vertices).map(|v| fit.vertex(&mut builder, v)).collect();
    for (cable, &(a, b)) in edges.iter().enumerate() {
        let find = |v: usize| {
            let unknown = NetworkError::NoSuchNode { cable, node: v as u32, nodes: vertices };
            ids.get(v).copied().ok_or(unknown)
        };
        builder.cable(find(a)?, find(b)?, fit.fabric_bps);
    }
    let mut next = 0;
    for &vertex in &ids {
        fit.hosts(&mut builder, vertex, &mut next)?;
    }
    builder.build()
}

fn problem(shape: impl Into<String>, problem: impl Into<String>) -> NetworkError {
    NetworkError::Shape { shape: shape.into(), problem: problem.into() }
}

/// The largest number of vertices that a generator makes, and of hosts beside them, so that a mistake in a
/// product of sizes ends in an error instead of filling the memory.
const MAX_VERTICES: u64 = 1 << 20;

/// The product of sizes; an error if it is 0 or too large.
fn product(shape: &str, sizes: &[u32]) -> Result<usize, NetworkError> {
    if sizes.is_empty() || sizes.contains(&0) {
        return Err(problem(shape, "every size must be at least 1"));
    }
    let all = sizes.iter().try_fold(1u64, |all, &size| {
        all.checked_mul(u64::from(size)).filter(|&product| product <= MAX_VERTICES)
    });
    all.map(|n| n as usize).ok_or(NetworkError::TooLarge { what: "vertices", limit: MAX_VERTICES })
}
