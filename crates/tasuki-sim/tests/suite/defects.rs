//! The simulation can fail: every defect planted in the packet layer or in the message layer is found.

use tasuki_sim::transport::{Defect, Options, Plant, fails};

/// Seeds after which a defect counts as missed.
const SEEDS: u64 = 2000;

/// Defects that cannot show here. The message layer's own tests catch them.
const ELSEWHERE: [tasuki_msg::Defect; 2] = [
    // Nothing is pulled here: hosts share no memory.
    tasuki_msg::Defect::PullFailureIgnored,
    // A stopped process is only told from a slow one if it stays stopped for good.
    tasuki_msg::Defect::SilentPeerHoldsWindow,
];

/// The same of the packet layer, whose own tests catch them.
const ELSEWHERE_PROTO: [tasuki_proto::Defect; 4] = [
    // A packet for another incarnation has another secret, too, and is dropped for that.
    tasuki_proto::Defect::AnyIncarnation,
    // These cost rails, that is speed alone, and no oracle here demands speed of a network with faults.
    tasuki_proto::Defect::NoProbe,
    tasuki_proto::Defect::NeverBack,
    tasuki_proto::Defect::AckSameRail,
];

fn all() -> Vec<Defect> {
    let msg = tasuki_msg::Defect::ALL.into_iter().filter(|defect| !ELSEWHERE.contains(defect));
    let proto = tasuki_proto::Defect::ALL.into_iter().filter(|defect| !ELSEWHERE_PROTO.contains(defect));
    proto.map(Defect::Proto).chain(msg.map(Defect::Msg)).collect()
}

#[test]
fn every_planted_defect_is_caught() {
    let mut missed = Vec::new();
    let all = all();
    assert!(all.len() >= 20);
    for defect in all {
        let options = Options { plant: Plant { defect: Some(defect) }, ..Options::default() };
        let first = (0..SEEDS).find_map(|seed| Some((seed, fails(seed, options)?)));
        match first {
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
    assert!(missed.is_empty(), "not caught in {SEEDS} seeds: {missed:?}");
}
