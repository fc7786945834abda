//! Any order of events: hosts come and go, users submit, cancel, hold and resume, ranks end. No host ever
//! gets more than its slots, every job ends once, and nothing is left on a host that is not told to end it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tasuki_control::{Array, Bytes, Exit, Kind, Order, Presence, Sharing, Spread, State, Terms, User, Work};
use tasuki_queue::{Action, Client, Queue};
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

/// A host with its daemon, as far as the queue sees them.
#[derive(Default)]
struct Host {
    is_up: bool,
    orders: VecDeque<Order>,
    /// Ranks of each job that run.
    jobs: BTreeMap<u64, BTreeSet<u32>>,
    ending: BTreeSet<u64>,
    /// Jobs that have ended here, and whose end is kept for another queue.
    kept: BTreeSet<u64>,
    /// What happened while the daemon was away: an end of a rank, or of all that a job had here.
    untold: VecDeque<(u64, Option<(u32, Exit)>)>,
}

struct World {
    queue: Queue,
    hosts: Vec<Host>,
    slots: Vec<u32>,
    over: BTreeSet<u64>,
    now: u64,
    /// Some jobs share slots or are urgent.
    sharing: bool,
}

impl World {
    fn new(random: &mut Random) -> Self {
        let slots: Vec<u32> = (0..1 + random.below(4)).map(|_| 1 + random.below(3) as u32).collect();
        let named = slots.iter().enumerate().map(|(at, slots)| (format!("n{at}"), Some(*slots)));
        let hosts = slots.iter().map(|_| Host::default()).collect();
        Self {
            queue: Queue::new(named),
            hosts,
            slots,
            over: BTreeSet::new(),
            now: 0,
            sharing: random.below(2) == 0,
        }
    }

    fn act(&mut self) {
        while let Some(action) = self.queue.poll_action() {
            match action {
                Action::Tell(host, order) => {
                    let to = &mut self.hosts[host];
                    assert!(to.is_up || !matches!(order, Order::Start(_)), "a lost host is told to start");
                    if to.is_up {
                        to.orders.push_back(order);
                    }
                }
                Action::Over(job) => {
                    assert!(self.over.insert(job), "job {job} ended twice");
                    for host in self.hosts.iter_mut().filter(|host| host.is_up) {
                        host.orders.push_back(Order::Forget { job });
                    }
                }
                Action::Save(_) | Action::Turns(_) | Action::Notify(..) => {}
            }
        }
        let total: u32 = self.slots.iter().sum();
        for (view, slots) in self.queue.host_views().iter().zip(&self.slots) {
            assert!(view.used <= *slots);
            if self.sharing {
                continue;
            }
            let ranks = |job: &u64| self.queue.view(*job).map_or(0, |view| view.ranks);
            assert!(view.jobs.len() as u32 <= *slots, "{view:?}");
            assert!(view.jobs.len() < 2 || view.jobs.iter().all(|job| ranks(job) < total), "{view:?}");
        }
    }

    fn sharing(&self, random: &mut Random) -> Sharing {
        let mut some = |most: u64| self.sharing && random.below(most) == 0;
        Sharing { share: some(2), urgent: some(6), memory: some(3).then_some(1) }
    }

    fn obey(&mut self, at: usize) {
        let Some(order) = self.hosts[at].orders.pop_front() else { return };
        match order {
            Order::Start(start) => {
                let own = start.parts.iter().find(|part| part.host == format!("n{at}")).expect("a part");
                self.hosts[at].jobs.insert(start.job, own.ranks.iter().copied().collect());
            }
            Order::Forget { job } => drop(self.hosts[at].kept.remove(&job)),
            Order::End { job } if self.hosts[at].jobs.contains_key(&job) => {
                self.hosts[at].ending.insert(job);
            }
            _ => {}
        }
    }

    /// A rank ends, or a host that has no rank of a job any more says so.
    fn run(&mut self, at: usize, random: &mut Random) {
        let Host { jobs, ending, is_up, .. } = &mut self.hosts[at];
        let is_up = *is_up;
        let Some((&job, ranks)) = jobs.iter_mut().next() else { return };
        let is_ending = ending.contains(&job);
        match ranks.pop_first() {
            Some(rank) => {
                let failing = if is_ending { Exit::Signal(9) } else { Exit::Code(3) };
                let exit = if is_ending || random.below(20) == 0 { failing } else { Exit::Code(0) };
                self.tell(at, is_up, job, Some((rank, exit)));
            }
            None => {
                self.hosts[at].jobs.remove(&job);
                self.hosts[at].ending.remove(&job);
                self.hosts[at].kept.insert(job);
                self.tell(at, is_up, job, None);
            }
        }
    }

    fn tell(&mut self, at: usize, is_up: bool, job: u64, end: Option<(u32, Exit)>) {
        match end {
            _ if !is_up => self.hosts[at].untold.push_back((job, end)),
            Some((rank, exit)) => self.queue.rank_ended(self.now, at, job, rank, exit),
            None => self.queue.left(self.now, at, job),
        }
    }

    /// The daemon of a host is killed; its jobs go on.
    fn leave(&mut self, at: usize) {
        self.queue.host_away(self.now, at, "it closed the connection");
        self.hosts[at].is_up = false;
        self.hosts[at].orders.clear();
    }

    /// The daemon of a host is there, with all that its shepherds have kept.
    fn come(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        host.is_up = true;
        let jobs: Vec<u64> = host.jobs.keys().chain(&host.kept).copied().collect();
        self.queue.host_back(self.now, at, 9, &jobs);
        for (job, end) in std::mem::take(&mut self.hosts[at].untold) {
            self.tell(at, true, job, end);
        }
        // The end of a job is told until it may be forgotten.
        for job in self.hosts[at].kept.clone() {
            self.tell(at, true, job, None);
        }
    }

    fn lose(&mut self, at: usize) {
        let why = "it was unplugged".to_owned();
        self.queue.host_lost(self.now, at, Presence::Lost(why));
        self.hosts[at] = Host::default();
    }

    fn step(&mut self, random: &mut Random) {
        self.now += 1;
        let at = random.index(self.hosts.len());
        let name = random.pick(&["anna", "ben", "root"]);
        let user = User { name: name.into(), is_root: name == "root" };
        let job = 1 + random.below(30);
        match random.below(17) {
            0 if self.hosts[at].is_up && random.below(8) == 0 => self.lose(at),
            1 if self.hosts[at].is_up && random.below(4) == 0 => self.leave(at),
            0 | 1 if !self.hosts[at].is_up => self.come(at),
            2 => {
                let client = Client { host: at, session: random.below(4) };
                // One user may not have more jobs that wait.
                let terms = Terms { sharing: self.sharing(random), ..terms(random, self.now) };
                let _ = self.queue.submit(self.now, &user, work(random), terms, client);
            }
            3 => drop(self.queue.cancel(self.now, &user, job)),
            4 => drop(self.queue.hold(self.now, &user, job)),
            5 => drop(self.queue.resume(self.now, &user, job)),
            6 => self.queue.client_gone(self.now, Client { host: at, session: random.below(4) }),
            7..=10 => self.obey(at),
            11 => {
                let client = Client { host: at, session: random.below(4) };
                drop(self.queue.attend(&user, job, client));
            }
            _ => self.run(at, random),
        }
        if random.below(4) == 0 {
            self.queue.handle_time(self.now);
        }
        self.act();
    }

    /// All hosts come back, nothing is held, and all jobs may end.
    fn settle(&mut self, random: &mut Random) {
        let root = User { name: "root".into(), is_root: true };
        for at in 0..self.hosts.len() {
            if !self.hosts[at].is_up {
                self.come(at);
            }
        }
        for view in self.queue.views(false) {
            if view.state == State::Held {
                // It may be in the course of ending.
                let _ = self.queue.resume(self.now, &root, view.id);
            }
        }
        for _ in 0..100_000 {
            self.now += 1;
            self.queue.handle_time(self.now);
            self.act();
            if self.queue.views(false).is_empty() {
                break;
            }
            (0..self.hosts.len()).for_each(|at| {
                self.obey(at);
                self.run(at, random);
            });
        }
        for view in self.queue.views(true) {
            assert!(view.state.is_over() && self.over.contains(&view.id), "{view:?}");
            assert!(view.exit.is_some() && view.ended.is_some(), "{view:?}");
            assert_eq!(view.state == State::Done, view.exit == Some(0), "{view:?}");
        }
        self.hosts
            .iter()
            .for_each(|host| assert!(host.jobs.is_empty() && host.untold.is_empty(), "something is left"));
    }
}

fn work(random: &mut Random) -> Work {
    Work {
        ranks: 1 + random.below(6) as u32,
        argv: vec![Bytes::from(&b"/bin/true"[..])],
        env: Vec::new(),
        folder: Bytes::from(&b"/"[..]),
        umask: 0,
        limits: Vec::new(),
        kind: if random.below(2) == 0 { Kind::Plain } else { Kind::Pmi1 },
        mpi: None,
        spread: if random.below(2) == 0 { Spread::ByNode } else { Spread::BySlot },
        over_tasuki: false,
        attended: random.below(4) == 0,
    }
}

/// Terms of all kinds, of which some are refused.
fn terms(random: &mut Random, now: u64) -> Terms {
    let mut some = |most: u64| (random.below(4) == 0).then(|| 1 + random.below(most));
    let array = some(5).map(|last| Array {
        first: 0,
        last: last as u32,
        step: 1 + some(2).unwrap_or(0) as u32,
        limit: some(3).map(|limit| limit as u32),
    });
    Terms {
        name: None,
        priority: -(some(3).unwrap_or(0) as i32),
        timeout: some(50),
        begin: some(60).map(|wait| now + wait),
        after: some(20).into_iter().collect(),
        after_any: some(20).into_iter().collect(),
        array,
        ..Terms::default()
    }
}

#[test]
fn any_order_of_events() {
    let command = "cargo test --release -p tasuki-queue --test random";
    Replay { variable: "TASUKI_SEED", command }.each(400, |seed| {
        let mut random = Random::new(seed);
        let mut world = World::new(&mut random);
        for _ in 0..400 {
            world.step(&mut random);
        }
        world.settle(&mut random);
    });
}
