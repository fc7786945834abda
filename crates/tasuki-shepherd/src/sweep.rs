//! After a shepherd was killed: what is left of its job.

use crate::{JOB_ID, Residence, cgroup, processes};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{collections::BTreeSet, io, path::Path, thread, time::Duration};

/// Rounds of ten milliseconds until everything must be gone.
const ROUNDS: u32 = 500;

/// Kills what is left of a job whose shepherd was killed, and removes its cgroup. Without a cgroup, the
/// processes are found by their variable [`JOB_ID`], which a program can take away. May be called again.
/// Returns how many processes were killed. It waits until they are gone, for five seconds at most as a rule;
/// where processes sleep in the kernel, reading what they are may take as long as their sleep.
///
/// # Errors
/// If some do not end, or the cgroup cannot be removed.
pub fn sweep(id: &str, residence: &Residence) -> io::Result<u32> {
    let mut seen = BTreeSet::new();
    for _ in 0..ROUNDS {
        let mut left = cgroup::members(residence);
        left.extend(processes::with_variable(JOB_ID, id));
        // A process does not sweep itself away, whose own environment may name the job.
        left.retain(|pid| *pid != std::process::id() as i32);
        if left.is_empty() {
            cgroup::remove(residence)?;
            return Ok(seen.len() as u32);
        }
        kill_all(residence, &left);
        seen.extend(left);
        thread::sleep(Duration::from_millis(10));
    }
    Err(io::Error::other(format!("processes of job {id} do not end, even when killed")))
}

fn kill_all(residence: &Residence, left: &[i32]) {
    if let Residence::V2(folder) = residence {
        let _: io::Result<()> = cgroup::kill(Path::new(folder));
    }
    for pid in left {
        // One that has ended meanwhile needs no signal.
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
    // In version 1 a frozen process dies when it goes on.
    let _ = cgroup::begin_freeze(residence, false);
}
