//! What a cabling gives to one program: its recorded messages, replayed over the rails of a cluster.
//!
//! The time of a run is that of the program's ranks computing as long as they did where the trace was
//! recorded, and of its messages over these cables. `docs/guide/plan.md` says what is left out.

mod fitted;
mod rails;
mod show;

pub use show::{PROGRAM_COLUMNS, program_rows, program_why};

use crate::{Inventory, PlanningError, Proposal, Ranked, files::read_file};
use serde::Serialize;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use tasuki_cluster::{Cluster, End};
use tasuki_sim::fabric::trace::replay_striped;
use tasuki_sim::fabric::trace::{CableUse, Replayed, Striped, StripedError, Trace, TraceError, TraceTimes};

/// Time that a host takes for a message at either end, ps: the default of `tasuki topo simulate`.
const HOST_PS: u64 = 1_000_000;
/// Times that differ by less than this share are equal.
const EQUAL: f64 = 1e-6;

/// The recorded messages of a program.
pub struct Program {
    path: PathBuf,
    trace: Trace,
}

/// One direction of a cable, and what it carried in the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CableLoad {
    /// Name of the end that sends, as `n1:eth0`.
    pub from: String,
    /// Name of the end that receives.
    pub to: String,
    /// Share of the run's time for which it was sending.
    pub busy_share: f64,
    /// Payload that it carried, bytes.
    pub bytes: u64,
}

/// What a cabling gives to a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramTime {
    /// Time until the last rank was done, us.
    pub time_us: f64,
    /// Number of ranks.
    pub ranks: usize,
    /// Mean time that ranks computed, us.
    pub computing_mean_us: f64,
    /// Mean time that ranks waited for messages, us.
    pub waiting_mean_us: f64,
    /// Time that the rank waited which waited longest, us.
    pub waiting_most_us: f64,
    /// Number of messages, and of those between ranks of one host.
    pub messages: u64,
    /// Number of messages between ranks of one host.
    pub local_messages: u64,
    /// Switches and relaying hosts that a packet passes, mean; `None` if there are no packets.
    pub hops_mean: Option<f64>,
    /// The most that any packet passes.
    pub hops_most: u64,
    /// Mean share of the time for which a direction of a cable was sending.
    pub cables_busy_share: f64,
    /// Number of cables that carried nothing.
    pub unused_cables: usize,
    /// All directions of cables that carried something, the busiest first.
    pub cables: Vec<CableLoad>,
}

impl Program {
    /// Reads the trace of a program that is to run on so many hosts.
    ///
    /// # Errors
    /// If the file cannot be read, is no trace, is damaged, has no message, or has fewer ranks than there are
    /// hosts.
    pub fn read(path: &Path, hosts: usize) -> Result<Self, PlanningError> {
        Self::parse(path, &read_file(path)?, hosts)
    }

    /// Like [`Program::read`], from the text of the file.
    fn parse(path: &Path, text: &str, hosts: usize) -> Result<Self, PlanningError> {
        let wrong = |source: TraceError| PlanningError::Trace { path: path.into(), source };
        let trace = Trace::parse(text).map_err(wrong)?;
        if !trace.has_messages() {
            let told = "no rank sends a message: every cabling serves this program alike";
            return Err(wrong(TraceError::Missing(told.into())));
        }
        let ranks = trace.ranks();
        if ranks < hosts {
            return Err(wrong(TraceError::Missing(format!(
                "{ranks} ranks leave {} of {hosts} hosts without any: plan for {ranks} hosts or fewer \
                 (--hosts), or record the program with {hosts} ranks or more",
                hosts - ranks
            ))));
        }
        Ok(Self { path: path.into(), trace })
    }

    /// Adds to the proposals those that are made for this program, laid over the cluster of the file `grow`
    /// if one grows, and the cabling of the cluster file `own`. One that is there already is not added again.
    ///
    /// # Errors
    /// As [`Program::on`]; if a cluster file cannot be read or `own` has another number of hosts.
    pub fn add_proposals(
        &self,
        inventory: &Inventory,
        own: Option<&Path>,
        grow: Option<&Path>,
        found: &mut Vec<Proposal>,
    ) -> Result<(), PlanningError> {
        if let Some(like) = found.first() {
            let pairs = self.replay(&like.cluster)?.pairs;
            let made = match grow {
                Some(path) => fitted::fitted_over(&Cluster::load(path)?, inventory, &pairs),
                None => fitted::fitted(inventory, &pairs),
            };
            let new =
                |one: &Proposal| found.iter().all(|other| cabled(&other.cluster) != cabled(&one.cluster));
            let made: Vec<Proposal> = made.into_iter().filter(new).collect();
            found.extend(made);
        }
        let Some(path) = own else { return Ok(()) };
        let cluster = Cluster::load(path)?;
        let (theirs, hosts) = (cluster.hosts.len(), inventory.hosts);
        if theirs != hosts {
            let why = format!("has {theirs} hosts, and the plan is for {hosts}: give --hosts {theirs}");
            return Err(PlanningError::Contents { path: path.into(), why });
        }
        let what = path.display().to_string();
        found.push(Proposal { what, why: "the cabling of this file", cluster, moves: None });
        Ok(())
    }

    /// What a cluster gives to the program, its ranks in blocks on the hosts in order.
    ///
    /// # Errors
    /// If ranks wait for each other for ever, or no rail joins hosts that exchange messages.
    pub fn on(&self, cluster: &Cluster) -> Result<ProgramTime, PlanningError> {
        Ok(self.times(cluster, &self.replay(cluster)?))
    }

    fn replay(&self, cluster: &Cluster) -> Result<Striped, PlanningError> {
        let (cables, packet_bytes) = rails::cables(cluster);
        let times = TraceTimes::plain(HOST_PS, packet_bytes);
        replay_striped(&self.trace, &cables, times).map_err(|error| match error {
            StripedError::Trace(source) => PlanningError::Trace { path: self.path.clone(), source },
            StripedError::NoWay(from, to) => {
                let name = |host: u32| cluster.hosts[host as usize].name.clone();
                PlanningError::request(format!("no rail leads from {} to {}", name(from), name(to)))
            }
        })
    }

    fn times(&self, cluster: &Cluster, striped: &Striped) -> ProgramTime {
        let Striped { replayed, cables, lengths, .. } = striped;
        let &Replayed { end, messages, local, .. } = replayed;
        let us = |ps: u64| ps as f64 / 1e6;
        let mean = |list: &[u64]| us(list.iter().sum()) / list.len().max(1) as f64;
        let share = |used: &CableUse| used.busy as f64 / end.max(1) as f64;
        let packets: u64 = lengths.iter().sum();
        let hops: u64 =
            (0..).zip(lengths).map(|(cables, count): (u64, _)| cables.saturating_sub(1) * count).sum();
        let load = |(number, used): (usize, &CableUse)| {
            let ends = cluster.cables[number / 2].ends.map(|end| cluster.end_name(end));
            let [from, to] = if number % 2 == 0 { ends } else { [ends[1].clone(), ends[0].clone()] };
            CableLoad { from, to, busy_share: share(used), bytes: used.bytes }
        };
        let used = cables.iter().enumerate().filter(|(_, used)| used.busy > 0);
        let mut loads: Vec<CableLoad> = used.map(load).collect();
        loads.sort_by(|a, b| b.busy_share.total_cmp(&a.busy_share));
        let unused = cables.chunks(2).filter(|both| both.iter().all(|used| used.busy == 0)).count();
        ProgramTime {
            time_us: us(end),
            ranks: self.trace.ranks(),
            computing_mean_us: mean(&replayed.computing),
            waiting_mean_us: mean(&replayed.waiting),
            waiting_most_us: us(replayed.waiting.iter().copied().max().unwrap_or(0)),
            messages,
            local_messages: local,
            hops_mean: (packets > 0).then(|| hops as f64 / packets as f64),
            hops_most: lengths.len().saturating_sub(2) as u64,
            cables_busy_share: cables.iter().map(share).sum::<f64>() / cables.len().max(1) as f64,
            unused_cables: unused,
            cables: loads,
        }
    }
}

/// What is cabled to what, whichever ports are used: the same for cablings that only number NICs otherwise.
fn cabled(cluster: &Cluster) -> Vec<[(bool, usize); 2]> {
    let part = |end: End| match end {
        End::Nic(nic) => (false, nic.host.0),
        End::Port { switch, .. } => (true, switch.0),
    };
    let sorted = |mut ends: [(bool, usize); 2]| {
        ends.sort_unstable();
        ends
    };
    let mut all: Vec<_> = cluster.cables.iter().map(|cable| sorted(cable.ends.map(part))).collect();
    all.sort_unstable();
    all
}

/// Orders the cabling first on which the program ends sooner; those with equal times as `otherwise` says.
/// A cabling without a time stands last.
pub fn compare_programs(a: &Ranked, b: &Ranked, otherwise: Ordering) -> Ordering {
    // Times are rounded, so that a time that equals two others makes these equal: sorting relies on that.
    let rounded = |time_us: f64| (time_us.max(EQUAL).ln() / EQUAL).round() as i64;
    let time = |one: &Ranked| one.program.as_ref().map_or(i64::MAX, |program| rounded(program.time_us));
    time(a).cmp(&time(b)).then(otherwise)
}

#[cfg(test)]
mod tests;
