//! The simulation can fail: every defect that is planted in the packet layer or in the message layer is
//! found.

use tasuki_sim::transport::{Defect, Options, Plant, fails};
use tasuki_testkit::defects::all_are_caught;

/// Seeds after which a defect counts as missed.
const SEEDS: u64 = 2000;

/// Defects of the message layer that cannot show here; its own tests catch them.
const ELSEWHERE: [tasuki_msg::Defect; 2] = [
    // Simulated hosts share no memory, so nothing is pulled.
    tasuki_msg::Defect::PullFailureIgnored,
    // This defect would show only if a process stayed stopped for good: here each goes on at some time.
    tasuki_msg::Defect::SilentPeerHoldsWindow,
];

/// Defects of the packet layer that cannot show here; its own tests catch them.
const ELSEWHERE_PROTO: [tasuki_proto::Defect; 5] = [
    // A packet for another incarnation also has another secret, and is dropped for that reason.
    tasuki_proto::Defect::AnyIncarnation,
    // These make rails unusable or leave them unused, which costs speed alone; the oracle demands no speed of
    // a network with faults.
    tasuki_proto::Defect::NoProbe,
    tasuki_proto::Defect::NeverBack,
    tasuki_proto::Defect::AckSameRail,
    tasuki_proto::Defect::FirstTripStays,
];

fn all() -> Vec<Defect> {
    let msg = tasuki_msg::Defect::ALL.into_iter().filter(|defect| !ELSEWHERE.contains(defect));
    let proto = tasuki_proto::Defect::ALL.into_iter().filter(|defect| !ELSEWHERE_PROTO.contains(defect));
    proto.map(Defect::Proto).chain(msg.map(Defect::Msg)).collect()
}

#[test]
fn every_planted_defect_is_caught() {
    let all = all();
    assert!(all.len() >= 20);
    all_are_caught(&all, SEEDS, |seed, defect| {
        fails(seed, Options { plant: Plant { defect: Some(defect) }, ..Options::default() })
    });
}
