//! Layers: each (row of entry, destination) keeps one virtual channel all the way; a path goes to the first layer
//! whose channel dependency graph it leaves without circles. And LASH, which is that for one path per pair of
//! switches.

use super::acyclic::{Acyclic, Insert};
use super::fabric::{Class, Dependencies, Fabric, Levels};
use super::{Limits, check_channels};
use crate::error::RouteError;
use crate::network::{ChannelId, HostId};
use crate::tables::{Start, Tables};

/// Layers of paths, each without circles. Paths are lists of numbers of dependencies.
pub(super) struct Layers<'f> {
    fabric: &'f Fabric<'f>,
    index: Dependencies,
    layers: Vec<Layer>,
    /// `[host * rows + row]`; layers beyond the 255th are counted, not stored.
    start: Vec<u8>,
    added: Vec<u32>,
}

struct Layer {
    graph: Acyclic,
    /// By dependency. Dependencies are never taken away but on the spot, so what is known lasts.
    known: Vec<Known>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Nothing,
    Present,
    Refused,
}

impl<'f> Layers<'f> {
    pub fn new(fabric: &'f Fabric<'f>) -> Self {
        let start = vec![0; fabric.routers.len() * fabric.net.hosts().len()];
        let index = Dependencies::new(fabric.net);
        Self { fabric, index, layers: Vec::new(), start, added: Vec::new() }
    }

    /// Number of the next layer, which is opened with it.
    pub fn open(&mut self) -> usize {
        let known = vec![Known::Nothing; self.index.len()];
        self.layers.push(Layer { graph: Acyclic::new(self.fabric.net.channels()), known });
        self.layers.len() - 1
    }

    /// Lays the paths of all entries to one host.
    pub fn lay_all(
        &mut self,
        class: &Class,
        host: HostId,
        tables: &Tables,
        mut laid: impl FnMut(&mut Self, u32, usize),
    ) {
        let mut path = Vec::new();
        for row in entries(self.fabric, class) {
            path_ids(self.fabric, &self.index, class, row, host, tables, &mut path);
            let layer = self.lay(&path);
            laid(self, row, layer);
        }
    }

    /// Remembers the layer of a path.
    pub fn set(&mut self, row: u32, host: HostId, layer: usize) {
        self.start[host.ix() * self.fabric.routers.len() + row as usize] = layer.min(255) as u8;
    }

    /// Gives the paths to a host the layers of those to another.
    pub fn copy(&mut self, from: HostId, to: HostId) {
        let rows = self.fabric.routers.len();
        let begin = from.ix() * rows;
        self.start.copy_within(begin..begin + rows, to.ix() * rows);
    }

    /// Puts a path into the first layer that takes it; an empty layer takes any path that visits no node twice.
    pub fn lay(&mut self, path: &[u32]) -> usize {
        let mut layer = 0;
        while layer == self.layers.len() || !self.fits(layer, path) {
            layer = if layer == self.layers.len() { self.open() } else { layer + 1 };
        }
        layer
    }

    /// Puts a path into a layer if it leaves that without circles.
    pub fn fits(&mut self, layer: usize, path: &[u32]) -> bool {
        let Layer { graph, known } = &mut self.layers[layer];
        if path.iter().any(|&id| known[id as usize] == Known::Refused) {
            return false;
        }
        let pair = |id: u32| {
            let (first, second) = self.index.pair(id as usize);
            (first.0, second.0)
        };
        // What closes a circle by itself is refused for good; what does so only with the rest of the path is not.
        for &id in path.iter().filter(|&&id| known[id as usize] == Known::Nothing) {
            let (first, second) = pair(id);
            if graph.closes(first, second) {
                known[id as usize] = Known::Refused;
                return false;
            }
        }
        self.added.clear();
        for &id in path.iter().filter(|&&id| known[id as usize] == Known::Nothing) {
            let (first, second) = pair(id);
            if graph.insert(first, second) != Insert::Refused {
                self.added.push(id);
                continue;
            }
            for (first, second) in self.added.iter().map(|&id| pair(id)) {
                graph.remove(first, second);
            }
            return false;
        }
        self.added.iter().for_each(|&id| known[id as usize] = Known::Present);
        true
    }

    /// Writes the layers into the tables, unless there are too many.
    pub fn finish(self, name: &'static str, limits: Limits, tables: &mut Tables) -> Result<(), RouteError> {
        tables.set_vcs(check_channels(name, self.layers.len().max(1) as u32, limits)?);
        if self.layers.len() > 1 {
            tables.set_starts(Start::Entry(self.start));
        }
        Ok(())
    }
}

/// The rows where packets to a class enter, except its root.
pub(super) fn entries<'a>(fabric: &'a Fabric, class: &'a Class) -> impl Iterator<Item = u32> + 'a {
    let rows = 0..fabric.routers.len() as u32;
    rows.filter(|&row| row != class.root && fabric.sources[row as usize] > 0)
}

/// The dependencies between forwarding nodes on the path from a row to a host.
pub(super) fn path_ids(
    fabric: &Fabric,
    index: &Dependencies,
    class: &Class,
    row: u32,
    host: HostId,
    tables: &Tables,
    path: &mut Vec<u32>,
) {
    path.clear();
    let mut at = row;
    let mut last: Option<ChannelId> = None;
    while at != class.root {
        let Some(channel) = fabric.next(tables, at, host) else { return };
        if let Some(last) = last.filter(|c| fabric.inner[c.ix()] && fabric.inner[channel.ix()]) {
            path.push(index.id(fabric.net, last, channel) as u32);
        }
        last = Some(channel);
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
    if limits.lossless {
        let mut layers = Layers::new(fabric);
        for class in &fabric.classes {
            layers.lay_all(class, class.hosts[0].0, &tables, |layers, row, layer| {
                class.hosts.iter().for_each(|&(host, _)| layers.set(row, host, layer));
            });
        }
        layers.finish(name, limits, &mut tables)?;
    }
    Ok(tables)
}
