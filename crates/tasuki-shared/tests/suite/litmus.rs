//! Outcomes that sequential consistency forbids: L. Lamport, "How to make a multiprocessor computer that
//! correctly executes multiprocess programs" (1979); names as in the literature on memory models.

use std::sync::atomic::Ordering::SeqCst;

use tasuki_shared::PAGE;

use crate::nodes::{run, word};

const ROUNDS: usize = 60;

/// Runs two processes that each store to one word and load the other, `ROUNDS` times on new words, which lie
/// in one page or in two.
fn rounds(
    apart: usize,
    each: impl Fn(u32, [&std::sync::atomic::AtomicU64; 2]) -> u64 + Sync,
) -> Vec<[u64; 2]> {
    let seen = run(2, |shared| {
        let round = |round: usize| {
            shared.barrier().expect("passes");
            each(shared.rank(), [0, apart].map(|place| word(shared, round * 2 * PAGE / 8 + place)))
        };
        (0..ROUNDS).map(round).collect::<Vec<_>>()
    });
    (0..ROUNDS).map(|round| [seen[0][round], seen[1][round]]).collect()
}

/// Store buffering: if both loads came before the other's store, no order of all four would exist.
#[test]
fn one_of_two_loads_sees_the_other_store() {
    for apart in [1, PAGE / 8] {
        let seen = rounds(apart, |rank, [x, y]| {
            let (own, other) = if rank == 0 { (x, y) } else { (y, x) };
            own.store(1, SeqCst);
            other.load(SeqCst)
        });
        assert!(!seen.contains(&[0, 0]), "{seen:?}");
    }
}

/// Message passing: who sees the flag sees the message.
#[test]
fn a_flag_comes_after_its_message() {
    for apart in [1, PAGE / 8] {
        let seen = rounds(apart, |rank, [message, flag]| {
            if rank == 0 {
                message.store(1, SeqCst);
                flag.store(1, SeqCst);
                return 1;
            }
            flag.load(SeqCst) * 2 + message.load(SeqCst)
        });
        assert!(seen.iter().all(|&[_, seen]| seen != 2), "{seen:?}");
    }
}

/// Load buffering: values do not come from the future.
#[test]
fn loads_do_not_see_later_stores() {
    for apart in [1, PAGE / 8] {
        let seen = rounds(apart, |rank, [x, y]| {
            let (own, other) = if rank == 0 { (x, y) } else { (y, x) };
            let value = own.load(SeqCst);
            other.store(1, SeqCst);
            value
        });
        assert!(!seen.contains(&[1, 1]), "{seen:?}");
    }
}
