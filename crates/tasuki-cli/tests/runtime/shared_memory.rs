//! Programs of `tasuki_shared.h` on hosts of their own.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::path::Path;

use crate::support::{
    eventually,
    jobs::{Cluster, joined, processes},
    mpi::c_example,
    ok, skip_without_root, text,
};

/// Compiles an example of the C interface. Hosts see it where it lies, which must not be below /tmp.
struct Example {
    folder: tempfile::TempDir,
}

impl Example {
    fn build(name: &str) -> Example {
        let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
        c_example(Path::new("cc"), name, &folder.path().join("program"));
        Example { folder }
    }

    fn path(&self) -> String {
        self.folder.path().join("program").to_string_lossy().into_owned()
    }
}

fn heat(said: &str) -> String {
    let (_, rest) = said.split_once("heat ").unwrap_or_else(|| panic!("{said}"));
    rest.split(',').next().expect("a number").to_owned()
}

/// Four hosts compute what one does, while packets are lost, a cable is cut and healed, and a process stands
/// still for a while.
#[test]
fn hosts_share_memory_under_loss_cuts_and_a_stop() {
    if skip_without_root("hosts_share_memory_under_loss_cuts_and_a_stop") {
        return;
    }
    let example = Example::build("jacobi");
    let cluster = Cluster::up("shared", 4);
    let heat_of = |ranks: &str, steps: u32| {
        let words = ["--resident", "-n", ranks, &example.path(), "300", &steps.to_string()];
        heat(&text(&cluster.output("run", &words)))
    };
    assert_eq!(heat_of("4", 400), heat_of("1", 400));

    cluster.lab.fault("loss", &["all", "1%"]);
    // On a busy machine a job may be over before it is seen: then one of twice as many steps is begun.
    let caught = (0..10).map(|times| 400 << times).find_map(|steps| {
        let job = cluster.marked(&["-n", "4", &example.path(), "300", &steps.to_string()]);
        let mut stopped = None;
        eventually("all processes", || {
            // At once, before anything else, since a job whose process stands still cannot end meanwhile.
            let all = joined(&job.mark);
            let third = (all.len() == 4).then(|| Pid::from_raw(all[2]));
            stopped = third.filter(|pid| kill(*pid, Signal::SIGSTOP).is_ok() && stands_still(*pid));
            stopped.is_some() || cluster.job(&job.number)["ended"].is_u64()
        });
        Some((job, stopped?, steps))
    });
    let (job, stopped, steps) = caught.expect("one of the jobs was caught at work");
    cluster.lab.fault("cut", &["n1-n2"]);
    std::thread::sleep(std::time::Duration::from_millis(700));
    kill(stopped, Signal::SIGCONT).expect("it stands still");
    cluster.lab.fault("heal", &["all"]);
    cluster.until(&job.number, "done");
    assert_eq!(heat(&ok(&mut cluster.command("attach", &[&job.number]))), heat_of("1", steps));
}

/// Waits until a process that was told to stop has done so; false: it has ended before.
fn stands_still(pid: Pid) -> bool {
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
    };
    eventually("it to stop, or to be over", || matches!(state(), Some('T' | 'Z' | 'X') | None));
    state() == Some('T')
}

/// A rank that is killed ends the job on all hosts, with its reason.
#[test]
fn a_killed_rank_ends_shared_memory_everywhere() {
    if skip_without_root("a_killed_rank_ends_shared_memory_everywhere") {
        return;
    }
    let example = Example::build("jacobi");
    let cluster = Cluster::up("shared-dies", 3);
    let job = cluster.marked(&["-n", "3", &example.path(), "1000", "1000000"]);
    eventually("all processes", || joined(&job.mark).len() == 3);
    kill(Pid::from_raw(processes(&job.mark)[1]), Signal::SIGKILL).expect("it runs");
    let ended = cluster.until(&job.number, "failed");
    assert!(ended["reason"].as_str().is_some_and(|why| why.contains("was killed by signal 9")), "{ended}");
    eventually("no process", || processes(&job.mark).is_empty());
}
