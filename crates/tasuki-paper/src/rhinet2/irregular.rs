//! Networks A and B, which the paper shows only in a figure. Only statistics of them are known, so results
//! are ranges over the graphs that have these statistics.
//!
//! The class that is searched is that of a mesh that has lost cables: 16 switches with at most 4 cables to
//! other switches each, "slightly irregular", fewer cables than the mesh (4.1.1, 4.2.1). All graphs of this
//! class that fit are found; only an even selection of them is simulated.

use super::networks::fit;
use crate::data::Rhinet2;
use tasuki_topo::{Network, NetworkError, shapes};

/// Conditions on a graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fits {
    /// Average distance, self pairs included, as printed: rounded half up to a tenth.
    pub distance: f64,
    /// Bandwidth that complement traffic would have without waiting, divided by the torus's (table 9,
    /// "Ideal").
    pub ideal: f64,
    /// Least and greatest number of cables by which the graph has fewer than the mesh: B has more cables than
    /// A (4.2.1).
    pub lost: [u32; 2],
}

impl Fits {
    /// The conditions of the paper: what it prints of the network and of the torus, whose distance under
    /// complement traffic is 3 switches.
    fn of(data: &Rhinet2, name: &str, lost: [u32; 2]) -> Fits {
        let ideal = |key: &str| data.table9.get(key).map_or(f64::NAN, |row| row.ideal);
        Fits { distance: data.barrier64(name).avg_dist, ideal: ideal(name) / ideal("torus4x4"), lost }
    }
}

/// The graphs that fit.
pub struct Irregular {
    /// "A" or "B".
    pub name: &'static str,
    /// Number of graphs of the class that fit.
    pub found: usize,
    /// Graphs that are simulated, each given by the cables of the mesh that are missing.
    pub chosen: Vec<u32>,
    /// The average distance by which they were found.
    pub printed_distance: f64,
}

impl Irregular {
    /// Graphs that could be A; at most `wanted` of them are chosen.
    pub fn a(data: &Rhinet2, wanted: usize) -> Irregular {
        Self::search("A", Fits::of(data, "A", [2, 9]), wanted)
    }

    /// Graphs that could be B; at most `wanted` of them are chosen.
    pub fn b(data: &Rhinet2, wanted: usize) -> Irregular {
        Self::search("B", Fits::of(data, "B", [1, 8]), wanted)
    }

    fn search(name: &'static str, fits: Fits, wanted: usize) -> Irregular {
        let edges = mesh_edges();
        let mut all = Vec::new();
        extend(&edges, &fits, 0, 0, &mut all);
        let found = all.len();
        let wanted = wanted.min(found);
        let chosen = (0..wanted).map(|at| all[at * found / wanted]).collect();
        Irregular { name, found, chosen, printed_distance: fits.distance }
    }

    /// The network of one of the graphs.
    pub fn network(&self, lost: u32) -> Result<Network, NetworkError> {
        self.network_of(lost, 4)
    }

    /// The network of one of the graphs, with so many hosts at every switch.
    pub(super) fn network_of(&self, lost: u32, hosts: u32) -> Result<Network, NetworkError> {
        let kept = mesh_edges().into_iter().enumerate().filter(|(at, _)| lost >> at & 1 == 0);
        let edges: Vec<(usize, usize)> = kept.map(|(_, edge)| edge).collect();
        shapes::from_edges(self.name, 16, &edges, &fit(hosts))
    }
}

fn mesh_edges() -> Vec<(usize, usize)> {
    let across = (0..16).filter(|v| v % 4 < 3).map(|v| (v, v + 1));
    across.chain((0..12).map(|v| (v, v + 4))).collect()
}

/// Tries to remove further cables, from number `from` on. Removing a cable shortens no path, so a graph whose
/// average distance is already too long need not be followed.
fn extend(edges: &[(usize, usize)], fits: &Fits, lost: u32, from: usize, all: &mut Vec<u32>) {
    let Some((average, ideal)) = measure(edges, lost) else { return };
    if average >= fits.distance + 0.05 {
        return;
    }
    let count = lost.count_ones();
    let near = average >= fits.distance - 0.05 && (ideal - fits.ideal).abs() < 0.004;
    if near && (fits.lost[0]..=fits.lost[1]).contains(&count) {
        all.push(lost);
    }
    if count < fits.lost[1] {
        for next in from..edges.len() {
            extend(edges, fits, lost | 1 << next, next + 1, all);
        }
    }
}

/// Average distance with self pairs, and the bandwidth of complement traffic divided by that over 3 switches
/// by table 8; `None` if the graph is not connected.
fn measure(edges: &[(usize, usize)], lost: u32) -> Option<(f64, f64)> {
    let mut near = [0u16; 16];
    for (at, &(a, b)) in edges.iter().enumerate() {
        if lost >> at & 1 == 0 {
            near[a] |= 1 << b;
            near[b] |= 1 << a;
        }
    }
    let (mut sum, mut rates) = (0, 0.0);
    for start in 0..16 {
        let (mut reached, mut edge, mut hops) = (1u16 << start, 1u16 << start, 0);
        let goal = 1u16 << (15 - start);
        let mut far = 0;
        while edge != 0 {
            let mut next = 0;
            let mut rest = edge;
            while rest != 0 {
                next |= near[rest.trailing_zeros() as usize];
                rest &= rest - 1;
            }
            edge = next & !reached;
            hops += 1;
            reached |= edge;
            sum += hops * edge.count_ones();
            far = if edge & goal != 0 { hops } else { far };
        }
        if reached != u16::MAX {
            return None;
        }
        rates += 1.0 / (8.46 + 0.7 * f64::from(far + 1));
    }
    Some((1.0 + f64::from(sum) / 256.0, rates / 16.0 * (8.46 + 0.7 * 3.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use tasuki_topo::measure::{SelfPairs, distances};

    /// The mesh itself has the published figures: average 3.5 (table 3), and table 9's ideal 148.02 over the
    /// torus's 166.36.
    #[test]
    fn measures_the_mesh() {
        let Some((average, ideal)) = measure(&mesh_edges(), 0) else { panic!("connected") };
        assert_eq!(average, 3.5);
        assert!((ideal - 148.02 / 166.36).abs() < 0.002, "{ideal}");
    }

    /// The chosen graphs have the printed average distance by an independent measure.
    #[test]
    fn what_is_chosen_fits() -> Result<(), NetworkError> {
        let data = Data::built_in().expect("the figures of this build can be read").rhinet2;
        for (irregular, printed) in [(Irregular::a(&data, 20), 4.1), (Irregular::b(&data, 20), 3.6)] {
            assert!(!irregular.chosen.is_empty());
            for &lost in &irregular.chosen {
                let net = irregular.network(lost)?;
                let average =
                    distances(&net).average(SelfPairs::Included).map(|d| (d * 10.0 + 0.5).floor() / 10.0);
                assert_eq!(average, Some(printed), "{lost:x}");
            }
        }
        Ok(())
    }
}
