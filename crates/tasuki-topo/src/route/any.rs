//! Routes for any number of virtual channels, one included, after Nue (Domke, Hoefler, Matsuoka 2016).
//!
//! Destinations are divided among the virtual channels. In each, all turns of a spanning tree are entered into the
//! channel dependency graph first: they form no circle and reach everything. Then every destination grows a tree of
//! short paths backwards, hop by hop, using only turns that leave the graph without circles. A destination whose
//! tree gets stuck goes over the spanning tree instead, and is counted.

use super::Limits;
use super::acyclic::{Acyclic, Insert};
use super::fabric::{Class, Dependencies, Fabric, Levels, NONE};
use super::updown::spread;
use crate::error::RouteError;
use crate::network::{ChannelId, HostId};
use crate::tables::{Start, Tables};

pub(super) fn route(fabric: &Fabric, name: &'static str, limits: Limits) -> Result<Tables, RouteError> {
    let mut tables = fabric.tables(name);
    let mut levels = Levels::default();
    for class in &fabric.classes {
        fabric.levels(class, &mut levels)?;
        fabric.deliver(class, &mut tables);
    }
    let shares = shares(fabric, limits.vcs);
    let mut start = vec![0u8; fabric.net.hosts().len()];
    let mut grower = Grower::new(fabric);
    let mut escaped = 0;
    for (vc, share) in shares.iter().enumerate() {
        let tree = SpanningTree::new(fabric, share);
        grower.begin(fabric, &tree);
        for &class in share {
            let class = &fabric.classes[class];
            for &(host, _) in &class.hosts {
                start[host.ix()] = vc as u8;
                if !grower.grow(fabric, class) {
                    tree.towards(fabric, class, &mut grower.next);
                    escaped += 1;
                }
                grower.write(fabric, class, host, &mut tables);
            }
        }
    }
    tables.set_vcs(shares.len().max(1) as u8);
    if shares.len() > 1 {
        tables.set_starts(Start::Destination(start));
    }
    tables.set_escaped(escaped);
    Ok(tables)
}

/// Divides the classes into as many shares as there are virtual channels; classes near each other share.
fn shares(fabric: &Fabric, vcs: u8) -> Vec<Vec<usize>> {
    let mut place = vec![u32::MAX; fabric.routers.len()];
    let (mut next, mut part) = (0, Vec::new());
    for row in 0..fabric.routers.len() as u32 {
        if fabric.forwards[row as usize] && place[row as usize] == u32::MAX {
            spread(fabric, row, &mut part);
            for &row in &part {
                place[row as usize] = next;
                next += 1;
            }
        }
    }
    let mut order: Vec<usize> = (0..fabric.classes.len()).collect();
    order.sort_by_key(|&c| (place[fabric.classes[c].root as usize], c));
    let shares = usize::from(vcs).min(order.len());
    let size = |class: usize| fabric.classes[class].hosts.len();
    let all: usize = order.iter().map(|&c| size(c)).sum();
    let mut result = vec![Vec::new(); shares];
    let mut before = 0;
    for (i, class) in order.iter().copied().enumerate() {
        // By hosts, but such that no share stays empty.
        let by_hosts = (before * shares).checked_div(all).unwrap_or(0);
        let left = shares.saturating_sub(fabric.classes.len() - i);
        result[by_hosts.max(left).min(shares - 1).min(i)].push(class);
        before += size(class);
    }
    result.retain(|share| !share.is_empty());
    result
}

/// A spanning tree of every connected part of the forwarding nodes.
struct SpanningTree {
    /// By row: the neighbours in the tree, with the channel to each.
    arcs: Vec<Vec<(u32, ChannelId)>>,
    part: Vec<u32>,
}

impl SpanningTree {
    /// Grown from the row that is nearest to the destinations of a share.
    fn new(fabric: &Fabric, share: &[usize]) -> Self {
        let n = fabric.routers.len();
        let mut tree = Self { arcs: vec![Vec::new(); n], part: vec![NONE; n] };
        let mut members = Vec::new();
        for row in 0..n as u32 {
            if !fabric.forwards[row as usize] || tree.part[row as usize] != NONE {
                continue;
            }
            spread(fabric, row, &mut members);
            let root = nearest(fabric, share, &members);
            let level = spread(fabric, root, &mut members);
            for &row in &members {
                tree.part[row as usize] = root;
                let above = |arc: &&super::fabric::Arc| {
                    fabric.forwards[arc.row as usize]
                        && level[arc.row as usize].wrapping_add(1) == level[row as usize]
                };
                if let Some(arc) = fabric.out[row as usize].iter().find(above) {
                    tree.arcs[row as usize].push((arc.row, arc.channel));
                    tree.arcs[arc.row as usize].push((row, arc.channel.reverse()));
                }
            }
        }
        tree
    }

    /// Paths over the tree to a class: sets the next channel of every row.
    fn towards(&self, fabric: &Fabric, class: &Class, next: &mut [Option<ChannelId>]) {
        next.fill(None);
        let mut queue = Vec::new();
        let mut entered = vec![false; fabric.routers.len()];
        if fabric.forwards[class.root as usize] {
            entered[class.root as usize] = true;
            queue.push(class.root);
        } else if class.open {
            // A host with several cables: each connected part enters it by one of them.
            for arc in &fabric.into[class.root as usize] {
                let part = self.part[arc.row as usize];
                if part == NONE {
                    next[arc.row as usize] = Some(arc.channel);
                } else if !queue.iter().any(|&row: &u32| self.part[row as usize] == part) {
                    next[arc.row as usize] = Some(arc.channel);
                    entered[arc.row as usize] = true;
                    queue.push(arc.row);
                }
            }
        }
        let mut head = 0;
        while let Some(&row) = queue.get(head) {
            head += 1;
            for &(to, channel) in &self.arcs[row as usize] {
                if !std::mem::replace(&mut entered[to as usize], true) {
                    next[to as usize] = Some(channel.reverse());
                    queue.push(to);
                }
            }
        }
        for row in
            (0..fabric.routers.len()).filter(|&row| !fabric.forwards[row] && row != class.root as usize)
        {
            let way = fabric.out[row].iter().find(|arc| entered[arc.row as usize]);
            next[row] = next[row].or(way.map(|arc| arc.channel));
        }
    }
}

/// The member with the least sum of hops to the destinations of a share, the first of several.
fn nearest(fabric: &Fabric, share: &[usize], members: &[u32]) -> u32 {
    let mut sum = vec![0u64; fabric.routers.len()];
    let mut reached = Vec::new();
    for &class in share {
        let root = fabric.classes[class].root;
        if fabric.forwards[root as usize] {
            let level = spread(fabric, root, &mut reached);
            reached.iter().for_each(|&row| sum[row as usize] += u64::from(level[row as usize]));
        }
    }
    members.iter().copied().min_by_key(|&row| (sum[row as usize], row)).unwrap_or(0)
}

/// Grows the trees of one virtual channel.
struct Grower {
    index: Dependencies,
    graph: Acyclic,
    /// By dependency: known to close a circle. Stays true as long as no edge is taken away.
    refused: Vec<bool>,
    weight: Vec<u64>,
    next: Vec<Option<ChannelId>>,
    cost: Vec<u64>,
    hops: Vec<u32>,
    order: Vec<u32>,
    added: Vec<(u32, u32)>,
    through: Vec<u64>,
}

impl Grower {
    fn new(fabric: &Fabric) -> Self {
        let n = fabric.routers.len();
        let index = Dependencies::new(fabric.net);
        let refused = vec![false; index.len()];
        Self {
            index,
            graph: Acyclic::new(0),
            refused,
            weight: vec![0; fabric.net.channels()],
            next: vec![None; n],
            cost: vec![0; n],
            hops: vec![NONE; n],
            order: Vec::new(),
            added: Vec::new(),
            through: vec![0; n],
        }
    }

    /// Starts a virtual channel with the turns of its spanning tree.
    fn begin(&mut self, fabric: &Fabric, tree: &SpanningTree) {
        self.graph = Acyclic::new(fabric.net.channels());
        self.refused.fill(false);
        for arcs in &tree.arcs {
            for &(_, back) in arcs {
                for &(_, on) in arcs.iter().filter(|&&(_, on)| on != back) {
                    self.graph.insert(back.reverse().0, on.0);
                }
            }
        }
    }

    /// Grows the tree of one destination into `next`; false, with the graph as before, if it gets stuck.
    fn grow(&mut self, fabric: &Fabric, class: &Class) -> bool {
        self.next.fill(None);
        self.hops.fill(NONE);
        self.order.clear();
        self.added.clear();
        let root = class.root as usize;
        (self.hops[root], self.cost[root]) = (0, 0);
        self.order.push(class.root);
        let (mut begin, mut hops) = (0, 0);
        let mut ways: Vec<(u64, u32, ChannelId, u32)> = Vec::new();
        while begin < self.order.len() {
            hops += 1;
            ways.clear();
            for &row in &self.order[begin..] {
                let passes = if row == class.root { class.open } else { fabric.forwards[row as usize] };
                for arc in fabric.into[row as usize].iter().filter(|_| passes) {
                    if self.hops[arc.row as usize] == NONE {
                        let cost = self.cost[row as usize] + self.weight[arc.channel.ix()];
                        ways.push((cost, arc.row, arc.channel, row));
                    }
                }
            }
            begin = self.order.len();
            ways.sort_unstable();
            for &(cost, row, channel, to) in &ways {
                if self.hops[row as usize] == NONE && self.allows(fabric, class, channel, to) {
                    self.hops[row as usize] = hops;
                    self.cost[row as usize] = cost;
                    self.next[row as usize] = Some(channel);
                    self.order.push(row);
                }
            }
        }
        let stuck = (0..fabric.routers.len()).any(|row| fabric.sources[row] > 0 && self.hops[row] == NONE);
        if stuck {
            self.added.iter().for_each(|&(a, b)| self.graph.remove(a, b));
            self.refused.fill(false);
        }
        !stuck
    }

    /// Whether packets may come over `channel` and go on from row `to`; if so, the turn is entered.
    fn allows(&mut self, fabric: &Fabric, class: &Class, channel: ChannelId, to: u32) -> bool {
        let on = if to == class.root { None } else { self.next[to as usize] };
        let Some(on) = on.filter(|on| fabric.inner[on.ix()] && fabric.inner[channel.ix()]) else {
            return true;
        };
        let id = self.index.id(fabric.net, channel, on);
        if on == channel.reverse() || self.refused[id] {
            return false;
        }
        match self.graph.insert(channel.0, on.0) {
            Insert::Present => true,
            Insert::Added => {
                self.added.push((channel.0, on.0));
                true
            }
            Insert::Refused => {
                self.refused[id] = true;
                false
            }
        }
    }

    /// Writes the tree for one host and adds the sources behind every channel to its weight.
    fn write(&mut self, fabric: &Fabric, class: &Class, host: HostId, tables: &mut Tables) {
        for row in (0..fabric.routers.len()).filter(|&row| row != class.root as usize) {
            if let Some(channel) = self.next[row] {
                tables.set_port(row, host, Some(fabric.net.out_port(channel)));
            }
            // The tree may be the escape tree, which has no order of levels here: follow every source's path.
            self.through[row] = u64::from(fabric.sources[row]);
        }
        for row in (0..fabric.routers.len()).filter(|&row| fabric.sources[row] > 0) {
            let mut at = row as u32;
            while at != class.root {
                let Some(channel) = self.next[at as usize] else { break };
                self.weight[channel.ix()] += self.through[row];
                at = fabric.head[channel.ix()];
            }
        }
    }
}
