//! Jobs that share slots, jobs that are alone and urgent ones, in any order of events: no slot has two jobs
//! of one row, every job that runs is in a row, and nothing runs where an urgent job does.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use support::{CLIENT, user};
use tasuki_control::{Exit, JobId, Kind, Order, Sharing, State, Terms, Work};
use tasuki_queue::{Action, Queue, Refusal, Rows};
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

/// A program without an MPI.
fn work(ranks: u32) -> Work {
    Work { kind: Kind::Plain, ..support::work(ranks) }
}

fn terms(sharing: Sharing) -> Terms {
    Terms { sharing, ..Terms::default() }
}

const SHARE: Sharing = Sharing { share: true, urgent: false, memory: None };
const URGENT: Sharing = Sharing { share: false, urgent: true, memory: None };
const ALONE: Sharing = Sharing { share: false, urgent: false, memory: None };

/// A queue with what its hosts were told.
struct World {
    queue: Queue,
    slots: Vec<u32>,
    rows: Rows,
    begun: BTreeMap<JobId, Sharing>,
    sharing: BTreeMap<JobId, Sharing>,
}

impl World {
    fn new(slots: &[u32]) -> Self {
        let named = slots.iter().enumerate().map(|(at, slots)| (format!("n{at}"), Some(*slots)));
        let mut queue = Queue::new(named);
        (0..slots.len()).for_each(|host| queue.host_up(0, host, 8));
        let (begun, sharing) = (BTreeMap::new(), BTreeMap::new());
        let mut world = Self { queue, slots: slots.to_vec(), rows: Rows::default(), begun, sharing };
        world.act();
        world
    }

    fn submit(&mut self, ranks: u32, sharing: Sharing) -> JobId {
        let root = user("root");
        let job = self.queue.submit(1, &root, work(ranks), terms(sharing), CLIENT).expect("is taken");
        self.sharing.insert(job, sharing);
        self.act();
        job
    }

    fn act(&mut self) {
        while let Some(action) = self.queue.poll_action() {
            match action {
                Action::Tell(_, Order::Start(start)) => {
                    self.begun.insert(start.job, self.sharing[&start.job]);
                }
                Action::Over(job) => drop(self.begun.remove(&job)),
                Action::Turns(rows) => self.rows = rows,
                _ => {}
            }
        }
        self.check();
    }

    /// Ranks of a job on each host, as far as there are slots.
    fn ranks(&self, job: JobId) -> Vec<u32> {
        let parts = &self.queue.view(job).expect("the job").parts;
        let on = |host: usize| parts.iter().find(|part| part.host == format!("n{host}"));
        let ranks = |host: usize| on(host).map_or(0, |part| part.ranks.len() as u32);
        (0..self.slots.len()).map(|host| ranks(host).min(self.slots[host])).collect()
    }

    /// Whether some jobs have room beside each other on all hosts.
    fn fit<'a>(&self, jobs: impl Iterator<Item = &'a JobId>) -> bool {
        let all: Vec<Vec<u32>> = jobs.map(|job| self.ranks(*job)).collect();
        (0..self.slots.len()).all(|host| all.iter().map(|ranks| ranks[host]).sum::<u32>() <= self.slots[host])
    }

    fn check(&self) {
        let state = |job: &JobId| self.queue.view(*job).expect("the job").state;
        let named: BTreeSet<&JobId> = self.rows.rows.iter().flatten().chain(&self.rows.paused).collect();
        let always = self.begun.keys().filter(|job| state(job) == State::Running && !named.contains(job));
        let always: Vec<&JobId> = always.collect();
        assert_ne!(self.rows.rows.len(), 1, "a row alone takes no turns");
        assert!(self.rows.rows.len() <= 3 || self.sharing.values().all(|s| s.memory.is_some() || !s.share));
        for row in self.rows.rows.iter().chain(std::iter::once(&Vec::new())) {
            let running: BTreeSet<&JobId> = row.iter().chain(always.iter().copied()).collect();
            assert!(self.fit(running.into_iter()), "{row:?} beside {always:?}: {:?}", self.rows);
        }
        for job in self.rows.rows.iter().flatten() {
            assert!(self.begun[job].share && state(job) == State::Running, "{job}");
            assert!(!self.rows.paused.contains(job));
        }
        for job in self.begun.keys().filter(|job| self.begun[job].urgent) {
            assert!(!named.contains(job), "urgent job {job} waits for nobody");
        }
    }

    fn end(&mut self, job: JobId) {
        let view = self.queue.view(job).expect("the job").clone();
        for part in view.parts {
            let host = part.host[1..].parse().expect("a number");
            part.ranks.iter().for_each(|rank| self.queue.rank_ended(2, host, job, *rank, Exit::Code(0)));
            self.queue.left(2, host, job);
        }
        self.act();
    }

    fn is_running(&self, job: JobId) -> bool {
        self.begun.contains_key(&job)
    }
}

#[test]
fn any_order_of_events() {
    let command = "cargo test --release -p tasuki-queue --test sharing";
    Replay { variable: "TASUKI_SEED", command }.each(200, |seed| {
        let mut random = Random::new(seed);
        let slots: Vec<u32> = (0..1 + random.below(4)).map(|_| 1 + random.below(3) as u32).collect();
        let mut world = World::new(&slots);
        let root = user("root");
        for _ in 0..200 {
            let some = world.begun.keys().copied().nth(random.index(world.begun.len().max(1)));
            match (random.below(8), some) {
                (0..=2, _) if world.queue.views(false).len() < 12 => {
                    let sharing = random.pick(&[SHARE, SHARE, SHARE, ALONE, URGENT]);
                    world.submit(1 + random.below(6) as u32, sharing);
                }
                (3, Some(job)) => drop(world.queue.hold(1, &root, job)),
                (4, Some(job)) => drop(world.queue.resume(1, &root, job)),
                (5..=6, Some(job)) => world.end(job),
                _ => {}
            }
            world.act();
        }
        // All that is left ends, in the order in which it begins.
        while let Some(job) = world.begun.keys().copied().next() {
            world.end(job);
        }
        let waiting: Vec<_> =
            world.queue.views(false).into_iter().map(|view| (view.id, view.reason)).collect();
        assert!(waiting.iter().all(|(job, _)| world.queue.view(*job).expect("it").state == State::Held));
        assert_eq!(world.rows, Rows::default());
    });
}

#[test]
fn jobs_that_share_take_turns_and_others_wait() {
    let mut world = World::new(&[1, 1]);
    let jobs: Vec<JobId> = (0..4).map(|_| world.submit(2, SHARE)).collect();
    assert_eq!(world.rows.rows, [[1], [2], [3]], "three rows, as nobody says how much memory is needed");
    assert!(!world.is_running(jobs[3]));
    let view = world.queue.view(1).expect("it").clone();
    assert_eq!(view.reason.as_deref(), Some("takes turns: runs in 1 of 3 slices"));
    world.end(jobs[1]);
    assert!(world.is_running(jobs[3]));
    let alone = world.submit(1, ALONE);
    assert!(!world.is_running(alone), "one that is alone shares no slot");
    [1, 3, 4].into_iter().for_each(|job| world.end(job));
    assert!(world.is_running(alone));
}

#[test]
fn jobs_run_in_all_slices_in_which_their_slots_are_free() {
    let mut world = World::new(&[1, 1]);
    world.submit(1, SHARE);
    world.submit(1, SHARE);
    assert_eq!(world.rows.rows, [[0; 0]; 0], "there is a slot for each");
    world.submit(1, SHARE);
    assert_eq!(world.rows.rows, [[1, 2], [2, 3]], "job 2 has its host for itself");
    world.end(1);
    assert_eq!(world.rows.rows, [[0; 0]; 0], "there is a slot for each again");
}

#[test]
fn an_urgent_job_stops_those_on_its_hosts() {
    let mut world = World::new(&[1, 1]);
    let (alone, share) = (world.submit(1, ALONE), world.submit(1, SHARE));
    let urgent = world.submit(2, URGENT);
    assert_eq!((world.is_running(urgent), &world.rows.paused), (true, &vec![alone, share]));
    let second = world.submit(1, URGENT);
    assert!(!world.is_running(second), "an urgent job does not stop another");
    world.end(urgent);
    assert_eq!((world.is_running(second), world.rows.paused.len()), (true, 1));
    world.end(second);
    assert_eq!(world.rows, Rows::default());
    let anna = user("anna");
    assert_eq!(world.queue.submit(1, &anna, work(1), terms(URGENT), CLIENT), Err(Refusal::Urgent));
}

#[test]
fn time_that_a_job_stands_still_for_an_urgent_one_does_not_count() {
    let mut world = World::new(&[1]);
    let root = user("root");
    let limited = Terms { timeout: Some(100), ..terms(SHARE) };
    let job = world.queue.submit(0, &root, work(1), limited, CLIENT).expect("is taken");
    world.sharing.insert(job, SHARE);
    let urgent = world.submit(1, URGENT);
    assert_eq!(world.rows.paused, [job]);
    // Held and resumed in the meantime: it stands still all the same, and no second counts twice.
    world.queue.hold(10, &root, job).expect("may be held");
    world.queue.resume(20, &root, job).expect("may go on");
    world.queue.handle_time(1000);
    assert_eq!(world.queue.view(job).expect("it").state, State::Running);
    world.queue.rank_ended(1001, 0, urgent, 0, Exit::Code(0));
    world.queue.left(1001, 0, urgent);
    world.act();
    assert_eq!(world.queue.view(job).expect("it").held, 1000, "from 1 to 1001");
    world.queue.handle_time(1099);
    assert_eq!(world.queue.view(job).expect("it").exit, None);
    world.queue.handle_time(1100);
    let ends = |action| matches!(action, Action::Tell(0, Order::End { job: 1 }));
    assert!(std::iter::from_fn(|| world.queue.poll_action()).any(ends), "it has run for 100 s");
}

#[test]
fn memory_admits() {
    let gigabytes = |count: u64| Sharing { memory: Some(count << 30), ..SHARE };
    let mut world = World::new(&[2]);
    world.queue.host_memory(0, 8 << 30);
    for _ in 0..5 {
        world.submit(2, gigabytes(1));
    }
    assert_eq!(world.rows.rows.len(), 4, "four jobs of two gigabytes each");
    let reason = world.queue.view(5).expect("it").reason.clone().unwrap_or_default();
    assert!(reason.contains("with the memory that it needs"), "{reason}");
    let root = user("root");
    let refused = world.queue.submit(1, &root, work(2), terms(gigabytes(5)), CLIENT);
    assert_eq!(refused, Err(Refusal::Memory { ranks: 2, memory: 5 << 30 }));
}
