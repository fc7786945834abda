//! Shortest paths by a rule for choosing among them; layers only where one virtual channel could deadlock.

use super::fabric::{Arc, Class, Dependencies, Fabric, Levels};
use super::layers::Layers;
use super::limits::{Limits, PathRule};
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
                // A path equal to an earlier one would get the same layer: the layers only grow, so that
                // those before it would refuse the path again.
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

/// An earlier host of the class that every row reaches over the same channels, if there is one.
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
        // The farthest rows come first, so that when a row's turn comes, it is known which packets pass it.
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
    /// `[channel]`: number of destinations that it serves.
    load: Vec<u32>,
    /// The arcs to choose from.
    arcs: Vec<Arc>,
    /// Numbers in the class: first the hosts whose packets pass the row, then the others.
    order: Vec<usize>,
    /// `[row * width + number in the class]`: the last class, counted from 1, of which packets for this host
    /// pass the row coming from other rows.
    passed: Vec<u32>,
    width: usize,
    class: u32,
}

impl Chooser {
    pub fn new(fabric: &Fabric, rule: PathRule) -> Self {
        let width = fabric.classes.iter().map(|class| class.hosts.len()).max().unwrap_or(0);
        let passed = vec![0; fabric.routers.len() * width];
        let load = vec![0; fabric.net.channels()];
        Self { rule, load, arcs: Vec::new(), order: Vec::new(), passed, width, class: 0 }
    }

    /// Begins with the next class. Its rows must follow, each before the rows that it sends to.
    pub fn begin(&mut self) {
        self.class += 1;
    }

    /// Sets the entry of one row for every host of a class, to one of `arcs`; leaves it empty if there are
    /// none.
    pub fn choose(
        &mut self,
        fabric: &Fabric,
        class: &Class,
        row: u32,
        arcs: impl Iterator<Item = Arc>,
        tables: &mut Tables,
    ) {
        self.arcs.clear();
        self.arcs.extend(arcs);
        match self.rule {
            PathRule::LowPortFirst => self.arcs.truncate(1),
            // The hosts of the class take the arcs in turn, beginning with the arc that serves the fewest
            // destinations. A round adds one to each arc, so that their order stays the same.
            PathRule::SpreadPerHost => self.arcs.sort_by_key(|arc| self.load[arc.channel.ix()]),
        }
        // Hosts for which no packet passes this row get an entry too, after the others, but do not count as
        // load. (In a fat tree these are the most: if they counted, the first hosts of all switches would
        // share one arc.)
        let enters = fabric.sources[row as usize] > 0;
        let base = row as usize * self.width;
        let passes = |number: &usize| enters || self.passed[base + number] == self.class;
        let numbers = 0..class.hosts.len();
        self.order.clear();
        self.order.extend(numbers.clone().filter(passes));
        let passing = self.order.len();
        self.order.extend(numbers.filter(|number| !passes(number)));
        for ((turn, &number), arc) in self.order.iter().enumerate().zip(self.arcs.iter().cycle()) {
            let (host, _) = class.hosts[number];
            tables.set_port(row as usize, host, Some(fabric.net.out_port(arc.channel)));
            if turn < passing {
                self.load[arc.channel.ix()] += 1;
                self.passed[arc.row as usize * self.width + number] = self.class;
            }
        }
    }
}

/// The dependencies between channels that packets really cause, if there is one virtual channel.
struct Used {
    index: Dependencies,
    /// `[dependency]`: whether packets cause it.
    set: Vec<bool>,
    /// `[row]`: whether packets to the destination at hand pass it.
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

    /// Whether channels can wait for each other in a circle (Kahn's algorithm: remove channels that no
    /// channel waits for, again and again; a circle remains if not all get removed).
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
