//! Bandwidth: one host of each switch writes to a host of another switch and waits for the acknowledgement of
//! every packet.

use super::model::{HEADERS, SMALL};
use super::{Model, Rhinet2Error};
use tasuki_sim::fabric::loads::{Push, Targets};
use tasuki_sim::fabric::{Fabric, US};
use tasuki_topo::bounds::Pattern;
use tasuki_topo::{HostId, Network, Tables};

/// Time until the pairs are in a steady state, and time over which they are then measured, ps.
const WARM: u64 = 500 * US;
const WATCHED: u64 = 4000 * US;

/// Mean over the senders, MByte/s (10^6), for packets with the given number of bytes of data.
pub(super) fn mean(
    model: &Model,
    net: &Network,
    tables: &Tables,
    flows: &[(u32, u32)],
    data: u32,
) -> Result<f64, Rhinet2Error> {
    let mut targets = vec![Targets::None; net.hosts().len()];
    for &(from, to) in flows {
        targets[from as usize] = Targets::One(to);
    }
    let mut fabric = Fabric::new(net, tables, model.settings)?;
    let bytes = ((data + HEADERS).max(SMALL), SMALL);
    let mut push = Push::new(targets, bytes, 1, model.push, (WARM, WARM + WATCHED), 1);
    fabric.run(&mut push, WARM + WATCHED)?;
    let rates = push.rates();
    Ok(rates.iter().sum::<f64>() / rates.len().max(1) as f64 * f64::from(data) / 1e6)
}

/// Mean bandwidth if no packets met each other, MByte/s: the mean of what each pair reaches alone.
pub(super) fn alone(
    model: &Model,
    net: &Network,
    tables: &Tables,
    flows: &[(u32, u32)],
    data: u32,
) -> Result<f64, Rhinet2Error> {
    let mut sum = 0.0;
    for flow in flows {
        let rounds = |from: u32, to: u32, bytes: u32| -> Result<f64, Rhinet2Error> {
            let channels = tables.path(net, HostId(from), HostId(to))?.len() as u64;
            let path = channels * model.settings.cable_ps + (channels - 1) * model.settings.switch_ps;
            Ok(path as f64 + f64::from(bytes) * 8e12 / super::model::LINK_BPS as f64)
        };
        let hosts = model.push.send + model.push.turn + model.push.done;
        let out = rounds(flow.0, flow.1, (data + HEADERS).max(SMALL))?;
        sum += f64::from(data) / (out + rounds(flow.1, flow.0, SMALL)? + hosts as f64) * 1e6;
    }
    Ok(sum / flows.len().max(1) as f64)
}

/// The pairs of sender and receiver: of the hosts of each switch the first sends and the second receives
/// (4.1.2). If the number of switches is no square, transposing rotates the bits of the number.
pub(super) fn flows(net: &Network, pattern: Pattern) -> Vec<(u32, u32)> {
    let mut places: Vec<(tasuki_topo::NodeId, Vec<u32>)> = Vec::new();
    for (host, &node) in net.hosts().iter().enumerate() {
        let Some(switch) = net.out(node).next().map(|channel| net.to(channel)) else { continue };
        match places.iter_mut().find(|(at, _)| *at == switch) {
            Some((_, hosts)) => hosts.push(host as u32),
            None => places.push((switch, vec![host as u32])),
        }
    }
    let bits = places.len().checked_ilog2().unwrap_or(0);
    let receiver = |at: usize| places.get(at).and_then(|(_, hosts)| hosts.get(1)).copied();
    let flow = |at: usize| Some((places[at].1[0], receiver(pattern.target(at as u32, bits) as usize)?));
    (0..places.len()).filter_map(flow).collect()
}

/// The paper's four traffic patterns.
pub(super) const PATTERNS: [(&str, Pattern); 4] = [
    ("bit reversal", Pattern::BitReversal),
    ("matrix transpose", Pattern::MatrixTranspose),
    ("butterfly", Pattern::Butterfly),
    ("complement", Pattern::Complement),
];
