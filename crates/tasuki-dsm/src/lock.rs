//! Locks: each has a manager that knows who asked last, and stays with the node that used it last until the
//! manager names a next one (M. Naimi and M. Trehel's queue with a fixed manager, as in TreadMarks, 1994).

use std::collections::HashMap;

use crate::defect::{Defect, Plant};
use crate::id::{Lock, NodeId};

/// The manager's side: the node that asked last for each lock.
#[derive(Clone, Default)]
pub(crate) struct LastAsked(HashMap<Lock, NodeId>);

impl LastAsked {
    /// A node asks: the node that asked before it, if there is one.
    pub fn ask(&mut self, lock: Lock, from: NodeId) -> Result<Option<NodeId>, &'static str> {
        if self.0.get(&lock) == Some(&from) {
            return Err("nobody has asked for the lock since this node did");
        }
        Ok(self.0.insert(lock, from))
    }
}

/// Where a lock is, as seen by a node that uses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// With another node, or nobody.
    #[default]
    Away,
    /// Asked for.
    Asked,
    /// A thread of this node has it.
    Held,
    /// Here, and no thread has it.
    Idle,
}

/// A lock as a node that uses it sees it.
#[derive(Clone, Default)]
struct Here {
    state: State,
    /// Threads of this node that wait for it.
    waiting: usize,
    /// The node that gets it next.
    next: Option<NodeId>,
}

/// The locks that a node has used.
#[derive(Clone, Default)]
pub(crate) struct Locks(HashMap<Lock, Here>);

/// What a node does about a lock after an event, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Steps {
    /// Hand it to this node.
    pub hand: Option<NodeId>,
    /// Ask the manager for it.
    pub ask: bool,
    /// Give it to a thread that waits.
    pub locked: bool,
}

impl Locks {
    /// A thread wants the lock.
    pub fn acquire(&mut self, lock: Lock) -> Steps {
        let here = self.0.entry(lock).or_default();
        here.waiting += 1;
        here.steps()
    }

    /// The thread that had the lock gives it back; `None` if none has it.
    pub fn release(&mut self, lock: Lock) -> Option<Steps> {
        let here = self.0.get_mut(&lock).filter(|here| here.state == State::Held)?;
        here.state = State::Idle;
        Some(here.steps())
    }

    /// The manager names the node that gets the lock next.
    pub fn pass(&mut self, lock: Lock, to: NodeId, plant: Plant) -> Result<Steps, &'static str> {
        let here = self.0.get_mut(&lock).filter(|here| here.state != State::Away);
        let Some(here) = here.filter(|here| here.next.is_none()) else {
            return Err("this node is not the last one in line for the lock");
        };
        here.next = Some(to);
        if plant.is(Defect::IdleLockKept) && here.state == State::Idle {
            return Ok(Steps::default());
        }
        if plant.is(Defect::HandWhileHeld) && here.state == State::Held {
            here.state = State::Away;
            return Ok(Steps { hand: here.next.take(), ..Steps::default() });
        }
        Ok(here.steps())
    }

    /// The lock comes.
    pub fn handed(&mut self, lock: Lock) -> Result<Steps, &'static str> {
        let here = self.0.get_mut(&lock).filter(|here| here.state == State::Asked);
        let here = here.ok_or("this node has not asked for the lock")?;
        // A thread of this node gets it first: a next node may be named already.
        here.state = State::Held;
        here.waiting -= 1;
        Ok(Steps { locked: true, ..Steps::default() })
    }
}

impl Here {
    /// An idle lock goes to the next node, or else to a thread of this one; what is away is asked for.
    fn steps(&mut self) -> Steps {
        let mut steps = Steps::default();
        if self.state == State::Idle {
            steps.hand = self.next.take();
            if steps.hand.is_some() {
                self.state = State::Away;
            } else if self.waiting > 0 {
                self.waiting -= 1;
                self.state = State::Held;
                steps.locked = true;
            }
        }
        if self.state == State::Away && self.waiting > 0 {
            self.state = State::Asked;
            steps.ask = true;
        }
        steps
    }
}
