//! Grows the trees of one virtual channel inside one acyclic channel dependency graph.

use super::span::SpanningTree;
use crate::network::{ChannelId, HostId};
use crate::route::acyclic::{Acyclic, Insert};
use crate::route::fabric::{Arc, Class, Dependencies, Fabric, NONE};
use crate::tables::Tables;

pub(super) struct Grower<'f> {
    fabric: &'f Fabric<'f>,
    index: Dependencies,
    graph: Acyclic,
    /// `[dependency]`: known to close a circle, which stays true as long as nothing is taken out of the
    /// graph.
    refused: Vec<bool>,
    /// Dependencies entered for the present destination.
    added: Vec<(ChannelId, ChannelId)>,
    /// `[channel]`: number of (source, destination) pairs whose packets cross it, over the destinations so
    /// far.
    weight: Vec<u64>,
    /// `[row]`: its place in the order of the spanning tree.
    rank: Vec<(u32, u32)>,
    /// `[row]`: the channel to the present destination.
    pub next: Vec<Option<ChannelId>>,
    /// `[row]`: number of hops to the destination when the row was attached; `NONE` outside the tree.
    hops: Vec<u32>,
    /// `[row]`: sum of the weights of the channels to the destination when the row was attached.
    cost: Vec<u64>,
    /// The rows of the tree in the order in which they were attached.
    order: Vec<u32>,
}

impl<'f> Grower<'f> {
    pub fn new(fabric: &'f Fabric<'f>) -> Self {
        let n = fabric.routers.len();
        let index = Dependencies::new(fabric.net);
        Self {
            fabric,
            refused: vec![false; index.len()],
            index,
            graph: Acyclic::new(0),
            added: Vec::new(),
            weight: vec![0; fabric.net.channels()],
            rank: Vec::new(),
            next: vec![None; n],
            hops: vec![NONE; n],
            cost: vec![0; n],
            order: Vec::new(),
        }
    }

    /// Begins a virtual channel: its graph gets all turns of its spanning tree.
    pub fn begin(&mut self, tree: &SpanningTree) {
        self.graph = Acyclic::new(self.fabric.net.channels());
        self.refused.fill(false);
        self.rank.clone_from(&tree.rank);
        for arcs in &tree.arcs {
            for &(_, back) in arcs {
                for &(_, on) in arcs.iter().filter(|&&(_, on)| on != back) {
                    self.graph.insert(back.reverse().0, on.0);
                }
            }
        }
    }

    /// Grows the tree of one destination into `next`; false, with the graph as before, if it cannot be
    /// completed.
    pub fn grow(&mut self, class: &Class) -> bool {
        self.next.fill(None);
        self.hops.fill(NONE);
        self.added.clear();
        self.order.clear();
        self.order.push(class.root);
        (self.hops[class.root as usize], self.cost[class.root as usize]) = (0, 0);
        let mut begin = 0;
        while begin < self.order.len() {
            begin = self.grow_level(class, begin);
        }
        while self.lacks(class) {
            let before = self.order.len();
            for row in 0..self.fabric.routers.len() as u32 {
                if self.hops[row as usize] == NONE {
                    self.rescue(class, row);
                }
            }
            if self.order.len() == before {
                let added = std::mem::take(&mut self.added);
                self.take_back(&added);
                return false;
            }
        }
        true
    }

    /// Whether the tree lacks a row where packets enter.
    fn lacks(&self, class: &Class) -> bool {
        let fabric = self.fabric;
        (0..fabric.routers.len())
            .any(|r| r != class.root as usize && fabric.sources[r] > 0 && self.hops[r] == NONE)
    }

    /// Attaches the rows that are one hop from the rows `order[begin..]`; returns where the next level begins
    /// in `order`. Turns that go up after down in the order of the spanning tree come last, as they are the
    /// ones that block later destinations.
    fn grow_level(&mut self, class: &Class, begin: usize) -> usize {
        let mut candidates: Vec<(bool, u64, u32, ChannelId, u32)> = Vec::new();
        for &to in &self.order[begin..] {
            if !self.passes(class, to) {
                continue;
            }
            for arc in self.fabric.into[to as usize].iter().filter(|arc| self.hops[arc.row as usize] == NONE)
            {
                let cost = self.cost[to as usize] + self.weight[arc.channel.ix()];
                candidates.push((self.down_up(arc.row, to), cost, arc.row, arc.channel, to));
            }
        }
        candidates.sort_unstable();
        let next_level = self.order.len();
        for (_, _, row, channel, to) in candidates {
            if self.hops[row as usize] == NONE && self.allows(class, channel, to) {
                self.attach(row, channel, to);
            }
        }
        next_level
    }

    /// Whether packets may pass a row on their way to a class.
    fn passes(&self, class: &Class, row: u32) -> bool {
        if row == class.root { class.open } else { self.fabric.forwards[row as usize] }
    }

    /// Whether the path from a row over `via` goes down and then up in the order of the spanning tree.
    fn down_up(&self, row: u32, via: u32) -> bool {
        let Some(on) = self.next[via as usize] else { return false };
        let rank = |row: u32| self.rank[row as usize];
        let (down, up) = (rank(row) < rank(via), rank(self.fabric.head[on.ix()]) < rank(via));
        self.fabric.forwards[row as usize] && self.fabric.inner[on.ix()] && down && up
    }

    fn attach(&mut self, row: u32, channel: ChannelId, to: u32) {
        self.hops[row as usize] = self.hops[to as usize] + 1;
        self.cost[row as usize] = self.cost[to as usize] + self.weight[channel.ix()];
        self.next[row as usize] = Some(channel);
        self.order.push(row);
    }

    /// Attaches a row that is left over: to any neighbour in the tree, or by sending a neighbour over another
    /// arc.
    fn rescue(&mut self, class: &Class, row: u32) {
        let fabric = self.fabric;
        let inside = |s: &Self, arc: &Arc| s.hops[arc.row as usize] != NONE && s.passes(class, arc.row);
        for arc in &fabric.out[row as usize] {
            if inside(self, arc) && self.allows(class, arc.channel, arc.row) {
                return self.attach(row, arc.channel, arc.row);
            }
        }
        for arc in &fabric.out[row as usize] {
            if arc.row == class.root || !inside(self, arc) {
                continue;
            }
            for on in &fabric.out[arc.row as usize] {
                let other = self.next[arc.row as usize] != Some(on.channel);
                if other && inside(self, on) && self.reroute(class, arc.row, on, arc.channel) {
                    return self.attach(row, arc.channel, arc.row);
                }
            }
        }
    }

    /// Sends a row of the tree over another arc, if all rows behind it, and packets that come over
    /// `newcomer`, may follow.
    fn reroute(&mut self, class: &Class, row: u32, on: &Arc, newcomer: ChannelId) -> bool {
        if self.leads_over(class, on.row, row) {
            return false;
        }
        let (mark, old) = (self.added.len(), self.next[row as usize]);
        let mut fits = self.allows(class, on.channel, on.row);
        if fits {
            self.next[row as usize] = Some(on.channel);
            let fabric = self.fabric;
            fits = self.allows(class, newcomer, row)
                && fabric.into[row as usize].iter().all(|behind| {
                    self.next[behind.row as usize] != Some(behind.channel)
                        || self.allows(class, behind.channel, row)
                });
        }
        if !fits {
            self.next[row as usize] = old;
            let added = self.added.split_off(mark);
            self.take_back(&added);
        }
        fits
    }

    /// Whether the path from a row of the tree passes another row.
    fn leads_over(&self, class: &Class, from: u32, row: u32) -> bool {
        let mut at = from;
        while at != class.root && at != row {
            let Some(channel) = self.next[at as usize] else { break };
            at = self.fabric.head[channel.ix()];
        }
        at == row
    }

    /// Whether packets may come over `channel` and go on from row `to`; if so, the turn is entered.
    fn allows(&mut self, class: &Class, channel: ChannelId, to: u32) -> bool {
        let inner = &self.fabric.inner;
        let on = if to == class.root { None } else { self.next[to as usize] };
        let Some(on) = on.filter(|on| inner[on.ix()] && inner[channel.ix()]) else { return true };
        let id = self.index.id(self.fabric.net, channel, on);
        if on == channel.reverse() || self.refused[id] {
            return false;
        }
        match self.graph.insert(channel.0, on.0) {
            Insert::Present => true,
            Insert::Added => {
                self.added.push((channel, on));
                true
            }
            Insert::Refused => {
                self.refused[id] = true;
                false
            }
        }
    }

    fn take_back(&mut self, added: &[(ChannelId, ChannelId)]) {
        added.iter().for_each(|&(a, b)| self.graph.remove(a.0, b.0));
        if !added.is_empty() {
            self.refused.fill(false);
        }
    }

    /// Writes `next` for one host and adds the sources behind every channel to its weight.
    pub fn write(&mut self, class: &Class, host: HostId, tables: &mut Tables) {
        let fabric = self.fabric;
        let head = |channel: ChannelId| fabric.head[channel.ix()] as usize;
        let mut through: Vec<u64> = fabric.sources.iter().map(|&sources| u64::from(sources)).collect();
        // For each row, the number of rows that send to it and whose own traffic is not summed up yet.
        let mut waits = vec![0u32; fabric.routers.len()];
        for row in (0..fabric.routers.len()).filter(|&row| row != class.root as usize) {
            if let Some(channel) = self.next[row] {
                tables.set_port(row, host, Some(fabric.net.out_port(channel)));
                waits[head(channel)] += 1;
            }
        }
        let mut ready: Vec<usize> = (0..waits.len()).filter(|&row| waits[row] == 0).collect();
        while let Some(row) = ready.pop() {
            let Some(channel) = self.next[row].filter(|_| row != class.root as usize) else { continue };
            self.weight[channel.ix()] += through[row];
            through[head(channel)] += through[row];
            waits[head(channel)] -= 1;
            if waits[head(channel)] == 0 {
                ready.push(head(channel));
            }
        }
    }
}
