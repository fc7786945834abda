//! Routes for any number of virtual channels, one included, after Nue (Domke, Hoefler, Matsuoka 2016).
//!
//! Destinations are divided among the virtual channels. In each, all turns of a spanning tree are entered
//! into the channel dependency graph first: they form no circle and reach everything. Then every destination
//! grows a tree of short paths backwards, hop by hop, using only turns that leave the graph without circles.
//! A row that no such hop reaches is attached by rerouting a neighbour. A destination for which that fails
//! too is routed over the spanning tree, and counted as escaped.

mod grow;
mod span;

use super::fabric::{Fabric, Levels};
use super::limits::Limits;
use super::updown::spread;
use crate::error::RouteError;
use crate::tables::{Start, Tables};
use grow::Grower;
use span::SpanningTree;

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
        grower.begin(&tree);
        for &class in share {
            let class = &fabric.classes[class];
            for &(host, _) in &class.hosts {
                start[host.ix()] = vc as u8;
                if !grower.grow(class) {
                    tree.towards(fabric, class, &mut grower.next);
                    escaped += 1;
                }
                grower.write(class, host, &mut tables);
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
    let size = |class: usize| fabric.classes[class].hosts.len();
    let all: usize = order.iter().map(|&c| size(c)).sum();
    let mut shares = vec![Vec::new(); usize::from(vcs)];
    let mut before = 0;
    for class in order {
        shares[(before * usize::from(vcs)).checked_div(all).unwrap_or(0)].push(class);
        before += size(class);
    }
    shares.retain(|share| !share.is_empty());
    shares
}
