//! The lanes of running programs, as `tasuki stats` shows them.

use super::{TestLab, eventually, run::Running, tasuki};
use std::collections::BTreeMap;

/// One lane of a rail, as `tasuki stats` shows it.
#[derive(Clone, Debug, Default)]
pub struct LaneState {
    /// Whether it carries data.
    pub up: bool,
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
}

/// What `tasuki stats` shows of the processes on a host.
#[derive(Debug, Default)]
pub struct Told {
    /// Lanes of rail 0 by name.
    pub lanes: BTreeMap<String, LaneState>,
    /// Drops by reason.
    pub drops: BTreeMap<String, u64>,
}

/// Runs `tasuki stats` for a host.
pub fn told(lab: &TestLab, host: &str) -> Told {
    let output = tasuki().args(["stats", "--lab", &lab.name, "--json"]).output().expect("runs");
    let pages: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let mut told = Told::default();
    for page in pages.as_array().into_iter().flatten().filter(|page| page["host"] == host) {
        for drop in page["drops"].as_array().into_iter().flatten() {
            let count = drop[1].as_u64().unwrap_or(0);
            if count > 0 {
                told.drops.insert(drop[0].as_str().unwrap_or_default().to_owned(), count);
            }
        }
        let rails = page["peers"].as_array().into_iter().flatten().flat_map(|peer| peer["rails"].as_array());
        for rail in rails.flatten().filter(|rail| rail["rail"] == 0) {
            let count = |name: &str| rail[name].as_u64().unwrap_or(0);
            let lane = LaneState {
                up: rail["state"] == "up",
                sent: count("packets_sent"),
                received: count("packets_received"),
            };
            told.lanes.insert(rail["lane"].as_str().unwrap_or_default().to_owned(), lane);
        }
    }
    told
}

/// A file on n1 that ends `collect`, and the arguments with which it goes on until then: a test that looks at
/// a running program must not depend on how long the program takes on this machine.
const END: &str = "/run/end-of-collect";
pub const UNTIL_ENDED: [&str; 2] = ["1000000000", END];

/// Removes the file that ends `collect`. To be called before it is started.
pub fn not_ended(lab: &TestLab) {
    lab.sh("n1", &format!("rm -f {END}"));
}

/// Ends `collect`, which must have found everything right.
pub fn end(lab: &TestLab, job: Running, name: &str) {
    lab.sh("n1", &format!("touch {END}"));
    assert!(job.ok().contains("collect ok"), "{name}");
}

/// Waits until the lane of rail 0 of the process on n1 is as wanted.
pub fn until(what: &str, lab: &TestLab, job: &mut Running, wanted: impl Fn(&Told) -> bool) -> Told {
    let mut last = Told::default();
    eventually(what, || {
        assert!(job.is_running(), "ended before: {what}: {last:?} {} {}", job.printed(), job.complained());
        last = told(lab, "n1");
        wanted(&last)
    });
    last
}

/// The lane of this name; all zeroes if there is none.
pub fn lane(told: &Told, name: &str) -> LaneState {
    told.lanes.get(name).cloned().unwrap_or_default()
}
