//! The proof that a suite can fail: every planted defect must be caught by some seed.

use std::fmt::Debug;

/// Runs seeds with each defect planted until one fails, prints which seed caught what, and panics if a defect
/// was not caught within `seeds` seeds. `complaint` runs one seed and returns what went wrong, if anything
/// did.
pub fn all_are_caught<D: Copy + Debug>(
    defects: &[D],
    seeds: u64,
    complaint: impl Fn(u64, D) -> Option<String>,
) {
    let mut missed = Vec::new();
    for &defect in defects {
        match (0..seeds).find_map(|seed| Some((seed, complaint(seed, defect)?))) {
            Some((seed, complaint)) => {
                let line = complaint.lines().next().unwrap_or_default();
                println!("{defect:?}: seed {seed}: {}", line.chars().take(110).collect::<String>());
            }
            None => {
                println!("{defect:?}: MISSED");
                missed.push(defect);
            }
        }
    }
    assert!(missed.is_empty(), "not caught in {seeds} seeds: {missed:?}");
}
