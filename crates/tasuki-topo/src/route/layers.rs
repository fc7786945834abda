//! Layers: each (row of entry, destination) keeps one virtual channel all the way; a path goes to the first layer
//! whose channel dependency graph it leaves without circles. And LASH, which is that for one path per pair of
//! switches.

use super::acyclic::{Acyclic, Insert};
use super::fabric::{Class, Dependencies, Fabric, Levels};
use super::{Limits, check_channels};
use crate::error::RouteError;
use crate::network::{ChannelId, HostId};
use crate::tables::{Start, Tables};

/// Layers that are known of a dependency as bits; what is beyond them is looked at path by path.
const BITS: usize = u64::BITS as usize;

/// Dependencies that layers are asked about with care: of a path that is refused none stays behind. On larger networks
/// (from some thousand hosts on) that would take most of the time; it saves about one layer in ten.
const PATIENCE: usize = 300_000;

/// Layers of paths, each without circles. Paths are lists of numbers of dependencies.
///
/// What a path asks of a layer it asks with all paths that go on like it. So for each row on the way to a destination the
/// layers in which all dependencies are present, and those in which one is refused, are found from those of the row that
/// it sends to; a path is looked at by itself only where that does not decide.
pub(super) struct Layers<'f> {
    fabric: &'f Fabric<'f>,
    index: Dependencies,
    layers: Vec<Acyclic>,
    /// By dependency.
    known: Vec<Known>,
    /// By layer beyond `BITS`, by dependency.
    beyond: Vec<Vec<Answer>>,
    /// By row.
    ways: Vec<Way>,
    stamp: u32,
    /// `[host * rows + row]`; layers beyond the 255th are counted, not stored.
    start: Vec<u8>,
    /// Dependencies that layers were asked about.
    asked: usize,
    new: Vec<u32>,
    path: Vec<u32>,
    rows: Vec<u32>,
}

/// What is known of a dependency, or of all on a path: the layers that have it, and those that it would close a circle in.
/// Dependencies are never taken away but on the spot, so what is known lasts.
#[derive(Clone, Copy)]
struct Known {
    present: u64,
    refused: u64,
}

/// The way from a row to the destination of the stamp.
#[derive(Clone, Copy)]
struct Way {
    stamp: u32,
    channel: ChannelId,
    known: Known,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Nothing,
    Present,
    Refused,
}

const NO_WAY: Way =
    Way { stamp: 0, channel: ChannelId(u32::MAX), known: Known { present: u64::MAX, refused: 0 } };

impl<'f> Layers<'f> {
    pub fn new(fabric: &'f Fabric<'f>) -> Self {
        let start = vec![0; fabric.routers.len() * fabric.net.hosts().len()];
        let index = Dependencies::new(fabric.net);
        Self {
            fabric,
            known: vec![Known { present: 0, refused: 0 }; index.len()],
            index,
            layers: Vec::new(),
            beyond: Vec::new(),
            ways: vec![NO_WAY; fabric.routers.len()],
            stamp: 0,
            start,
            asked: 0,
            new: Vec::new(),
            path: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// A layer with the given dependencies, which close no circle; `None` if they do.
    pub fn open_with(&mut self, present: impl Iterator<Item = u32> + Clone) -> Option<usize> {
        let index = &self.index;
        let pairs = present.clone().map(|id| index.pair(id as usize)).map(|(a, b)| (a.0, b.0));
        self.layers.push(Acyclic::of(self.fabric.net.channels(), pairs)?);
        let layer = self.layers.len() - 1;
        if layer >= BITS {
            self.beyond.push(vec![Answer::Nothing; self.index.len()]);
        }
        present.for_each(|id| self.learn(layer, id, Answer::Present));
        Some(layer)
    }

    /// The layer of the path from a row to a host, by the tables.
    pub fn layer(&self, row: u32, host: HostId) -> u8 {
        self.start[host.ix() * self.fabric.routers.len() + row as usize]
    }

    fn answer(&self, layer: usize, id: u32) -> Answer {
        if layer >= BITS {
            return self.beyond[layer - BITS][id as usize];
        }
        let Known { present, refused } = self.known[id as usize];
        match ((present >> layer) & 1, (refused >> layer) & 1) {
            (1, _) => Answer::Present,
            (_, 1) => Answer::Refused,
            _ => Answer::Nothing,
        }
    }

    fn learn(&mut self, layer: usize, id: u32, answer: Answer) {
        if layer >= BITS {
            self.beyond[layer - BITS][id as usize] = answer;
            return;
        }
        let Known { present, refused } = &mut self.known[id as usize];
        match answer {
            Answer::Present => *present |= 1 << layer,
            Answer::Refused => *refused |= 1 << layer,
            Answer::Nothing => {}
        }
    }

    /// Lays the paths of all entries to one host that `wanted` says.
    pub fn lay_all(
        &mut self,
        class: &Class,
        host: HostId,
        tables: &Tables,
        wanted: impl Fn(&Self, u32) -> bool,
        mut laid: impl FnMut(&mut Self, u32, usize),
    ) {
        let column = tables.column(host);
        self.stamp += 1;
        for row in 0..self.fabric.routers.len() as u32 {
            if row == class.root || self.fabric.sources[row as usize] == 0 || !wanted(self, row) {
                continue;
            }
            let Known { present, refused } = self.along(class, row, column);
            let first = refused.trailing_ones() as usize;
            let layer = if first < self.layers.len().min(BITS) && (present >> first) & 1 == 1 {
                first
            } else {
                self.lay(class, row, column, first)
            };
            laid(self, row, layer);
        }
    }

    /// What is known of all dependencies on the way from a row; what was learnt since the first packet asked may be missing.
    fn along(&mut self, class: &Class, row: u32, column: &[u16]) -> Known {
        let fabric = self.fabric;
        self.rows.clear();
        let mut at = row;
        while at != class.root && self.ways[at as usize].stamp != self.stamp {
            let Some(channel) = fabric.next_in(column, at) else { break };
            (self.ways[at as usize].stamp, self.ways[at as usize].channel) = (self.stamp, channel);
            self.rows.push(at);
            at = fabric.head[channel.ix()];
        }
        let ahead = self.ways[at as usize];
        let ahead = if at != class.root && ahead.stamp == self.stamp { ahead } else { NO_WAY };
        let (mut known, mut next) = (ahead.known, Some(ahead.channel).filter(|c| *c != NO_WAY.channel));
        while let Some(row) = self.rows.pop() {
            let channel = self.ways[row as usize].channel;
            if next.is_some_and(|next| fabric.inner[channel.ix()] && fabric.inner[next.ix()]) {
                let own = self.known[self.index.by_port(channel, column[at as usize])];
                known.present &= own.present;
                known.refused |= own.refused;
            }
            self.ways[row as usize].known = known;
            (at, next) = (row, Some(channel));
        }
        known
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

    /// Puts the path from a row into the first layer from `first` on that takes it; an empty layer takes any path that
    /// visits no node twice.
    fn lay(&mut self, class: &Class, row: u32, column: &[u16], first: usize) -> usize {
        let mut path = std::mem::take(&mut self.path);
        path_ids(self.fabric, &self.index, class, row, column, &mut path);
        let mut layer = first.min(self.layers.len());
        loop {
            if layer == self.layers.len() {
                // Without dependencies there is no circle.
                self.open_with(std::iter::empty());
            }
            if self.fits(layer, &path) {
                break;
            }
            layer += 1;
        }
        self.path = path;
        layer
    }

    /// Puts a path into a layer if it leaves that without circles.
    fn fits(&mut self, layer: usize, path: &[u32]) -> bool {
        if path.iter().any(|&id| self.answer(layer, id) == Answer::Refused) {
            return false;
        }
        let mut new = std::mem::take(&mut self.new);
        new.clear();
        new.extend(path.iter().filter(|&&id| self.answer(layer, id) == Answer::Nothing));
        self.asked += new.len();
        let fits = match self.asked > PATIENCE {
            false => self.enter_all(layer, &new),
            true => new.iter().all(|&id| self.enter(layer, id)),
        };
        self.new = new;
        fits
    }

    /// Enters dependencies that are new to a layer, all or none.
    fn enter_all(&mut self, layer: usize, new: &[u32]) -> bool {
        // What closes a circle by itself is refused for good; what does so only with the rest of the path is not.
        for &id in new {
            let (first, second) = self.index.pair(id as usize);
            if self.layers[layer].closes(first.0, second.0) {
                self.learn(layer, id, Answer::Refused);
                return false;
            }
        }
        for (number, &id) in new.iter().enumerate() {
            let (first, second) = self.index.pair(id as usize);
            if self.layers[layer].insert(first.0, second.0) == Insert::Refused {
                for &id in &new[..number] {
                    let (first, second) = self.index.pair(id as usize);
                    self.layers[layer].remove(first.0, second.0);
                }
                return false;
            }
        }
        new.iter().for_each(|&id| self.learn(layer, id, Answer::Present));
        true
    }

    /// Enters a dependency that is new to a layer; it stays, whatever becomes of the rest of its path. So every dependency
    /// is asked for once per layer, however many paths there are.
    fn enter(&mut self, layer: usize, id: u32) -> bool {
        let (first, second) = self.index.pair(id as usize);
        let fits = self.layers[layer].insert(first.0, second.0) != Insert::Refused;
        self.learn(layer, id, if fits { Answer::Present } else { Answer::Refused });
        fits
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

/// The dependencies between forwarding nodes on the path from a row to the host of a column.
fn path_ids(
    fabric: &Fabric,
    index: &Dependencies,
    class: &Class,
    row: u32,
    column: &[u16],
    path: &mut Vec<u32>,
) {
    path.clear();
    let (mut at, mut last) = (row, None);
    while at != class.root {
        let Some(channel) = fabric.next_in(column, at) else { return };
        if let Some(last) = last.filter(|c: &ChannelId| fabric.inner[c.ix()] && fabric.inner[channel.ix()]) {
            path.push(index.by_port(last, column[at as usize]) as u32);
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
            layers.lay_all(
                class,
                class.hosts[0].0,
                &tables,
                |_, _| true,
                |layers, row, layer| {
                    class.hosts.iter().for_each(|&(host, _)| layers.set(row, host, layer));
                },
            );
        }
        layers.finish(name, limits, &mut tables)?;
    }
    Ok(tables)
}
