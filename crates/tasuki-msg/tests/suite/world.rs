//! Several endpoints that the oracle watches, and carriers between them that deliver every frame once and in
//! any order.

mod carrier;

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use tasuki_msg::{Config, Defect, Endpoint, PeerOptions, Window};
use tasuki_random::Random;
use tasuki_testkit::oracle::{Oracle, SendSpec};
use tasuki_testkit::{Check, Text, Trace, demand};

pub use carrier::Habits;
use carrier::InFlight;

/// Bound of the deliveries of a run, higher than any run needs to come to rest.
const STEPS_MAX: u64 = 400_000;

/// Endpoints, carriers and the oracle, whose methods and fields are also those of the world.
pub struct World {
    /// Draws everything that is random.
    pub rng: Random,
    pub window: Window,
    pub habits: Habits,
    pub defect: Option<Defect>,
    pub oracle: Oracle,
    /// Frames under way by sender and receiver, in the order in which they left.
    links: BTreeMap<(usize, usize), Vec<InFlight>>,
    /// For payload that is read in place: pieces of its frame that have not arrived, by sender and payload
    /// key.
    pieces: BTreeMap<(usize, u64), usize>,
    /// A process that is stopped: it neither sends nor receives.
    pub stopped: Option<usize>,
}

impl Deref for World {
    type Target = Oracle;

    fn deref(&self) -> &Oracle {
        &self.oracle
    }
}

impl DerefMut for World {
    fn deref_mut(&mut self) -> &mut Oracle {
        &mut self.oracle
    }
}

impl World {
    pub fn new(rng: Random, config: Config, window: Window, habits: Habits, defect: Option<Defect>) -> World {
        let traced = std::env::var_os("TASUKI_MSG_TRACE").is_some();
        let mut oracle = Oracle::new(config, Trace::new(if traced { Text::Echo } else { Text::None }));
        oracle.shares_memory = true;
        let (links, pieces, stopped) = (BTreeMap::new(), BTreeMap::new(), None);
        World { rng, window, habits, defect, oracle, links, pieces, stopped }
    }

    /// Adds an endpoint that knows all that live, and itself.
    pub fn add_node(&mut self, options: PeerOptions) -> usize {
        let mut ep = Endpoint::new(self.oracle.config, self.window.into());
        ep.plant(self.defect);
        let new = self.oracle.add_node(ep);
        for other in self.oracle.living() {
            self.oracle.acquaint(other, new, options);
            self.oracle.acquaint(new, other, options);
        }
        new
    }

    /// Posts a send; returns the message's name. If the message has a remote key, the receiver may pull it.
    pub fn send(&mut self, from: usize, to: usize, spec: SendSpec) -> Check<usize> {
        let remote_key = spec.remote_key.map(|_| self.oracle.next_name() as u64);
        self.oracle.send(from, to, SendSpec { remote_key, ..spec })
    }

    /// Carries out what an endpoint asks for, and checks that its memory is bounded; to be called after every
    /// frame.
    pub fn settle(&mut self, node: usize) -> Check {
        self.oracle.settle(node)?;
        self.oracle.audit(node)
    }

    /// The engine carries out one of the pulls that it was asked for.
    pub fn pull(&mut self, node: usize) -> Check {
        let pulls = self.oracle.nodes[node].pulls.len();
        if pulls == 0 {
            return Ok(());
        }
        let at = self.rng.index(pulls);
        let works = self.oracle.can_pull(node, at) && !self.rng.chance(self.habits.pull_fails);
        self.oracle.pull(node, at, works)
    }

    /// The node's process dies; no other node is told yet.
    pub fn kill(&mut self, node: usize) {
        self.note(|| format!("node {node} dies"));
        self.cover("node died");
        self.nodes[node].alive = false;
    }

    /// `node` learns that `dead` is dead, or gives it up.
    pub fn peer_failed(&mut self, node: usize, dead: usize) -> Check {
        let Some(peer) = self.nodes[node].peer_for(dead) else { return Ok(()) };
        self.note(|| format!("node {node} is told that {dead} failed"));
        if let Some(frames) = self.links.get_mut(&(node, dead)) {
            frames.clear();
        }
        if !self.nodes[node].gone.contains_key(&peer) && !self.nodes[node].recvs.is_empty() {
            self.cover("death reported");
        }
        self.nodes[node].ep.handle_peer_failed(peer);
        self.settle(node)?;
        demand(!self.nodes[node].lives(peer), || "a failed peer is not reported as gone".into())
    }

    /// Carries everything that can be carried, until nothing moves.
    pub fn drain(&mut self) -> Check {
        let mut steps = 0;
        loop {
            let mut moved = false;
            let stopped = self.stopped;
            for node in self.living().into_iter().filter(|&node| Some(node) != stopped) {
                self.settle(node)?;
                while self.transmit(node)? {
                    moved = true;
                }
                while !self.nodes[node].pulls.is_empty() {
                    moved = true;
                    self.pull(node)?;
                }
            }
            for (from, to) in self.busy_links() {
                if Some(from) == stopped || Some(to) == stopped {
                    continue;
                }
                moved = true;
                for _ in 0..1 + self.under_way(from, to) / 2 {
                    steps += 1;
                    self.deliver(from, to)?;
                }
            }
            if !moved {
                return Ok(());
            }
            demand(steps < STEPS_MAX, || format!("no rest: {}", self.dump()))?;
        }
    }
}
