//! Jobs that pass others: one that waits for slots begins no later because of them, and every job begins.

mod support;

use std::collections::BTreeMap;
use support::{ask, drain, finish, queue, reason, state, user, work};
use tasuki_control::{Sharing, State, Terms};
use tasuki_queue::Queue;
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

fn timeout(seconds: u64) -> Terms {
    Terms { timeout: Some(seconds), ..Terms::default() }
}

#[test]
fn short_jobs_pass_a_wide_one_that_waits() {
    let mut queue = queue(4);
    let _long = ask(&mut queue, 0, 2, timeout(100)).unwrap();
    let wide = ask(&mut queue, 0, 3, timeout(50)).unwrap();
    assert_eq!(reason(&queue, wide), "waits for 3 slots, 2 are free");
    let unlimited = ask(&mut queue, 0, 2, Terms::default()).unwrap();
    let too_long = ask(&mut queue, 0, 2, timeout(101)).unwrap();
    assert_eq!([unlimited, too_long].map(|job| state(&queue, job)), [State::Waiting; 2]);
    assert_eq!(reason(&queue, too_long), format!("waits for job {wide}"));
    let short = ask(&mut queue, 0, 1, timeout(100)).unwrap();
    assert_eq!(state(&queue, short), State::Running);
    // Of four slots the wide one leaves one, for however long.
    let narrow = ask(&mut queue, 0, 1, Terms::default()).unwrap();
    assert_eq!(state(&queue, narrow), State::Running);
}

#[test]
fn nothing_passes_when_nobody_knows_when_slots_are_free() {
    let mut queue = queue(2);
    ask(&mut queue, 0, 1, Terms::default()).unwrap();
    let wide = ask(&mut queue, 0, 2, timeout(10)).unwrap();
    let short = ask(&mut queue, 0, 1, timeout(1)).unwrap();
    assert_eq!([wide, short].map(|job| state(&queue, job)), [State::Waiting; 2]);
}

#[test]
fn jobs_that_share_pass_one_that_wants_slots_for_itself_and_do_not_delay_it() {
    let share = |terms: Terms| Terms { sharing: Sharing { share: true, ..Sharing::default() }, ..terms };
    let mut queue = queue(3);
    ask(&mut queue, 0, 3, share(timeout(100))).unwrap();
    let alone = ask(&mut queue, 0, 2, timeout(50)).unwrap();
    assert_eq!(reason(&queue, alone), "waits for 2 slots, 0 are free");
    // There is a row for each of these. One has ended by then, one may not have, one leaves slots.
    let quick = ask(&mut queue, 0, 3, share(timeout(100))).unwrap();
    let slow = ask(&mut queue, 0, 2, share(timeout(101))).unwrap();
    let narrow = ask(&mut queue, 0, 1, share(Terms::default())).unwrap();
    let states = [quick, slow, narrow].map(|job| state(&queue, job));
    assert_eq!(states, [State::Running, State::Waiting, State::Running]);
    assert_eq!(reason(&queue, slow), format!("waits for job {alone}"));
    [1, quick].into_iter().for_each(|job| finish(&mut queue, 100, job, 0));
    assert_eq!(state(&queue, alone), State::Running);
}

/// A cluster whose hosts do what they are told at once, and jobs that run for a time of their own.
struct World {
    queue: Queue,
    slots: u32,
    now: u64,
    /// When each job that runs is going to end by itself.
    ends: BTreeMap<u64, u64>,
    /// The time at which a job that was the first to wait begins at the latest.
    promised: BTreeMap<u64, u64>,
}

impl World {
    fn submit(&mut self, random: &mut Random) {
        let ranks = 1 + random.below(u64::from(self.slots)) as u32;
        let limit = 1 + random.below(40);
        let root = random.below(8) == 0;
        let priority = if root { random.below(3) as i32 } else { -(random.below(2) as i32) };
        let terms = Terms { priority, ..timeout(limit) };
        let who = user(if root { "root" } else { "anna" });
        // A user may have no more jobs waiting.
        let _ = self.queue.submit(self.now, &who, work(ranks), terms, support::CLIENT);
        // What was promised to jobs that the new one comes before does not hold any more.
        let queue = &self.queue;
        self.promised.retain(|job, _| queue.view(*job).expect("a job").terms.priority >= priority);
    }

    /// Jobs that have begun since the last look get a time to end, at times one beyond what they may.
    fn look(&mut self, random: &mut Random) {
        drain(&mut self.queue);
        let running = self.queue.views(false).into_iter().filter(|view| view.state == State::Running);
        for view in running {
            let Some(promise) = self.promised.remove(&view.id) else {
                let limit = view.terms.timeout.expect("a limit");
                self.ends.entry(view.id).or_insert(self.now + 1 + random.below(limit + 2));
                continue;
            };
            assert!(self.now <= promise, "job {} was to begin by {promise}, not {}", view.id, self.now);
            let limit = view.terms.timeout.expect("a limit");
            self.ends.insert(view.id, self.now + 1 + random.below(limit + 2));
        }
        let held: u32 = self.queue.host_views().iter().map(|host| host.used).sum();
        let alive: u32 = self.ends.keys().map(|job| self.queue.view(*job).expect("a job").ranks).sum();
        assert_eq!(held, alive, "every rank has a slot of its own");
        self.promise();
    }

    /// Works out by the limits of the jobs that run when the first one that waits begins at the latest.
    fn promise(&mut self) {
        let views = self.queue.views(false);
        let waiting = views.iter().filter(|view| view.state == State::Waiting);
        let turn = |view: &&tasuki_control::JobView| {
            (view.submitted as i64 - i64::from(view.terms.priority) * 3600, view.id)
        };
        let Some(first) = waiting.min_by_key(turn) else { return };
        let mut ends: Vec<(u64, u32)> = views
            .iter()
            .filter(|view| view.state == State::Running)
            .map(|view| (view.begun.expect("begun") + view.terms.timeout.expect("a limit"), view.ranks))
            .collect();
        ends.sort_unstable();
        let mut free = self.slots - ends.iter().map(|(_, ranks)| ranks).sum::<u32>();
        let mut at = self.now;
        for (end, ranks) in ends {
            if free >= first.ranks {
                break;
            }
            (free, at) = (free + ranks, end);
        }
        // Another job may have come before it meanwhile; then its turn, and the promise, are over.
        self.promised.retain(|job, _| *job == first.id);
        let promise = self.promised.entry(first.id).or_insert(at);
        *promise = (*promise).min(at);
    }

    fn step(&mut self, random: &mut Random, submits: bool) {
        self.now += 1;
        let over: Vec<u64> =
            self.ends.iter().filter(|(_, end)| **end <= self.now).map(|(job, _)| *job).collect();
        for job in over {
            self.ends.remove(&job);
            finish(&mut self.queue, self.now, job, 0);
        }
        self.queue.handle_time(self.now);
        // What ran too long is gone at once here.
        let late = |job: &u64| {
            let view = self.queue.view(*job).expect("a job");
            view.begun.expect("begun") + view.terms.timeout.expect("a limit") <= self.now
        };
        let late: Vec<u64> = self.ends.keys().copied().filter(late).collect();
        for job in late {
            self.ends.remove(&job);
            finish(&mut self.queue, self.now, job, 0);
            assert_eq!(state(&self.queue, job), State::Failed);
        }
        if submits && random.below(3) == 0 {
            self.submit(random);
        }
        self.look(random);
    }
}

#[test]
fn the_first_job_that_waits_begins_when_it_was_promised() {
    let command = "cargo test --release -p tasuki-queue --test backfill";
    Replay { variable: "TASUKI_SEED", command }.each(100, |seed| {
        let mut random = Random::new(seed);
        let hosts = 1 + random.index(6);
        let mut world = World {
            queue: queue(hosts),
            slots: hosts as u32,
            now: 0,
            ends: BTreeMap::new(),
            promised: BTreeMap::new(),
        };
        for _ in 0..120 {
            world.step(&mut random, true);
        }
        // A promise for the job that is first, in an order that stays: so every job begins, also these.
        for _ in 0..120 * 45 {
            world.step(&mut random, false);
            if world.queue.views(false).is_empty() {
                break;
            }
        }
        assert!(world.queue.views(false).is_empty(), "jobs never begin");
    });
}
