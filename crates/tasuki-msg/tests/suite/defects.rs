//! The tests can fail: every planted defect is found by the random scenarios.

use tasuki_msg::Defect;

use crate::random::attempt;

/// Seeds after which a defect counts as missed. The slowest takes a few hundred.
const SEEDS: u64 = 4000;

#[test]
fn every_planted_defect_is_caught() {
    let caught = Defect::ALL.map(|defect| {
        let first = (0..SEEDS).find_map(|seed| Some((seed, attempt(seed, Some(defect)).err()?)));
        (defect, first)
    });
    for (defect, first) in &caught {
        match first {
            Some((seed, complaint)) => {
                let line = complaint.lines().next().unwrap_or_default();
                println!("{defect:?}: seed {seed}: {}", line.chars().take(110).collect::<String>());
            }
            None => println!("{defect:?}: MISSED"),
        }
    }
    let missed: Vec<Defect> =
        caught.iter().filter(|(_, first)| first.is_none()).map(|(defect, _)| *defect).collect();
    assert!(missed.is_empty(), "not caught in {SEEDS} seeds: {missed:?}");
}
