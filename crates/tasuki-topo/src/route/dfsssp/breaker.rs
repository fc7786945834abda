//! Breaks circles layer by layer. Paths are not stored: which paths use a dependency follows from the tables,
//! in which the paths to a destination form a tree; only their number is kept.

use crate::error::RouteError;
use crate::network::{ChannelId, HostId};
use crate::route::fabric::{Arc, Class, Dependencies, Fabric, Levels};
use crate::route::layers::Layers;
use crate::tables::Tables;

/// How far the depth-first search has come with a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    /// Not met yet.
    White,
    /// On the trail from the root of the search.
    Grey,
    /// Finished: no circle passes it.
    Black,
}

/// A row whose packets to a destination pass a certain other row.
#[derive(Clone, Copy)]
struct Behind {
    row: u32,
    /// The row that it sends to, as an index of [`Breaker::behind`].
    ahead: u32,
    /// Number of paths that move to the next layer: its own, and those of all rows behind it.
    paths: u32,
}

pub(super) struct Breaker<'a> {
    fabric: &'a Fabric<'a>,
    tables: &'a Tables,
    index: Dependencies,
    /// `[host]`: the root of its class.
    root: Vec<u32>,
    /// `[channel]`: the port that it leaves by.
    port: Vec<u16>,
    /// `[row * hosts + host]`: the tables, transposed so that all destinations of a row are next to each
    /// other.
    by_row: Vec<u16>,
    /// The layer whose circles are broken.
    layer: u8,
    /// `[dependency]`: number of paths of this layer that use it.
    count: Vec<u32>,
    /// `[dependency]`: number of paths that use it and have moved to the next layer.
    moved: Vec<u32>,
    /// Number of paths with dependencies in this layer.
    here: u64,
    /// Number of paths with dependencies that have moved to the next layer.
    next: u64,
    behind: Vec<Behind>,
    /// Channels from the root of the search to the present one, each with the next arc to look at.
    trail: Vec<(ChannelId, usize)>,
    colour: Vec<Colour>,
}

impl<'a> Breaker<'a> {
    /// Begins with all paths in layer 0.
    pub fn new(fabric: &'a Fabric<'a>, tables: &'a Tables) -> Result<Self, RouteError> {
        let channels = || (0..fabric.net.channels() as u32).map(ChannelId);
        let (rows, hosts) = (tables.rows(), tables.hosts());
        let mut by_row = vec![Tables::NO_PORT; rows * hosts];
        for host in 0..hosts {
            for (row, &port) in tables.column(HostId(host as u32)).iter().enumerate() {
                by_row[row * hosts + host] = port;
            }
        }
        let mut root = vec![0; hosts];
        for class in &fabric.classes {
            class.hosts.iter().for_each(|(host, _)| root[host.ix()] = class.root);
        }
        let index = Dependencies::new(fabric.net);
        let mut breaker = Self {
            fabric,
            tables,
            count: vec![0; index.len()],
            moved: vec![0; index.len()],
            index,
            root,
            port: channels().map(|channel| fabric.net.out_port(channel).0).collect(),
            by_row,
            layer: 0,
            here: 0,
            next: 0,
            behind: Vec::new(),
            trail: Vec::new(),
            colour: Vec::new(),
        };
        breaker.count_all()?;
        Ok(breaker)
    }

    /// Number of paths with dependencies in this layer.
    pub fn paths(&self) -> u64 {
        self.here
    }

    /// The layer whose circles are broken.
    pub fn layer(&self) -> u8 {
        self.layer
    }

    /// The dependencies that paths of this layer use.
    pub fn dependencies(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        let used = |&id: &u32| self.count[id as usize] > 0;
        (0..self.count.len() as u32).filter(used)
    }

    /// Makes the next layer the one whose circles are broken: that of the paths which have moved.
    pub fn next_layer(&mut self) {
        std::mem::swap(&mut self.count, &mut self.moved);
        self.moved.fill(0);
        (self.here, self.next) = (self.next, 0);
        self.layer = self.layer.saturating_add(1);
    }

    fn count_all(&mut self) -> Result<(), RouteError> {
        let fabric = self.fabric;
        let mut levels = Levels::default();
        let mut through = vec![0u32; fabric.routers.len()];
        let mut depends = vec![false; fabric.routers.len()];
        for class in &fabric.classes {
            fabric.levels(class, &mut levels)?;
            for &(host, _) in &class.hosts {
                self.count_tree(class, host, &levels, &mut through, &mut depends);
            }
        }
        Ok(())
    }

    /// Counts the paths to one host. `through[row]` is for the number of paths that pass the row,
    /// `depends[row]` for whether its own path has a dependency.
    fn count_tree(
        &mut self,
        class: &Class,
        host: HostId,
        levels: &Levels,
        through: &mut [u32],
        depends: &mut [bool],
    ) {
        let column = self.tables.column(host);
        for (through, &sources) in through.iter_mut().zip(&self.fabric.sources) {
            *through = u32::from(sources > 0);
        }
        for &row in levels.order.iter().skip(1).rev() {
            let Some(channel) = self.fabric.next_in(column, row) else { continue };
            let head = self.fabric.head[channel.ix()];
            if head != class.root {
                through[head as usize] += through[row as usize];
                if let Some(id) = self.dependency(column, channel) {
                    self.count[id] += through[row as usize];
                }
            }
        }
        depends[class.root as usize] = false;
        for &row in levels.order.iter().skip(1) {
            let Some(channel) = self.fabric.next_in(column, row) else { continue };
            let head = self.fabric.head[channel.ix()];
            let own = head != class.root && self.dependency(column, channel).is_some();
            depends[row as usize] = own || depends[head as usize];
            self.here += u64::from(depends[row as usize] && self.fabric.sources[row as usize] > 0);
        }
    }

    /// Number of the dependency of a channel on the next one of the path to a column's destination, if both
    /// channels join forwarding nodes.
    fn dependency(&self, column: &[u16], channel: ChannelId) -> Option<usize> {
        let head = self.fabric.head[channel.ix()];
        let next = self.fabric.next_in(column, head)?;
        let inner = self.fabric.inner[channel.ix()] && self.fabric.inner[next.ix()];
        inner.then(|| self.index.by_port(channel, column[head as usize]))
    }

    /// Breaks all circles of the layer by a depth-first search: whenever it meets a circle, this is broken,
    /// and the search goes on from where the broken edge began. Finished channels stay finished, as removing
    /// edges makes no circle.
    pub fn break_circles(&mut self, layers: &mut Layers) {
        let fabric = self.fabric;
        self.colour = vec![Colour::White; fabric.net.channels()];
        for root in (0..fabric.net.channels() as u32).map(ChannelId) {
            if self.colour[root.ix()] != Colour::White || !fabric.inner[root.ix()] {
                continue;
            }
            self.trail.push((root, 0));
            self.colour[root.ix()] = Colour::Grey;
            while let Some((channel, port)) = self.trail.last_mut() {
                let channel = *channel;
                let head = fabric.head[channel.ix()] as usize;
                let Some(arc) = fabric.out[head].get(*port) else {
                    self.colour[channel.ix()] = Colour::Black;
                    self.trail.pop();
                    continue;
                };
                *port += 1;
                let next = arc.channel;
                if self.count[self.index.by_port(channel, self.port[next.ix()])] == 0 {
                    continue;
                }
                match self.colour[next.ix()] {
                    Colour::Black => {}
                    Colour::White => {
                        self.colour[next.ix()] = Colour::Grey;
                        self.trail.push((next, 0));
                    }
                    Colour::Grey => self.break_circle(next, layers),
                }
            }
        }
    }

    /// Breaks the circle that the last channel of the trail closes with `target`, then shortens the trail to
    /// the part whose edges all still exist.
    fn break_circle(&mut self, target: ChannelId, layers: &mut Layers) {
        let begin = self.trail.iter().position(|&(c, _)| c == target).unwrap_or(0);
        let edge = |i: usize| {
            let next = self.trail.get(i + 1).map_or(target, |&(c, _)| c);
            self.index.by_port(self.trail[i].0, self.port[next.ix()])
        };
        let weakest = (begin..self.trail.len()).map(edge).min_by_key(|&id| self.count[id]);
        if let Some(weakest) = weakest {
            self.move_users(weakest, layers);
        }
        let edge = |i: usize| self.index.by_port(self.trail[i].0, self.port[self.trail[i + 1].0.ix()]);
        let broken = |i: &usize| self.count[edge(*i)] == 0;
        if let Some(keep) = (0..self.trail.len() - 1).find(broken) {
            self.trail[keep + 1..].iter().for_each(|&(c, _)| self.colour[c.ix()] = Colour::White);
            self.trail.truncate(keep + 1);
        }
    }

    /// Moves all paths over a dependency to the next layer.
    fn move_users(&mut self, id: usize, layers: &mut Layers) {
        let (first, second) = self.index.pair(id);
        let [tail, head] = [first.reverse(), first].map(|c| self.fabric.head[c.ix()] as usize);
        let [port, on] = [first, second].map(|c| self.port[c.ix()]);
        let hosts = self.tables.hosts();
        for host in 0..hosts {
            if self.by_row[tail * hosts + host] == port && self.by_row[head * hosts + host] == on {
                self.move_behind(tail as u32, HostId(host as u32), layers);
            }
        }
    }

    /// Moves the paths of this layer that pass a row on their way to a host into the next layer.
    fn move_behind(&mut self, row: u32, host: HostId, layers: &mut Layers) {
        let (fabric, tables) = (self.fabric, self.tables);
        let column = tables.column(host);
        let root = self.root[host.ix()];
        self.behind.clear();
        self.behind.push(Behind { row, ahead: 0, paths: 0 });
        let mut at = 0;
        while let Some(&Behind { row, .. }) = self.behind.get(at) {
            let comes =
                |arc: &&Arc| arc.row != root && column[arc.row as usize] == self.port[arc.channel.ix()];
            for arc in fabric.into[row as usize].iter().filter(comes) {
                self.behind.push(Behind { row: arc.row, ahead: at as u32, paths: 0 });
            }
            at += 1;
        }
        for at in (0..self.behind.len()).rev() {
            let Behind { row, ahead, .. } = self.behind[at];
            if fabric.sources[row as usize] > 0 && layers.layer(row, host) == self.layer {
                layers.set(row, host, usize::from(self.layer) + 1);
                self.behind[at].paths += 1;
            }
            let paths = self.behind[at].paths;
            if at > 0 && paths > 0 {
                self.behind[ahead as usize].paths += paths;
                self.shift(column, row, paths);
            }
        }
        let paths = self.behind[0].paths;
        self.here -= u64::from(paths);
        self.next += u64::from(paths);
        let mut at = row;
        while paths > 0 && at != root {
            let Some(head) = self.shift(column, at, paths) else { break };
            at = head;
        }
    }

    /// Counts `paths` paths over the first dependency of a row as moved to the next layer; returns the row
    /// that the paths pass next.
    fn shift(&mut self, column: &[u16], row: u32, paths: u32) -> Option<u32> {
        let channel = self.fabric.next_in(column, row)?;
        if let Some(id) = self.dependency(column, channel) {
            self.count[id] -= paths;
            self.moved[id] += paths;
        }
        Some(self.fabric.head[channel.ix()])
    }
}
