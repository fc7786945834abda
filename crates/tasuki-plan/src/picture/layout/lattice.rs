//! Relaying hosts that are cabled as a mesh or a torus of two dimensions, found by their cables: a cluster
//! file says nothing of shapes.

use super::{Parts, Point, STEP};
use tasuki_topo::NodeId;

impl Parts<'_> {
    /// Columns and rows of a network without switches, each of whose cables joins neighbours in a row or in a
    /// column, or the two ends of one. Hosts stand row by row in the order of the file.
    fn lattice(&self) -> Option<(usize, usize)> {
        let nodes = self.beside.len();
        if nodes < 9 || self.nodes().any(|node| self.net.host_of(NodeId(node as u32)).is_none()) {
            return None;
        }
        let columns = (3..=nodes / 3).filter(|columns| nodes.is_multiple_of(*columns));
        let found = columns.map(|columns| (columns, nodes / columns)).find(|&(columns, rows)| {
            let place = |node: usize| (node % columns, node / columns);
            let is_step =
                |a: usize, b: usize, size: usize| matches!(a.abs_diff(b), 1) || a.abs_diff(b) == size - 1;
            let is_near = |a: usize, b: usize| {
                let ((x, y), (u, v)) = (place(a), place(b));
                (y == v && is_step(x, u, columns)) || (x == u && is_step(y, v, rows))
            };
            self.nodes().all(|node| self.beside[node].iter().all(|&other| is_near(node, other)))
        });
        // A chain or a ring has this property, too, if it happens to be wound up so; it has too few cables.
        found.filter(|_| self.net.links().len() > nodes)
    }

    /// The places of hosts that are cabled so.
    pub fn wound(&self) -> Option<Vec<Point>> {
        let (columns, _) = self.lattice()?;
        let (wide, high) = (STEP.0 * 1.5, STEP.1 * 1.6);
        let place =
            |node: usize| Point { x: (node % columns) as f64 * wide, y: (node / columns) as f64 * high };
        Some(self.nodes().map(place).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_topo::{
        Network,
        shapes::{self, Fit, PairRing},
    };

    fn found(net: &Network) -> Option<(usize, usize)> {
        Parts::new(net).lattice()
    }

    #[test]
    fn meshes_and_tori_are_found_and_other_cablings_are_not() {
        let relays = Fit::relays();
        let torus = |dims: &[u32]| shapes::torus(dims, PairRing::OneCable, &relays).expect("a torus");
        assert_eq!(found(&torus(&[8, 8])), Some((8, 8)));
        assert_eq!(found(&torus(&[4, 3])), Some((4, 3)));
        assert_eq!(found(&shapes::mesh(&[5, 3], &relays).expect("a mesh")), Some((5, 3)));
        for other in [shapes::ring(12, &relays), shapes::full(9, &relays), shapes::petersen(&relays)] {
            let other = other.expect("a network");
            assert_eq!(found(&other), None, "{}", other.name());
        }
        assert_eq!(found(&torus(&[3, 3, 3])), None);
    }
}
