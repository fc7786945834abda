//! What one host knows of all cables of its cluster.

use crate::{
    fingerprint,
    liveness::{Liveness, START},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tasuki_cluster::{AddressPlan, Around, Cluster, HostId, NicId, PlanError};
use tasuki_wire::{CableHello, CableKind, CableNic, CableProbe, CableState};

/// Time between two hellos of a host on a NIC.
pub const TICK: Duration = Duration::from_millis(50);
/// A hello with a lower number than this comes from a watch that has just begun.
const FRESH: u32 = 10;

/// The cables of a cluster as one host sees them. Pure: the caller gives the time, counted from the beginning
/// of the watch.
pub struct View {
    cluster: Cluster,
    host: HostId,
    plan: AddressPlan,
    fingerprint: u32,
    /// Every direct rail of this host: its own NIC, and the NIC at the other end.
    rails: BTreeMap<(usize, NicId), Liveness>,
    /// Own NICs that have one other end, so that every frame that they receive shows that it lives.
    cables: BTreeSet<usize>,
    received: BTreeMap<usize, u64>,
    /// What every host says of its rails, and since when its watch is known to run.
    states: BTreeMap<u16, (CableState, Option<Duration>)>,
    /// Time of the last [`View::tick`].
    ticked: Duration,
}

fn to_wire(nic: NicId) -> CableNic {
    CableNic { host: nic.host.0 as u16 + 1, nic: nic.index as u16 + 1 }
}

impl View {
    /// The view of a host that has received nothing yet. `stamp` is the time of day, ms: it makes what this
    /// watch says newer than what an earlier one on this host has said, unless the clock went back since.
    pub fn new(cluster: Cluster, host: HostId, stamp: u64) -> Result<Self, PlanError> {
        let plan = AddressPlan::new(&cluster)?;
        let mut rails = BTreeMap::new();
        for other in (0..cluster.hosts.len()).map(HostId).filter(|&other| other != host) {
            for rail in cluster.rails(host, other).into_iter().filter(|rail| rail.is_direct()) {
                rails.insert((rail.nics[0].index, rail.nics[1]), Liveness::new());
            }
        }
        let on_cable = |index: &usize| {
            let cable = cluster.cable_at(tasuki_cluster::End::Nic(NicId { host, index: *index }));
            cable.is_some_and(|cable| {
                cluster.cable_of(cable).ends.iter().all(|end| matches!(end, tasuki_cluster::End::Nic(_)))
            })
        };
        let cables = (0..cluster.host_of(host).nics.len()).filter(on_cable).collect();
        let own = CableState { host: host.0 as u16 + 1, stamp, dead: Vec::new() };
        let states = BTreeMap::from([(own.host, (own, Some(Duration::ZERO)))]);
        let fingerprint = fingerprint(&cluster);
        let (received, ticked) = (BTreeMap::new(), Duration::ZERO);
        Ok(Self { cluster, host, plan, fingerprint, rails, cables, received, states, ticked })
    }

    /// The checksum by which hellos of this cluster are recognised.
    pub fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// The addresses and routes of the cluster.
    pub fn plan(&self) -> &AddressPlan {
        &self.plan
    }

    /// Handles a probe that came on an own NIC. Returns whether the set of dead rails has changed.
    pub fn hear(&mut self, now: Duration, nic: usize, probe: &CableProbe<'_>) -> bool {
        if probe.kind != CableKind::Hello || probe.cluster != self.fingerprint {
            return false;
        }
        let Ok(hello) = CableHello::parse(probe.body) else { return false };
        let CableNic { host, nic: index } = probe.sender;
        let (Some(peer), Some(index)) = (usize::from(host).checked_sub(1), usize::from(index).checked_sub(1))
        else {
            return false;
        };
        let own = to_wire(NicId { host: self.host, index: nic });
        if let Some(rail) = self.rails.get_mut(&(nic, NicId { host: HostId(peer), index })) {
            if hello.leaving {
                rail.forget();
            } else {
                let is_sure = probe.number >= FRESH && now > TICK * FRESH;
                rail.hear(now, hello.heard.contains(&own), is_sure);
            }
        }
        let changed = hello.states.iter().filter(|state| self.learn(now, state)).count() > 0;
        if hello.leaving {
            self.part(host);
            return true;
        }
        self.judge(now) || changed
    }

    /// Handles the announcement of a host's end: its hellos are not awaited any more.
    fn part(&mut self, host: u16) {
        for ((_, peer), rail) in &mut self.rails {
            if to_wire(*peer).host == host {
                rail.forget();
            }
        }
        if let Some((_, since)) = self.states.get_mut(&host) {
            *since = None;
        }
        self.write_own();
    }

    /// Stores what a host says of its rails, at first or second hand. Returns whether its dead rails have
    /// changed.
    fn learn(&mut self, now: Duration, state: &CableState) -> bool {
        let hosts = self.cluster.hosts.len();
        if usize::from(state.host) > hosts || state.host == 0 {
            return false;
        }
        if state.host == to_wire(NicId { host: self.host, index: 0 }).host {
            self.outdo(state);
            return false;
        }
        match self.states.get_mut(&state.host) {
            Some((known, _)) if known.stamp >= state.stamp => false,
            Some((known, since)) => {
                let is_new = known.dead != state.dead;
                *known = state.clone();
                since.get_or_insert(now);
                is_new
            }
            None => {
                self.states.insert(state.host, (state.clone(), Some(now)));
                !state.dead.is_empty()
            }
        }
    }

    /// Makes what this host says newer than what others hold for its word. That is of an earlier watch on
    /// this host if the clock went back in between.
    fn outdo(&mut self, held: &CableState) {
        if let Some((own, _)) = self.states.get_mut(&held.host)
            && (held.stamp > own.stamp || (held.stamp == own.stamp && held.dead != own.dead))
        {
            own.stamp = held.stamp.saturating_add(1);
        }
    }

    /// Stores the carrier of an own NIC, and the number of frames that it has received.
    pub fn look(&mut self, now: Duration, nic: usize, carrier: bool, received: u64) {
        let before = self.received.insert(nic, received);
        let is_busy = self.cables.contains(&nic) && before.is_some_and(|before| received > before);
        for (_, rail) in self.rails.iter_mut().filter(|((own, _), _)| *own == nic) {
            rail.set_carrier(carrier);
            if is_busy {
                rail.hear_data(now);
            }
        }
    }

    /// Handles the passing of time. Returns whether the set of dead rails has changed.
    pub fn tick(&mut self, now: Duration) -> bool {
        let gap = now.saturating_sub(self.ticked);
        self.ticked = now;
        if gap > TICK * 2 {
            self.rails.values_mut().for_each(|rail| rail.forgive(gap - TICK));
        }
        self.judge(now)
    }

    fn judge(&mut self, now: Duration) -> bool {
        let states = &self.states;
        let mut changed = false;
        for ((_, peer), rail) in &mut self.rails {
            let since = states.get(&to_wire(*peer).host).and_then(|(_, since)| *since);
            let awaited = since.is_some_and(|since| now > START && now.saturating_sub(since) > START);
            changed |= rail.judge(now, awaited);
        }
        if changed {
            self.write_own();
        }
        changed
    }

    fn write_own(&mut self) {
        let dead = self.rails.iter().filter(|(_, rail)| rail.is_dead());
        let dead: Vec<_> = dead.map(|((own, peer), _)| (*own as u16 + 1, to_wire(*peer))).collect();
        let number = self.host.0 as u16 + 1;
        if let Some((own, _)) = self.states.get_mut(&number)
            && own.dead != dead
        {
            own.dead = dead;
            own.stamp = own.stamp.saturating_add(1);
        }
    }

    /// The body of the hello that an own NIC is to send now.
    pub fn hello(&self, now: Duration, nic: usize, leaving: bool) -> CableHello {
        let heard = self.rails.iter().filter(|((own, _), rail)| *own == nic && rail.is_audible(now));
        let heard = heard.map(|((_, peer), _)| to_wire(*peer)).collect();
        let mut states: Vec<_> = self.states.values().map(|(state, _)| state.clone()).collect();
        if leaving {
            states.retain(|state| state.host == self.host.0 as u16 + 1);
            // This stamp makes other hosts forget what this watch said before.
            states
                .iter_mut()
                .for_each(|own| (own.stamp, own.dead) = (own.stamp.saturating_add(1), Vec::new()));
        }
        CableHello { leaving, heard, states }
    }

    /// The rails that are dead by the word of any host: pairs of NICs, the lower one first.
    pub fn dead(&self) -> BTreeSet<[NicId; 2]> {
        let nic = |host: u16, nic: u16| {
            let id = NicId {
                host: HostId(usize::from(host).checked_sub(1)?),
                index: usize::from(nic).checked_sub(1)?,
            };
            (id.index < self.cluster.hosts.get(id.host.0)?.nics.len()).then_some(id)
        };
        let of_host = |state: &CableState| {
            let pair = |(own, peer): &(u16, CableNic)| {
                let (a, b) = (nic(state.host, *own)?, nic(peer.host, peer.nic)?);
                Some([a.min(b), a.max(b)])
            };
            state.dead.iter().filter_map(pair).collect::<Vec<_>>()
        };
        self.states.values().flat_map(|(state, _)| of_host(state)).collect()
    }

    /// The routes around the dead rails.
    pub fn around(&self) -> Result<Around, PlanError> {
        self.plan.around(&self.cluster, self.dead())
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }
}
