//! Every operation among threads that send over channels, beside what it is by definition (MPI 4.1, chapter
//! 6): random lengths, short and long ways, 1 to 9 processes.

mod floats;
mod threads;

use std::thread;

use half::{bf16, f16};
use tasuki_collectives::{
    Element, Mesh, Op, all_gather, all_reduce, all_to_all, barrier, broadcast, gather, reduce,
    reduce_scatter, scatter,
};
use tasuki_random::Random;

use crate::threads::run;

/// What a process has: bytes that depend on its rank and a name.
fn bytes_of(rank: usize, name: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Random::new(name * 1000 + rank as u64).fill(&mut bytes);
    bytes
}

/// Lengths in elements at which operations change their way, and random ones.
fn lengths(random: &mut Random) -> Vec<usize> {
    let mut all = vec![0, 1, 2, 7, 8191, 8192, 8193, 16384, 16385, 70_001, 700_001];
    all.extend((0..4).map(|_| random.below(300_000) as usize));
    all
}

/// Runs `check` with processes, a length and a name for the data.
fn everywhere(seed: u64, check: impl Fn(usize, usize, u64)) {
    let mut random = Random::new(seed);
    for size in 1..=9 {
        for len in lengths(&mut random) {
            eprintln!("{size} processes, {len} elements, seed {seed}");
            check(size, len, random.next_u64() % 1_000_000);
        }
    }
}

fn numbers(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|bytes| i32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

fn sums(size: usize, name: u64, len: usize) -> Vec<i32> {
    let all: Vec<_> = (0..size).map(|rank| numbers(&bytes_of(rank, name, len * 4))).collect();
    (0..len).map(|at| all.iter().fold(0i32, |sum, of| sum.wrapping_add(of[at]))).collect()
}

#[test]
fn all_reduce_gives_all_the_sum() {
    everywhere(1, |size, len, name| {
        let results = run(size, |mesh| {
            let mut data = bytes_of(mesh.rank(), name, len * 4);
            all_reduce(mesh, &mut data, Element::I32, Op::Sum).map(|()| data)
        });
        let want = sums(size, name, len);
        assert!(results.iter().all(|data| numbers(data) == want));
    });
}

#[test]
fn reduce_gives_the_root_the_sum() {
    everywhere(2, |size, len, name| {
        let root = name as usize % size;
        let results = run(size, |mesh| {
            let mut data = bytes_of(mesh.rank(), name, len * 4);
            reduce(mesh, &mut data, root, Element::I32, Op::Sum).map(|()| data)
        });
        assert!(numbers(&results[root]) == sums(size, name, len));
    });
}

#[test]
fn reduce_scatter_gives_each_its_part_of_the_sum() {
    everywhere(3, |size, len, name| {
        let each = len / size;
        let results = run(size, |mesh| {
            let input = bytes_of(mesh.rank(), name, each * size * 4);
            let mut output = vec![0; each * 4];
            reduce_scatter(mesh, &input, &mut output, Element::I32, Op::Sum).map(|()| output)
        });
        let want = sums(size, name, each * size);
        assert!(numbers(&results.concat()) == want);
    });
}

#[test]
fn what_is_gathered_is_in_the_order_of_ranks() {
    everywhere(4, |size, len, name| {
        let want = (0..size).map(|rank| bytes_of(rank, name, len)).collect::<Vec<_>>().concat();
        let results = run(size, |mesh| {
            let mut output = vec![0; len * size];
            all_gather(mesh, &bytes_of(mesh.rank(), name, len), &mut output).map(|()| output)
        });
        assert!(results.iter().all(|output| *output == want));
        let root = name as usize % size;
        let results = run(size, |mesh| {
            let mut output = vec![0; if mesh.rank() == root { len * size } else { 0 }];
            gather(mesh, &bytes_of(mesh.rank(), name, len), &mut output, root).map(|()| output)
        });
        assert!(results[root] == want);
    });
}

#[test]
fn what_the_root_has_reaches_all() {
    everywhere(5, |size, len, name| {
        let root = name as usize % size;
        let results = run(size, |mesh| {
            let mut data = bytes_of(mesh.rank(), name, len);
            broadcast(mesh, &mut data, root).map(|()| data)
        });
        assert!(results.iter().all(|data| *data == bytes_of(root, name, len)));
        let results = run(size, |mesh| {
            let whole = if mesh.rank() == root { bytes_of(root, name, len * size) } else { Vec::new() };
            let mut output = vec![0; len];
            scatter(mesh, &whole, &mut output, root).map(|()| output)
        });
        assert!(results.concat() == bytes_of(root, name, len * size));
    });
}

#[test]
fn all_to_all_turns_rows_into_columns() {
    everywhere(6, |size, len, name| {
        let each = len / size;
        let results = run(size, |mesh| {
            let mut output = vec![0; each * size];
            all_to_all(mesh, &bytes_of(mesh.rank(), name, each * size), &mut output).map(|()| output)
        });
        for (rank, output) in results.iter().enumerate() {
            for from in 0..size {
                let sent = bytes_of(from, name, each * size);
                assert!(output[from * each..][..each] == sent[rank * each..][..each], "{from} to {rank}");
            }
        }
    });
}

/// A barrier that lets a process through early would show a count below all.
#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    for size in 1..=9 {
        let come = AtomicUsize::new(0);
        let seen = run(size, |mesh| {
            thread::sleep(std::time::Duration::from_millis(mesh.rank() as u64));
            come.fetch_add(1, Ordering::SeqCst);
            barrier(mesh).map(|()| come.load(Ordering::SeqCst))
        });
        assert_eq!(seen, vec![size; size]);
    }
}

/// Reduces two arrays of one element each, written by `write`.
fn pair(element: Element, op: Op, a: &[u8], b: &[u8]) -> Vec<u8> {
    let (mut into, mut from) = (a.to_vec(), b.to_vec());
    element.prepare(op, &mut into, 2);
    element.prepare(op, &mut from, 2);
    element.reduce(op, &mut into, &from);
    element.finish(op, &mut into, 2);
    into
}

#[test]
fn every_operation_on_every_kind_of_element() {
    macro_rules! check {
        ($kind:ty, $element:expr, $of:expr) => {
            let of = |value: i8| $of(value).to_ne_bytes().to_vec();
            let wants = [(Op::Sum, 8), (Op::Average, 4), (Op::Product, 12), (Op::Min, 2), (Op::Max, 6)];
            for (op, want) in wants {
                assert_eq!(pair($element, op, &of(6), &of(2)), of(want), "{op:?} of {:?}", $element);
                assert_eq!(pair($element, op, &of(2), &of(6)), of(want), "{op:?} of {:?}", $element);
            }
            assert_eq!($element.bytes(), size_of::<$kind>());
        };
    }
    check!(u8, Element::U8, |value: i8| value as u8);
    check!(i8, Element::I8, |value: i8| value);
    check!(i16, Element::I16, i16::from);
    check!(i32, Element::I32, i32::from);
    check!(i64, Element::I64, i64::from);
    check!(f16, Element::F16, |value: i8| f16::from_f32(value.into()));
    check!(bf16, Element::Bf16, |value: i8| bf16::from_f32(value.into()));
    check!(f32, Element::F32, f32::from);
    check!(f64, Element::F64, f64::from);
    assert_eq!(pair(Element::I64, Op::And, &[6; 8], &[3; 8]), [2; 8]);
    assert_eq!(pair(Element::I64, Op::Or, &[6; 8], &[3; 8]), [7; 8]);
    assert_eq!(pair(Element::I64, Op::Xor, &[6; 8], &[3; 8]), [5; 8]);
    assert_eq!(pair(Element::I8, Op::Average, &[(-3i8) as u8], &[0]), [(-1i8) as u8], "towards zero");
    // A number that is none stays so, from whichever side it comes.
    let (nan, one) = (f32::NAN.to_ne_bytes(), 1f32.to_ne_bytes());
    for op in [Op::Min, Op::Max, Op::Sum] {
        for (a, b) in [(nan, one), (one, nan)] {
            let result = pair(Element::F32, op, &a, &b);
            assert!(f32::from_ne_bytes(result.try_into().unwrap()).is_nan(), "{op:?}");
        }
    }
}
