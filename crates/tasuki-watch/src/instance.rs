//! The one watch of a host: a file that is locked as long as it runs, and says what it does.

use crate::WatchError;
use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Seek, Write},
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// The file. It is not below `/run/tasuki`, which `apply` makes and `undo` removes.
pub const STATE_FILE: &str = "/run/tasuki-watch.json";
/// How long a watch may take to put the routes back.
const END_LIMIT: Duration = Duration::from_secs(5);

/// What a running watch says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its process.
    pub pid: i32,
    /// The host's name in the cluster.
    pub host: String,
    /// Checksum of the cluster file's text.
    pub cluster: u32,
    /// Ways that are dead, as `n1:eth1 - n2:eth1`, anywhere in the cluster.
    pub dead: Vec<String>,
    /// Hosts to which this host's route is another than planned, each with the first hosts of its ways.
    pub detours: Vec<(String, Vec<String>)>,
    /// This host passes packets on although the plan does not need it.
    pub relays: bool,
    /// How often routes were changed since it began.
    pub changes: u64,
}

fn fail(doing: &'static str) -> impl FnOnce(std::io::Error) -> WatchError {
    move |source| WatchError::File { doing, path: STATE_FILE.into(), source }
}

/// A running watch. Dropping it removes the file.
pub struct Instance {
    file: Flock<File>,
}

impl Instance {
    /// Becomes the host's watch; fails if there is one.
    pub fn begin(note: &Note) -> Result<Self, WatchError> {
        for _ in 0..100 {
            let file =
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(STATE_FILE);
            let file = file.map_err(fail("open"))?;
            let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock);
            match lock {
                // Its last owner may have removed it between the two calls.
                Ok(file) if Path::new(STATE_FILE).exists() => {
                    let mut instance = Self { file };
                    instance.say(note)?;
                    return Ok(instance);
                }
                Ok(_) => {}
                Err((_, Errno::EWOULDBLOCK)) => {
                    let pid = self::note().map_or(0, |note| note.pid);
                    return Err(WatchError::Running { host: note.host.clone(), pid });
                }
                Err((_, errno)) => return Err(fail("lock")(errno.into())),
            }
        }
        Err(fail("lock")(ErrorKind::Interrupted.into()))
    }

    /// Says something new.
    pub fn say(&mut self, note: &Note) -> Result<(), WatchError> {
        let text = serde_json::to_vec(note).unwrap_or_default();
        let mut write = || {
            self.file.rewind()?;
            self.file.write_all(&text)?;
            self.file.set_len(text.len() as u64)
        };
        write().map_err(fail("write"))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Whoever finds it unlocked removes it too.
        let _ = fs::remove_file(STATE_FILE);
    }
}

/// Whether somebody holds the file's lock.
fn is_held() -> bool {
    let Ok(file) = OpenOptions::new().read(true).write(true).open(STATE_FILE) else { return false };
    matches!(Flock::lock(file, FlockArg::LockExclusiveNonblock), Err((_, Errno::EWOULDBLOCK)))
}

/// What the running watch says; `None`: none runs.
pub fn note() -> Option<Note> {
    if !is_held() {
        return None;
    }
    // It may be writing just now.
    (0..20).find_map(|_| {
        let note = serde_json::from_slice(&fs::read(STATE_FILE).ok()?).ok();
        if note.is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        note
    })
}

/// Ends the host's watch and waits until it has put the routes back. False if none ran. A watch that was killed left its file behind, which
/// goes now; the record of `apply` knows the routes.
pub fn stop() -> Result<bool, WatchError> {
    let Some(note) = note() else {
        return match fs::remove_file(STATE_FILE) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(fail("remove")(error)),
            _ => Ok(false),
        };
    };
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        // The lock is held, so the number is that of the process that wrote it.
        match kill(Pid::from_raw(note.pid), signal) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(errno) => return Err(WatchError::System { doing: "end tasuki watch", source: errno.into() }),
        }
        let begun = Instant::now();
        while begun.elapsed() < END_LIMIT {
            if !is_held() {
                let _ = fs::remove_file(STATE_FILE);
                return Ok(true);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
    Err(WatchError::Stuck(note.pid))
}
