//! The state of a job's ranks, seen from outside, for watchdogs.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{fmt::Write as _, fs, process::Command, thread, time::Duration};

/// A living process of a job.
#[derive(Clone, Debug)]
pub struct Rank {
    /// Its process id on this machine.
    pub pid: i32,
    /// Its rank in its MPI_COMM_WORLD; spawned processes are numbered from 0 again.
    pub rank: u32,
}

/// Variables that tell a rank its number: Open MPI, MPICH and Intel MPI.
const NUMBER: [&str; 2] = ["OMPI_COMM_WORLD_RANK=", "PMI_RANK="];

impl Rank {
    /// All processes with a rank whose environment has `variable=value`, including children of ranks.
    pub fn all(variable: &str, value: &str) -> Vec<Self> {
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut all: Vec<Self> =
            pids.filter_map(|pid| Self::of(pid, &format!("{variable}={value}"))).collect();
        all.sort_by_key(|rank| rank.rank);
        all
    }

    fn of(pid: i32, mark: &str) -> Option<Self> {
        let environment =
            String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/environ")).ok()?).into_owned();
        let mut argv = environment.split('\0');
        let rank = argv.clone().find_map(|word| NUMBER.iter().find_map(|name| word.strip_prefix(name)))?;
        argv.any(|word| word == mark).then_some(Self { pid, rank: rank.parse().ok()? })
    }

    /// Whether it handles SIGUSR2, by which Tasuki is asked to describe itself; any other process would end
    /// by it.
    fn describes_itself(&self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0").trim();
        u64::from_str_radix(caught, 16).unwrap_or(0) >> (Signal::SIGUSR2 as u64 - 1) & 1 == 1
    }

    /// Whether it is a rank of Open MPI 4.1 whose runtime has not started it yet: what carries messages is
    /// loaded after `PMIx_Init`, which waits for the daemon alone.
    fn waits_for_its_runtime(&self) -> bool {
        let mapped = fs::read_to_string(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        mapped.contains("libpmix.so") && mapped.contains("libmpi.so.40") && !mapped.contains("mca_pml_")
    }

    fn describe(&self, into: &mut String) {
        let read = |path: &str| fs::read_to_string(format!("/proc/{}/{path}", self.pid)).unwrap_or_default();
        let status = read("status");
        let fields = ["Name:", "State:", "VmHWM:", "VmRSS:", "Threads:"];
        let facts: Vec<_> =
            status.lines().filter(|line| fields.iter().any(|f| line.starts_with(f))).collect();
        let begun = if self.waits_for_its_runtime() { WAITS_FOR_ITS_RUNTIME } else { "" };
        let facts = facts.join(", ");
        let _ = writeln!(into, "--- rank {}, process {}: {facts} {begun}", self.rank, self.pid);
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten().flatten();
        for thread in threads {
            let id = thread.file_name().to_string_lossy().into_owned();
            let part = |name: &str| read(&format!("task/{id}/{name}")).trim().to_owned();
            let stack: Vec<_> = part("stack").lines().take(6).map(str::to_owned).collect();
            let _ = writeln!(
                into,
                "    thread {id} {}: waits in {}, call {}, {}",
                part("comm"),
                part("wchan"),
                part("syscall"),
                stack.join(" ")
            );
        }
        if std::env::var_os("TASUKI_TEST_GDB").is_some() {
            let pid = self.pid.to_string();
            let mut gdb = Command::new("timeout");
            gdb.args(["-k", "5", "60", "gdb", "-p", &pid, "-batch", "-ex", "thread apply all bt 24"]);
            let text = gdb.output().map(|output| output.stdout).unwrap_or_default();
            into.push_str(&String::from_utf8_lossy(&text));
        }
    }
}

/// What [`describe`] says of a rank that has not begun.
pub const WAITS_FOR_ITS_RUNTIME: &str = "(waits for its runtime: no message was sent)";

/// The state of ranks. Those that can describe themselves are asked to, on their standard error.
pub fn describe(ranks: &[Rank]) -> String {
    for rank in ranks.iter().filter(|rank| rank.describes_itself()) {
        // The process may have ended a moment ago.
        let _ = kill(Pid::from_raw(rank.pid), Signal::SIGUSR2);
    }
    let mut text = format!("{} ranks live\n", ranks.len());
    for rank in ranks {
        rank.describe(&mut text);
    }
    // What they print passes through the launcher, which takes a while.
    thread::sleep(Duration::from_secs(2));
    text
}
