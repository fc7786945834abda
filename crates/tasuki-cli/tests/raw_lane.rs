//! The raw lane under whole MPI programs: it carries what is short, forged frames do no harm, and when frames do not arrive any more
//! UDP takes over until they do.

mod support;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{collections::BTreeMap, path::Path};
use support::{
    TestLab, background, eventually,
    mpi::{Programs, families},
    mpis::Mpi,
    run::{MpiRun, Running},
    seed, skip_without_root, tasuki,
};

/// Given to Python as it is: a host of a lab need not see this folder.
const SCRIPT: &str = include_str!("support/hostile.py");

/// One lane of a rail, as `tasuki stats` tells it.
#[derive(Clone, Debug, Default)]
struct LaneState {
    up: bool,
    sent: u64,
    received: u64,
}

/// What `tasuki stats` tells of the processes on a host.
#[derive(Debug, Default)]
struct Told {
    /// Lanes of rail 0 by name.
    lanes: BTreeMap<String, LaneState>,
    /// Drops by reason.
    drops: BTreeMap<String, u64>,
}

fn told(lab: &TestLab, host: &str) -> Told {
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

fn start(lab: &TestLab, mpi: &Mpi, program: &Path, lanes: &str) -> Running {
    MpiRun::new(lab, mpi, "tasuki", 2, program).args(["10000"]).env("TASUKI_LANES", lanes).limit(300).start()
}

/// Waits until the lane of rail 0 of the process on n1 is as wanted.
fn until(what: &str, lab: &TestLab, job: &mut Running, wanted: impl Fn(&Told) -> bool) -> Told {
    let mut last = Told::default();
    eventually(what, || {
        assert!(job.is_running(), "ended before: {what}: {last:?} {}", job.printed());
        last = told(lab, "n1");
        wanted(&last)
    });
    last
}

fn lane(told: &Told, name: &str) -> LaneState {
    told.lanes.get(name).cloned().unwrap_or_default()
}

#[test]
fn short_messages_go_in_frames_if_that_is_wanted() {
    let test = "short_messages_go_in_frames_if_that_is_wanted";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("rawlane", &["--shape", "full:2"]);
    let programs = Programs::new();
    for mpi in families(test) {
        let program = programs.build("collect", &mpi);
        let mut job = start(&lab, &mpi, &program, "raw,udp");
        let now = until("frames both ways", &lab, &mut job, |told| {
            let raw = lane(told, "raw");
            raw.up && raw.sent > 500 && raw.received > 500
        });
        eprintln!("{}: {now:?}", mpi.name);
        assert!(job.ok().contains("collect ok"), "{}", mpi.name);
        let mut job = start(&lab, &mpi, &program, "udp");
        let now = until("datagrams", &lab, &mut job, |told| lane(told, "udp").sent > 500);
        assert!(!now.lanes.contains_key("raw"), "{}: {now:?}", mpi.name);
        assert!(job.ok().contains("collect ok"), "{}", mpi.name);
    }
}

/// The NIC of n2 gets another MAC address in the middle of a run: frames to the old one are nobody's, so the raw lane from n1 to n2 is dead,
/// the other way it lives. IP goes on, as the neighbour entry is changed with it. Then all is as it was.
#[test]
fn udp_takes_over_while_frames_do_not_arrive() {
    let test = "udp_takes_over_while_frames_do_not_arrive";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("rawdead", &["--shape", "pair:1"]);
    let mac = lab.sh("n2", "cat /sys/class/net/eth1/address").trim().to_owned();
    let change = |mac: &str| {
        lab.sh("n2", &format!("ip link set eth1 address {mac}"));
        lab.sh("n1", &format!("ip neigh replace 10.78.2.1 lladdr {mac} dev eth1 nud permanent"));
    };
    let programs = Programs::new();
    for mpi in families(test) {
        let program = programs.build("collect", &mpi);
        let mut job = start(&lab, &mpi, &program, "raw,udp");
        let before = until("frames", &lab, &mut job, |told| lane(told, "raw").received > 200);
        change("02:99:00:00:00:01");
        let without = until("datagrams instead", &lab, &mut job, |told| {
            !lane(told, "raw").up && lane(told, "udp").sent > lane(&before, "udp").sent + 300
        });
        change(&mac);
        let after = until("frames again", &lab, &mut job, |told| {
            lane(told, "raw").up && lane(told, "raw").sent > lane(&without, "raw").sent + 200
        });
        eprintln!("{}: {before:?} {without:?} {after:?}", mpi.name);
        assert!(job.ok().contains("collect ok"), "{}", mpi.name);
    }
}

#[test]
fn forged_damaged_and_replayed_frames() {
    let test = "forged_damaged_and_replayed_frames";
    if skip_without_root(test) {
        return;
    }
    let seed = seed(test).to_string();
    let lab = TestLab::up("rawforged", &["--shape", "full:2"]);
    let mac = lab.sh("n1", "cat /sys/class/net/eth1/address").trim().to_owned();
    let programs = Programs::new();
    for mpi in families(test) {
        let program = programs.build("collect", &mpi);
        let mut job = start(&lab, &mpi, &program, "raw,udp");
        until("frames", &lab, &mut job, |told| lane(told, "raw").received > 20);
        let captured =
            lab.run("n1", &["timeout", "20", "python3", "-c", SCRIPT, "capture-raw", "eth1", "25"]);
        let payloads = captured.lines().collect::<Vec<_>>().join(",");
        let mut attack = background(
            &mut lab.exec("n2", &["python3", "-c", SCRIPT, "attack-raw", &seed, "eth1", &mac, &payloads]),
        );
        let mut seen = BTreeMap::new();
        while job.is_running() {
            let now = told(&lab, "n1").drops;
            if now.values().sum::<u64>() > seen.values().sum() {
                seen = now;
            }
        }
        kill(Pid::from_raw(attack.0.id() as i32), Signal::SIGTERM).expect("signals");
        let _ = attack.0.wait();
        let printed = job.ok();
        assert!(printed.contains("collect ok"), "{}: {printed}", mpi.name);
        eprintln!("{}: dropped {seen:?}", mpi.name);
        for reason in ["checksum", "token", "duplicate"] {
            assert!(seen.contains_key(reason), "{}: none for {reason}: {seen:?}", mpi.name);
        }
    }
}
