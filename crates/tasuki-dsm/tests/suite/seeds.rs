//! Random programs on random numbers of nodes.

use tasuki_dsm::{Counters, Defect, Lock, Page};
use tasuki_random::Random;
use tasuki_testkit::Check;
use tasuki_testkit::replay::Replay;

use crate::program::{Op, Shape, write};
use crate::world::World;

const REPLAY: Replay = Replay {
    variable: "TASUKI_TEST_DSM_SEED",
    command: "cargo test --release -p tasuki-dsm --test suite random_programs",
};

/// Runs the program of a seed.
pub fn run(seed: u64, defect: Option<Defect>, forged: bool) -> Check<Counters> {
    let mut random = Random::new(seed);
    let shape = Shape::random(&mut random);
    let programs = write(shape, &mut random);
    let mut world = World::new(shape, programs, random, defect);
    world.forged = forged;
    world.run().map_err(|complaint| format!("{complaint}\nseed {seed}, {shape:?}"))
}

#[test]
fn random_programs_see_one_memory() {
    let mut sum = [0; 8];
    for seed in REPLAY.seeds(3000) {
        let counters = run(seed, None, false);
        let c = counters.unwrap_or_else(|complaint| panic!("{complaint}\n{}", REPLAY.sentence(seed)));
        let all =
            [c.wanted_read, c.wanted_write, c.installed, c.fresh, c.dropped, c.deferred, c.sent, c.messages];
        for (sum, count) in sum.iter_mut().zip(all) {
            *sum += count;
        }
    }
    println!("{sum:?}");
    assert!(!REPLAY.is_default() || sum.iter().all(|&count| count > 1000), "not reached: {sum:?}");
}

#[test]
fn messages_that_nobody_sends_change_nothing() {
    for seed in 0..500 {
        run(seed, None, true).unwrap_or_else(|complaint| panic!("{complaint}"));
    }
}

#[test]
fn a_seed_replays_exactly() {
    for seed in 0..50 {
        assert_eq!(run(seed, None, false), run(seed, None, false));
    }
}

/// Every thread adds to one word, and the sum is right; half of them under a lock, in two steps.
#[test]
fn nothing_that_is_added_is_lost() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let shape = Shape { nodes: 4, threads: 2, ..Shape::random(&mut random) };
        let word = (Page(0), 1);
        let thread = |_: usize| vec![Op::Add(word); 25];
        let programs = (0..4).map(|_| (0..2).map(thread).collect()).collect();
        let mut world = World::new(shape, programs, random, None);
        world.run().unwrap_or_else(|complaint| panic!("{complaint}\nseed {seed}"));
        assert_eq!(world.truth(word), 200, "seed {seed}");
    }
}

/// Threads of different nodes hand a turn on by a flag at which they spin, as compilers write it.
#[test]
fn spinning_on_a_flag_ends() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let shape = Shape { nodes: 3, threads: 1, pages: 2, ..Shape::random(&mut random) };
        let (flag, word) = ((Page(0), 0), (Page(1), 2));
        let turn = |node: u64, round: u64| [Op::Until(flag, round * 3 + node), Op::Add(word), Op::Add(flag)];
        let program = |node| (0..5).flat_map(|round| turn(node, round)).collect();
        let programs = (0..3).map(|node| vec![program(node)]).collect();
        let mut world = World::new(shape, programs, random, None);
        world.run().unwrap_or_else(|complaint| panic!("{complaint}\nseed {seed}"));
        assert_eq!((world.truth(flag), world.truth(word)), (15, 15), "seed {seed}");
    }
}

/// A lock goes to every thread that asks, also while one node asks for it all the time.
#[test]
fn a_lock_comes_to_every_thread() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let shape = Shape { nodes: 5, threads: 3, locks: 2, ..Shape::random(&mut random) };
        let times = |thread: usize| if thread == 0 { 30 } else { 3 };
        let under =
            |lock| [Op::Acquire(lock), Op::Read((Page(0), 3)), Op::Write((Page(0), 3)), Op::Release(lock)];
        let thread = |at: usize| (0..times(at)).flat_map(|i| under(Lock(i % 2))).collect();
        let programs = (0..5).map(|_| (0..3).map(thread).collect()).collect();
        World::new(shape, programs, random, None)
            .run()
            .unwrap_or_else(|complaint| panic!("{complaint}\nseed {seed}"));
    }
}
