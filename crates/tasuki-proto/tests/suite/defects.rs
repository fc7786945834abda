//! Each planted defect is noticed by a test of this suite.

use tasuki_proto::Defect;

use crate::net::PLANT;
use crate::{carrier, closing, given_up, handshake, hostile, rails, random, throughput};

fn fails(defect: Defect, case: &(dyn Fn() + std::panic::RefUnwindSafe)) -> bool {
    PLANT.set(Some(defect));
    let result = std::panic::catch_unwind(case);
    PLANT.set(None);
    result.is_err()
}

#[test]
fn planted_defects_are_caught() {
    let schedules = || (0..60).for_each(|seed| assert!(random::run(seed) > 0));
    let mut missed = Vec::new();
    for defect in Defect::ALL {
        let case: &(dyn Fn() + std::panic::RefUnwindSafe) = match defect {
            Defect::AckDropped => &hostile::what_is_refused_comes_again,
            Defect::AnyIncarnation => &handshake::another_incarnation,
            Defect::NoProbe => &rails::an_mtu_hole,
            Defect::NeverBack => &rails::a_dead_rail_is_left_and_used_again,
            Defect::NoClosingState => &closing::any_of_the_last_packets_may_be_lost,
            Defect::AckSameRail => &rails::one_way_dead_rail_still_carries_the_other_way,
            Defect::CarrierForbids => &carrier::a_wrong_report_for_ever,
            Defect::FirstTripStays => &throughput::a_rail_that_was_proven_in_a_busy_moment_is_used,
            Defect::GivesUpSilently => &given_up::one_that_waits_is_told_unasked,
            _ => &schedules,
        };
        if !fails(defect, case) {
            missed.push(defect);
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}
