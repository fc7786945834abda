//! Nodes, their memory and threads, and the network between them.
//!
//! The truth is one memory in which every operation takes place at the moment at which a thread does it. A
//! read that returns what this memory holds proves sequential consistency: the order of those moments is the
//! one in which all threads agree.

mod threads;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use tasuki_dsm::{Access, Action, Config, Counters, Defect, Lock, Message, Node, NodeId, Page};
use tasuki_random::Random;
use tasuki_testkit::{Check, demand, same};

use crate::program::{Op, Shape, WORDS, Word};

/// Events of a run that ends in time are fewer, by far.
const EVENTS_MOST: u64 = 2_000_000;

type Bytes = [u64; WORDS];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Message number so and so comes.
    Arrives(usize),
    /// The node is told that a thread waits for a page.
    Fault(usize, Page, Access),
    /// A thread does its next operation if it can.
    Step(usize, usize),
    /// A node looks at its deadline.
    Timeout(usize),
}

struct Thread {
    ops: VecDeque<Op>,
    /// What it waits for.
    waits: Waits,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waits {
    No,
    Page(Page),
    Lock(Lock),
    Barrier(usize),
}

struct Host {
    node: Node,
    memory: HashMap<Page, Bytes>,
    mapped: HashMap<Page, Access>,
    threads: Vec<Thread>,
    /// Barriers that it has come to, and passed, by number of nodes.
    came: HashMap<usize, u64>,
    passed: HashMap<usize, u64>,
}

/// A simulation.
pub struct World {
    hosts: Vec<Host>,
    truth: HashMap<Page, Bytes>,
    owners: HashMap<Lock, (usize, usize)>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    on_the_way: HashMap<usize, (usize, usize, Message, Option<Bytes>)>,
    random: Random,
    now: u64,
    count: u64,
    values: u64,
    delay: u64,
    /// Forged messages are put between the others.
    pub forged: bool,
}

impl World {
    pub fn new(shape: Shape, programs: Vec<Vec<Vec<Op>>>, random: Random, defect: Option<Defect>) -> World {
        let host = |(me, program): (usize, Vec<Vec<Op>>)| {
            let mut node = Node::new(Config {
                me: NodeId(me as u8),
                nodes: shape.nodes,
                pages: shape.pages,
                run: shape.run,
                hold: shape.hold,
            });
            defect.into_iter().for_each(|defect| node.plant(defect));
            let threads =
                program.into_iter().map(|ops| Thread { ops: ops.into(), waits: Waits::No }).collect();
            Host {
                node,
                memory: HashMap::new(),
                mapped: HashMap::new(),
                threads,
                came: HashMap::new(),
                passed: HashMap::new(),
            }
        };
        let mut world = World {
            hosts: programs.into_iter().enumerate().map(host).collect(),
            truth: HashMap::new(),
            owners: HashMap::new(),
            events: BinaryHeap::new(),
            on_the_way: HashMap::new(),
            random,
            now: 0,
            count: 0,
            values: 0,
            delay: shape.delay,
            forged: false,
        };
        for host in 0..world.hosts.len() {
            for thread in 0..world.hosts[host].threads.len() {
                world.at(100, Event::Step(host, thread));
            }
        }
        world
    }

    /// Runs to the end; an error says what is wrong.
    pub fn run(&mut self) -> Check<Counters> {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            demand(self.count < EVENTS_MOST, || "the nodes talk for ever".into())?;
            self.now = at;
            match event {
                Event::Step(host, thread) => self.step(host, thread)?,
                Event::Fault(host, page, access) => self.hosts[host].node.fault(page, access, at),
                Event::Timeout(host) => self.hosts[host].node.handle_timeout(at),
                Event::Arrives(number) => self.arrives(number)?,
            }
            match event {
                Event::Step(host, _) | Event::Fault(host, ..) | Event::Timeout(host) => {
                    self.act(host, None)?
                }
                Event::Arrives(_) => {}
            }
        }
        self.end()
    }

    fn end(&self) -> Check<Counters> {
        let mut sum = Counters::default();
        for (at, host) in self.hosts.iter().enumerate() {
            for (number, thread) in host.threads.iter().enumerate() {
                demand(thread.ops.is_empty(), || {
                    format!(
                        "hang: thread {number} of node {at} waits for {:?} to {:?}",
                        thread.waits, thread.ops[0]
                    )
                })?;
            }
            demand(host.node.is_quiet(), || format!("node {at} is not quiet at the end"))?;
            for (&page, &access) in &host.mapped {
                same(format!("node {at}, {page}: the node's idea"), host.node.access(page), access)?;
                if access > Access::None {
                    same(format!("node {at}, {page}: bytes"), host.memory[&page], self.truth[&page])?;
                }
            }
            let counters = host.node.counters();
            sum.installed += counters.installed;
            sum.sent += counters.sent;
            sum.fresh += counters.fresh;
            sum.dropped += counters.dropped;
            sum.deferred += counters.deferred;
            sum.messages += counters.messages;
            sum.wanted_read += counters.wanted_read;
            sum.wanted_write += counters.wanted_write;
        }
        same("pages that were sent and came", sum.installed, sum.sent)?;
        Ok(sum)
    }

    fn at(&mut self, delay: u64, event: Event) {
        let at = self.now + 1 + self.random.below(delay);
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    fn send(&mut self, from: usize, to: NodeId, message: Message, bytes: Option<Bytes>) -> Check {
        demand(usize::from(to.0) != from, || format!("node {from} sends itself {message:?}"))?;
        self.count += 1;
        let number = self.count as usize;
        self.on_the_way.insert(number, (from, to.0.into(), message, bytes));
        self.at(self.delay, Event::Arrives(number));
        Ok(())
    }

    fn arrives(&mut self, number: usize) -> Check {
        let Some((from, to, message, bytes)) = self.on_the_way.remove(&number) else { return Ok(()) };
        if self.forged {
            self.forge(to);
        }
        let result = self.hosts[to].node.handle(NodeId(from as u8), message, self.now);
        result.map_err(|violation| violation.to_string())?;
        self.act(to, bytes)
    }

    /// Tells a node something that no node would say: it must be refused, and nothing must follow from it.
    fn forge(&mut self, to: usize) {
        let mut bytes = [0; Message::LEN];
        self.random.fill(&mut bytes);
        (bytes[0], bytes[1], bytes[3]) = (bytes[0] % 12, bytes[1] % 3, 0);
        (bytes[2], bytes[4]) = (bytes[2] % 8, bytes[4] % 8);
        bytes[5..].fill(0);
        let Ok(message) = Message::from_bytes(&bytes) else { return };
        let from = NodeId(self.random.below(8) as u8);
        // A message that would be right at this moment would have effects, so that a copy is asked first.
        if self.hosts[to].node.clone().handle(from, message, self.now).is_err() {
            let refused = self.hosts[to].node.handle(from, message, self.now);
            assert!(refused.is_err());
            assert_eq!(self.hosts[to].node.poll_action(), None);
        }
    }

    /// Carries out what a node wants, while its threads go on.
    fn act(&mut self, at: usize, came: Option<Bytes>) -> Check {
        while let Some(action) = self.hosts[at].node.poll_action() {
            match action {
                Action::Send { to, message } => self.send(at, to, message, None)?,
                Action::SendPage { to, message } => {
                    let Message::Bytes { page, .. } = message else { return Err(format!("{message:?}")) };
                    let bytes = self.hosts[at].memory.get(&page).copied();
                    demand(bytes.is_some(), || format!("node {at} sends {page}, which it does not have"))?;
                    self.send(at, to, message, bytes)?;
                }
                Action::Protect(page) => self.map(at, page, Access::Read, None)?,
                Action::Drop(page) => self.map(at, page, Access::None, None)?,
                Action::Install { page, access } => {
                    demand(came.is_some(), || format!("node {at}: no bytes came with {page}"))?;
                    self.map(at, page, access, came)?;
                }
                Action::Zero(page) => self.map(at, page, Access::Write, Some([0; WORDS]))?,
                Action::Unprotect(page) => self.map(at, page, Access::Write, None)?,
                Action::Wake(page) => self.wake(at, Waits::Page(page), usize::MAX),
                Action::Locked(lock) => self.locked(at, lock)?,
                Action::Passed(of) => self.passed(at, of)?,
            }
            if self.random.chance(30) {
                let thread = self.random.index(self.hosts[at].threads.len());
                self.touch(at, thread)?;
            }
        }
        if let Some(deadline) = self.hosts[at].node.poll_timeout() {
            self.count += 1;
            self.events.push(Reverse((deadline.max(self.now), self.count, Event::Timeout(at))));
        }
        Ok(())
    }

    fn map(&mut self, at: usize, page: Page, access: Access, bytes: Option<Bytes>) -> Check {
        let host = &mut self.hosts[at];
        let before = host.mapped.insert(page, access).unwrap_or_default();
        match bytes {
            Some(bytes) => _ = host.memory.insert(page, bytes),
            None if access == Access::None => _ = host.memory.remove(&page),
            None => demand(before > Access::None, || format!("node {at}: {page} without bytes"))?,
        }
        if access > before {
            self.wake(at, Waits::Page(page), usize::MAX);
        }
        let with = |least| self.hosts.iter().filter(|host| host.mapped.get(&page) >= Some(&least)).count();
        let (readers, writers) = (with(Access::Read), with(Access::Write));
        demand(writers == 0 || readers == 1, || format!("{page}: {writers} may write, {readers} have a copy"))
    }

    fn wake(&mut self, at: usize, what: Waits, most: usize) {
        let waiting = |thread: &Thread| thread.waits == what;
        let threads = &mut self.hosts[at].threads;
        let woken: Vec<usize> = (0..threads.len()).filter(|&i| waiting(&threads[i])).take(most).collect();
        for thread in woken {
            self.hosts[at].threads[thread].waits = Waits::No;
            self.at(2000, Event::Step(at, thread));
        }
    }

    fn locked(&mut self, at: usize, lock: Lock) -> Check {
        let threads = &mut self.hosts[at].threads;
        let taker = threads.iter().position(|thread| thread.waits == Waits::Lock(lock));
        let taker = taker.ok_or_else(|| format!("node {at} got {lock}, which no thread wants"))?;
        threads[taker].ops.pop_front();
        let other = self.owners.insert(lock, (at, taker));
        demand(other.is_none(), || format!("{lock} belongs to {:?} and to {other:?}", (at, taker)))?;
        self.wake(at, Waits::Lock(lock), 1);
        Ok(())
    }

    fn passed(&mut self, at: usize, of: usize) -> Check {
        let passed = self.hosts[at].passed.entry(of).or_default();
        *passed += 1;
        let passed = *passed;
        let all = self.hosts[..of].iter().all(|host| host.came.get(&of) >= Some(&passed));
        demand(all, || format!("node {at} passed barrier {passed} of {of}, to which not all had come"))?;
        self.hosts[at].threads[0].ops.pop_front();
        self.wake(at, Waits::Barrier(of), 1);
        Ok(())
    }

    /// What the program has left in a word.
    pub fn truth(&self, (page, index): Word) -> u64 {
        self.truth.get(&page).map_or(0, |bytes| bytes[index])
    }
}
