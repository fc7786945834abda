//! Where shepherds wait for the next daemon of their host: a folder that only root may enter, with the socket
//! of each job's shepherd and with what a daemon has to know of a job that another one has started.

use crate::RuntimeError;
use nix::{
    sys::{
        signal::{Signal, kill},
        socket::{getsockopt, sockopt::PeerCredentials},
    },
    unistd::{Pid, Uid},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::{
        fs::{DirBuilderExt, MetadataExt},
        net::UnixStream,
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use tasuki_control::JobId;
use tasuki_shepherd::{RESIDENCE, Residence, Shepherd, sweep};

/// The folder.
pub(crate) const FOLDER: &str = "/run/tasukid.jobs";
/// Extension of the file with a [`Memo`].
const MEMO: &str = "memo";
/// How long a shepherd may take to end its job when it is told to by a signal.
const END: Duration = Duration::from_secs(5);

/// What a daemon has to know of a job that another one has started.
#[derive(Serialize, Deserialize)]
pub(crate) struct Memo {
    /// The version of the program, of which the shepherd is, too.
    version: String,
    /// The ranks that each process stands for.
    pub proxies: BTreeMap<u32, Vec<u32>>,
}

/// The folder of a host.
pub(crate) struct Shelter {
    folder: PathBuf,
    version: String,
}

impl Shelter {
    /// Makes the folder if need be. One that others may enter is refused: a stranger could wait in it.
    pub fn open(folder: &Path, version: &str) -> Result<Self, RuntimeError> {
        let fail = |doing| move |source| RuntimeError::File { doing, path: folder.into(), source };
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(fail("make"))?;
        let found = fs::symlink_metadata(folder).map_err(fail("look at"))?;
        let is_own = found.is_dir() && found.uid() == Uid::effective().as_raw() && found.mode() & 0o077 == 0;
        if !is_own {
            let why = io::Error::other("others may enter it: remove it, and start the daemon again");
            return Err(fail("use")(why));
        }
        Ok(Self { folder: folder.into(), version: version.into() })
    }

    /// The socket of a job's shepherd.
    pub fn socket(&self, job: JobId) -> PathBuf {
        self.folder.join(job.to_string())
    }

    /// Writes down what the next daemon has to know of a job, before its shepherd is started.
    pub fn note(&self, job: JobId, proxies: &BTreeMap<u32, Vec<u32>>) -> io::Result<()> {
        let memo = Memo { version: self.version.clone(), proxies: proxies.clone() };
        fs::write(self.socket(job).with_extension(MEMO), serde_json::to_vec(&memo)?)
    }

    /// Nothing of a job is left but its files, those of a shepherd that was killed as well.
    pub fn forget(&self, job: JobId) {
        remove_files(&self.socket(job));
    }

    /// Takes the jobs over whose shepherds wait, but for those that `is_passed` names. The others, which are
    /// of another version or have lost their shepherds, are returned as well, and are to be
    /// [ended](Self::ending).
    pub fn take_over(&self, is_passed: impl Fn(JobId) -> bool) -> (Vec<(JobId, Shepherd, Memo)>, Vec<JobId>) {
        let (mut taken, mut lost) = (Vec::new(), Vec::new());
        for job in numbers(&self.folder).into_iter().filter(|job| !is_passed(*job)) {
            let attach = |memo| Some((Shepherd::attach(&self.socket(job)).ok()?, memo));
            match self.memo(job).and_then(attach) {
                Some((shepherd, memo)) => taken.push((job, shepherd, memo)),
                None => lost.push(job),
            }
        }
        (taken, lost)
    }

    /// What ends a job by its shepherd, or what is left of a job without one, and removes its files. It waits
    /// until that is done.
    pub fn ending(&self, job: JobId) -> impl FnOnce() -> io::Result<()> + Send + 'static + use<> {
        let socket = self.socket(job);
        move || end_job(&socket, job)
    }

    /// How the processes of a job are held together, as its shepherd has written it down.
    pub fn residence(&self, job: JobId) -> Option<Residence> {
        residence(&self.socket(job))
    }

    /// The process of a job's shepherd, if it waits for a daemon.
    pub fn shepherd(&self, job: JobId) -> Option<i32> {
        shepherd_of(&self.socket(job)).map(Pid::as_raw)
    }

    /// Whether there is something of a job.
    pub fn has(&self, job: JobId) -> bool {
        numbers(&self.folder).contains(&job)
    }

    fn memo(&self, job: JobId) -> Option<Memo> {
        let text = fs::read(self.socket(job).with_extension(MEMO)).ok()?;
        serde_json::from_slice(&text).ok().filter(|memo: &Memo| memo.version == self.version)
    }
}

/// A job's name for its shepherds, and for the key space of its ranks.
pub(crate) fn name(job: JobId) -> String {
    format!("tasuki-{job}")
}

/// Ends everything that waits in a folder for a daemon. There may be no folder.
pub(crate) fn end_jobs(folder: &Path) {
    // Processes that do not even die by SIGKILL are in the kernel's hands; the job was given up.
    numbers(folder).into_iter().for_each(|job| drop(end_job(&folder.join(job.to_string()), job)));
}

/// The jobs of which there is something in a folder.
fn numbers(folder: &Path) -> BTreeSet<JobId> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Path::new(&entry.file_name()).file_stem()?.to_str()?.parse().ok()).collect()
}

/// Ends a job by its shepherd, or what is left of a job without one, and removes its files.
fn end_job(socket: &Path, job: JobId) -> io::Result<()> {
    if let Some(shepherd) = shepherd_of(socket) {
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            // One that has ended meanwhile needs none.
            let _ = kill(shepherd, signal);
            // One that stands still for a checkpoint hears nothing.
            let _ = kill(shepherd, Signal::SIGCONT);
            let end = Instant::now() + END;
            while shepherd_of(socket).is_some() && Instant::now() < end {
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
    let swept = sweep(&name(job), &residence(socket).unwrap_or(Residence::Processes));
    remove_files(socket);
    swept.map(drop)
}

fn residence(socket: &Path) -> Option<Residence> {
    serde_json::from_slice(&fs::read(socket.with_extension(RESIDENCE)).ok()?).ok()
}

/// Removes the files of a job. What stays is looked at by the next daemon, and removed then.
fn remove_files(socket: &Path) {
    for file in [socket.into(), socket.with_extension(RESIDENCE), socket.with_extension(MEMO)] {
        let _: io::Result<()> = fs::remove_file(file);
    }
}

/// The process that listens at a socket, if it is this user's.
fn shepherd_of(socket: &Path) -> Option<Pid> {
    let stream = UnixStream::connect(socket).ok()?;
    let peer = getsockopt(&stream, PeerCredentials).ok()?;
    let is_own = peer.uid() == Uid::effective().as_raw() && peer.pid() > 1;
    is_own.then(|| Pid::from_raw(peer.pid()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{Shutdown, shutdown};
    use std::os::{
        fd::AsRawFd,
        unix::{fs::PermissionsExt, net::UnixListener},
    };

    #[test]
    fn a_folder_that_others_may_enter_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("jobs");
        assert!(Shelter::open(&own, "1").is_ok() && Shelter::open(&own, "1").is_ok());
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        let refused = Shelter::open(&own, "1").err().expect("it is refused").to_string();
        assert!(refused.contains("others may enter it"), "{refused}");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(Shelter::open(&link, "1").is_err());
    }

    #[test]
    fn what_has_no_shepherd_or_is_of_another_version_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("jobs");
        let shelter = Shelter::open(&own, "2").unwrap();
        // Jobs that nobody on this machine has: what is left of them is looked for by their numbers.
        let [killed, other] = [0, 1].map(|which| 1 << 42 | u64::from(std::process::id()) << 1 | which);
        // A shepherd that was killed: nobody listens at its socket any more.
        shelter.note(killed, &BTreeMap::new()).unwrap();
        let gone = UnixListener::bind(shelter.socket(killed)).unwrap();
        // A child that another test starts has a copy of the socket until it runs its program.
        shutdown(gone.as_raw_fd(), Shutdown::Both).unwrap();
        // One of another version, which was killed as well.
        Shelter::open(&own, "1").unwrap().note(other, &BTreeMap::new()).unwrap();
        assert_eq!(numbers(&own), [killed, other].into());
        let (taken, lost) = shelter.take_over(|_| false);
        assert!(taken.is_empty() && lost == [killed, other]);
        lost.into_iter().for_each(|job| shelter.ending(job)().unwrap());
        assert_eq!(fs::read_dir(&own).unwrap().count(), 0);
    }
}
