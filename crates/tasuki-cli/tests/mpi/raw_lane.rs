//! The raw lane under whole MPI programs: it carries what is short, forged frames do no harm, and when frames
//! do not arrive any more UDP takes over until they do.

use crate::support::{
    TestLab, background,
    lanes::{Told, UNTIL_ENDED, end, lane, not_ended, until},
    mpi::{Programs, families},
    mpis::Mpi,
    run::{MpiRun, Running},
    seed, skip_without_root,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::path::Path;

/// The script is given to Python as text, because a host of a lab need not see this folder.
const SCRIPT: &str = include_str!("../support/hostile.py");

fn start(lab: &TestLab, mpi: &Mpi, program: &Path, lanes: &str) -> Running {
    not_ended(lab);
    let run = MpiRun::new(lab, mpi, "tasuki", 2, program).env("TASUKI_LANES", lanes).limit(300);
    run.args(UNTIL_ENDED).start()
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
        end(&lab, job, mpi.name);
        let mut job = start(&lab, &mpi, &program, "udp");
        let now = until("datagrams", &lab, &mut job, |told| lane(told, "udp").sent > 500);
        assert!(!now.lanes.contains_key("raw"), "{}: {now:?}", mpi.name);
        end(&lab, job, mpi.name);
    }
}

/// The NIC of n2 gets another MAC address in the middle of a run: frames to the old one are not received, so
/// the raw lane from n1 to n2 is dead, while the other direction lives. IP goes on, because the neighbour
/// entry is changed too. Then the old address is restored.
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
        // A silent lane is given up at once for the other one of its rail, and called dead after some more
        // time-outs, which are long on a machine with more work than cores. So the test looks at which lane
        // carries: as long as frames arrive, three packets of seven are frames.
        let grown = |told: &Told, name: &str| lane(told, name).sent - lane(&before, name).sent;
        let without = until("datagrams instead", &lab, &mut job, |told| {
            told.lanes.len() == 2 && grown(told, "udp") > 300 && grown(told, "raw") * 8 < grown(told, "udp")
        });
        change(&mac);
        let after = until("frames again", &lab, &mut job, |told| {
            lane(told, "raw").up && lane(told, "raw").sent > lane(&without, "raw").sent + 200
        });
        eprintln!("{}: {before:?} {without:?} {after:?}", mpi.name);
        end(&lab, job, mpi.name);
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
        let every = ["checksum", "token", "duplicate"];
        let seen = until("drops for every reason", &lab, &mut job, |told| {
            every.iter().all(|reason| told.drops.contains_key(*reason))
        });
        let more = seen.drops.values().sum::<u64>() + 300;
        let seen = until("more drops", &lab, &mut job, |told| told.drops.values().sum::<u64>() > more);
        kill(Pid::from_raw(attack.0.id() as i32), Signal::SIGTERM).expect("signals");
        let _ = attack.0.wait();
        eprintln!("{}: dropped {:?}", mpi.name, seen.drops);
        end(&lab, job, mpi.name);
    }
}
