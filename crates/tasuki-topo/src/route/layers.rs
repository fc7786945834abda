//! Layers of paths: a packet keeps one virtual channel, its layer, all the way. The row of entry and the
//! destination decide on it: a path goes to the first layer whose channel dependency graph stays without
//! circles with that path.

use super::acyclic::{Acyclic, Insert};
use super::fabric::{Class, Dependencies, Fabric};
use super::limits::{Limits, check_channels};
use crate::error::RouteError;
use crate::network::{ChannelId, HostId};
use crate::tables::{Start, Tables};

/// Number of layers whose answers about a dependency are kept as bits of one word. Paths are compared with
/// the further layers one dependency at a time.
const BITS: usize = u64::BITS as usize;

/// Up to this number of dependencies offered to layers, a refused path leaves none of its dependencies in the
/// layer. That saves about one layer in ten, but on larger networks (from some thousand hosts on) it would
/// take most of the time, so that later refused paths leave behind what fitted.
const ATOMIC_INSERTS_MAX: usize = 300_000;

/// Layers of paths, each without circles. Paths are lists of numbers of dependencies.
///
/// All paths to a destination that pass a row go on alike from there. So for each row the layers in which all
/// dependencies of the rest of the path are present, and the layers in which one is refused, follow from
/// those of the next row of the path. A path is compared with a layer dependency by dependency only where
/// this does not decide.
pub(super) struct Layers<'f> {
    fabric: &'f Fabric<'f>,
    index: Dependencies,
    layers: Vec<Acyclic>,
    /// `[dependency]`: the answers of the first `BITS` layers.
    known: Vec<Known>,
    /// `[layer - BITS][dependency]`: the answers of the further layers.
    beyond: Vec<Vec<Answer>>,
    /// `[row]`: the rest of the path from there to the destination at hand.
    rests: Vec<Rest>,
    /// Number of the destination at hand; marks the entries of `rests` that belong to it.
    stamp: u32,
    /// `[host * rows + row]`: the layer of the path. Layers beyond the 255th are counted, not stored.
    start: Vec<u8>,
    /// Number of dependencies offered to layers so far.
    offered: usize,
    /// Kept between calls for its memory: the dependencies of a path that are new to a layer.
    new: Vec<u32>,
    /// Kept between calls for its memory: the dependencies of a path.
    path: Vec<u32>,
    /// Kept between calls for its memory: the rows of a path.
    rows: Vec<u32>,
}

/// What is known of a dependency, or of all dependencies of a path: bit `l` of `present` is set if layer `l`
/// has it, bit `l` of `refused` if it would close a circle in layer `l`. A dependency that has become part of
/// a layer stays in it, so that these answers stay valid.
#[derive(Clone, Copy)]
struct Known {
    present: u64,
    refused: u64,
}

/// The rest of a path from a row to the destination that the stamp numbers.
#[derive(Clone, Copy)]
struct Rest {
    stamp: u32,
    channel: ChannelId,
    known: Known,
}

/// What a layer says to a dependency.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// The layer has not met it yet.
    Unknown,
    /// The layer has it.
    Present,
    /// It would close a circle.
    Refused,
}

/// The rest of a path from its last row: nothing, which every layer has.
const NO_REST: Rest =
    Rest { stamp: 0, channel: ChannelId(u32::MAX), known: Known { present: u64::MAX, refused: 0 } };

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
            rests: vec![NO_REST; fabric.routers.len()],
            stamp: 0,
            start,
            offered: 0,
            new: Vec::new(),
            path: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Opens a layer with the given dependencies and returns its number; `None` if they close a circle.
    pub fn open_with(&mut self, present: impl Iterator<Item = u32> + Clone) -> Option<usize> {
        let index = &self.index;
        let pairs = present.clone().map(|id| index.pair(id as usize)).map(|(a, b)| (a.0, b.0));
        self.layers.push(Acyclic::of(self.fabric.net.channels(), pairs)?);
        let layer = self.layers.len() - 1;
        if layer >= BITS {
            self.beyond.push(vec![Answer::Unknown; self.index.len()]);
        }
        present.for_each(|id| self.learn(layer, id, Answer::Present));
        Some(layer)
    }

    /// The layer of the path that the tables give from a row to a host.
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
            _ => Answer::Unknown,
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
            Answer::Unknown => {}
        }
    }

    /// Finds a layer for the path to one host from every row where packets enter, if `wanted` says so of the
    /// row, and tells `laid` the row and the number of the layer.
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

    /// What is known of all dependencies on the path from a row. Answers that layers have given since this
    /// was first worked out for the present destination may be missing.
    fn along(&mut self, class: &Class, row: u32, column: &[u16]) -> Known {
        let fabric = self.fabric;
        self.rows.clear();
        let mut at = row;
        while at != class.root && self.rests[at as usize].stamp != self.stamp {
            let Some(channel) = fabric.next_in(column, at) else { break };
            (self.rests[at as usize].stamp, self.rests[at as usize].channel) = (self.stamp, channel);
            self.rows.push(at);
            at = fabric.head[channel.ix()];
        }
        let ahead = self.rests[at as usize];
        let ahead = if at != class.root && ahead.stamp == self.stamp { ahead } else { NO_REST };
        let (mut known, mut next) = (ahead.known, Some(ahead.channel).filter(|c| *c != NO_REST.channel));
        while let Some(row) = self.rows.pop() {
            let channel = self.rests[row as usize].channel;
            if next.is_some_and(|next| fabric.inner[channel.ix()] && fabric.inner[next.ix()]) {
                let own = self.known[self.index.by_port(channel, column[at as usize])];
                known.present &= own.present;
                known.refused |= own.refused;
            }
            self.rests[row as usize].known = known;
            (at, next) = (row, Some(channel));
        }
        known
    }

    /// Stores the layer of the path from a row to a host.
    pub fn set(&mut self, row: u32, host: HostId, layer: usize) {
        self.start[host.ix() * self.fabric.routers.len() + row as usize] = layer.min(255) as u8;
    }

    /// Gives the paths to the host `to` the layers of the paths to the host `from`.
    pub fn copy(&mut self, from: HostId, to: HostId) {
        let rows = self.fabric.routers.len();
        let begin = from.ix() * rows;
        self.start.copy_within(begin..begin + rows, to.ix() * rows);
    }

    /// Puts the path from a row into the first layer from `first` on that takes it; an empty layer takes any
    /// path that visits no node twice.
    fn lay(&mut self, class: &Class, row: u32, column: &[u16], first: usize) -> usize {
        let mut path = std::mem::take(&mut self.path);
        path_ids(self.fabric, &self.index, class, row, column, &mut path);
        let mut layer = first.min(self.layers.len());
        loop {
            if layer == self.layers.len() {
                // A layer without dependencies has no circle, so that it always opens.
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

    /// Puts a path into a layer if the layer stays without circles; says whether it did.
    fn fits(&mut self, layer: usize, path: &[u32]) -> bool {
        if path.iter().any(|&id| self.answer(layer, id) == Answer::Refused) {
            return false;
        }
        let mut new = std::mem::take(&mut self.new);
        new.clear();
        new.extend(path.iter().filter(|&&id| self.answer(layer, id) == Answer::Unknown));
        self.offered += new.len();
        let fits = match self.offered > ATOMIC_INSERTS_MAX {
            false => self.enter_all(layer, &new),
            true => new.iter().all(|&id| self.enter(layer, id)),
        };
        self.new = new;
        fits
    }

    /// Enters dependencies that are new to a layer, all or none.
    fn enter_all(&mut self, layer: usize, new: &[u32]) -> bool {
        // A dependency that closes a circle by itself is refused for good; one that closes a circle only
        // together with the rest of this path may fit as part of another path.
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

    /// Enters a dependency that is new to a layer. It stays even if the rest of its path is refused, so that
    /// every dependency is offered to a layer once, however many paths there are.
    fn enter(&mut self, layer: usize, id: u32) -> bool {
        let (first, second) = self.index.pair(id as usize);
        let fits = self.layers[layer].insert(first.0, second.0) != Insert::Refused;
        self.learn(layer, id, if fits { Answer::Present } else { Answer::Refused });
        fits
    }

    /// Writes the layers into the tables; fails if there are more than the limits allow.
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
