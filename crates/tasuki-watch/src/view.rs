//! What one host knows of all cables.

use crate::{
    fingerprint,
    way::{START, Way},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tasuki_cluster::{AddressPlan, Around, Cluster, HostId, NicId, PlanError};
use tasuki_wire::{CableHello, CableKind, CableNic, CableProbe, CableState};

/// Time between two hellos.
pub const TICK: Duration = Duration::from_millis(50);
/// A hello with a lower number than this comes from a watch that has just begun.
const FRESH: u32 = 10;

/// The cables of a cluster as one host sees them. Pure: time is given, since the watch began.
pub struct View {
    cluster: Cluster,
    host: HostId,
    plan: AddressPlan,
    fingerprint: u32,
    /// Own NIC and the NIC at the other end, of every direct rail.
    ways: BTreeMap<(usize, NicId), Way>,
    /// Own NICs with one other end, whose every received frame is a sign of its life.
    cables: BTreeSet<usize>,
    received: BTreeMap<usize, u64>,
    /// What every host says, and since when its watch is known to run.
    states: BTreeMap<u16, (CableState, Option<Duration>)>,
    /// Time of the last [`View::tick`].
    ticked: Duration,
}

fn to_wire(nic: NicId) -> CableNic {
    CableNic { host: nic.host.0 as u16 + 1, nic: nic.index as u16 + 1 }
}

impl View {
    /// The view of a host that has heard nothing yet. `stamp` is the time of day in ms: it makes this watch's words newer than those of an earlier one.
    pub fn new(cluster: Cluster, host: HostId, stamp: u64) -> Result<Self, PlanError> {
        let plan = AddressPlan::new(&cluster)?;
        let mut ways = BTreeMap::new();
        for other in (0..cluster.hosts.len()).map(HostId).filter(|&other| other != host) {
            for rail in cluster.rails(host, other).into_iter().filter(|rail| rail.is_direct()) {
                ways.insert((rail.nics[0].index, rail.nics[1]), Way::new());
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
        Ok(Self { cluster, host, plan, fingerprint, ways, cables, received, states, ticked })
    }

    /// The checksum that marks the cluster's hellos.
    pub fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// The plan of the cluster.
    pub fn plan(&self) -> &AddressPlan {
        &self.plan
    }

    /// A probe came on an own NIC. True if something about dead ways has changed.
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
        if let Some(way) = self.ways.get_mut(&(nic, NicId { host: HostId(peer), index })) {
            if hello.leaving {
                way.forget();
            } else {
                let is_sure = probe.number >= FRESH && now > TICK * FRESH;
                way.hear(now, hello.heard.contains(&own), is_sure);
            }
        }
        let changed = hello.states.iter().filter(|state| self.learn(now, state)).count() > 0;
        if hello.leaving {
            self.part(host);
            return true;
        }
        self.judge(now) || changed
    }

    /// A host has taken its leave: nobody waits for its hellos.
    fn part(&mut self, host: u16) {
        for ((_, peer), way) in &mut self.ways {
            if to_wire(*peer).host == host {
                way.forget();
            }
        }
        if let Some((_, since)) = self.states.get_mut(&host) {
            *since = None;
        }
        self.write_own();
    }

    /// Takes what a host is said to say. True if its dead ways are others than before.
    fn learn(&mut self, now: Duration, state: &CableState) -> bool {
        let hosts = self.cluster.hosts.len();
        if state.host == to_wire(NicId { host: self.host, index: 0 }).host
            || usize::from(state.host) > hosts
            || state.host == 0
        {
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

    /// How an own NIC is: its carrier, and how many frames it has received.
    pub fn look(&mut self, now: Duration, nic: usize, carrier: bool, received: u64) {
        let before = self.received.insert(nic, received);
        let is_busy = self.cables.contains(&nic) && before.is_some_and(|before| received > before);
        for (_, way) in self.ways.iter_mut().filter(|((own, _), _)| *own == nic) {
            way.set_carrier(carrier);
            if is_busy {
                way.is_busy(now);
            }
        }
    }

    /// Time has passed. True if something about dead ways has changed.
    pub fn tick(&mut self, now: Duration) -> bool {
        let gap = now.saturating_sub(self.ticked);
        self.ticked = now;
        if gap > TICK * 2 {
            self.ways.values_mut().for_each(|way| way.forgive(gap - TICK));
        }
        self.judge(now)
    }

    fn judge(&mut self, now: Duration) -> bool {
        let states = &self.states;
        let mut changed = false;
        for ((_, peer), way) in &mut self.ways {
            let since = states.get(&to_wire(*peer).host).and_then(|(_, since)| *since);
            let awaited = since.is_some_and(|since| now > START && now.saturating_sub(since) > START);
            changed |= way.judge(now, awaited);
        }
        if changed {
            self.write_own();
        }
        changed
    }

    fn write_own(&mut self) {
        let dead = self.ways.iter().filter(|(_, way)| way.is_dead());
        let dead: Vec<_> = dead.map(|((own, peer), _)| (*own as u16 + 1, to_wire(*peer))).collect();
        let number = self.host.0 as u16 + 1;
        if let Some((own, _)) = self.states.get_mut(&number)
            && own.dead != dead
        {
            own.dead = dead;
            own.stamp += 1;
        }
    }

    /// The body of a hello that an own NIC is to send.
    pub fn hello(&self, now: Duration, nic: usize, leaving: bool) -> CableHello {
        let heard = self.ways.iter().filter(|((own, _), way)| *own == nic && way.is_audible(now));
        let heard = heard.map(|((_, peer), _)| to_wire(*peer)).collect();
        let mut states: Vec<_> = self.states.values().map(|(state, _)| state.clone()).collect();
        if leaving {
            states.retain(|state| state.host == self.host.0 as u16 + 1);
            // Nobody shall go by what it said before.
            states.iter_mut().for_each(|own| (own.stamp, own.dead) = (own.stamp + 1, Vec::new()));
        }
        CableHello { leaving, heard, states }
    }

    /// Ways that are dead on the word of any host: pairs of NICs of the cluster, the lower one first.
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

    /// Routes around what is dead.
    pub fn around(&self) -> Result<Around, PlanError> {
        self.plan.around(&self.cluster, self.dead())
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }
}
