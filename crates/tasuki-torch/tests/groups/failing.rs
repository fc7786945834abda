//! What fails is told, to all, and leaves memory alone.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use crate::support::{ALL_REDUCE, I64, SUM, run};

/// A rank that never calls, one that calls with another length, and one whose group is closed: the others are
/// told, and so are all later calls.
#[test]
fn what_cannot_be_is_an_error_and_not_a_hang() {
    let said =
        run(
            2,
            |rank, group| {
                if rank == 0 { Ok(0) } else { group.run([ALL_REDUCE, 0, I64, SUM], &[], &mut [1], 200) }
            },
        );
    let timeout = "nothing was heard of rank 0 for 0 s (the group's timeout)";
    assert_eq!(said[1], Err(timeout.into()));

    let said = run(2, |rank, group| {
        let first = group.sum(&mut vec![1; 1 + rank]);
        (first, group.sum(&mut [1]))
    });
    assert!(
        said.iter().any(|(first, _)| first.as_ref().is_err_and(|why| why.contains("bytes where"))),
        "{said:?}"
    );
    assert!(said.iter().all(|(first, later)| first.is_err() && later.is_err()), "{said:?}");

    let said = run(2, |rank, group| {
        if rank == 0 {
            group.abort();
        }
        group.sum(&mut [1])
    });
    assert_eq!(said[0], Err("the process group was closed, or has failed before".into()));
    assert!(said[1].as_ref().is_err_and(|why| why.starts_with("rank 0 on host ")), "{said:?}");
}

/// A receive fails because another operation of its group has. From then on its memory is the program's, and
/// a message that comes later does not get there.
#[test]
fn memory_of_what_has_failed_is_left_alone() {
    let (failed, sent) = (Barrier::new(2), Barrier::new(2));
    run(2, |rank, group| {
        if rank == 0 {
            failed.wait();
            thread::sleep(Duration::from_millis(100));
            // It may fail, or arrive where nobody receives it.
            let _ = group.message(true, 1, 7, &mut [5]);
            sent.wait();
            return;
        }
        let mut memory = [-1];
        thread::scope(|scope| {
            let fails = scope.spawn(|| group.run([ALL_REDUCE, 0, I64, SUM], &[], &mut vec![1; 1 << 20], 200));
            group.message(false, 0, 7, &mut memory).expect_err("the sum takes too long");
            failed.wait();
            fails.join().expect("no panic").expect_err("rank 0 takes no part");
        });
        sent.wait();
        thread::sleep(Duration::from_millis(200));
        // SAFETY: it is this thread's own memory; the compiler must look there.
        assert_eq!(unsafe { memory.as_ptr().read_volatile() }, -1);
    });
}

/// The engine leaves receives of any rank posted whoever ends. They fail once nobody is left that could send,
/// and not before.
#[test]
fn a_receive_of_any_rank_fails_when_no_other_is_left() {
    for is_asked in [false, true] {
        let left = Barrier::new(2);
        let said = run(3, |rank, group| {
            // After this each rank has exchanged something with one other at least.
            group.sum(&mut [1]).expect("a sum");
            let mut data = [0];
            match rank {
                0 if is_asked => [7, 8].map(|tag| group.receive_by_looks(tag, &mut data)),
                0 => [7, 8].map(|tag| group.message(false, -1, tag, &mut data)),
                1 => {
                    group.abort();
                    left.wait();
                    [Ok(0), Ok(0)]
                }
                _ => {
                    left.wait();
                    // Meanwhile rank 0 notices that rank 1 has left.
                    thread::sleep(Duration::from_millis(500));
                    let sent = group.message(true, 0, 7, &mut [5]);
                    group.abort();
                    [sent, Ok(0)]
                }
            }
        });
        let nobody = "no rank is left that could send: all others have closed the process group, or ended";
        assert_eq!(said[0], [Ok(2), Err(nobody.into())]);
        assert_eq!(said[2][0], Ok(0));
    }
}

#[test]
fn a_receive_of_any_rank_names_none_when_its_time_is_over() {
    let said = run(1, |_, group| group.message_within(200, false, -1, 7, &mut [0]));
    assert_eq!(said[0], Err("nothing was heard of any rank for 0 s (the group's timeout)".into()));
}
