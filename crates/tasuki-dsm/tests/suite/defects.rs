//! The simulation can fail: every defect that is planted is found.

use tasuki_dsm::Defect;
use tasuki_testkit::defects::all_are_caught;

use crate::seeds::run;

#[test]
fn every_planted_defect_is_caught() {
    all_are_caught(&Defect::ALL, 1000, |seed, defect| run(seed, Some(defect), false).err());
}
