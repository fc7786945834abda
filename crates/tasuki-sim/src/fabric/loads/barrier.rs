//! Barriers, one after the other, and where their time goes.

mod shape;

use super::super::{Fabric, Load, Packet};
pub use shape::BarrierShape;
use shape::Plan;

/// What a host takes for a message, ps. Its processor does one thing at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTimes {
    /// Before it goes out.
    pub send: u64,
    /// After its tail has come.
    pub receive: u64,
}

/// A time, by what it was spent on along the chain of messages that determined it, ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// In hosts, and waiting for their processors.
    pub host: u64,
    /// Putting packets on the first cable.
    pub inject: u64,
    /// Switches and cables.
    pub hops: u64,
    /// Waiting for other packets.
    pub wait: u64,
}

impl Share {
    /// All of it.
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
    /// Messages and things to do, by number.
    notes: Vec<Note>,
    free: Vec<u32>,
    /// By round: hosts that have been let go, and when the last was.
    ends: Vec<(u32, u64)>,
    /// By round: time and shares of the host at position 0.
    marks: Vec<(u64, Share)>,
}

#[derive(Clone, Default)]
struct Node {
    /// Until when its processor is busy.
    busy: u64,
    round: usize,
    /// Step it is at.
    step: usize,
    /// Messages that have come, by parity of the round and step.
    come: [Vec<u32>; 2],
    share: Share,
    /// Up to when `share` counts.
    at: u64,
}

#[derive(Clone, Copy)]
enum Note {
    /// A message is ready to go.
    Send { to: u32, step: u32, round: u32, share: Share },
    /// A message is under way since `handed`.
    Fly { step: u32, round: u32, share: Share, handed: u64 },
    /// A message has been taken in.
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

    /// What that time was spent on, by the host at position 0; the sum over the barriers after the first `warm`,
    /// which is at least 1, and their number.
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

    /// Goes on at a position as far as the messages that have come allow.
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

    /// A message has been taken in: perhaps the one that was missing.
    fn taken(&mut self, fabric: &mut Fabric, at: usize, (step, round): (u32, u32), share: Share) {
        let now = fabric.now();
        let node = &mut self.nodes[at];
        node.come[round as usize & 1][step as usize] += 1;
        // Whatever goes on from here goes on because of this message.
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
