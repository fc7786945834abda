//! After a shepherd was killed: what is left of its job.

use crate::{Residence, cgroup, processes};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{collections::BTreeSet, io, path::Path, thread, time::Duration};

/// Rounds of ten milliseconds until everything must be gone.
const ROUNDS: u32 = 500;

/// Kills what is left of a job whose shepherd was killed, and removes its cgroup. Without a cgroup, the
/// processes of this host's network are found by their variable [`JOB_ID`](crate::JOB_ID), which a program
/// can take away. May be called again.
/// Returns how many processes were killed. It waits until they are gone, for five seconds at most as a rule;
/// where processes sleep in the kernel, reading what they are may take as long as their sleep.
///
/// # Errors
/// If some do not end, or the cgroup cannot be removed.
pub fn sweep(id: &str, residence: &Residence) -> io::Result<u32> {
    let mut seen = BTreeSet::new();
    for _ in 0..ROUNDS {
        let mut left = cgroup::members(residence);
        left.extend(processes::of_job(id));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JOB_ID;
    use std::{
        io::Read,
        os::unix::process::ExitStatusExt,
        process::{Child, Command, Stdio},
    };

    /// A process of a job, which ends by itself when its input ends; begun by these words.
    fn process(id: &str, words: &[&str]) -> Child {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(["/bin/sh", "-c", "echo; read x"]).env(JOB_ID, id);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        // It has its environment and its network only when it has begun.
        child.stdout.take().expect("a pipe").read_exact(&mut [0]).expect("it says something");
        child
    }

    /// As in a container that shares the list of processes, or on another host of a lab.
    #[test]
    fn a_job_of_the_same_name_in_another_network_is_left_alone() {
        let id = format!("test-networks-{}", std::process::id());
        // A user who is not root needs a user namespace for that.
        let root = nix::unistd::Uid::effective().is_root();
        let mut other = process(&id, &["unshare", if root { "-n" } else { "-rn" }]);
        let mut own = process(&id, &["env"]);
        // It would be closed by the wait for the process, which would end by itself then.
        let input = own.stdin.take();
        let swept = thread::spawn(move || sweep(&id, &Residence::Processes).expect("it ends"));
        assert_eq!(own.wait().expect("it ended").signal(), Some(Signal::SIGKILL as i32));
        drop(input);
        assert_eq!(swept.join().expect("no panic"), 1);
        assert_eq!(other.try_wait().expect("it is there"), None);
        assert!(other.wait().expect("it ends").code().is_some(), "by itself");
    }
}
