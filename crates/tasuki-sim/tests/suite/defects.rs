//! The simulation can fail: every defect planted in the packet layer or in the message layer is found.

use tasuki_sim::transport::{Defect, Options, Plant, fails};

/// Seeds after which a defect counts as missed.
const SEEDS: u64 = 3000;

fn all() -> Vec<Defect> {
    let msg = tasuki_msg::Defect::ALL.into_iter().map(Defect::Msg);
    tasuki_proto::Defect::ALL.into_iter().map(Defect::Proto).chain(msg).collect()
}

#[test]
fn every_planted_defect_is_caught() {
    let mut missed = Vec::new();
    for defect in all() {
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
