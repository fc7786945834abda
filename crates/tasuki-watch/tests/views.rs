//! Views that exchange hellos in virtual time, over cables that die in one direction or in both. Soon all
//! hosts agree on the dead rails, routes lead around them without a circle, and later back. The oracle is a
//! search through the living cables.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};
use tasuki_cluster::{
    Cluster, HostId, NicId,
    generate::{Options, Shape, generate},
};
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;
use tasuki_watch::{TICK, View};
use tasuki_wire::{CableKind, CableNic, CableProbe};

struct World {
    cluster: Cluster,
    views: Vec<View>,
    /// Directions in which nothing passes: from the first NIC to the second.
    cut: BTreeSet<(NicId, NicId)>,
    now: Duration,
    number: u32,
}

impl World {
    fn new(shape: &str) -> Self {
        let shape: Shape = shape.parse().unwrap();
        let cluster = generate(&shape, &Options::default()).unwrap();
        let hosts = 0..cluster.hosts.len();
        let views = hosts.map(|host| View::new(cluster.clone(), HostId(host), 1000).unwrap()).collect();
        Self { cluster, views, cut: BTreeSet::new(), now: Duration::ZERO, number: 0 }
    }

    fn pairs(&self) -> Vec<[NicId; 2]> {
        let all = self.cluster.all_rails().into_iter().flat_map(|(_, rails)| rails);
        all.filter(|rail| rail.is_direct()).map(|rail| rail.nics).collect()
    }

    /// One tick of all hosts: every hello reaches the NICs that living cables lead to.
    fn tick(&mut self) {
        self.now += TICK;
        self.number += 1;
        for host in 0..self.views.len() {
            self.views[host].tick(self.now);
            for [a, b] in self.pairs() {
                for (from, to) in [(a, b), (b, a)] {
                    if from.host.0 == host && !self.cut.contains(&(from, to)) {
                        self.deliver(from, to);
                    }
                }
            }
        }
    }

    fn deliver(&mut self, from: NicId, to: NicId) {
        let body = self.views[from.host.0].hello(self.now, from.index, false).emit(1400);
        let probe = CableProbe {
            kind: CableKind::Hello,
            number: self.number,
            run: 1,
            cluster: self.views[from.host.0].fingerprint(),
            sender: CableNic { host: from.host.0 as u16 + 1, nic: from.index as u16 + 1 },
            host_name: "h",
            nic_name: "e",
            body: &body,
        };
        let mut bytes = Vec::new();
        probe.emit(&mut bytes).unwrap();
        self.views[to.host.0].hear(self.now, to.index, &CableProbe::parse(&bytes).unwrap());
    }

    fn run(&mut self, ms: u64) {
        (0..ms / 50).for_each(|_| self.tick());
    }

    /// Hosts that can be reached over living cables, by a search that does not use the routes.
    fn reachable(&self, from: usize, to: usize) -> bool {
        let living: Vec<_> = self
            .pairs()
            .into_iter()
            .filter(|[a, b]| !self.cut.contains(&(*a, *b)) && !self.cut.contains(&(*b, *a)))
            .map(|[a, b]| [a.host.0, b.host.0])
            .collect();
        let (mut seen, mut queue) = (BTreeSet::from([from]), VecDeque::from([from]));
        while let Some(host) = queue.pop_front() {
            for [a, b] in &living {
                for (x, y) in [(*a, *b), (*b, *a)] {
                    if x == host && seen.insert(y) {
                        queue.push_back(y);
                    }
                }
            }
        }
        seen.contains(&to)
    }

    /// Follows every next hop of every route. Each must be over a living cable, and reach the target within
    /// as many steps as there are hosts.
    fn check(&self, what: &str) {
        let hosts = self.views.len();
        for from in 0..hosts {
            for to in (0..hosts).filter(|&to| to != from && self.reachable(from, to)) {
                let mut at = BTreeSet::from([from]);
                for _ in 0..hosts {
                    at = at
                        .into_iter()
                        .flat_map(|host| if host == to { vec![to] } else { self.next(host, to, what) })
                        .collect();
                }
                assert_eq!(at, BTreeSet::from([to]), "{what}: from n{} to n{}", from + 1, to + 1);
            }
        }
    }

    fn next(&self, host: usize, to: usize, what: &str) -> Vec<usize> {
        let around = self.views[host].around().unwrap();
        let route = around.routes[host].iter().find(|route| route.to.0 == to).unwrap();
        let plan = self.views[host].plan();
        let nic = |via| {
            let found = self.cluster.nics().find(|nic| {
                let name = &self.cluster.nic_of(*nic).name;
                plan.hosts[nic.host.0]
                    .links
                    .iter()
                    .any(|link| Some(link.address) == via && link.interface == *name)
            });
            found.unwrap()
        };
        let mut hosts = Vec::new();
        for hop in &route.next_hops {
            let peer = nic(hop.via);
            let index =
                self.cluster.hosts[host].nics.iter().position(|nic| nic.name == hop.interface).unwrap();
            let own = NicId { host: HostId(host), index };
            assert!(
                !self.cut.contains(&(own, peer)) && !self.cut.contains(&(peer, own)),
                "{what}: n{} to n{} over a dead rail",
                host + 1,
                to + 1
            );
            if peer.host.0 != to {
                assert!(around.relays[peer.host.0], "{what}: n{} does not relay", peer.host.0 + 1);
            }
            hosts.push(peer.host.0);
        }
        hosts
    }
}

fn shapes() -> [&'static str; 8] {
    ["full:4", "ring:5", "pair:3", "torus:3x3", "mixed:6/3", "star:4", "planes:3x2", "full:2"]
}

#[test]
fn nothing_dead_is_the_plan() {
    for shape in shapes() {
        let mut world = World::new(shape);
        world.run(3000);
        for view in &world.views {
            assert!(view.dead().is_empty(), "{shape}");
            let around = view.around().unwrap();
            for (host, planned) in around.routes.iter().zip(&view.plan().hosts) {
                assert!(host.iter().all(|route| planned.routes.contains(route)), "{shape}");
            }
            let relays: Vec<_> = view.plan().hosts.iter().map(|host| host.relays()).collect();
            assert_eq!(around.relays, relays, "{shape}");
        }
    }
}

const REPLAY: Replay =
    Replay { variable: "TASUKI_SEED", command: "cargo test -p tasuki-watch --test views routes_lead_around" };

#[test]
fn routes_lead_around_what_dies_and_back() {
    for seed in REPLAY.seeds(40) {
        let mut random = Random::new(seed);
        let shapes = shapes();
        let shape = shapes[random.index(shapes.len())];
        let what = format!("{shape}, {}", REPLAY.sentence(seed));
        let mut world = World::new(shape);
        world.run(3000);
        let pairs = world.pairs();
        for _ in 0..1 + random.index(3) {
            let [a, b] = pairs[random.index(pairs.len())];
            match random.index(3) {
                0 => world.cut.extend([(a, b)]),
                1 => world.cut.extend([(b, a)]),
                _ => world.cut.extend([(a, b), (b, a)]),
            }
        }
        // Routes must be right within a second; this leaves a part of that for TCP to notice.
        world.run(500);
        world.check(&what);
        world.cut.clear();
        world.run(4000);
        assert!(world.views.iter().all(|view| view.dead().is_empty()), "{what}: something stays dead");
        world.check(&what);
    }
}

/// A cable that was dead before the watches began is found too, once both ends are known to watch.
#[test]
fn a_cable_that_never_lived() {
    let mut world = World::new("full:3");
    let [a, b] = world.pairs()[0];
    world.cut.extend([(a, b), (b, a)]);
    world.run(5000);
    assert!(world.views.iter().all(|view| view.dead() == BTreeSet::from([[a.min(b), a.max(b)]])));
    world.check("never lived");
}

/// A host that announces its end does not count as dead; one that falls silent does.
#[test]
fn leave_is_not_death() {
    let mut world = World::new("full:3");
    world.run(3000);
    for nic in 0..2 {
        let body = world.views[0].hello(world.now, nic, true).emit(1400);
        for [a, b] in world.pairs() {
            let to = if a == (NicId { host: HostId(0), index: nic }) { b } else { continue };
            let probe = CableProbe {
                kind: CableKind::Hello,
                number: 99,
                run: 1,
                cluster: world.views[0].fingerprint(),
                sender: CableNic { host: 1, nic: nic as u16 + 1 },
                host_name: "h",
                nic_name: "e",
                body: &body,
            };
            let mut bytes = Vec::new();
            probe.emit(&mut bytes).unwrap();
            let now = world.now;
            world.views[to.host.0].hear(now, to.index, &CableProbe::parse(&bytes).unwrap());
        }
    }
    let silent: Vec<_> = world.pairs().into_iter().filter(|pair| pair[0].host.0 == 0).collect();
    world.cut.extend(silent.iter().flat_map(|[a, b]| [(*a, *b), (*b, *a)]));
    world.run(5000);
    assert!(world.views[1].dead().is_empty() && world.views[2].dead().is_empty());
}

/// A watch that begins again after the clock of its host went back is believed all the same: it makes its
/// word newer than that of the watch before it, which others pass on.
#[test]
fn a_clock_that_went_back() {
    // A word from before may be as old as the present one, too.
    for stamp in [1, 500, 1001] {
        let mut world = World::new("full:3");
        world.run(3000);
        let [a, b] = world.pairs()[0];
        world.cut.extend([(a, b), (b, a)]);
        world.run(1000);
        let dead = BTreeSet::from([[a.min(b), a.max(b)]]);
        assert!(world.views.iter().all(|view| view.dead() == dead), "{stamp}");
        world.views[a.host.0] = View::new(world.cluster.clone(), a.host, stamp).unwrap();
        world.cut.clear();
        world.run(5000);
        assert!(world.views.iter().all(|view| view.dead().is_empty()), "{stamp}: what was said before stays");
        world.check("healed");
        // What it says from now on counts.
        world.cut.extend([(a, b), (b, a)]);
        world.run(1000);
        assert!(world.views.iter().all(|view| view.dead() == dead), "{stamp}");
        world.check("dead again");
    }
}
