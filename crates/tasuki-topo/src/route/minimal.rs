//! Shortest paths by a rule for choosing among them; layers only where one virtual channel could deadlock.

use super::fabric::{Arc, Class, Dependencies, Fabric, Levels};
use super::layers::Layers;
use super::{Limits, PathRule};
use crate::error::RouteError;
use crate::network::{ChannelId, HostId};
use crate::tables::Tables;

pub(super) fn route(
    fabric: &Fabric,
    name: &'static str,
    rule: PathRule,
    limits: Limits,
) -> Result<Tables, RouteError> {
    let mut tables = fabric.tables(name);
    let mut used = Used::new(fabric);
    shortest(fabric, rule, &mut tables, |class, levels, tables| {
        if limits.lossless {
            used.add_class(fabric, class, levels, tables);
        }
    })?;
    if limits.lossless && used.has_circle(fabric) {
        let mut layers = Layers::new(fabric);
        for class in &fabric.classes {
            for (number, &(host, _)) in class.hosts.iter().enumerate() {
                // A path that has a layer gets the same one again: layers only grow, so those before refuse it again.
                match alike(class, number, &tables) {
                    Some(other) => layers.copy(other, host),
                    None => {
                        let set = |layers: &mut Layers, row, layer| layers.set(row, host, layer);
                        layers.lay_all(class, host, &tables, |_, _| true, set);
                    }
                }
            }
        }
        layers.finish(name, limits, &mut tables)?;
    }
    Ok(tables)
}

/// An earlier host of the class that is reached over the same channels from everywhere.
fn alike(class: &Class, number: usize, tables: &Tables) -> Option<HostId> {
    let root = class.root as usize;
    let apart = |host: HostId| tables.column(host).split_at(root);
    let (before, after) = apart(class.hosts[number].0);
    let same = |host: &HostId| {
        let (its_before, its_after) = apart(*host);
        // At the root itself every host has a port of its own.
        its_before == before && its_after[1..] == after[1..]
    };
    class.hosts[..number].iter().map(|&(host, _)| host).find(same)
}

/// Fills in shortest paths to all destinations; calls `done` after each class.
pub(super) fn shortest(
    fabric: &Fabric,
    rule: PathRule,
    tables: &mut Tables,
    mut done: impl FnMut(&Class, &Levels, &Tables),
) -> Result<(), RouteError> {
    let mut levels = Levels::default();
    let mut chooser = Chooser::new(fabric, rule);
    for class in &fabric.classes {
        fabric.levels(class, &mut levels)?;
        fabric.deliver(class, tables);
        chooser.begin();
        // Farthest first: where packets pass is known when a row is reached.
        for &row in levels.order.iter().skip(1).rev() {
            chooser.choose(fabric, class, row, fabric.nearer(class, &levels, row), tables);
        }
        done(class, &levels, tables);
    }
    Ok(())
}

/// Chooses among equally good arcs, for one class after the other.
pub(super) struct Chooser {
    rule: PathRule,
    /// By channel: destinations that it serves.
    load: Vec<u32>,
    ways: Vec<Arc>,
    /// Of the class, those for whom packets pass the row, then the others.
    order: Vec<usize>,
    /// `[row * width + number in the class]`: the class, counted from 1, for whose host packets from other rows pass the row.
    passed: Vec<u32>,
    width: usize,
    class: u32,
}

impl Chooser {
    pub fn new(fabric: &Fabric, rule: PathRule) -> Self {
        let width = fabric.classes.iter().map(|class| class.hosts.len()).max().unwrap_or(0);
        let passed = vec![0; fabric.routers.len() * width];
        let load = vec![0; fabric.net.channels()];
        Self { rule, load, ways: Vec::new(), order: Vec::new(), passed, width, class: 0 }
    }

    /// The rows of a class follow, each before those that it sends to.
    pub fn begin(&mut self) {
        self.class += 1;
    }

    /// Sets the entry of one row for every host of a class; leaves it empty if there is no way.
    pub fn choose(
        &mut self,
        fabric: &Fabric,
        class: &Class,
        row: u32,
        ways: impl Iterator<Item = Arc>,
        tables: &mut Tables,
    ) {
        self.ways.clear();
        self.ways.extend(ways);
        match self.rule {
            PathRule::LowPortFirst => self.ways.truncate(1),
            // Hosts of the class take the ways in turn, those with the fewest destinations first. A round adds one to
            // each, so the order lasts.
            PathRule::SpreadPerHost => self.ways.sort_by_key(|arc| self.load[arc.channel.ix()]),
        }
        // Hosts to which no packet comes this way get an entry too, behind the others; they are no load. (In a fat
        // tree that is most: were they counted, the first hosts of all switches would meet on one way.)
        let enters = fabric.sources[row as usize] > 0;
        let base = row as usize * self.width;
        let passes = |number: &usize| enters || self.passed[base + number] == self.class;
        let numbers = 0..class.hosts.len();
        self.order.clear();
        self.order.extend(numbers.clone().filter(passes));
        let passing = self.order.len();
        self.order.extend(numbers.filter(|number| !passes(number)));
        for ((turn, &number), arc) in self.order.iter().enumerate().zip(self.ways.iter().cycle()) {
            let (host, _) = class.hosts[number];
            tables.set_port(row as usize, host, Some(fabric.net.out_port(arc.channel)));
            if turn < passing {
                self.load[arc.channel.ix()] += 1;
                self.passed[arc.row as usize * self.width + number] = self.class;
            }
        }
    }
}

/// The dependencies between channels that packets really cause, for one virtual channel.
struct Used {
    index: Dependencies,
    set: Vec<bool>,
    carries: Vec<bool>,
}

impl Used {
    fn new(fabric: &Fabric) -> Self {
        let index = Dependencies::new(fabric.net);
        let set = vec![false; index.len()];
        Self { index, set, carries: vec![false; fabric.routers.len()] }
    }

    fn add_class(&mut self, fabric: &Fabric, class: &Class, levels: &Levels, tables: &Tables) {
        for (number, &(host, _)) in class.hosts.iter().enumerate() {
            if alike(class, number, tables).is_some() {
                continue;
            }
            self.carries.fill(false);
            for &row in levels.order.iter().skip(1).rev() {
                if fabric.sources[row as usize] > 0 {
                    self.carries[row as usize] = true;
                }
                if self.carries[row as usize] {
                    self.add_hop(fabric, class, row, host, tables);
                }
            }
        }
    }

    fn add_hop(&mut self, fabric: &Fabric, class: &Class, row: u32, host: HostId, tables: &Tables) {
        let Some(channel) = fabric.next(tables, row, host) else { return };
        let head = fabric.head[channel.ix()];
        if head == class.root {
            return;
        }
        self.carries[head as usize] = true;
        if let Some(next) = fabric.next(tables, head, host)
            && fabric.inner[channel.ix()]
            && fabric.inner[next.ix()]
        {
            self.set[self.index.id(fabric.net, channel, next)] = true;
        }
    }

    /// Whether channels can wait for each other in a circle (Kahn: remove what waits for nothing, see what stays).
    fn has_circle(&self, fabric: &Fabric) -> bool {
        let net = fabric.net;
        let channels = || (0..net.channels() as u32).map(ChannelId);
        let after =
            |c: ChannelId| self.index.after(net, c).filter(|&(id, _)| self.set[id]).map(|(_, next)| next);
        let mut waiting = vec![0u32; net.channels()];
        for channel in channels() {
            after(channel).for_each(|next| waiting[next.ix()] += 1);
        }
        let mut ready: Vec<ChannelId> = channels().filter(|c| waiting[c.ix()] == 0).collect();
        let mut removed = 0;
        while let Some(channel) = ready.pop() {
            removed += 1;
            for next in after(channel) {
                waiting[next.ix()] -= 1;
                if waiting[next.ix()] == 0 {
                    ready.push(next);
                }
            }
        }
        removed < net.channels()
    }
}
