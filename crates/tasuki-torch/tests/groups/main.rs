//! Groups of threads of this process, by the functions that Python calls: endpoints of the real engine.

mod failing;
mod support;

use std::ptr::null_mut;
use std::thread;

use tasuki_torch::{tasuki_torch_start, tasuki_torch_wait};

use crate::support::{
    ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BARRIER, BROADCAST, I64, MINUTE_MS, REDUCE_SCATTER, SUM, checked, run,
};

#[test]
fn operations_of_one_to_five_ranks() {
    for size in 1..=5 {
        run(size, |rank, group| {
            for count in [1, 1000, 100_000] {
                let mut data = vec![rank as i64 + 1; count];
                group.sum(&mut data).expect("a sum");
                assert!(data.iter().all(|&sum| sum == (size * (size + 1) / 2) as i64), "{size}, {count}");
                let mut all = vec![-1; count * size];
                let own = vec![rank as i64; count];
                group.run([ALL_GATHER, 0, 0, 0], &own, &mut all, MINUTE_MS).expect("gathers");
                assert!(all.iter().enumerate().all(|(at, &of)| of == (at / count) as i64));
                let mut data = vec![rank as i64; count];
                let root = size as u32 - 1;
                group.run([BROADCAST, root, 0, 0], &[], &mut data, MINUTE_MS).expect("broadcasts");
                assert!(data.iter().all(|&value| value == i64::from(root)));
            }
            group.run([BARRIER, 0, 0, 0], &[], &mut [], MINUTE_MS).expect("a barrier");
        });
    }
}

#[test]
fn operations_are_done_in_order_whoever_waits() {
    const OPERATIONS: usize = 200;
    run(3, |rank, group| {
        let mut arrays: Vec<Vec<i64>> = (0..OPERATIONS).map(|of| vec![(of + rank) as i64; 50]).collect();
        let start = |data: &mut Vec<i64>| {
            let (into, len) = (data.as_mut_ptr().cast(), size_of_val(data.as_slice()));
            let what = [ALL_REDUCE, 0, I64, SUM];
            // SAFETY: the group is open, and the arrays stay where they are until all are waited for.
            checked(unsafe { tasuki_torch_start(group.0.cast(), &what, null_mut(), 0, into, len, MINUTE_MS) })
        };
        let names: Vec<_> = arrays.iter_mut().map(|data| start(data).expect("starts") as u64).collect();
        thread::scope(|scope| {
            for part in names.rchunks(40) {
                scope.spawn(move || {
                    for &name in part.iter().rev() {
                        // SAFETY: the group is open.
                        checked(unsafe { tasuki_torch_wait(group.0.cast(), name) }).expect("is done");
                    }
                });
            }
        });
        for (of, data) in arrays.iter().enumerate() {
            assert!(data.iter().all(|&sum| sum == 3 * of as i64 + 3), "{of}: {data:?}");
        }
    });
}

#[test]
fn messages_go_from_rank_to_rank_by_tag() {
    run(2, |rank, group| {
        let other = 1 - rank as i64;
        let (mut first, mut second) = ([10 + other], [20 + other]);
        if rank == 0 {
            assert_eq!(group.message(true, 1, 7, &mut [10]), Ok(1));
            assert_eq!(group.message(true, 1, 8, &mut [20]), Ok(1));
            assert_eq!(group.message(false, -1, 9, &mut first), Ok(1), "from any");
            assert_eq!(first, [30]);
        } else {
            assert_eq!(group.message(false, 0, 8, &mut second), Ok(0));
            assert_eq!(group.message(false, 0, 7, &mut first), Ok(0));
            assert_eq!((first, second), ([10], [20]));
            assert_eq!(group.message(true, 0, 9, &mut [30]), Ok(0));
        }
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    run(2, |_, group| {
        let refused = |what, input: &[i64], output: &mut [i64]| group.run(what, input, output, MINUTE_MS);
        assert_eq!(refused([99, 0, 0, 0], &[], &mut []), Err("there is no such operation".into()));
        assert_eq!(refused([BROADCAST, 2, 0, 0], &[], &mut [1]), Err("there is no such rank".into()));
        assert_eq!(refused([ALL_REDUCE, 0, 99, 0], &[], &mut [1]), Err("there is no such element".into()));
        assert_eq!(refused([ALL_REDUCE, 0, 0, 99], &[], &mut [1]), Err("there is no such reduction".into()));
        let lengths = "the tensors' lengths do not fit each other";
        assert_eq!(refused([ALL_GATHER, 0, 0, 0], &[1], &mut [1]), Err(lengths.into()));
        assert_eq!(group.connect("what"), Err("there must be an address for each rank".into()));
        // None of this has broken the group.
        group.sum(&mut [1]).expect("a sum");
    });
}

/// Operations in place, as NCCL documents them: a rank's part of the result lies in the tensor that it gives,
/// or what it gives in that of the result. ZeRO reduces and gathers so.
#[test]
fn operations_in_place_have_the_results_of_others() {
    const SIZE: usize = 3;
    for count in [100, 10_000] {
        run(SIZE, |rank, group| {
            let mut all: Vec<i64> = (0..SIZE * count).map(|at| at as i64 * (rank as i64 + 1)).collect();
            let sum = |at: usize| at as i64 * 6;
            let (own, whole) = (rank * count..(rank + 1) * count, 0..SIZE * count);
            let parts = (whole.clone(), own.clone());
            group.in_place([REDUCE_SCATTER, 0, I64, SUM], &mut all, parts).expect("a sum");
            assert!(own.clone().all(|at| all[at] == sum(at)), "rank {rank} of {count}");
            group.in_place([ALL_GATHER, 0, 0, 0], &mut all, (own, whole.clone())).expect("gathers");
            assert!((0..SIZE * count).all(|at| all[at] == sum(at)), "rank {rank} of {count}");

            let mut rows: Vec<i64> = (0..SIZE * count).map(|at| (rank * SIZE + at / count) as i64).collect();
            group.in_place([ALL_TO_ALL, 0, 0, 0], &mut rows, (whole.clone(), whole)).expect("turns");
            let column = |at: usize| (at / count * SIZE + rank) as i64;
            assert!((0..SIZE * count).all(|at| rows[at] == column(at)), "rank {rank} of {count}");
        });
    }
}
