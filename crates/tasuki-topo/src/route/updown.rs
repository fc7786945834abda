//! Up*/down* (Schroeder and others 1991, Autonet): every cable has an upper end; a path first goes up, then
//! down.

use super::fabric::{Arc, Class, Fabric, Levels, NONE};
use super::limits::PathRule;
use super::minimal::Chooser;
use crate::error::RouteError;
use crate::network::ChannelId;
use crate::tables::Tables;

/// The order that decides which end of a cable is up: breadth-first levels from the middle of each connected
/// part, then numbers.
pub(super) struct Ranks {
    /// `[row]`: its rank; `NONE` for rows that do not forward.
    rank: Vec<u32>,
    /// Forwarding rows by ascending rank.
    order: Vec<u32>,
}

impl Ranks {
    pub fn new(fabric: &Fabric) -> Self {
        let n = fabric.routers.len();
        let mut ranks = Self { rank: vec![NONE; n], order: Vec::new() };
        let mut part = Vec::new();
        for row in 0..n {
            if !fabric.forwards[row] || ranks.rank[row] != NONE {
                continue;
            }
            spread(fabric, row as u32, &mut part);
            let root = middle(fabric, &part);
            let level = spread(fabric, root, &mut part);
            part.sort_unstable_by_key(|&r| (level[r as usize], r));
            for &row in &part {
                ranks.rank[row as usize] = ranks.order.len() as u32;
                ranks.order.push(row);
            }
        }
        ranks
    }

    /// Whether a channel between forwarding nodes leads up.
    pub fn is_up(&self, fabric: &Fabric, channel: ChannelId) -> bool {
        self.rank_at(fabric, channel) < self.rank_at(fabric, channel.reverse())
    }

    fn rank_at(&self, fabric: &Fabric, channel: ChannelId) -> u32 {
        self.rank[fabric.head[channel.ix()] as usize]
    }
}

/// The distance of every forwarding row from one of them, `NONE` if unreached; `part` becomes the list of
/// rows reached.
pub(super) fn spread(fabric: &Fabric, from: u32, part: &mut Vec<u32>) -> Vec<u32> {
    let mut level = vec![NONE; fabric.routers.len()];
    level[from as usize] = 0;
    part.clear();
    part.push(from);
    let mut head = 0;
    while let Some(&row) = part.get(head) {
        head += 1;
        for arc in &fabric.out[row as usize] {
            if fabric.forwards[arc.row as usize] && level[arc.row as usize] == NONE {
                level[arc.row as usize] = level[row as usize] + 1;
                part.push(arc.row);
            }
        }
    }
    level
}

/// The row with the least distance to the row farthest from it; of several, the one with the least sum of
/// distances, then the first.
fn middle(fabric: &Fabric, part: &[u32]) -> u32 {
    let mut reached = Vec::new();
    let key = |&row: &u32| {
        let level = spread(fabric, row, &mut reached);
        let levels = || part.iter().map(|&r| u64::from(level[r as usize]));
        (levels().max(), levels().sum::<u64>(), row)
    };
    part.iter().copied().min_by_key(key).unwrap_or(0)
}

pub(super) fn route(fabric: &Fabric, name: &'static str) -> Result<Tables, RouteError> {
    let mut tables = fabric.tables(name);
    let ranks = Ranks::new(fabric);
    let mut chooser = Chooser::new(fabric, PathRule::SpreadPerHost);
    let mut levels = Levels::default();
    for class in &fabric.classes {
        // Fails with the names of two hosts if the class cannot be reached at all.
        fabric.levels(class, &mut levels)?;
        let legal = Legal::new(fabric, &ranks, class);
        fabric.check_reached(class, |row| legal.hops[row] != NONE)?;
        fabric.deliver(class, &mut tables);
        chooser.begin();
        let mut rows: Vec<u32> = (0..fabric.routers.len() as u32).filter(|&row| row != class.root).collect();
        rows.sort_by_key(|&row| std::cmp::Reverse(legal.hops[row as usize]));
        for row in rows {
            let arcs = fabric.out[row as usize].iter().copied();
            let arcs = arcs.filter(|&arc| legal.leads_on(fabric, &ranks, class, row, arc));
            chooser.choose(fabric, class, row, arcs, &mut tables);
        }
    }
    Ok(tables)
}

/// Shortest legal paths to a class that one entry per row can express: a row from which a path leads down
/// only must send down, because packets may come to it from above; all other rows send up.
struct Legal {
    /// `[row]`: hops to the root of the class.
    hops: Vec<u32>,
    /// `[row]`: whether the path leads down only.
    down: Vec<bool>,
}

impl Legal {
    fn new(fabric: &Fabric, ranks: &Ranks, class: &Class) -> Self {
        let n = fabric.routers.len();
        let root = class.root as usize;
        let mut legal = Self { hops: vec![NONE; n], down: vec![false; n] };
        let mut queue = vec![class.root];
        (legal.hops[root], legal.down[root]) = (0, true);
        let mut head = 0;
        while let Some(&row) = queue.get(head) {
            head += 1;
            for arc in &fabric.into[row as usize] {
                let from = arc.row as usize;
                // The last cable to a host that does not forward has no direction: nothing follows it.
                let last = row == class.root && !fabric.forwards[root] && class.open;
                let downwards = fabric.inner[arc.channel.ix()] && !ranks.is_up(fabric, arc.channel);
                if fabric.forwards[from] && (last || downwards) && legal.hops[from] == NONE {
                    (legal.hops[from], legal.down[from]) = (legal.hops[row as usize] + 1, true);
                    queue.push(arc.row);
                }
            }
        }
        for &row in &ranks.order {
            if legal.hops[row as usize] == NONE {
                let up = |arc: &&Arc| fabric.inner[arc.channel.ix()] && ranks.is_up(fabric, arc.channel);
                let arcs = fabric.out[row as usize].iter().filter(up);
                legal.hops[row as usize] = one_more(arcs.map(|arc| legal.hops[arc.row as usize]).min());
            }
        }
        for row in (0..n).filter(|&row| !fabric.forwards[row] && row != root) {
            let arcs = fabric.out[row].iter().filter(|arc| passes(fabric, class, arc.row));
            legal.hops[row] = one_more(arcs.map(|arc| legal.hops[arc.row as usize]).min());
        }
        legal
    }

    /// Whether an arc is the first of a shortest legal path from its row.
    fn leads_on(&self, fabric: &Fabric, ranks: &Ranks, class: &Class, row: u32, arc: Arc) -> bool {
        let hops = self.hops[row as usize];
        if hops == NONE
            || self.hops[arc.row as usize].wrapping_add(1) != hops
            || !passes(fabric, class, arc.row)
        {
            return false;
        }
        if !fabric.inner[arc.channel.ix()] {
            return true;
        }
        let up = ranks.is_up(fabric, arc.channel);
        if self.down[row as usize] { !up && self.down[arc.row as usize] } else { up }
    }
}

/// Whether a path may lead to a row: the row forwards, or it is the destination.
fn passes(fabric: &Fabric, class: &Class, row: u32) -> bool {
    fabric.forwards[row as usize] || (row == class.root && class.open)
}

/// A hop more than the given number; `NONE` if there is no path.
fn one_more(hops: Option<u32>) -> u32 {
    hops.filter(|&h| h != NONE).map_or(NONE, |h| h + 1)
}
