//! Shortest paths along which the virtual channel rises: at every hop (structured channels), or at every turn
//! from down to up (descending layers).

use super::fabric::{Class, Fabric, Levels};
use super::limits::{Limits, PathRule, check_channels};
use super::minimal::shortest;
use super::updown::Ranks;
use crate::error::RouteError;
use crate::network::{ChannelId, Port};
use crate::tables::{Tables, TurnRule};

/// Structured channels. A path of `h` cables between switches uses virtual channels 0 to `h - 1`, so no
/// channel ever waits for one with a lower number.
pub(super) fn structured(
    fabric: &Fabric,
    name: &'static str,
    rule: PathRule,
    limits: Limits,
) -> Result<Tables, RouteError> {
    let mut tables = fabric.tables(name);
    let mut need = 1;
    shortest(fabric, rule, &mut tables, |class, levels, _| {
        for row in (0..fabric.routers.len()).filter(|&row| fabric.sources[row] > 0) {
            let outside = u32::from(!fabric.forwards[row]) + u32::from(!fabric.forwards[class.root as usize]);
            need = need.max(levels.level[row].saturating_sub(outside));
        }
    })?;
    if limits.lossless {
        tables.set_vcs(check_channels(name, need, limits)?);
        if need > 1 {
            raise_turns(fabric, &mut tables, |_, _| true);
        }
    }
    Ok(tables)
}

/// Descending layers. Within one virtual channel paths go up, then down, so no circle arises; and no channel
/// ever waits for a lower virtual channel. (The publication numbers the layers downwards.)
pub(super) fn descending(
    fabric: &Fabric,
    name: &'static str,
    rule: PathRule,
    limits: Limits,
) -> Result<Tables, RouteError> {
    let mut tables = fabric.tables(name);
    let ranks = Ranks::new(fabric);
    let raises =
        |first: ChannelId, second: ChannelId| !ranks.is_up(fabric, first) && ranks.is_up(fabric, second);
    let mut need = 1;
    let mut steps = vec![0; fabric.routers.len()];
    shortest(fabric, rule, &mut tables, |class, levels, tables| {
        need = need.max(1 + most_steps(fabric, class, levels, tables, raises, &mut steps));
    })?;
    if limits.lossless {
        tables.set_vcs(check_channels(name, need, limits)?);
        if need > 1 {
            raise_turns(fabric, &mut tables, raises);
        }
    }
    Ok(tables)
}

/// The largest number of turns that raise the virtual channel on a path to a class. `steps` is memory,
/// `[row]`.
fn most_steps(
    fabric: &Fabric,
    class: &Class,
    levels: &Levels,
    tables: &Tables,
    raises: impl Fn(ChannelId, ChannelId) -> bool,
    steps: &mut [u32],
) -> u32 {
    let mut most = 0;
    for &(host, _) in &class.hosts {
        steps[class.root as usize] = 0;
        for &row in levels.order.iter().skip(1) {
            let Some(channel) = fabric.next(tables, row, host) else { continue };
            let head = fabric.head[channel.ix()];
            let next = if head == class.root { None } else { fabric.next(tables, head, host) };
            let inner = |c: ChannelId| fabric.inner[c.ix()];
            let step = next.is_some_and(|next| inner(channel) && inner(next) && raises(channel, next));
            steps[row as usize] = steps[head as usize] + u32::from(step);
            if fabric.sources[row as usize] > 0 {
                most = most.max(steps[row as usize]);
            }
        }
    }
    most
}

/// Makes the chosen turns between forwarding nodes raise the virtual channel.
fn raise_turns(fabric: &Fabric, tables: &mut Tables, raises: impl Fn(ChannelId, ChannelId) -> bool) {
    let net = fabric.net;
    for (row, &node) in fabric.routers.iter().enumerate() {
        let ports = net.ports(node);
        for first in &fabric.into[row] {
            for second in &fabric.out[row] {
                let inner = fabric.inner[first.channel.ix()] && fabric.inner[second.channel.ix()];
                if inner && second.channel != first.channel.reverse() && raises(first.channel, second.channel)
                {
                    let (a, b): (Port, Port) = (net.in_port(first.channel), net.out_port(second.channel));
                    tables.set_turn(row, ports, a, b, TurnRule::Raise);
                }
            }
        }
    }
}
