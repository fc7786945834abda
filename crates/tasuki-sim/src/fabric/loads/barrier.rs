//! Barriers, one after the other, and what their time is spent on.

mod shape;

use super::super::{Fabric, Load, Packet};
pub use shape::BarrierShape;
use shape::Plan;

/// Time that a host takes for a message, ps. Its processor does one thing at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTimes {
    /// Time before a message is sent.
    pub send: u64,
    /// Time after the tail of a message has arrived.
    pub receive: u64,
}

/// A time by what it was spent on, along the chain of messages that determined it, ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// In hosts, including waiting for their processors.
    pub host: u64,
    /// Putting packets on their first cables.
    pub inject: u64,
    /// In switches and cables.
    pub hops: u64,
    /// Waiting for other packets.
    pub wait: u64,
}

impl Share {
    /// The whole time.
    pub fn sum(self) -> u64 {
        self.host + self.inject + self.hops + self.wait
    }

    fn since(self, before: Share) -> Share {
        Share {
            host: self.host - before.host,
            inject: self.inject - before.inject,
            hops: self.hops - before.hops,
            wait: self.wait - before.wait,
        }
    }
}

/// Barriers of all hosts in a given order.
pub struct Barrier {
    plan: Plan,
    /// Hosts by position.
    order: Vec<u32>,
    position: Vec<u32>,
    times: HostTimes,
    bytes: u32,
    rounds: usize,
    nodes: Vec<Node>,
    /// Messages and tasks, by number.
    notes: Vec<Note>,
    free: Vec<u32>,
    /// By round: number of hosts that have left the barrier, and when the last one did, ps.
    ends: Vec<(u32, u64)>,
    /// By round: time of the host at position 0, ps, and what it was spent on.
    marks: Vec<(u64, Share)>,
}

#[derive(Clone, Default)]
struct Node {
    /// Until when its processor is busy.
    busy: u64,
    round: usize,
    /// The step that it is at.
    step: usize,
    /// Number of messages that have arrived, by parity of the round and by step.
    come: [Vec<u32>; 2],
    share: Share,
    /// The time up to which `share` counts, ps.
    at: u64,
}

#[derive(Clone, Copy)]
enum Note {
    /// A message is ready to be sent.
    Send { to: u32, step: u32, round: u32, share: Share },
    /// A message is under way since `handed`.
    Fly { step: u32, round: u32, share: Share, handed: u64 },
    /// A message has been processed by its receiver.
    Taken { step: u32, round: u32, share: Share },
}

impl Barrier {
    /// `rounds` barriers of the hosts in `order`, by packets of `bytes`.
    pub fn new(shape: BarrierShape, order: Vec<u32>, bytes: u32, times: HostTimes, rounds: usize) -> Barrier {
        let plan = Plan::new(shape, order.len());
        let most = order.iter().max().map_or(0, |most| *most as usize + 1);
        let mut position = vec![u32::MAX; most];
        for (at, &host) in order.iter().enumerate() {
            position[host as usize] = at as u32;
        }
        let come = vec![0; plan.steps()];
        let node = Node { come: [come.clone(), come], ..Node::default() };
        Barrier {
            nodes: vec![node; order.len()],
            ends: vec![(0, 0); rounds],
            marks: Vec::with_capacity(rounds),
            notes: Vec::new(),
            free: Vec::new(),
            plan,
            order,
            position,
            times,
            bytes,
            rounds,
        }
    }

    /// Mean time per barrier after the first `warm` ones, ps; 0 if there are none.
    pub fn mean(&self, warm: usize) -> f64 {
        let from = warm.checked_sub(1).map_or(0, |last| self.ends[last].1);
        match self.ends.last() {
            Some(&(_, end)) if warm < self.rounds => (end - from) as f64 / (self.rounds - warm) as f64,
            _ => 0.0,
        }
    }

    /// What that time was spent on at the host at position 0, summed over the barriers after the first `warm`
    /// (at least 1), and their number.
    pub fn shares(&self, warm: usize) -> (Share, usize) {
        match (self.marks.get(warm.max(1) - 1), self.marks.last()) {
            (Some((_, from)), Some((_, to))) => (to.since(*from), self.marks.len() - warm.max(1)),
            _ => (Share::default(), 0),
        }
    }

    fn note(&mut self, note: Note) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.notes[id as usize] = note;
                id
            }
            None => {
                self.notes.push(note);
                self.notes.len() as u32 - 1
            }
        }
    }

    fn take(&mut self, id: u32) -> Note {
        self.free.push(id);
        self.notes[id as usize]
    }

    /// Continues at a position as far as the messages that have arrived allow.
    fn advance(&mut self, fabric: &mut Fabric, at: usize) {
        while self.nodes[at].round < self.rounds {
            let (round, step) = (self.nodes[at].round, self.nodes[at].step);
            if step == self.plan.steps() {
                self.let_go(fabric, at, round);
                continue;
            }
            let wanted = self.plan.waits(at, step);
            if self.nodes[at].come[round & 1][step] < wanted {
                return;
            }
            self.nodes[at].come[round & 1][step] = 0;
            self.nodes[at].step += 1;
            for number in 0..self.plan.sends(at, step) {
                let (to, there) = self.plan.send(at, step, number);
                self.post(fabric, at, to, there, round);
            }
        }
    }

    fn let_go(&mut self, fabric: &Fabric, at: usize, round: usize) {
        let node = &mut self.nodes[at];
        (node.round, node.step) = (round + 1, 0);
        if at == 0 {
            self.marks.push((node.at, node.share));
        }
        let (count, end) = &mut self.ends[round];
        (*count, *end) = (*count + 1, fabric.now().max(*end));
    }

    /// Prepares a message.
    fn post(&mut self, fabric: &mut Fabric, at: usize, to: usize, step: usize, round: usize) {
        let node = &mut self.nodes[at];
        node.busy = node.busy.max(fabric.now()) + self.times.send;
        let mut share = node.share;
        share.host += node.busy - node.at;
        let (due, host, to) = (node.busy, self.order[at], self.order[to]);
        let id = self.note(Note::Send { to, step: step as u32, round: round as u32, share });
        fabric.timer(due, host, id);
    }

    /// A message has been processed; it may be the one that was missing.
    fn taken(&mut self, fabric: &mut Fabric, at: usize, (step, round): (u32, u32), share: Share) {
        let now = fabric.now();
        let node = &mut self.nodes[at];
        node.come[round as usize & 1][step as usize] += 1;
        // If the position waits in the step of this message, it continues because of this message.
        if node.round == round as usize && node.step == step as usize {
            (node.share, node.at) = (share, now);
        }
        self.advance(fabric, at);
    }
}

impl Load for Barrier {
    fn begin(&mut self, fabric: &mut Fabric) {
        (0..self.nodes.len()).for_each(|at| self.advance(fabric, at));
    }

    fn timer(&mut self, fabric: &mut Fabric, host: u32, what: u32) {
        match self.take(what) {
            Note::Send { to, step, round, share } => {
                let handed = fabric.now();
                let id = self.note(Note::Fly { step, round, share, handed });
                fabric.send(host, to, self.bytes, u64::from(id));
            }
            Note::Taken { step, round, share } => {
                let at = self.position[host as usize] as usize;
                self.taken(fabric, at, (step, round), share);
            }
            Note::Fly { .. } => {}
        }
    }

    fn arrived(&mut self, fabric: &mut Fabric, packet: Packet) {
        let Note::Fly { step, round, mut share, handed } = self.take(packet.tag as u32) else { return };
        let now = fabric.now();
        let inject = fabric.injection(packet.from, packet.to, packet.bytes);
        let hops = fabric.unloaded(packet.from, packet.to);
        let node = &mut self.nodes[self.position[packet.to as usize] as usize];
        node.busy = node.busy.max(now) + self.times.receive;
        share.inject += inject;
        share.hops += hops;
        share.wait += (now - handed).saturating_sub(inject + hops);
        share.host += node.busy - now;
        let due = node.busy;
        let id = self.note(Note::Taken { step, round, share });
        fabric.timer(due, packet.to, id);
    }

    fn done(&self) -> bool {
        self.ends.last().is_none_or(|(count, _)| *count as usize == self.nodes.len())
    }
}
