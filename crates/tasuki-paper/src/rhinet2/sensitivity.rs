//! How cells change if one choice of the model is made differently.

use super::barrier::times;
use super::figures::{clos_over, loss_per_switch};
use super::model::{Model, thirds};
use super::networks::{Named, mesh, of_16, of_32, torus};
use super::tables::complement;
use super::{Effort, Rhinet2Error};
use tasuki_sim::fabric::loads::HostTimes;
use tasuki_sim::fabric::{Arbiter, Crossbar, FlowControl, Room, Settings, Switching};
use tasuki_topo::PathRule;

/// The values of some cells if one choice is made differently.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The choice.
    pub choice: &'static str,
    /// Names of the cells and their simulated values; those of the first row are with the model's own
    /// choices.
    pub cells: Vec<(&'static str, f64)>,
}

/// One row per choice; the first is the model itself.
pub(super) fn table(effort: Effort, mut progress: impl FnMut(&str)) -> Result<Vec<Moved>, Rhinet2Error> {
    let row = |(choice, model): (&'static str, Model)| {
        progress(choice);
        Ok(Moved { choice, cells: cells(&model, effort)? })
    };
    choices().into_iter().map(row).collect()
}

fn choices() -> Vec<(&'static str, Model)> {
    let model = Model::fitted();
    let settings = |change: &dyn Fn(&mut Settings)| {
        let mut changed = model;
        change(&mut changed.settings);
        changed
    };
    let room = |buffer, flow| settings(&|s| s.room = Room::Lossless { buffer, flow });
    let host = model.push.send + model.push.turn + model.push.done;
    let push = |send: u64, turn: u64| {
        let mut changed = model;
        (changed.push.send, changed.push.turn, changed.push.done) = (send, turn, host - send - turn);
        changed
    };
    let spread = |percent| {
        let mut changed = Model { push: thirds(host), ..model };
        changed.push.jitter_percent = percent;
        changed
    };
    let all = model.barrier.send + model.barrier.receive;
    let barrier = |send: u64| Model { barrier: HostTimes { send, receive: all - send }, ..model };
    vec![
        ("as it is", model),
        ("credits instead of Go & Stop", room(4096, FlowControl::Credits)),
        ("Go when a buffer is empty", room(4096, FlowControl::GoAndStop { go: 0 })),
        ("buffers of 1 MB", room(1 << 20, FlowControl::Credits)),
        ("one way per port into the crossbar", settings(&|s| s.crossbar = Crossbar::PerPort)),
        ("ports in turn", settings(&|s| s.arbiter = Arbiter::RoundRobin)),
        ("store and forward", settings(&|s| s.switching = Switching::StoreAndForward)),
        ("low ports everywhere", Model { spread: PathRule::LowPortFirst, ..model }),
        ("spread on the torus too", Model { low: PathRule::SpreadPerHost, ..model }),
        ("host times vary by 10 %", spread(10)),
        ("host times vary by 50 %", spread(50)),
        ("packets: all host time at the sender", push(host, 0)),
        ("packets: all host time at the receiver", push(0, host)),
        ("barriers: all host time at the sender", barrier(all)),
        ("barriers: all host time at the receiver", barrier(0)),
    ]
}

fn cells(model: &Model, effort: Effort) -> Result<Vec<(&'static str, f64)>, Rhinet2Error> {
    let barrier = |named: &Named| {
        let tables = model.tables(named)?;
        Ok::<f64, Rhinet2Error>(times(model, &named.net, &tables, effort.lists.min(50), effort.seed)?.mean)
    };
    let (mesh, torus) = (mesh()?, torus()?);
    let [ring, _, _, clos] = of_32()?;
    let [large, small, ..] = of_16()?;
    let on_mesh = complement(model, &mesh.net, mesh.routing)?;
    let on_torus = complement(model, &torus.net, torus.routing)?;
    let [over_tree, over_torus] = clos_over(model)?;
    Ok(vec![
        ("T3 mesh, us", barrier(&mesh)?),
        ("T3 torus, us", barrier(&torus)?),
        ("T5 ring, us", barrier(&ring)?),
        ("T5 Clos, us", barrier(&clos)?),
        ("T7 tree 14, us", barrier(&large)?),
        ("T7 tree 6, us", barrier(&small)?),
        ("T9 mesh drop, %", on_mesh.drop),
        ("T9 torus drop, %", on_torus.drop),
        ("F6 torus/mesh, %", (on_torus.result / on_mesh.result - 1.0) * 100.0),
        ("F7 per switch, MB/s", loss_per_switch(model)?),
        ("F8 Clos/tree 14, %", over_tree),
        ("F8 Clos/torus, %", over_torus),
    ])
}
