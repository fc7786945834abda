//! The tests can fail: every planted defect is found by the random scenarios.

use tasuki_msg::Defect;
use tasuki_testkit::defects::all_are_caught;

use crate::random::attempt;

/// Seeds after which a defect counts as missed. The slowest defect to be found takes a few hundred.
const SEEDS: u64 = 4000;

#[test]
fn every_planted_defect_is_caught() {
    all_are_caught(&Defect::ALL, SEEDS, |seed, defect| attempt(seed, Some(defect)).err());
}
