//! Meshes, tori, rings and hypercubes: everything that has coordinates.

use super::{Fit, problem, product};
use crate::builder::NetworkBuilder;
use crate::error::NetworkError;
use crate::network::{Direction, Grid, Network, NodeId, Port};

/// How a torus closes a dimension of size 2, where "next" and "previous" are the same neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairRing {
    /// One cable, as in the hypercube.
    OneCable,
    /// Two parallel cables, so that every vertex has 2n cables as in Dally's k-ary n-cube with k > 2.
    TwoCables,
}

/// An n-dimensional mesh. Port `2i` leads up dimension `i`, port `2i + 1` down; border ports stay empty.
pub fn mesh(dims: &[u32], fit: &Fit) -> Result<Network, NetworkError> {
    grid(format!("mesh {}", sizes(dims)), dims, false, PairRing::OneCable, fit)
}

/// An n-dimensional torus. Ports as in [`mesh()`].
pub fn torus(dims: &[u32], pairs: PairRing, fit: &Fit) -> Result<Network, NetworkError> {
    grid(format!("torus {}", sizes(dims)), dims, true, pairs, fit)
}

/// A ring of `n` >= 3 vertices.
pub fn ring(n: u32, fit: &Fit) -> Result<Network, NetworkError> {
    if n < 3 {
        return Err(problem(format!("ring {n}"), "a ring has at least 3 vertices"));
    }
    grid(format!("ring {n}"), &[n], true, PairRing::OneCable, fit)
}

/// A hypercube of `2^dimensions` vertices; port `i` leads along dimension `i`.
pub fn hypercube(dimensions: u32, fit: &Fit) -> Result<Network, NetworkError> {
    let name = format!("hypercube {dimensions}");
    if dimensions == 0 || dimensions > 20 {
        return Err(problem(name, "between 1 and 20 dimensions"));
    }
    grid(name, &vec![2; dimensions as usize], false, PairRing::OneCable, fit)
}

fn sizes(dims: &[u32]) -> String {
    dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x")
}

fn grid(
    name: String,
    dims: &[u32],
    wraps: bool,
    pairs: PairRing,
    fit: &Fit,
) -> Result<Network, NetworkError> {
    let vertices = product(&name, dims)?;
    if dims.len() > 20 {
        return Err(problem(name, "at most 20 dimensions"));
    }
    let mut builder = NetworkBuilder::new(name);
    let ids: Vec<NodeId> = (0..vertices).map(|v| fit.vertex(&mut builder, v)).collect();
    let ports = vec![None; vertices * dims.len() * 2];
    let mut grid = Grid { dims: dims.to_vec(), wraps, ports };
    let bases = port_bases(dims, wraps && pairs == PairRing::TwoCables);
    let mut stride = 1;
    for (dim, &size) in dims.iter().enumerate() {
        for v in 0..vertices {
            let at = grid.coordinate(v, dim);
            if at + 1 < size {
                cable(&mut builder, &mut grid, &ids, (v, v + stride), dim, &bases, fit.fabric_bps);
            } else if wraps && (size > 2 || (size == 2 && pairs == PairRing::TwoCables)) {
                let first = v - at as usize * stride;
                cable(&mut builder, &mut grid, &ids, (v, first), dim, &bases, fit.fabric_bps);
            }
        }
        stride *= size as usize;
    }
    let mut next = 0;
    for &vertex in &ids {
        fit.hosts(&mut builder, vertex, &mut next)?;
    }
    builder.set_grid(grid);
    builder.build()
}

/// First port of every dimension, and whether the dimension has one port per vertex instead of two.
fn port_bases(dims: &[u32], paired: bool) -> Vec<(u16, bool)> {
    let mut next = 0;
    let base = dims.iter().map(|&size| {
        let single = size <= 2 && !paired;
        let base = next;
        next += if single { 1 } else { 2 };
        (base, single)
    });
    base.collect()
}

/// Adds the cable that leads from `a` up dimension `dim` to `b`.
fn cable(
    builder: &mut NetworkBuilder,
    grid: &mut Grid,
    ids: &[NodeId],
    (a, b): (usize, usize),
    dim: usize,
    bases: &[(u16, bool)],
    rate_bps: u64,
) {
    let (base, single) = bases[dim];
    let up = Port(base);
    let down = Port(if single { base } else { base + 1 });
    builder.cable_at((ids[a], up), (ids[b], down), rate_bps);
    let mut set = |vertex: usize, direction: Direction, port: Port| {
        let side = usize::from(direction == Direction::Down);
        grid.ports[(vertex * bases.len() + dim) * 2 + side] = Some(port);
    };
    set(a, Direction::Up, up);
    set(b, Direction::Down, down);
}
