//! The one process of a kind on a host, such as `tasuki watch`: its file, which holds what it says of itself,
//! and when it was started; and its lock, which no other user can take.

use crate::{
    WatchError,
    process::{Process, runs, started},
};
use nix::unistd::Uid;
use rustix::process::Signal;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    fs::{self, Permissions},
    io::ErrorKind,
    marker::PhantomData,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use tasuki_host::{FOR_ALL, Lock};

/// How long a process may take to put everything back before it is killed.
const END_LIMIT: Duration = Duration::from_secs(5);
/// What a file holds besides the note: when the process was started.
const STARTED: &str = "started";

/// What a running watch says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its process id.
    pub pid: i32,
    /// The host's name in the cluster.
    pub host: String,
    /// Checksum of the cluster file's text.
    pub cluster: u32,
    /// Rails that are dead, anywhere in the cluster, as `n1:eth1 - n2:eth1`.
    pub dead: Vec<String>,
    /// Hosts to which this host's route is not the planned one, each with the next hops of the route.
    pub detours: Vec<(String, Vec<String>)>,
    /// Whether this host forwards packets although the plan does not need it.
    pub relays: bool,
    /// How often routes were changed since it began.
    pub changes: u64,
}

/// What a process of a kind says of itself.
pub trait Said: Serialize + DeserializeOwned {
    /// The command's name.
    const NAME: &'static str;
    /// The file. It is not below `/run/tasuki`, which `apply` makes and `undo` removes.
    const FILE: &'static str;
    /// The process id, and the host's name.
    fn who(&self) -> (i32, &str);
}

impl Said for Note {
    const NAME: &'static str = "tasuki watch";
    const FILE: &'static str = "/run/tasuki-watch.json";

    fn who(&self) -> (i32, &str) {
        (self.pid, &self.host)
    }
}

fn fail<N: Said>(doing: &'static str) -> impl FnOnce(std::io::Error) -> WatchError {
    move |source| WatchError::File { doing, path: N::FILE.into(), source }
}

/// This process as the one of its kind on the host. Dropping it removes the file.
pub struct Instance<N: Said> {
    _lock: Lock,
    says: PhantomData<N>,
}

/// The file that a process of a kind has locked as long as it runs.
fn lock_file<N: Said>() -> PathBuf {
    Path::new(N::FILE).with_extension("lock")
}

impl<N: Said> Instance<N> {
    /// Makes this process the one of its kind on the host. Fails if there is one already.
    pub fn begin(note: &N) -> Result<Self, WatchError> {
        if !Uid::effective().is_root() {
            return Err(WatchError::NotRoot { name: N::NAME });
        }
        let lock = Lock::take(&lock_file::<N>()).map_err(fail::<N>("lock"))?;
        let Some(lock) = lock else {
            let pid = said::<N>().map_or(0, |note| note.who().0);
            return Err(WatchError::Running { host: note.who().1.into(), name: N::NAME, pid });
        };
        let mut instance = Self { _lock: lock, says: PhantomData };
        instance.say(note)?;
        Ok(instance)
    }

    /// Replaces what this process says of itself.
    pub fn say(&mut self, note: &N) -> Result<(), WatchError> {
        let mut said = serde_json::to_value(note).unwrap_or_default();
        if let (Value::Object(said), Some(start)) = (&mut said, started(note.who().0)) {
            said.insert(STARTED.into(), start.into());
        }
        // Objects of numbers and texts can always be written as JSON.
        let text = serde_json::to_vec(&said).unwrap_or_default();
        // Readers see the old file or the new one. Neither outlives the machine, so that no disk is awaited.
        let new = Path::new(N::FILE).with_extension("new");
        let write = || {
            fs::write(&new, text)?;
            fs::set_permissions(&new, Permissions::from_mode(FOR_ALL))?;
            fs::rename(&new, N::FILE)
        };
        write().map_err(fail::<N>("write"))
    }
}

impl<N: Said> Drop for Instance<N> {
    fn drop(&mut self) {
        // If this fails, the file says of a process that has ended, which is seen.
        let _ = fs::remove_file(N::FILE);
    }
}

/// What the running process of this kind has said, and when it was started; `None`: none runs. Every user may
/// ask.
fn running<N: Said>() -> Option<(N, u64)> {
    let mut said: Value = serde_json::from_slice(&fs::read(N::FILE).ok()?).ok()?;
    let start = said.as_object_mut()?.remove(STARTED)?.as_u64()?;
    let note: N = serde_json::from_value(said).ok()?;
    runs(note.who().0, start).then_some((note, start))
}

/// What the running process of this kind says of itself; `None`: none runs.
pub fn said<N: Said>() -> Option<N> {
    running().map(|(note, _)| note)
}

/// Ends the host's process of this kind and waits until it has put everything back. Returns false if none
/// ran. A process that was killed has left its file behind; it is removed here, and the record knows what
/// there was before.
pub fn end<N: Said>() -> Result<bool, WatchError> {
    let fail_to_end = |source| WatchError::System { doing: "end it", source };
    let Some((note, start)) = running::<N>() else { return tidy_up::<N>().map(|()| false) };
    let pid = note.who().0;
    let process = Process::find(pid, start).map_err(fail_to_end)?;
    for signal in [Signal::TERM, Signal::KILL] {
        process.iter().try_for_each(|process| process.signal(signal)).map_err(fail_to_end)?;
        let begun = Instant::now();
        while begun.elapsed() < END_LIMIT {
            if !runs(pid, start) {
                return tidy_up::<N>().map(|()| true);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
    Err(WatchError::Stuck { name: N::NAME, pid })
}

/// Removes the file that a process which was killed has left behind.
fn tidy_up<N: Said>() -> Result<(), WatchError> {
    if !Path::new(N::FILE).exists() {
        return Ok(());
    }
    // If another process has the lock, the file is that process's by now.
    let Some(_lock) = Lock::take(&lock_file::<N>()).map_err(fail::<N>("lock"))? else { return Ok(()) };
    match fs::remove_file(N::FILE) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(fail::<N>("remove")(error)),
        _ => Ok(()),
    }
}
