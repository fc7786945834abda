//! Dimension order on meshes, tori, rings and hypercubes (Dally and Seitz 1987): one dimension after the
//! other, and in each in the shorter direction. Where rings close, the cable between the highest coordinate
//! and 0 is the dateline: beyond it the second virtual channel is used.

use super::fabric::{Fabric, Levels};
use super::limits::{Limits, check_channels};
use crate::error::RouteError;
use crate::network::{ChannelId, Direction, Grid, NodeId, Port};
use crate::tables::{Tables, TurnRule};

pub(super) fn route(fabric: &Fabric, name: &'static str, limits: Limits) -> Result<Tables, RouteError> {
    let no_grid = || RouteError::NotAGrid { network: fabric.net.name().to_owned() };
    let grid = fabric.net.grid().ok_or_else(no_grid)?;
    let mut tables = fabric.tables(name);
    let mut levels = Levels::default();
    for class in &fabric.classes {
        fabric.levels(class, &mut levels)?;
        fabric.deliver(class, &mut tables);
        let goal = fabric.routers[class.root as usize].ix();
        for row in (0..fabric.routers.len() as u32).filter(|&row| row != class.root) {
            let at = fabric.routers[row as usize].ix();
            if at >= grid.vertices() || goal >= grid.vertices() {
                return Err(no_grid());
            }
            let port = step(fabric, grid, at, goal)?;
            class.hosts.iter().for_each(|&(host, _)| tables.set_port(row as usize, host, Some(port)));
        }
    }
    // In a ring of three every path is one cable long, so that no channel of it ever waits for another.
    let rings = grid.wraps && grid.dims.iter().any(|&size| size > 3);
    if limits.lossless && rings {
        tables.set_vcs(check_channels(name, 2, limits)?);
        for class_row in 0..fabric.routers.len() {
            dateline_turns(fabric, grid, class_row, &mut tables);
        }
    }
    Ok(tables)
}

/// The port that leads one step from vertex `at` to vertex `goal`.
fn step(fabric: &Fabric, grid: &Grid, at: usize, goal: usize) -> Result<Port, RouteError> {
    let differs = |&dim: &usize| grid.coordinate(at, dim) != grid.coordinate(goal, dim);
    let dim = (0..grid.dims.len()).find(differs).unwrap_or(0);
    let (here, there, size) = (grid.coordinate(at, dim), grid.coordinate(goal, dim), grid.dims[dim]);
    let direction = direction(here, there, size, grid.wraps);
    let node = NodeId(at as u32);
    let port = grid.port(at, dim, direction).filter(|&port| fabric.net.channel_at(node, port).is_some());
    port.ok_or_else(|| RouteError::GridCableMissing {
        from: fabric.net.label(node).to_owned(),
        dimension: dim,
        direction: if direction == Direction::Up { "up" } else { "down" },
    })
}

/// The shorter direction from coordinate `here` to `there`; of two equally long ones, even coordinates go up
/// and odd ones down, to share the load.
fn direction(here: u32, there: u32, size: u32, wraps: bool) -> Direction {
    let straight = if there > here { Direction::Up } else { Direction::Down };
    if !wraps || size <= 2 {
        return straight;
    }
    let up = (there + size - here) % size;
    match up.cmp(&(size - up)) {
        std::cmp::Ordering::Less => Direction::Up,
        std::cmp::Ordering::Greater => Direction::Down,
        std::cmp::Ordering::Equal if here.is_multiple_of(2) => Direction::Up,
        std::cmp::Ordering::Equal => Direction::Down,
    }
}

/// The dimension of a channel of the grid, and whether it crosses the dateline.
fn place(fabric: &Fabric, grid: &Grid, channel: ChannelId) -> Option<(usize, bool)> {
    let (from, to) = (fabric.net.from(channel).ix(), fabric.net.to(channel).ix());
    if from >= grid.vertices() || to >= grid.vertices() {
        return None;
    }
    let dim = (0..grid.dims.len()).find(|&dim| grid.coordinate(from, dim) != grid.coordinate(to, dim))?;
    let (a, b) = (grid.coordinate(from, dim), grid.coordinate(to, dim));
    Some((dim, a.abs_diff(b) > 1))
}

/// Sets the turns of a row: in a new dimension packets begin on virtual channel 0, behind the dateline they
/// continue on 1.
fn dateline_turns(fabric: &Fabric, grid: &Grid, row: usize, tables: &mut Tables) {
    let net = fabric.net;
    let ports = net.ports(fabric.routers[row]);
    for first in &fabric.into[row] {
        for second in &fabric.out[row] {
            let places = (place(fabric, grid, first.channel), place(fabric, grid, second.channel));
            let (Some((dim_in, crossed)), Some((dim_out, _))) = places else { continue };
            let rule = match (dim_in == dim_out, crossed) {
                (false, _) => TurnRule::Set(0),
                (true, true) => TurnRule::Set(1),
                (true, false) => continue,
            };
            let (a, b) = (net.in_port(first.channel), net.out_port(second.channel));
            tables.set_turn(row, ports, a, b, rule);
        }
    }
}
