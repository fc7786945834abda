//! LASH (Skeie, Lysne, Theiss 2002): one shortest path per pair of switches, each in the first layer that it
//! leaves without circles.

use super::fabric::{Fabric, Levels};
use super::layers::Layers;
use super::limits::Limits;
use crate::error::RouteError;
use crate::tables::Tables;

pub(super) fn route(fabric: &Fabric, name: &'static str, limits: Limits) -> Result<Tables, RouteError> {
    let mut tables = fabric.tables(name);
    let mut levels = Levels::default();
    let mut load = vec![0u32; fabric.net.channels()];
    for class in &fabric.classes {
        fabric.levels(class, &mut levels)?;
        fabric.deliver(class, &mut tables);
        for &row in levels.order.iter().skip(1) {
            let best = fabric.nearer(class, &levels, row).min_by_key(|arc| load[arc.channel.ix()]);
            let Some(arc) = best else { continue };
            load[arc.channel.ix()] += 1;
            for &(host, _) in &class.hosts {
                tables.set_port(row as usize, host, Some(fabric.net.out_port(arc.channel)));
            }
        }
    }
    if limits.lossless {
        let mut layers = Layers::new(fabric);
        for class in &fabric.classes {
            layers.lay_all(
                class,
                class.hosts[0].0,
                &tables,
                |_, _| true,
                |layers, row, layer| {
                    class.hosts.iter().for_each(|&(host, _)| layers.set(row, host, layer));
                },
            );
        }
        layers.finish(name, limits, &mut tables)?;
    }
    Ok(tables)
}
