//! One process of a program whose memory is shared.

mod take;

use std::collections::{HashMap, VecDeque};

use crate::action::{Action, Counters};
use crate::barrier::Barrier;
use crate::defect::{Defect, Plant};
use crate::directory::Directory;
use crate::error::Violation;
use crate::id::{Access, Lock, NODES_MAX, NodeId, Page};
use crate::lock::{LastAsked, Locks};
use crate::message::Message;
use crate::pages::Pages;

/// What all nodes of a program must agree on, but for `me`.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// This node.
    pub me: NodeId,
    /// Number of nodes, 1 to [`NODES_MAX`].
    pub nodes: usize,
    /// Pages that are shared.
    pub pages: u32,
    /// So many pages in a row have the same home, then the next node's turn comes; at least 1.
    pub run: u32,
    /// A page that has come stays for at least this time, ns: threads that waited for it shall use it before
    /// another node takes it away.
    pub hold: u64,
}

/// One process: its copies of pages, the pages whose home it is, its part in locks and barriers.
///
/// After every call all [`Action`]s are to be taken by [`Node::poll_action`] and carried out in order.
#[derive(Clone)]
pub struct Node {
    config: Config,
    pages: Pages,
    directory: Directory,
    last_asked: LastAsked,
    locks: Locks,
    /// By number of nodes.
    barriers: HashMap<u8, Barrier>,
    actions: VecDeque<Action>,
    /// Messages of this node to itself.
    own: VecDeque<Message>,
    counters: Counters,
    plant: Plant,
}

impl Node {
    /// A node that has not touched anything.
    ///
    /// # Panics
    /// If the configuration makes no sense.
    pub fn new(config: Config) -> Node {
        assert!((1..=NODES_MAX).contains(&config.nodes), "{} nodes", config.nodes);
        assert!(usize::from(config.me.0) < config.nodes && config.run > 0, "{config:?}");
        Node {
            config,
            pages: Pages::default(),
            directory: Directory::default(),
            last_asked: LastAsked::default(),
            locks: Locks::default(),
            barriers: HashMap::new(),
            actions: VecDeque::new(),
            own: VecDeque::new(),
            counters: Counters::default(),
            plant: Plant::NONE,
        }
    }

    /// Plants a defect (feature `defects`, for tests).
    #[cfg(feature = "defects")]
    pub fn plant(&mut self, defect: Defect) {
        self.plant = Plant(Some(defect));
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The next moment, ns, at which [`Node::handle_timeout`] has something to do.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.pages.deadline()
    }

    /// What threads may do with a page.
    pub fn access(&self, page: Page) -> Access {
        self.pages.access(page)
    }

    /// What has happened here since the node began.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// True if the node waits for nothing and owes nothing, but for locks and barriers.
    pub fn is_quiet(&self) -> bool {
        self.pages.is_quiet() && self.directory.is_quiet()
    }

    /// A thread wants to use a page that it may not use so.
    ///
    /// # Panics
    /// If the page is not one of those that are shared.
    pub fn fault(&mut self, page: Page, access: Access, now: u64) {
        assert!(page.0 < self.config.pages, "{page} of {}", self.config.pages);
        let actions = &mut self.actions;
        let ask = self.pages.fault(page, access, &mut |action| actions.push_back(action));
        self.ask(page, ask);
        self.turn(now);
    }

    /// A thread wants a lock: [`Action::Locked`] follows, one for each call.
    pub fn acquire(&mut self, lock: Lock, now: u64) {
        let steps = self.locks.acquire(lock);
        self.follow(lock, steps);
        self.turn(now);
    }

    /// A thread gives a lock back: false if none has it.
    #[must_use]
    pub fn release(&mut self, lock: Lock, now: u64) -> bool {
        let Some(steps) = self.locks.release(lock) else { return false };
        self.follow(lock, steps);
        self.turn(now);
        true
    }

    /// The node comes to the barrier of the first `of` nodes, of which it must be one: [`Action::Passed`]
    /// follows. False if it is there already.
    #[must_use]
    pub fn enter_barrier(&mut self, of: usize) -> bool {
        let Some(barrier) = self.barrier(of as u8) else { return false };
        let enters = barrier.enter();
        self.walk(of as u8);
        enters
    }

    /// A message has come from another node. A message that keeps to no rule changes nothing.
    pub fn handle(&mut self, from: NodeId, message: Message, now: u64) -> Result<(), Violation> {
        let violation = |why| Violation { from, message, why };
        if usize::from(from.0) >= self.config.nodes || from == self.config.me {
            return Err(violation("there is no such other node"));
        }
        self.take(from, message, now).map_err(violation)?;
        self.turn(now);
        Ok(())
    }

    /// The moment of [`Node::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: u64) {
        while let Some(page) = self.pages.due(now) {
            if !self.plant.is(Defect::DeferredForgotten) {
                self.obey(page);
            }
        }
        self.turn(now);
    }

    /// Takes the messages of this node to itself.
    fn turn(&mut self, now: u64) {
        while let Some(message) = self.own.pop_front() {
            let taken = self.take(self.config.me, message, now);
            debug_assert!(taken.is_ok() || cfg!(feature = "defects"), "{message:?}: {taken:?}");
        }
    }

    fn send(&mut self, to: NodeId, message: Message) {
        if to == self.config.me {
            self.own.push_back(message);
        } else {
            self.counters.messages += 1;
            self.actions.push_back(Action::Send { to, message });
        }
    }

    fn knows(&self, node: NodeId) -> bool {
        usize::from(node.0) < self.config.nodes
    }

    fn home(&self, page: Page) -> NodeId {
        NodeId((page.0 / self.config.run % self.config.nodes as u32) as u8)
    }

    fn manager(&self, lock: Lock) -> NodeId {
        NodeId((lock.0 % self.config.nodes as u32) as u8)
    }
}
