//! Programs whose results are known.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use tasuki_shared::{Access, PAGE};

use crate::nodes::{run, word};

const PAGE_WORDS: usize = PAGE / 8;

#[test]
fn one_process_alone_shares_with_itself() {
    let sums = run(1, |shared| {
        (0..10_000).for_each(|i| word(shared, i * 7).store(i as u64, Relaxed));
        shared.barrier().expect("passes");
        (0..10_000).map(|i| word(shared, i * 7).load(Relaxed)).sum::<u64>()
    });
    assert_eq!(sums, [49_995_000]);
}

/// An atomic instruction stays one though the page goes from process to process.
#[test]
fn atomic_additions_of_all_threads_add_up() {
    let sums = run(3, |shared| {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..400).for_each(|_| _ = word(shared, 3).fetch_add(1, Relaxed)));
            }
        });
        shared.barrier().expect("passes");
        word(shared, 3).load(Relaxed)
    });
    assert_eq!(sums, [2400; 3]);
}

/// Two steps under a lock lose nothing, with words of all processes in one page.
#[test]
fn a_lock_keeps_others_out() {
    let sums = run(4, |shared| {
        for _ in 0..50 {
            shared.lock(7).expect("locked");
            let value = word(shared, 1000).load(Relaxed);
            word(shared, 1000 + shared.rank() as usize + 1).fetch_add(1, Relaxed);
            word(shared, 1000).store(value + 1, Relaxed);
            assert!(shared.unlock(7).expect("unlocked"));
        }
        assert!(!shared.unlock(7).expect("nobody has it"));
        shared.barrier().expect("passes");
        (0..5).map(|i| word(shared, 1000 + i).load(Relaxed)).collect::<Vec<_>>()
    });
    assert!(sums.iter().all(|sum| *sum == [200, 50, 50, 50, 50]), "{sums:?}");
}

/// Heat in a rod: every process computes its part and reads the rims of its neighbours. The result is that
/// of one loop, bit by bit.
#[test]
fn a_stencil_is_that_of_one_loop() {
    const POINTS: usize = 4 * PAGE_WORDS + 100;
    const STEPS: usize = 20;
    let begin = |i: usize| if i.is_multiple_of(97) { 100.0 } else { i as f64 / 1000.0 };
    let step = |left: f64, here: f64, right: f64| here + 0.25 * (left - 2.0 * here + right);
    let mut expected: Vec<f64> = (0..POINTS).map(begin).collect();
    for _ in 0..STEPS {
        let old = expected.clone();
        (1..POINTS - 1).for_each(|i| expected[i] = step(old[i - 1], old[i], old[i + 1]));
    }
    let results = run(4, |shared| {
        let (rank, size) = (shared.rank() as usize, shared.size() as usize);
        let part = POINTS * rank / size..POINTS * (rank + 1) / size;
        let at = |grid: usize, i: usize| word(shared, grid * (POINTS + 1000) + i);
        let read = |grid: usize, i: usize| f64::from_bits(at(grid, i).load(Relaxed));
        for i in part.clone() {
            at(0, i).store(begin(i).to_bits(), Relaxed);
            at(1, i).store(begin(i).to_bits(), Relaxed);
        }
        shared.barrier().expect("passes");
        for round in 0..STEPS {
            let (from, to) = (round % 2, 1 - round % 2);
            for i in part.start.max(1)..part.end.min(POINTS - 1) {
                let value = step(read(from, i - 1), read(from, i), read(from, i + 1));
                at(to, i).store(value.to_bits(), Relaxed);
            }
            shared.barrier().expect("passes");
        }
        (0..POINTS).map(|i| read(STEPS % 2, i)).collect::<Vec<_>>()
    });
    assert!(results.iter().all(|result| *result == expected));
}

/// What is asked for beforehand is there, and every page comes once.
#[test]
fn pages_that_are_fetched_come_once() {
    let counts = run(2, |shared| {
        let pages = 200;
        if shared.rank() == 0 {
            (0..pages).for_each(|page| word(shared, page * PAGE_WORDS + 5).store(page as u64, Relaxed));
        }
        shared.barrier().expect("passes");
        if shared.rank() == 1 {
            shared.fetch(shared.base(), pages * PAGE, Access::Read).expect("asked");
            let sum: u64 = (0..pages).map(|page| word(shared, page * PAGE_WORDS + 5).load(Relaxed)).sum();
            assert_eq!(sum, 199 * 100);
        }
        shared.barrier().expect("passes");
        shared.counters()
    });
    assert_eq!((counts[1].installed, counts[1].wanted_read, counts[0].sent), (200, 200, 200));
}

#[test]
fn all_processes_are_given_the_same_places() {
    let places = run(2, |shared| {
        let place =
            |bytes, align| shared.allocate(bytes, align).map(|at| at as usize - shared.base() as usize);
        [place(10, 1), place(10, 1), place(PAGE, 1), place(3, 1024), place(1, 3), place(1 << 40, 1)]
    });
    let expected = [Some(0), Some(64), Some(PAGE), Some(2 * PAGE), None, None];
    assert_eq!(places, [expected, expected]);
}

/// A thread spins on a flag until another process sets it.
#[test]
fn a_flag_ends_a_spin() {
    run(2, |shared| {
        for round in 1..50 {
            let (own, other) = (shared.rank() as usize, 1 - shared.rank() as usize);
            word(shared, own * 8).store(round, SeqCst);
            while word(shared, other * 8).load(SeqCst) < round {
                std::thread::yield_now();
            }
        }
    });
}
