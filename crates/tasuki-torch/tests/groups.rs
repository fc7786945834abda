//! Groups of threads of this process, by the functions that Python calls: endpoints of the real engine.

use std::ffi::{CStr, CString, c_char};
use std::ptr::null_mut;
use std::sync::{Barrier, Mutex};
use std::thread;

use tasuki_torch::{
    tasuki_torch_abort, tasuki_torch_address, tasuki_torch_close, tasuki_torch_connect, tasuki_torch_finish,
    tasuki_torch_message, tasuki_torch_open, tasuki_torch_reason, tasuki_torch_start, tasuki_torch_test,
    tasuki_torch_wait,
};

/// Kinds of operations, an element and reductions, by their numbers in `tasuki_torch.py`.
const ALL_REDUCE: u32 = 0;
const ALL_GATHER: u32 = 1;
const BROADCAST: u32 = 3;
const BARRIER: u32 = 8;
const I64: u32 = 4;
const SUM: u32 = 0;

const MINUTE_MS: u64 = 60_000;

/// A group that this test may use from several threads.
struct Group(*mut std::ffi::c_void);

// SAFETY: the functions take calls from any thread.
unsafe impl Send for Group {}
// SAFETY: as above.
unsafe impl Sync for Group {}

fn reason() -> String {
    let mut text = [0 as c_char; 1000];
    // SAFETY: there are 1,000 bytes, with a zero among them afterwards.
    unsafe {
        tasuki_torch_reason(text.as_mut_ptr(), text.len());
        CStr::from_ptr(text.as_ptr()).to_str().expect("text").to_owned()
    }
}

fn checked(result: i64) -> Result<i64, String> {
    if result == -1 { Err(reason()) } else { Ok(result) }
}

impl Group {
    fn open(rank: usize, size: usize) -> Group {
        let group = tasuki_torch_open(rank as u32, size as u32);
        assert!(!group.is_null(), "{}", reason());
        Group(group.cast())
    }

    fn address(&self) -> String {
        let mut text = [0 as c_char; 1000];
        // SAFETY: the group is open, and there are 1,000 bytes.
        unsafe {
            checked(tasuki_torch_address(self.0.cast(), text.as_mut_ptr(), text.len())).expect("an address");
            CStr::from_ptr(text.as_ptr()).to_str().expect("text").to_owned()
        }
    }

    fn connect(&self, addresses: &str) -> Result<i64, String> {
        let text = CString::new(addresses).expect("no zero");
        // SAFETY: the group is open, and the text is there.
        checked(unsafe { tasuki_torch_connect(self.0.cast(), text.as_ptr()) })
    }

    /// Starts an operation and waits for it.
    fn run(&self, what: [u32; 4], input: &[i64], output: &mut [i64], timeout_ms: u64) -> Result<i64, String> {
        let (given, wanted) = (size_of_val(input), size_of_val(output));
        let (from, into) = (input.as_ptr().cast_mut().cast(), output.as_mut_ptr().cast());
        // SAFETY: the group is open, and both slices are borrowed until the operation is over.
        unsafe {
            let started = tasuki_torch_start(self.0.cast(), &what, from, given, into, wanted, timeout_ms);
            let name = checked(started)? as u64;
            checked(tasuki_torch_wait(self.0.cast(), name))?;
            assert_eq!(tasuki_torch_test(self.0.cast(), name), 1);
        }
        Ok(0)
    }

    fn sum(&self, data: &mut [i64]) -> Result<i64, String> {
        self.run([ALL_REDUCE, 0, I64, SUM], &[], data, MINUTE_MS)
    }

    /// Sends (`true`) or receives numbers, and gives the other side's rank.
    fn message(&self, sends: bool, rank: i64, tag: u32, data: &mut [i64]) -> Result<i64, String> {
        let (memory, len) = (data.as_mut_ptr().cast(), size_of_val(data));
        // SAFETY: the group is open, and the slice is borrowed until the message is over.
        unsafe {
            let posted = tasuki_torch_message(self.0.cast(), sends.into(), rank, tag, memory, len);
            checked(tasuki_torch_finish(self.0.cast(), checked(posted)? as u64, rank, MINUTE_MS))
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: it came from `tasuki_torch_open`, and no call is under way.
        unsafe { tasuki_torch_close(self.0.cast()) };
    }
}

/// Runs a function at each rank of a group.
fn run<T: Send>(size: usize, body: impl Fn(usize, &Group) -> T + Sync) -> Vec<T> {
    let (addresses, all) = (Mutex::new(vec![String::new(); size]), Barrier::new(size));
    thread::scope(|scope| {
        let rank = |rank: usize| {
            let (addresses, all, body) = (&addresses, &all, &body);
            scope.spawn(move || {
                let group = Group::open(rank, size);
                addresses.lock().expect("a lock")[rank] = group.address();
                all.wait();
                let text = addresses.lock().expect("a lock").join("\n");
                group.connect(&text).expect("connects");
                let result = body(rank, &group);
                all.wait();
                result
            })
        };
        let ranks: Vec<_> = (0..size).map(rank).collect();
        ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect()
    })
}

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
            // SAFETY: the group is open.
            unsafe { tasuki_torch_abort(group.0.cast()) };
        }
        group.sum(&mut [1])
    });
    assert_eq!(said[0], Err("the process group was closed, or has failed before".into()));
    assert!(said[1].as_ref().is_err_and(|why| why.starts_with("rank 0 on host ")), "{said:?}");
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
