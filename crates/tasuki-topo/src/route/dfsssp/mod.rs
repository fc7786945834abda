//! DFSSSP (Domke, Hoefler, Nagel 2011): shortest paths, each chosen to cross the channels with the least load
//! so far. Then circles in the channel dependency graph are broken one by one: all paths that use the least
//! used edge of the circle move to the next layer.
//!
//! If all paths moved like that, as published, the last ones would end in many nearly empty layers. So once
//! few paths are left, each goes to the first layer that stays without circles with it.

mod breaker;

use super::fabric::{Class, Fabric, Levels};
use super::layers::Layers;
use super::limits::Limits;
use crate::error::RouteError;
use crate::network::{ChannelId, HostId};
use crate::tables::Tables;
use breaker::Breaker;

/// "Few paths are left" means: at most one in this many of all paths.
const FEW: u64 = 4;

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
        lay(fabric, &tables)?.finish(name, limits, &mut tables)?;
    }
    Ok(tables)
}

/// Finds a layer for every path.
fn lay<'f>(fabric: &'f Fabric<'f>, tables: &Tables) -> Result<Layers<'f>, RouteError> {
    let mut layers = Layers::new(fabric);
    let mut breaker = Breaker::new(fabric, tables)?;
    let all = breaker.paths();
    while breaker.paths() * FEW > all {
        breaker.break_circles(&mut layers);
        let opened = layers.open_with(breaker.dependencies());
        debug_assert!(opened.is_some(), "all circles are broken");
        breaker.next_layer();
    }
    let left = breaker.layer();
    for class in &fabric.classes {
        for &(host, _) in &class.hosts {
            let wanted = |layers: &Layers, row| layers.layer(row, host) == left;
            layers.lay_all(class, host, tables, wanted, |layers, row, layer| layers.set(row, host, layer));
        }
    }
    Ok(layers)
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
