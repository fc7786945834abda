//! The processes of a job: which they are, and how they stand still and go on.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{fs, io, path::Path, thread, time::Duration};
use tasuki_shepherd::Residence;

/// How often, and how long apart, processes are looked for that were killed and have not ended.
const ROUNDS: u32 = 200;
const ROUND: Duration = Duration::from_millis(10);

/// A shepherd and all processes below it; the kernel lists the children of each thread (proc(5)).
pub(crate) fn of_shepherd(shepherd: i32) -> Vec<i32> {
    let mut found = vec![shepherd];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            let children = text.split_whitespace().filter_map(|word| word.parse::<i32>().ok());
            let new: Vec<i32> = children.filter(|child| !found.contains(child)).collect();
            found.extend(new);
        }
    }
    found
}

/// Has a shepherd and all processes below it go on. One that runs is not changed by that.
pub(crate) fn go_on(shepherd: i32) {
    // The shepherd last, so that what it looks at runs already.
    for pid in of_shepherd(shepherd).into_iter().rev() {
        let _ = kill(Pid::from_raw(pid), Signal::SIGCONT);
    }
}

/// Kills processes that were made again, and waits until they are gone.
pub(super) fn end(processes: &[i32]) {
    for pid in processes {
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
    let lives = |pid: &i32| Path::new(&format!("/proc/{pid}")).exists();
    for _ in 0..ROUNDS {
        if !processes.iter().any(lives) {
            return;
        }
        thread::sleep(ROUND);
    }
}

/// Whether processes can have these numbers again.
pub(super) fn are_free(processes: &[i32]) -> Result<(), String> {
    for pid in processes {
        // A thread has a number of the same kind, and no folder that a listing shows.
        if Path::new(&format!("/proc/{pid}")).exists() {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            return Err(format!(
                "the process number {pid}, which one of the job's had, is taken by {:?}: try again when that \
                 has ended",
                name.trim()
            ));
        }
    }
    Ok(())
}

fn folder(residence: &Residence) -> Option<&Path> {
    match residence {
        Residence::V2(folder) | Residence::V1Freezer(folder) => Some(folder),
        Residence::Processes => None,
    }
}

/// Makes the cgroup of a job again, where it had one.
pub(super) fn make_cgroup(residence: &Residence) -> io::Result<()> {
    match folder(residence).map(fs::create_dir) {
        Some(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Puts processes into the cgroup of their job.
pub(super) fn enter_cgroup(residence: &Residence, members: impl Iterator<Item = i32>) -> io::Result<()> {
    let Some(door) = folder(residence).map(|folder| folder.join("cgroup.procs")) else { return Ok(()) };
    for pid in members {
        fs::write(&door, pid.to_string())?;
    }
    Ok(())
}
