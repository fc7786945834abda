//! Messages that a peer's process is gone: strangers forge them, and firewalls send them about processes that
//! live. Neither ends a job. (That a dead process is noticed is tested in faults.rs.)

use crate::support::{
    TestLab, background,
    dump::Rank,
    eventually,
    lanes::{UNTIL_ENDED, end, lane, not_ended, until},
    mpi::Programs,
    mpis::mpis,
    run::{MpiRun, Running},
    seed, skip_without_root,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{collections::BTreeSet, fs, io::Read, net::Ipv4Addr, thread, time::Duration};

/// The script is given to Python as text, because a host of a lab need not see this folder.
const FORGER: &str = include_str!("../support/forger.py");

/// Number of refusals that each of both hosts must have received before the attack counts.
const FORGED: u64 = 600;

/// Addresses and ports of the UDP sockets in a rank's network namespace (proc(5), `/proc/PID/net/udp`).
fn sockets(rank: &Rank) -> BTreeSet<(Ipv4Addr, u16)> {
    let table = fs::read_to_string(format!("/proc/{}/net/udp", rank.pid)).unwrap_or_default();
    let parse = |line: &str| {
        let (address, port) = line.split_whitespace().nth(1)?.split_once(':')?;
        let address = Ipv4Addr::from(u32::from_str_radix(address, 16).ok()?.to_ne_bytes());
        Some((address, u16::from_str_radix(port, 16).ok()?))
    };
    table.lines().skip(1).filter_map(parse).filter(|(address, _)| !address.is_loopback()).collect()
}

/// ICMP messages "destination unreachable" that a rank's host has received (proc(5), `/proc/PID/net/snmp`).
fn refusals(rank: &Rank) -> u64 {
    let table = fs::read_to_string(format!("/proc/{}/net/snmp", rank.pid)).unwrap_or_default();
    let mut lines = table.lines().filter(|line| line.starts_with("Icmp:"));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let mut both = names.split(' ').zip(values.split(' '));
    both.find(|(name, _)| *name == "InDestUnreachs").and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// The two ranks of a job, once they have sockets and exchange messages.
fn both_ranks(lab: &TestLab, job: &mut Running) -> [Rank; 2] {
    until("messages", lab, job, |told| told.lanes.values().any(|lane| lane.received > 100));
    let ranks = job.ranks();
    // The children of a rank, if its MPI has any, have its number too.
    let find = |number| ranks.iter().find(|rank| rank.rank == number).cloned().expect("a rank");
    [find(0), find(1)]
}

/// The arguments of the forger: it sends refusals to each end's sockets as if they were about the other
/// end's.
fn ends(ranks: &[Rank; 2]) -> Vec<String> {
    let [one, other] = ranks.each_ref().map(sockets);
    let pairs = one.iter().flat_map(|one| other.iter().map(move |other| (one, other)));
    let text = |(a, b): (&(Ipv4Addr, u16), &(Ipv4Addr, u16))| format!("{}:{},{}:{}", a.0, a.1, b.0, b.1);
    pairs.flat_map(|(one, other)| [text((one, other)), text((other, one))]).collect()
}

/// A third host tells both ends of a running job that the other's port is unreachable, some thousand times
/// and in every form that needs no look at their packets, also while one of them is stopped and can answer
/// nothing.
#[test]
fn forged_refusals_end_no_job() {
    let test = "forged_refusals_end_no_job";
    if skip_without_root(test) {
        return;
    }
    let seed = seed(test).to_string();
    let lab = TestLab::up("forged", &["--shape", "full:3"]);
    let programs = Programs::new();
    for mpi in mpis(test) {
        let program = programs.build("collect", &mpi);
        // Which lane carries the messages makes no difference to which reports are believed.
        let lanes = if mpi.is_open_mpi() { &["raw,udp", "udp"][..] } else { &["raw,udp"] };
        for lanes in lanes {
            not_ended(&lab);
            let run = MpiRun::new(&lab, &mpi, "tasuki", 2, &program).args(UNTIL_ENDED);
            let mut job = run.env("TASUKI_LANES", lanes).limit(300).start();
            let ranks = both_ranks(&lab, &mut job);
            let before = ranks.each_ref().map(refusals);
            let said = ends(&ranks);
            let mut argv = vec!["python3", "-c", FORGER, &seed];
            argv.extend(said.iter().map(String::as_str));
            let mut forger = background(&mut lab.exec("n3", &argv));
            let mut come = [0; 2];
            let mut comes = |least: u64| {
                eventually("forged refusals", || {
                    let now = ranks.each_ref().map(refusals);
                    come = std::array::from_fn(|at| now[at].saturating_sub(before[at]));
                    come.iter().all(|count| *count >= least) || !job.is_running()
                });
            };
            comes(FORGED);
            let stopped = Pid::from_raw(ranks[1].pid);
            // If the job has failed the process has ended, which is reported below.
            let _ = kill(stopped, Signal::SIGSTOP);
            comes(3 * FORGED);
            let _ = kill(stopped, Signal::SIGCONT);
            comes(4 * FORGED);
            // The signal ends the forger by way of the lab's client.
            kill(Pid::from_raw(forger.0.id() as i32), Signal::SIGTERM).expect("signals");
            let mut text = String::new();
            forger.0.stdout.take().expect("piped").read_to_string(&mut text).expect("reads");
            eprintln!("{}, {lanes}: forged {}, {come:?} came", mpi.name, text.trim().replace('\n', " "));
            end(&lab, job, mpi.name);
        }
    }
}

/// Adds a rule by which n2 answers datagrams as if no process listened: `reject` sends "port unreachable"
/// unless told otherwise.
fn firewall(lab: &TestLab, rule: &str) {
    lab.sh(
        "n2",
        &format!(
            "nft add table ip refuse &&
             nft 'add chain ip refuse input {{ type filter hook input priority 0; }}' &&
             nft add rule ip refuse input {rule} reject"
        ),
    );
}

/// Runs a job of two ranks during which n2 begins to refuse datagrams by this rule. It goes on as long as
/// anything gets through. With `stopped` the rank at n2 is stopped then, and for so long after n1 has been
/// told several times that no process listens there.
fn survives_firewall(test: &str, rule: &str, lanes: &str, stopped: Option<Duration>) {
    if skip_without_root(test) {
        return;
    }
    let programs = Programs::new();
    let lab = TestLab::up("firewall", &["--shape", "full:2"]);
    for mpi in mpis(test) {
        not_ended(&lab);
        let program = programs.build("collect", &mpi);
        let run = MpiRun::new(&lab, &mpi, "tasuki", 2, &program).args(UNTIL_ENDED);
        let mut job = run.env("TASUKI_LANES", lanes).limit(300).start();
        let carrier = lanes.split(',').next().expect("a lane");
        until("messages", &lab, &mut job, |told| {
            let lane = lane(told, carrier);
            lane.up && lane.received > 100
        });
        let ranks = both_ranks(&lab, &mut job);
        let (before, second) = (refusals(&ranks[0]), Pid::from_raw(ranks[1].pid));
        if stopped.is_some() {
            kill(second, Signal::SIGSTOP).expect("signals");
        }
        firewall(&lab, rule);
        eventually("refusals", || refusals(&ranks[0]) >= before + REFUSED || !job.is_running());
        if let Some(time) = stopped {
            thread::sleep(time);
            // If the job has failed the process has ended, which is reported below.
            let _ = kill(second, Signal::SIGCONT);
        }
        let before = until("messages in spite of it", &lab, &mut job, |_| true);
        until("more messages", &lab, &mut job, |told| {
            lane(told, carrier).received > lane(&before, carrier).received + 100
        });
        end(&lab, job, mpi.name);
        lab.sh("n2", "nft delete table ip refuse");
    }
}

/// Refusals that n1 must have received before a firewall counts.
const REFUSED: u64 = 3;

/// All datagrams are refused, and frames pass.
#[test]
fn a_firewall_that_refuses_datagrams_ends_no_job_whose_frames_pass() {
    let test = "a_firewall_that_refuses_datagrams_ends_no_job_whose_frames_pass";
    survives_firewall(test, "meta l4proto udp", "raw,udp", None);
}

/// Datagrams to the host's identity address are refused, those to its NICs pass. So the host says at one
/// address that no process listens, and not at the other. The rank behind that firewall is stopped for a
/// while and can answer nothing, and n1 has not learnt yet that such refusals prove nothing.
#[test]
fn a_firewall_that_refuses_one_address_ends_no_job_whose_other_ways_pass() {
    let test = "a_firewall_that_refuses_one_address_ends_no_job_whose_other_ways_pass";
    let stopped = Some(Duration::from_secs(2));
    survives_firewall(test, "ip daddr 10.77.0.0/16 meta l4proto udp", "udp", stopped);
}
