//! The one process of a kind on a host, such as `tasuki watch`: its file, which is locked as long as it runs,
//! and which holds what it says of itself.

use crate::WatchError;
use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
    sys::signal::{Signal, kill},
    unistd::{Pid, Uid},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Seek, Write},
    marker::PhantomData,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// How long a process may take to put everything back before it is killed.
const END_LIMIT: Duration = Duration::from_secs(5);

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
    file: Flock<File>,
    says: PhantomData<N>,
}

impl<N: Said> Instance<N> {
    /// Makes this process the one of its kind on the host. Fails if there is one already.
    pub fn begin(note: &N) -> Result<Self, WatchError> {
        if !Uid::effective().is_root() {
            return Err(WatchError::NotRoot { name: N::NAME });
        }
        for _ in 0..100 {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(N::FILE);
            let file = file.map_err(fail::<N>("open"))?;
            let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock);
            match lock {
                // The last owner may have removed the file between the two calls.
                Ok(file) if Path::new(N::FILE).exists() => {
                    let mut instance = Self { file, says: PhantomData };
                    instance.say(note)?;
                    return Ok(instance);
                }
                Ok(_) => {}
                Err((_, Errno::EWOULDBLOCK)) => {
                    let pid = said::<N>().map_or(0, |note| note.who().0);
                    return Err(WatchError::Running { host: note.who().1.into(), name: N::NAME, pid });
                }
                Err((_, errno)) => return Err(fail::<N>("lock")(errno.into())),
            }
        }
        Err(fail::<N>("lock")(ErrorKind::Interrupted.into()))
    }

    /// Replaces what this process says of itself.
    pub fn say(&mut self, note: &N) -> Result<(), WatchError> {
        let text = serde_json::to_vec(note).unwrap_or_default();
        let mut write = || {
            self.file.rewind()?;
            self.file.write_all(&text)?;
            self.file.set_len(text.len() as u64)
        };
        write().map_err(fail::<N>("write"))
    }
}

impl<N: Said> Drop for Instance<N> {
    fn drop(&mut self) {
        // If this fails, the next process that finds the file unlocked removes it.
        let _ = fs::remove_file(N::FILE);
    }
}

/// Whether a process holds the file's lock.
fn is_held<N: Said>() -> bool {
    let Ok(file) = OpenOptions::new().read(true).write(true).open(N::FILE) else { return false };
    matches!(Flock::lock(file, FlockArg::LockExclusiveNonblock), Err((_, Errno::EWOULDBLOCK)))
}

/// What the running process of this kind says of itself; `None`: none runs.
pub fn said<N: Said>() -> Option<N> {
    if !is_held::<N>() {
        return None;
    }
    // The process may be writing the file just now, so an unreadable note is read again.
    (0..20).find_map(|_| {
        let note = serde_json::from_slice(&fs::read(N::FILE).ok()?).ok();
        if note.is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        note
    })
}

/// Ends the host's process of this kind and waits until it has put everything back. Returns false if none
/// ran. A process that was killed has left its file behind; it is removed here, and the record knows what
/// there was before.
pub fn end<N: Said>() -> Result<bool, WatchError> {
    let Some(note) = said::<N>() else {
        return match fs::remove_file(N::FILE) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(fail::<N>("remove")(error)),
            _ => Ok(false),
        };
    };
    let (pid, _) = note.who();
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        // The file is locked, so the number is that of the process that wrote it.
        match kill(Pid::from_raw(pid), signal) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(errno) => return Err(WatchError::System { doing: "end it", source: errno.into() }),
        }
        let begun = Instant::now();
        while begun.elapsed() < END_LIMIT {
            if !is_held::<N>() {
                let _ = fs::remove_file(N::FILE);
                return Ok(true);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
    Err(WatchError::Stuck { name: N::NAME, pid })
}
