//! Floats: they round, overflow, have two zeros and numbers that are none (IEEE 754-2019).

use half::f16;
use tasuki_collectives::{Element, Mesh, Op, all_reduce, reduce, reduce_scatter};
use tasuki_random::Random;

use crate::threads::run;

/// Reduces arrays of floats, which `of` gives by rank and place; all processes must have the same bits
/// afterwards. Gives the bits.
fn all_alike(size: usize, len: usize, op: Op, of: impl Fn(usize, usize) -> f32 + Sync) -> Vec<u32> {
    let results = run(size, |mesh| {
        let rank = mesh.rank();
        let mut data: Vec<u8> = (0..len).flat_map(|at| of(rank, at).to_ne_bytes()).collect();
        all_reduce(mesh, &mut data, Element::F32, op).map(|()| data)
    });
    assert!(results.iter().all(|data| *data == results[0]), "{op:?}, {size} processes, {len} floats");
    results[0].chunks_exact(4).map(|bytes| u32::from_ne_bytes(bytes.try_into().expect("four"))).collect()
}

/// Floats round differently in another order; all processes still have the same bits, in both ways.
#[test]
fn sums_of_floats_are_bit_equal_everywhere() {
    for size in 1..=9 {
        for len in [100, 50_000] {
            let random = |rank, at| Random::new((rank * len + at) as u64).uniform();
            all_alike(size, len, Op::Average, |rank, at| ((random(rank, at) - 0.5) * 1e6) as f32);
        }
    }
}

/// The standard's `minimum` and `maximum` take -0 for less than +0, which compare as equal.
#[test]
fn the_least_of_zeros_is_the_negative_one_at_all_processes() {
    let zero = |rank: usize, at: usize| if (rank + at).is_multiple_of(2) { 0.0 } else { -0.0 };
    for size in 2..=9 {
        for len in [100, 50_000] {
            assert_eq!(all_alike(size, len, Op::Min, zero), vec![(-0f32).to_bits(); len]);
            assert_eq!(all_alike(size, len, Op::Max, zero), vec![0f32.to_bits(); len]);
        }
    }
}

/// The bits of a NaN beside those that say that it is one are free, and here each process has its own.
#[test]
fn what_is_no_number_is_bit_equal_everywhere() {
    let nan = |rank: usize, at: usize| f32::from_bits(0x7fc0_0001 + (rank * 7 + at % 3) as u32);
    for op in [Op::Sum, Op::Average, Op::Product, Op::Min, Op::Max] {
        for size in 2..=9 {
            for len in [100, 50_000] {
                let all = all_alike(size, len, op, nan);
                assert!(all.iter().all(|bits| f32::from_bits(*bits).is_nan()), "{op:?}");
            }
        }
    }
}

/// The greatest number of binary16 is 65,504, which two of 40,000 exceed; the average does not.
#[test]
fn averages_of_binary16_do_not_overflow_on_the_way() {
    for size in 1..=9 {
        for len in [100, 50_000] {
            let numbers = |len: usize| f16::from_f32(40_000.0).to_ne_bytes().repeat(len);
            // Each of the roundings, fewer than two for a process, is by at most half a unit of 32.
            let is_near = |found: f16| (found.to_f32() - 40_000.0).abs() <= 32.0 * size as f32;
            let is_right =
                |bytes: &[u8]| bytes.chunks_exact(2).all(|two| is_near(f16::from_ne_bytes([two[0], two[1]])));
            let (element, op) = (Element::F16, Op::Average);
            let results = run(size, |mesh| {
                let (mut all, mut one, mut part) = (numbers(len), numbers(len), vec![0; 2 * len]);
                all_reduce(mesh, &mut all, element, op)?;
                reduce(mesh, &mut one, 0, element, op)?;
                reduce_scatter(mesh, &numbers(len * size), &mut part, element, op)?;
                Ok([all, part, if mesh.rank() == 0 { one } else { numbers(1) }])
            });
            assert!(results.iter().flatten().all(|bytes| is_right(bytes)), "{size} processes, {len} numbers");
        }
    }
}
