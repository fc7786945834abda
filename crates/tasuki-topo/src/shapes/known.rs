//! Moore graphs: the largest graphs of diameter 2 that their degree allows, with parameters known by proof.

use super::{Fit, from_edges};
use crate::error::NetworkError;
use crate::network::Network;

/// The Petersen graph: 10 vertices, degree 3, diameter 2, girth 5.
pub fn petersen(fit: &Fit) -> Result<Network, NetworkError> {
    let edges: Vec<_> =
        (0..5).flat_map(|i| [(i, (i + 1) % 5), (i, i + 5), (i + 5, (i + 2) % 5 + 5)]).collect();
    from_edges("Petersen graph", 10, &edges, fit)
}

/// The Hoffman-Singleton graph: 50 vertices, degree 7, diameter 2, girth 5; by Robertson's construction from
/// five pentagons and five pentagrams: vertex `j` of pentagon `h` meets vertex `h * i + j` of pentagram `i`.
pub fn hoffman_singleton(fit: &Fit) -> Result<Network, NetworkError> {
    let (pentagon, pentagram) = (|h: usize, j: usize| h * 5 + j % 5, |i: usize, j: usize| 25 + i * 5 + j % 5);
    let mut edges = Vec::new();
    for h in 0..5 {
        for j in 0..5 {
            edges.push((pentagon(h, j), pentagon(h, j + 1)));
            edges.push((pentagram(h, j), pentagram(h, j + 2)));
            edges.extend((0..5).map(|i| (pentagon(h, j), pentagram(i, h * i + j))));
        }
    }
    from_edges("Hoffman-Singleton graph", 50, &edges, fit)
}
