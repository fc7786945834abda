//! Several endpoints, carriers between them that deliver every frame once and in any order, and the checks that hold
//! at every step. Every method returns what went wrong as text.

mod actions;
mod audit;
mod carrier;
mod program;

use std::collections::BTreeMap;
use std::fmt::Display;

use tasuki_msg::{Config, Defect, Endpoint, PeerOptions, Window};

pub use carrier::Habits;
use carrier::{Group, Link};
pub use program::{RecvSpec, SendSpec};

use crate::node::{Node, Sent};
use tasuki_random::Random;

pub type Check<T = ()> = Result<T, String>;

/// How often interesting things happened.
pub type Coverage = BTreeMap<&'static str, u64>;

/// More deliveries than any run needs to come to rest.
const STEPS_MAX: u64 = 400_000;

pub struct World {
    pub rng: Random,
    pub config: Config,
    pub window: Window,
    pub habits: Habits,
    pub defect: Option<Defect>,
    pub nodes: Vec<Node>,
    pub sent: Vec<Sent>,
    links: BTreeMap<(usize, usize), Link>,
    /// Frames that were cut up, until all pieces have arrived.
    groups: BTreeMap<usize, Group>,
    groups_made: usize,
    pub coverage: Coverage,
    /// A process that has been stopped: it neither sends nor receives.
    pub stopped: Option<usize>,
    trace: bool,
}

impl World {
    pub fn new(rng: Random, config: Config, window: Window, habits: Habits, defect: Option<Defect>) -> World {
        World {
            rng,
            config,
            window,
            habits,
            defect,
            nodes: Vec::new(),
            sent: Vec::new(),
            links: BTreeMap::new(),
            groups: BTreeMap::new(),
            groups_made: 0,
            coverage: Coverage::new(),
            stopped: None,
            trace: std::env::var_os("TASUKI_MSG_TRACE").is_some(),
        }
    }

    /// A new endpoint, acquainted with all that live, and with itself.
    pub fn add_node(&mut self, options: PeerOptions) -> usize {
        let new = self.nodes.len();
        let mut ep = Endpoint::new(self.config, self.window);
        ep.plant(self.defect);
        self.nodes.push(Node::new(ep));
        for other in 0..=new {
            if self.nodes[other].alive {
                self.acquaint(other, new, options);
            }
        }
        new
    }

    fn acquaint(&mut self, a: usize, b: usize, options: PeerOptions) {
        for (here, there) in [(a, b), (b, a)] {
            if self.nodes[here].peer_for(there).is_some() {
                continue;
            }
            let peer = self.nodes[here].ep.add_peer(options);
            self.nodes[here].peers.push((there, peer));
            self.nodes[here].silent = false;
            self.links.insert((here, there), Link::default());
        }
    }

    pub fn living(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&at| self.nodes[at].alive).collect()
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

    pub fn cover(&mut self, what: &'static str) {
        *self.coverage.entry(what).or_default() += 1;
    }

    pub fn note(&self, line: impl FnOnce() -> String) {
        if self.trace {
            println!("{}", line());
        }
    }
}

/// Fails with text unless the condition holds.
pub fn demand(holds: bool, complaint: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(complaint()) }
}

pub fn same<T: PartialEq + std::fmt::Debug>(what: impl Display, got: T, expected: T) -> Check {
    demand(got == expected, || format!("{what}: got {got:?}, expected {expected:?}"))
}
