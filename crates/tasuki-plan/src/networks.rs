//! Networks by name: cluster files, shapes of clusters, and graphs of relaying hosts or of switches.

use crate::PlanningError;
use std::path::Path;
use tasuki_cluster::{
    Cluster,
    generate::{GenerateError, Options, Shape, generate, shapes_help},
};
use tasuki_topo::{
    Network,
    search::{DEFAULT_EFFORT, order_degree},
    shapes::{self, ClosHosts, Fit, PairRing},
};

/// Seed of random graphs and of searched graphs that are given by name.
const SEED: u64 = 1;

/// The text at the end of `--help`: that of the command, and the shapes.
pub fn source_help(text: &str) -> String {
    let graphs = "  hypercube:D        2^D hosts that relay, D cables each\n  random:N/D         N relaying \
         hosts with D cables each, at random\n  optimal:N/D        the same with short paths, by \
         search\n  petersen, hoffman-singleton  10 and 50 relaying hosts: the best that 3 and 7 cables each \
         allow\n  dragonfly:G/R/H    G groups of R, fully connected inside, H cables of each to other \
         groups\n  ...+H              any of these, full, ring, mesh or torus of switches with H hosts each: \
         torus:4x4+4\n  fat-tree:P/Q/R+H   P cables up, Q down, R levels above the leaves, H hosts per \
         leaf\n  clos:N+H           N lower switches with H hosts each, N upper ones; clos-both:N+H: hosts \
         at both\n  leaf-spine:L/S+H   L switches with H hosts each, S switches \
         above\n  score-iii-myrinet  SCore III: 512 hosts at 2 Gbit/s, three tiers of 16-port \
         crossbars\n  score-iii-ethernet SCore III: the same hosts on two planes of 100 Mbit/s, 1 Gbit/s \
         above each 32\n";
    format!("{text}\n\nShapes (cables at 1 Gbit/s):\n{}{graphs}", shapes_help())
}

/// A network that was given by name.
#[derive(Clone, Debug)]
pub struct Named {
    /// The network.
    pub net: Network,
    /// The cluster that it is the network of; `None` for a graph, whose nodes have no routes of hosts.
    pub cluster: Option<Cluster>,
}

impl Named {
    fn of(cluster: Cluster) -> Result<Self, PlanningError> {
        Ok(Self { net: Network::from_cluster(&cluster)?, cluster: Some(cluster) })
    }
}

/// The network of a given name: a cluster file or a shape.
pub fn network(name: &str) -> Result<Network, PlanningError> {
    Ok(named(name)?.net)
}

/// The network of a given name, with its cluster: a cluster file or a shape.
pub fn named(name: &str) -> Result<Named, PlanningError> {
    let path = Path::new(name);
    if path.is_file() || name.ends_with(".toml") {
        return Named::of(Cluster::load(path)?);
    }
    if let Some(net) = graph(name)? {
        return Ok(Named { net, cluster: None });
    }
    let shape: Shape = name.parse().map_err(|error: GenerateError| {
        PlanningError::request(format!("{error}; nor is there a file {name} (see --help)"))
    })?;
    Named::of(generate(&shape, &Options::default())?)
}

/// The graphs that have their own generators; `None` for other names.
fn graph(name: &str) -> Result<Option<Network>, PlanningError> {
    let (shape, hosts) = name.split_once('+').map_or((name, None), |(shape, hosts)| (shape, Some(hosts)));
    let (kind, sizes) = shape.split_once(':').unwrap_or((shape, ""));
    let Some(&(_, example)) = EXAMPLES.iter().find(|(known, _)| *known == kind) else { return Ok(None) };
    let wrong = || PlanningError::request(format!("{name:?} is not a shape; write it as {example}"));
    let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
    let fit = hosts.map(number).transpose()?.map_or(Fit::relays(), Fit::switches);
    let separator = if matches!(kind, "mesh" | "torus") { 'x' } else { '/' };
    let sizes = match sizes {
        "" => Vec::new(),
        sizes => sizes.split(separator).map(number).collect::<Result<Vec<u32>, _>>()?,
    };
    Ok(Some(match (kind, &sizes[..]) {
        ("petersen", []) => shapes::petersen(&fit)?,
        ("hoffman-singleton", []) => shapes::hoffman_singleton(&fit)?,
        ("full", &[n]) => shapes::full(n, &fit)?,
        ("ring", &[n]) => shapes::ring(n, &fit)?,
        ("mesh", [_, ..]) => shapes::mesh(&sizes, &fit)?,
        ("torus", [_, ..]) => shapes::torus(&sizes, PairRing::OneCable, &fit)?,
        ("hypercube", &[d]) => shapes::hypercube(d, &fit)?,
        ("random", &[n, degree]) => shapes::random_regular(n, degree, SEED, &fit)?,
        ("optimal", &[n, degree]) => {
            let found = order_degree(n as usize, degree as usize, SEED, DEFAULT_EFFORT)?;
            shapes::from_edges(name, found.vertices, &found.edges, &fit)?
        }
        ("dragonfly", &[groups, routers, global]) => shapes::dragonfly(groups, routers, global, &fit)?,
        ("fat-tree", &[p, q, r]) => shapes::fat_tree(p, q, r, &fit)?,
        ("clos", &[n]) => shapes::myrinet_clos(n, ClosHosts::Lower, &fit)?,
        ("clos-both", &[n]) => shapes::myrinet_clos(n, ClosHosts::Both, &fit)?,
        ("leaf-spine", &[leaves, spines]) => shapes::leaf_spine(leaves, spines, 1, &fit)?,
        ("score-iii-myrinet", []) => shapes::score_iii_myrinet()?,
        ("score-iii-ethernet", []) => shapes::score_iii_ethernet(16, 32)?,
        _ => return Err(wrong()),
    }))
}

/// Kinds of graphs, each with an example.
const EXAMPLES: [(&str, &str); 16] = [
    ("petersen", "petersen"),
    ("hoffman-singleton", "hoffman-singleton"),
    ("full", "full:4"),
    ("ring", "ring:5"),
    ("mesh", "mesh:4x4"),
    ("torus", "torus:4x4"),
    ("hypercube", "hypercube:4"),
    ("random", "random:16/3 (16 hosts with 3 cables each)"),
    ("optimal", "optimal:16/3 (16 hosts with 3 cables each)"),
    ("dragonfly", "dragonfly:9/4/2 (9 groups of 4, 2 cables of each to other groups)"),
    ("fat-tree", "fat-tree:2/4/2+4 (2 cables up, 4 down, 2 levels above leaves with 4 hosts)"),
    ("clos", "clos:4+4 (4 lower switches with 4 hosts each, 4 upper ones)"),
    ("clos-both", "clos-both:4+4 (4 lower and 4 upper switches with 4 hosts each)"),
    ("leaf-spine", "leaf-spine:4/2+8 (4 switches with 8 hosts each, 2 above them)"),
    ("score-iii-myrinet", "score-iii-myrinet"),
    ("score-iii-ethernet", "score-iii-ethernet"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of hosts that a mistyped digit makes: each host takes memory before anything is measured.
    #[test]
    fn networks_of_too_many_hosts_are_refused() {
        for name in ["ring:3+300000000", "full:4+99999999", "leaf-spine:2/2+4294967295", "ring:16+1048577"] {
            let error = network(name).map(|net| net.hosts().len()).unwrap_err().to_string();
            assert!(error.contains("build a smaller network"), "{name}: {error}");
        }
        assert_eq!(network("ring:3+4").unwrap().hosts().len(), 12);
    }
}
