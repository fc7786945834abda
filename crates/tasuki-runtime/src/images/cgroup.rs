//! The cgroup of a job whose processes are made again.

use std::{
    fs, io,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use tasuki_shepherd::Residence;

/// The file of a cgroup with the processes in it.
const MEMBERS: &str = "cgroup.procs";
/// How often, and how long apart, is looked whether a cgroup is free of processes: 5 s.
const TRIES: u32 = 50;
const TRY: Duration = Duration::from_millis(100);

fn folder(residence: &Residence) -> Option<&Path> {
    match residence {
        Residence::V2(folder) | Residence::V1Freezer(folder) => Some(folder),
        Residence::Processes => None,
    }
}

/// Makes the cgroup of a job again, where it had one, with those above it: after a start of the machine the
/// session is gone in which its daemon was begun. One in which there are processes is not taken: whatever
/// ends one of the two jobs would kill the other one, too.
pub(super) fn make(residence: &Residence, stop: &AtomicBool) -> Result<(), String> {
    let Some(folder) = folder(residence) else { return Ok(()) };
    let cannot = |error: io::Error| format!("cannot make the job's cgroup {}: {error}", folder.display());
    make_with_parents(folder).map_err(cannot)?;
    let members = || fs::read_to_string(folder.join(MEMBERS)).unwrap_or_default();
    for _ in 1..TRIES {
        if members().is_empty() || stop.load(Ordering::Relaxed) {
            break;
        }
        thread::sleep(TRY);
    }
    match members().lines().next() {
        None => Ok(()),
        Some(pid) => Err(format!(
            "process {pid} is in the job's cgroup {}: restart the job when it has ended",
            folder.display()
        )),
    }
}

/// Makes a cgroup that may be there already, and those above it. No process is in those, so that the kernel
/// lets them have others below (cgroup-v2.rst, "No Internal Process Constraint").
fn make_with_parents(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|at| !at.exists()).collect();
    // Where the hierarchy is not mounted any more, nothing but plain folders would be made.
    let parent = missing.last().and_then(|highest| highest.parent());
    if let Some(parent) = parent.filter(|parent| !parent.join(MEMBERS).exists()) {
        return Err(io::Error::other(format!("there are no cgroups in {}", parent.display())));
    }
    for cgroup in missing.into_iter().rev() {
        match fs::create_dir(cgroup) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Puts processes into the cgroup of their job.
pub(super) fn enter(residence: &Residence, members: impl Iterator<Item = i32>) -> io::Result<()> {
    let Some(door) = folder(residence).map(|folder| folder.join(MEMBERS)) else { return Ok(()) };
    for pid in members {
        fs::write(&door, pid.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_with_processes_of_others_is_not_taken() {
        let place = tempfile::tempdir().expect("a folder");
        let cgroup = place.path().join("job");
        let (residence, stop) = (Residence::V2(cgroup.clone()), AtomicBool::new(true));
        fs::write(place.path().join(MEMBERS), "").expect("writes");
        make(&residence, &stop).expect("there is none yet");
        // The kernel would make this file with the folder.
        fs::write(cgroup.join("cgroup.procs"), "").expect("writes");
        make(&residence, &stop).expect("nobody is in it");
        fs::write(cgroup.join("cgroup.procs"), "12\n13\n").expect("writes");
        let why = make(&residence, &stop).expect_err("somebody is in it");
        assert!(why.contains(&format!("process 12 is in the job's cgroup {}", cgroup.display())), "{why}");
    }

    #[test]
    fn a_cgroup_is_made_again_with_those_above_it_where_there_are_cgroups() {
        let place = tempfile::tempdir().expect("a folder");
        let cgroup = place.path().join("user.slice/session-3.scope/job");
        let (residence, stop) = (Residence::V2(cgroup.clone()), AtomicBool::new(true));
        let why = make(&residence, &stop).expect_err("this is a plain folder");
        assert!(why.contains("session-3.scope/job: there are no cgroups in"), "{why}");
        assert_eq!(fs::read_dir(place.path()).expect("a folder").count(), 0);
        fs::write(place.path().join(MEMBERS), "").expect("writes");
        make(&residence, &stop).expect("the kernel has cgroups here");
        assert!(cgroup.is_dir());
        make(&residence, &stop).expect("it is there, and nobody is in it");
    }
}
