//! All sizes of messages in a row, in which a size at which Tasuki is slower than TCP cannot hide.

use std::time::Duration;

/// Largest size of a sweep, in bytes: 16 MiB.
const LARGEST: u64 = 16 << 20;
/// The tests of a sweep: name, ranks, least size, and the number of which sizes are multiples. Two ranks are
/// a pair; otherwise there is a rank on every host.
const TESTS: [(&str, Ranks, u64, u64); 6] = [
    ("pingpong", Ranks::Pair, 0, 1),
    ("stream", Ranks::Pair, 1, 1),
    ("away", Ranks::Pair, 0, 1),
    ("allreduce", Ranks::All, 8, 8),
    ("alltoall", Ranks::All, 1, 1),
    ("halo", Ranks::All, 0, 1),
];
/// Longest time for one run, which is one test at all sizes: the largest ones take seconds a batch on slow
/// lines.
pub(super) const RUN_LIMIT: Duration = Duration::from_secs(1800);

/// Which ranks take part in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ranks {
    Pair,
    All,
}

/// Zero, every power of two and one and a half times each, up to [`LARGEST`].
fn sizes() -> impl Iterator<Item = u64> {
    let powers = (0..=LARGEST.ilog2()).map(|power| 1u64 << power);
    let all = powers.flat_map(|size| [Some(size), (size % 2 == 0).then_some(size + size / 2)]);
    [0].into_iter().chain(all.flatten()).filter(|size| *size <= LARGEST)
}

fn tests(ranks: Ranks) -> Vec<String> {
    let of = TESTS.iter().filter(|(_, whose, ..)| *whose == ranks);
    of.map(|(name, _, least, multiple)| {
        let taken = sizes().filter(|size| size >= least && size % multiple == 0);
        format!("{name}:{}", taken.map(|size| size.to_string()).collect::<Vec<_>>().join(","))
    })
    .collect()
}

/// The tests of a sweep with two ranks, and those with a rank on every host.
pub fn sweep_tests() -> (Vec<String>, Vec<String>) {
    (tests(Ranks::Pair), tests(Ranks::All))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestPlan;

    #[test]
    fn a_sweep_has_every_power_of_two_and_what_lies_between() {
        let all: Vec<u64> = sizes().collect();
        assert_eq!(all[..9], [0, 1, 2, 3, 4, 6, 8, 12, 16]);
        assert_eq!(all[all.len() - 3..], [8 << 20, 12 << 20, 16 << 20]);
        assert!(all.is_sorted() && all.len() == 49, "{all:?}");
    }

    #[test]
    fn every_test_is_one_that_the_program_has_with_sizes_that_it_takes() {
        let (pair, all) = sweep_tests();
        assert_eq!((pair.len(), all.len()), (3, 3));
        for text in pair.iter().chain(&all) {
            let plan: TestPlan = text.parse().expect("a test");
            assert!(plan.name != "allreduce" || plan.sizes.iter().all(|size| size % 8 == 0), "{plan:?}");
        }
    }
}
