//! DFSSSP (Domke, Hoefler, Nagel 2011): shortest paths, each chosen to cross the channels with the least load so
//! far; then circles in the channel dependency graph are broken one by one: all paths over that edge of a circle
//! which the fewest paths use move to the next layer.
//!
//! Moved as published, the last paths trickle through many nearly empty layers. So once few paths are left, each goes
//! to the first layer that takes it.

use super::Limits;
use super::fabric::{Class, Dependencies, Fabric, Levels};
use super::layers::{Layers, entries, path_ids};
use crate::error::RouteError;
use crate::network::{ChannelId, HostId};
use crate::tables::Tables;

/// "Few" is less than this fraction of all paths.
const FEW: usize = 4;

pub(super) fn route(fabric: &Fabric, name: &'static str, limits: Limits) -> Result<Tables, RouteError> {
    let mut tables = fabric.tables(name);
    let mut weight = vec![0u64; fabric.net.channels()];
    let mut levels = Levels::default();
    let mut tree = Tree::new(fabric);
    for class in &fabric.classes {
        fabric.levels(class, &mut levels)?;
        fabric.deliver(class, &mut tables);
        for &(host, _) in &class.hosts {
            tree.grow(fabric, class, &levels, &weight);
            tree.write(fabric, &levels, host, &mut weight, &mut tables);
        }
    }
    if limits.lossless {
        let paths = Paths::collect(fabric, &tables);
        let mut layers = Layers::new(fabric);
        let mut here: Vec<u32> = (0..paths.entry.len() as u32).collect();
        while here.len() * FEW > paths.entry.len() {
            let (stay, moved) = Breaker::new(fabric, &paths, &here).run();
            let layer = layers.open();
            for path in stay {
                // What stays has no circles, so all of it fits.
                let fits = layers.fits(layer, paths.steps(path));
                debug_assert!(fits);
                let (row, host) = paths.entry[path as usize];
                layers.set(row, host, layer);
            }
            here = moved;
        }
        for path in here {
            let layer = layers.lay(paths.steps(path));
            let (row, host) = paths.entry[path as usize];
            layers.set(row, host, layer);
        }
        layers.finish(name, limits, &mut tables)?;
    }
    Ok(tables)
}

/// The lightest of the shortest paths to one destination.
struct Tree {
    cost: Vec<u64>,
    next: Vec<Option<(u32, ChannelId)>>,
    through: Vec<u64>,
}

impl Tree {
    fn new(fabric: &Fabric) -> Self {
        let n = fabric.routers.len();
        Self { cost: vec![0; n], next: vec![None; n], through: vec![0; n] }
    }

    fn grow(&mut self, fabric: &Fabric, class: &Class, levels: &Levels, weight: &[u64]) {
        self.cost[class.root as usize] = 0;
        for &row in levels.order.iter().skip(1) {
            let cost = |arc: &super::fabric::Arc| self.cost[arc.row as usize] + weight[arc.channel.ix()];
            if let Some(arc) = fabric.nearer(class, levels, row).min_by_key(cost) {
                (self.cost[row as usize], self.next[row as usize]) =
                    (cost(&arc), Some((arc.row, arc.channel)));
            }
        }
    }

    /// Writes the tree for one host, and adds the sources behind every channel to its weight.
    fn write(
        &mut self,
        fabric: &Fabric,
        levels: &Levels,
        host: HostId,
        weight: &mut [u64],
        tables: &mut Tables,
    ) {
        for &row in &levels.order {
            self.through[row as usize] = u64::from(fabric.sources[row as usize]);
        }
        for &row in levels.order.iter().skip(1).rev() {
            let Some((to, channel)) = self.next[row as usize] else { continue };
            tables.set_port(row as usize, host, Some(fabric.net.out_port(channel)));
            weight[channel.ix()] += self.through[row as usize];
            self.through[to as usize] += self.through[row as usize];
        }
    }
}

/// All paths with at least one dependency, as lists of dependency numbers.
struct Paths {
    entry: Vec<(u32, HostId)>,
    /// `steps[begin[p]..begin[p + 1]]`
    begin: Vec<u32>,
    steps: Vec<u32>,
    index: Dependencies,
}

impl Paths {
    fn collect(fabric: &Fabric, tables: &Tables) -> Self {
        let index = Dependencies::new(fabric.net);
        let mut paths = Self { entry: Vec::new(), begin: vec![0], steps: Vec::new(), index };
        let mut path = Vec::new();
        for class in &fabric.classes {
            for &(host, _) in &class.hosts {
                for row in entries(fabric, class) {
                    path_ids(fabric, &paths.index, class, row, host, tables, &mut path);
                    if !path.is_empty() {
                        paths.steps.extend(&path);
                        paths.begin.push(paths.steps.len() as u32);
                        paths.entry.push((row, host));
                    }
                }
            }
        }
        paths
    }

    fn steps(&self, path: u32) -> &[u32] {
        &self.steps[self.begin[path as usize] as usize..self.begin[path as usize + 1] as usize]
    }
}

/// Breaks all circles of one layer.
struct Breaker<'a> {
    fabric: &'a Fabric<'a>,
    paths: &'a Paths,
    /// By dependency: paths of this layer that use it.
    count: Vec<u32>,
    /// By dependency: `users[first[d]..first[d + 1]]` are the paths that used it at the start.
    first: Vec<u32>,
    users: Vec<u32>,
    here: &'a [u32],
    gone: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    White,
    Grey,
    Black,
}

impl<'a> Breaker<'a> {
    fn new(fabric: &'a Fabric<'a>, paths: &'a Paths, here: &'a [u32]) -> Self {
        let n = paths.index.len();
        let mut count = vec![0u32; n];
        for &path in here {
            paths.steps(path).iter().for_each(|&d| count[d as usize] += 1);
        }
        let mut first = vec![0u32; n + 1];
        for d in 0..n {
            first[d + 1] = first[d] + count[d];
        }
        let mut fill = first.clone();
        let mut users = vec![0; first[n] as usize];
        for &path in here {
            for &d in paths.steps(path) {
                users[fill[d as usize] as usize] = path;
                fill[d as usize] += 1;
            }
        }
        let gone = vec![false; paths.entry.len()];
        Self { fabric, paths, count, first, users, here, gone }
    }

    /// Depth-first search; whenever it closes a circle, the circle is broken and the search goes on from where the
    /// broken edge began. Finished channels stay finished: taking edges away opens no circle. Returns the paths that
    /// stay and those that move.
    fn run(mut self) -> (Vec<u32>, Vec<u32>) {
        let net = self.fabric.net;
        let mut colour = vec![Colour::White; net.channels()];
        // Channels on the way from the root of the search, and the next port to look at for each.
        let mut way: Vec<(ChannelId, usize)> = Vec::new();
        for root in (0..net.channels() as u32).map(ChannelId) {
            if colour[root.ix()] != Colour::White || !self.fabric.inner[root.ix()] {
                continue;
            }
            way.push((root, 0));
            colour[root.ix()] = Colour::Grey;
            while let Some((channel, port)) = way.last_mut() {
                let channel = *channel;
                let ways_on = self.fabric.head[channel.ix()] as usize;
                let Some(arc) = self.fabric.out[ways_on].get(*port) else {
                    colour[channel.ix()] = Colour::Black;
                    way.pop();
                    continue;
                };
                *port += 1;
                let next = arc.channel;
                if self.count[self.paths.index.id(net, channel, next)] == 0 {
                    continue;
                }
                match colour[next.ix()] {
                    Colour::Black => {}
                    Colour::White => {
                        colour[next.ix()] = Colour::Grey;
                        way.push((next, 0));
                    }
                    Colour::Grey => self.break_circle(&mut way, next, &mut colour),
                }
            }
        }
        self.here.iter().partition(|&&path| !self.gone[path as usize])
    }

    /// Breaks the circle that the last channel of the way closes with `target`, then shortens the way to the part
    /// whose edges all still exist.
    fn break_circle(&mut self, way: &mut Vec<(ChannelId, usize)>, target: ChannelId, colour: &mut [Colour]) {
        let net = self.fabric.net;
        let begin = way.iter().position(|&(c, _)| c == target).unwrap_or(0);
        let edge = |i: usize| {
            let next = way.get(i + 1).map_or(target, |&(c, _)| c);
            self.paths.index.id(net, way[i].0, next)
        };
        let weakest = (begin..way.len()).map(edge).min_by_key(|&d| self.count[d]);
        if let Some(weakest) = weakest {
            self.move_users(weakest);
        }
        let broken = |i: &usize| self.count[self.paths.index.id(net, way[*i].0, way[*i + 1].0)] == 0;
        if let Some(keep) = (0..way.len() - 1).find(broken) {
            way[keep + 1..].iter().for_each(|&(c, _)| colour[c.ix()] = Colour::White);
            way.truncate(keep + 1);
        }
    }

    /// Moves all paths over a dependency to the next layer.
    fn move_users(&mut self, dependency: usize) {
        for i in self.first[dependency]..self.first[dependency + 1] {
            let path = self.users[i as usize];
            if !std::mem::replace(&mut self.gone[path as usize], true) {
                self.paths.steps(path).iter().for_each(|&d| self.count[d as usize] -= 1);
            }
        }
    }
}
