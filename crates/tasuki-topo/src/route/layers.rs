//! Layers: each (row of entry, destination) keeps one virtual channel all the way; a path goes to the first layer
//! whose channel dependency graph it leaves without circles. And LASH, which is that for one path per pair of
//! switches.

use super::Limits;
use super::acyclic::{Acyclic, Insert};
use super::fabric::{Class, Fabric, Levels};
use crate::error::RouteError;
use crate::network::{ChannelId, HostId};
use crate::tables::{Start, Tables};

/// Layers of paths, each without circles.
pub(super) struct Layers {
    graphs: Vec<Acyclic>,
    channels: usize,
    hosts: usize,
    /// `[row * hosts + host]`; layers beyond the 255th are counted, not stored.
    start: Vec<u8>,
    added: Vec<(u32, u32)>,
}

impl Layers {
    pub fn new(fabric: &Fabric) -> Self {
        let hosts = fabric.net.hosts().len();
        let start = vec![0; fabric.routers.len() * hosts];
        let channels = fabric.net.channels();
        Self { graphs: vec![Acyclic::new(channels)], channels, hosts, start, added: Vec::new() }
    }

    /// Number of layers.
    pub fn count(&self) -> u32 {
        self.graphs.len() as u32
    }

    pub fn into_starts(self) -> Start {
        if self.graphs.len() == 1 { Start::Zero } else { Start::Entry(self.start) }
    }

    /// Lays all paths of the tables.
    pub fn assign_all(&mut self, fabric: &Fabric, tables: &Tables) {
        let mut path = Vec::new();
        for class in &fabric.classes {
            for &(host, _) in &class.hosts {
                for row in entries(fabric, class) {
                    inner_path(fabric, class, row, host, tables, &mut path);
                    let layer = self.lay(&path);
                    self.set(row, host, layer);
                }
            }
        }
    }

    fn set(&mut self, row: u32, host: HostId, layer: usize) {
        self.start[row as usize * self.hosts + host.ix()] = layer.min(255) as u8;
    }

    /// Puts a path into the first layer that takes it; an empty layer takes any path that visits no node twice.
    fn lay(&mut self, path: &[ChannelId]) -> usize {
        let mut layer = 0;
        while !self.fits(layer, path) {
            layer += 1;
            if layer == self.graphs.len() {
                self.graphs.push(Acyclic::new(self.channels));
            }
        }
        layer
    }

    fn fits(&mut self, layer: usize, path: &[ChannelId]) -> bool {
        let graph = &mut self.graphs[layer];
        self.added.clear();
        for pair in path.windows(2) {
            match graph.insert(pair[0].0, pair[1].0) {
                Insert::Present => {}
                Insert::Added => self.added.push((pair[0].0, pair[1].0)),
                Insert::Refused => {
                    self.added.iter().for_each(|&(a, b)| graph.remove(a, b));
                    return false;
                }
            }
        }
        true
    }
}

/// The rows where packets to a class enter, except its root.
pub(super) fn entries<'a>(fabric: &'a Fabric, class: &'a Class) -> impl Iterator<Item = u32> + 'a {
    let rows = 0..fabric.routers.len() as u32;
    rows.filter(|&row| row != class.root && fabric.sources[row as usize] > 0)
}

/// The channels between forwarding nodes on the path from a row to a host.
pub(super) fn inner_path(
    fabric: &Fabric,
    class: &Class,
    row: u32,
    host: HostId,
    tables: &Tables,
    path: &mut Vec<ChannelId>,
) {
    path.clear();
    let mut at = row;
    while at != class.root {
        let Some(channel) = fabric.next(tables, at, host) else { return };
        if fabric.inner[channel.ix()] {
            path.push(channel);
        }
        at = fabric.head[channel.ix()];
    }
}

/// LASH: one shortest path per pair of switches, in layers.
pub(super) fn lash(fabric: &Fabric, name: &'static str, limits: Limits) -> Result<Tables, RouteError> {
    let mut tables = fabric.tables(name);
    let mut levels = Levels::default();
    let mut load = vec![0u32; fabric.net.channels()];
    for class in &fabric.classes {
        fabric.levels(class, &mut levels)?;
        fabric.deliver(class, &mut tables);
        for &row in levels.order.iter().skip(1) {
            let best = fabric.nearer(class, &levels, row).min_by_key(|arc| load[arc.channel.ix()]);
            let Some(arc) = best else { continue };
            load[arc.channel.ix()] += 1;
            for &(host, _) in &class.hosts {
                tables.set_port(row as usize, host, Some(fabric.net.out_port(arc.channel)));
            }
        }
    }
    if !limits.lossless {
        return Ok(tables);
    }
    let mut layers = Layers::new(fabric);
    let mut path = Vec::new();
    for class in &fabric.classes {
        for row in entries(fabric, class) {
            inner_path(fabric, class, row, class.hosts[0].0, &tables, &mut path);
            let layer = layers.lay(&path);
            class.hosts.iter().for_each(|&(host, _)| layers.set(row, host, layer));
        }
    }
    layers.finish(name, limits, &mut tables)?;
    Ok(tables)
}
