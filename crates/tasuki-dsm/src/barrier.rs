//! Barriers by dissemination: in round k a node tells the one 2^k further on, and waits for the one 2^k
//! before it (D. Hensgen, R. Finkel and U. Manber, "Two algorithms for barrier synchronization", 1988).

use crate::defect::{Defect, Plant};
use crate::id::NodeId;
use crate::message::Message;

/// One node's part in all barriers of one number of nodes, one after the other.
#[derive(Clone)]
pub(crate) struct Barrier {
    me: u8,
    nodes: u8,
    /// The barrier that this node is in, or comes to next.
    epoch: u32,
    /// The round in which the node is; `None`: it has not come to the barrier.
    round: Option<u8>,
    /// The other node of this round has been told.
    told: bool,
    /// Rounds of this barrier, and of the next, whose message has come: bit k for round k.
    heard: [u8; 2],
}

/// What becomes of a barrier after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Tell this node of this round of this barrier, and ask again.
    Tell { to: NodeId, message: Message },
    /// Every node has come.
    Passed,
    /// A message is missing.
    Wait,
}

impl Barrier {
    pub fn new(me: NodeId, nodes: usize) -> Barrier {
        Barrier { me: me.0, nodes: nodes as u8, epoch: 0, round: None, told: false, heard: [0; 2] }
    }

    /// Rounds of a barrier.
    fn rounds(&self) -> u8 {
        (u8::BITS - (self.nodes - 1).leading_zeros()) as u8
    }

    /// This node comes to the barrier: false if it is there already.
    #[must_use]
    pub fn enter(&mut self) -> bool {
        if self.round.is_some() {
            return false;
        }
        (self.round, self.told) = (Some(0), false);
        true
    }

    /// What comes next after this node has come, a message was sent, or one has come.
    pub fn step(&mut self, plant: Plant) -> Step {
        let Some(round) = self.round else { return Step::Wait };
        if round == self.rounds() || round + 1 == self.rounds() && self.told && plant.is(Defect::RoundSkipped)
        {
            self.round = None;
            self.epoch = self.epoch.wrapping_add(1);
            self.heard = [if plant.is(Defect::EarlyArrivalLost) { 0 } else { self.heard[1] }, 0];
            return Step::Passed;
        }
        if !self.told {
            self.told = true;
            let to = (u16::from(self.me) + (1 << round)) % u16::from(self.nodes);
            let message = Message::Arrive { of: self.nodes, round, epoch: self.epoch };
            return Step::Tell { to: NodeId(to as u8), message };
        }
        if self.heard[0] & (1 << round) == 0 {
            return Step::Wait;
        }
        (self.round, self.told) = (Some(round + 1), false);
        self.step(plant)
    }

    /// A message has come; an error says why no node sends it.
    pub fn heard(&mut self, from: NodeId, round: u8, epoch: u32) -> Result<(), &'static str> {
        if round >= self.rounds() {
            return Err("the barrier has fewer rounds");
        }
        if (u16::from(from.0) + (1 << round)) % u16::from(self.nodes) != u16::from(self.me) {
            return Err("another node speaks to this one in that round");
        }
        let next = match epoch.wrapping_sub(self.epoch) {
            0 => 0,
            1 if self.round.is_some() => 1,
            _ => return Err("nobody can be in that barrier now"),
        };
        if self.heard[next] & (1 << round) != 0 {
            return Err("this was said before");
        }
        self.heard[next] |= 1 << round;
        Ok(())
    }
}
