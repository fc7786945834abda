//! The cgroup of a job whose processes are made again.

use std::{
    fs, io,
    path::{Path, PathBuf},
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
/// How long apart is looked whether those that have ended have left it.
const LEAVE: Duration = Duration::from_millis(10);

/// The cgroup of a job, if it has one.
pub(super) struct Cgroup {
    folder: Option<PathBuf>,
    /// It, if nobody is in it, and those of the ones above it that were made, the lowest last.
    made: Vec<PathBuf>,
}

impl Cgroup {
    /// That of a job whose processes are held together so.
    pub fn of(residence: &Residence) -> Self {
        let folder = match residence {
            Residence::V2(folder) | Residence::V1Freezer(folder) => Some(folder.clone()),
            Residence::Processes => None,
        };
        Self { folder, made: Vec::new() }
    }

    /// Makes it again, with those above it: after a start of the machine the session is gone in which its
    /// daemon was begun. One in which there are processes is not taken: whatever ends one of the two jobs
    /// would kill the other one, too.
    pub fn make(&mut self, stop: &AtomicBool) -> Result<(), String> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let cannot = |error: io::Error| format!("cannot make the job's cgroup {}: {error}", folder.display());
        self.make_with_parents(&folder).map_err(cannot)?;
        let members = || fs::read_to_string(folder.join(MEMBERS)).unwrap_or_default();
        for _ in 1..TRIES {
            if members().is_empty() || stop.load(Ordering::Relaxed) {
                break;
            }
            thread::sleep(TRY);
        }
        match members().lines().next() {
            None => {
                // One that was there is what an earlier restart of the job has left.
                if self.made.last() != Some(&folder) {
                    self.made.push(folder);
                }
                Ok(())
            }
            Some(pid) => Err(format!(
                "process {pid} is in the job's cgroup {}: restart the job when it has ended",
                folder.display()
            )),
        }
    }

    /// No process is in those above it that are made, so that the kernel lets them have others below
    /// (cgroup-v2.rst, "No Internal Process Constraint").
    fn make_with_parents(&mut self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|at| !at.exists()).collect();
        // Where the hierarchy is not mounted any more, nothing but plain folders would be made.
        let parent = missing.last().and_then(|highest| highest.parent());
        if let Some(parent) = parent.filter(|parent| !parent.join(MEMBERS).exists()) {
            return Err(io::Error::other(format!("there are no cgroups in {}", parent.display())));
        }
        for cgroup in missing.into_iter().rev() {
            match fs::create_dir(cgroup) {
                Ok(()) => self.made.push(cgroup.into()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Puts processes into it.
    pub fn enter(&self, members: impl Iterator<Item = i32>) -> io::Result<()> {
        let Some(door) = self.folder.as_ref().map(|folder| folder.join(MEMBERS)) else { return Ok(()) };
        for pid in members {
            fs::write(&door, pid.to_string())?;
        }
        Ok(())
    }

    /// Removes it again, and what was made above it. Returns what stays, and why.
    pub fn take_back(&mut self) -> Vec<String> {
        let stays = |cgroup: PathBuf| Some(format!("{} ({})", cgroup.display(), remove(&cgroup).err()?));
        self.made.drain(..).rev().filter_map(stays).collect()
    }
}

/// Removes a cgroup, which processes that have ended leave a moment later.
fn remove(cgroup: &Path) -> io::Result<()> {
    for _ in 1..TRIES {
        match fs::remove_dir(cgroup) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(LEAVE),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            removed => return removed,
        }
    }
    fs::remove_dir(cgroup)
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
        Cgroup::of(&residence).make(&stop).expect("there is none yet");
        // The kernel would make this file with the folder.
        fs::write(cgroup.join("cgroup.procs"), "").expect("writes");
        Cgroup::of(&residence).make(&stop).expect("nobody is in it");
        fs::write(cgroup.join("cgroup.procs"), "12\n13\n").expect("writes");
        let why = Cgroup::of(&residence).make(&stop).expect_err("somebody is in it");
        assert!(why.contains(&format!("process 12 is in the job's cgroup {}", cgroup.display())), "{why}");
    }

    #[test]
    fn a_cgroup_is_made_again_with_those_above_it_where_there_are_cgroups() {
        let place = tempfile::tempdir().expect("a folder");
        let cgroup = place.path().join("user.slice/session-3.scope/job");
        let (residence, stop) = (Residence::V2(cgroup.clone()), AtomicBool::new(true));
        let why = Cgroup::of(&residence).make(&stop).expect_err("this is a plain folder");
        assert!(why.contains("session-3.scope/job: there are no cgroups in"), "{why}");
        assert_eq!(fs::read_dir(place.path()).expect("a folder").count(), 0);
        fs::write(place.path().join(MEMBERS), "").expect("writes");
        let mut made = Cgroup::of(&residence);
        made.make(&stop).expect("the kernel has cgroups here");
        assert!(cgroup.is_dir());
        Cgroup::of(&residence).make(&stop).expect("it is there, and nobody is in it");
        // Those that were not there before go again, as far as nobody else has put something into them.
        let other = place.path().join("user.slice/other");
        fs::create_dir(&other).expect("a folder");
        let stays = made.take_back();
        assert!(stays.len() == 1 && stays[0].contains("user.slice ("), "{stays:?}");
        assert!(!cgroup.parent().expect("a folder").exists() && other.exists());
        assert_eq!(made.take_back(), [""; 0]);
        // One that was there, and in which nobody is, is the job's as well.
        fs::create_dir_all(&cgroup).expect("a folder");
        fs::write(cgroup.parent().expect("a folder").join(MEMBERS), "").expect("writes");
        let mut made = Cgroup::of(&residence);
        made.make(&stop).expect("nobody is in it");
        assert_eq!(made.take_back(), [""; 0]);
        assert!(!cgroup.exists() && cgroup.parent().expect("a folder").exists());
    }
}
