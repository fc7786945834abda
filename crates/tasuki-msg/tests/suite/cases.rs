//! Hand-written cases. Each states what MPI or libfabric demands; the oracle watches as well.

mod credit;
mod death;
mod order;
mod probe;
mod quiet;
mod transfer;

use tasuki_msg::{Config, PeerOptions, Queue, RecvDone, Window};
use tasuki_random::Random;
use tasuki_testkit::oracle::{RecvSpec, SendSpec};

use crate::world::{Habits, World};

/// Plenty of credit; messages of up to 1000 bytes are eager, longer ones go by rendezvous.
const CONFIG: Config =
    Config { pool_bytes: 4 << 20, peer_bytes: 1 << 20, expected_peers: 4, initial_credit: 0 };
const WINDOW: Window = Window { eager_max: 1000, unscheduled: 0, window: 1 << 20, quantum: 4096 };

/// `nodes` endpoints that have exchanged their first credit.
fn world_with(nodes: usize, config: Config, window: Window, habits: Habits) -> World {
    let mut world = World::new(Random::new(1), config, window, habits, None);
    for _ in 0..nodes {
        world.add_node(PeerOptions::default());
    }
    world.drain().unwrap();
    world
}

fn world(nodes: usize) -> World {
    world_with(nodes, CONFIG, WINDOW, Habits::PLAIN)
}

impl World {
    /// Sends a tagged message with completion data, which tells it from others.
    fn say(&mut self, from: usize, to: usize, tag: u64, len: u64, data: u64) -> usize {
        let spec = SendSpec { data: Some(data), ..SendSpec::tagged(tag, len) };
        self.send(from, to, spec).unwrap()
    }

    fn listen(&mut self, node: usize, source: Option<usize>, tag: u64, ignore: u64) -> usize {
        self.recv(node, RecvSpec::tagged(source, tag, ignore)).unwrap()
    }

    fn carry(&mut self) {
        self.drain().unwrap();
    }

    /// The completion data of what a receive got, in order.
    fn heard(&self, node: usize, recv: usize) -> Vec<u64> {
        self.dones(node, recv).iter().filter_map(|done| done.data).collect()
    }

    fn dones(&self, node: usize, recv: usize) -> &[RecvDone] {
        &self.nodes[node].recvs[recv].done
    }

    fn sent_ok(&self, name: usize) -> bool {
        self.sent[name].result == Some(Ok(()))
    }

    /// Hands all frames of `node` to the carriers, and lets none arrive.
    fn hand_to_carriers(&mut self, node: usize) {
        while self.transmit(node).unwrap() {}
    }
}

/// A wildcard on the tagged queue: any source, any tag.
fn anything() -> RecvSpec {
    RecvSpec::tagged(None, 0, u64::MAX)
}

fn untagged(len: u64, data: u64) -> SendSpec {
    SendSpec { queue: Queue::Msg, data: Some(data), ..SendSpec::tagged(0, len) }
}
