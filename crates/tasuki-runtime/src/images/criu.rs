//! CRIU (Checkpoint/Restore In Userspace), as a command.

use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};
use tasuki_process::program_in;

/// The variable that names CRIU's program, where it is not in the PATH.
const VARIABLE: &str = "TASUKI_CRIU";
/// Where it is looked for besides the PATH, which a daemon's may leave out.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];
/// Kernels from this one on answer a question about sockets in another way than CRIU before 4.2 expects
/// (SO_PASSCRED of sockets that are not Unix sockets).
const KERNEL: (u32, u32) = (6, 16);
const VERSION: (u32, u32) = (4, 2);
/// The file with what CRIU says, beside the folder of what it writes.
const LOG: &str = "log";
/// How long it may take: for more memory than any disk writes in that time.
const LIMIT: Duration = Duration::from_secs(3600);
/// How often is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(5);
/// How long one that was killed is waited for.
const ENDING: Duration = Duration::from_secs(2);
/// What CRIU says of a connection that only a locked network could save. To the user it means something else.
const TCP: &str = "Connected TCP socket";
const NO_TCP: &str = "a rank has a TCP connection; jobs that are submitted with --checkpoint have none \
                      between their ranks";
/// Lines of errors that are passed on.
const LINES_MAX: usize = 2;

/// CRIU's program.
pub(super) struct Criu(PathBuf);

impl Criu {
    /// Finds it, and whether it can serve on this kernel.
    pub fn find() -> Result<Self, String> {
        let path = match env::var_os(VARIABLE) {
            Some(path) => PathBuf::from(path),
            None => in_path().ok_or_else(|| {
                format!(
                    "checkpoints need CRIU 4.2 or newer, and there is no program criu: install the package \
                     criu, or name the program by {VARIABLE}"
                )
            })?,
        };
        let said = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
        let said = said.map_err(|error| format!("cannot run {}: {error}", path.display()))?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        let version = text.lines().find_map(|line| numbers(line.strip_prefix("Version:")?.trim()));
        let version = version.ok_or_else(|| format!("{} does not say its version", path.display()))?;
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        match numbers(kernel.trim()) {
            Some(kernel) if kernel >= KERNEL && version < VERSION => Err(format!(
                "CRIU {}.{} is too old for this kernel ({}.{}): 4.2 or newer is needed",
                version.0, version.1, kernel.0, kernel.1
            )),
            _ => Ok(Self(path)),
        }
    }

    /// Its program.
    pub fn program(&self) -> &Path {
        &self.0
    }

    /// Saves a process and all below it into a folder, and leaves them standing still; if it fails, they go
    /// on. `lock` is held as long as it works, and `stop` ends it.
    pub fn dump(&self, root: i32, folder: &Path, lock: Stdio, stop: &AtomicBool) -> Result<(), String> {
        let root = root.to_string();
        let arguments = ["dump", "--tree", &root, "--leave-stopped", "--ghost-limit", "64G"];
        let mut command = Command::new(&self.0);
        self.run(command.args(arguments).stdin(lock), folder, "save", stop)
    }

    /// Makes processes as they were saved, standing still. `clock`: what the monotonic clock showed then, ns;
    /// where it shows less now, since the machine was started again, the processes get one of their own,
    /// which goes on from there.
    pub fn restore(&self, folder: &Path, clock: u64, lock: Stdio, stop: &AtomicBool) -> Result<(), String> {
        let behind = clock.saturating_sub(tasuki_sys::clock::monotonic_ns());
        let mut command = match behind {
            0 => Command::new(&self.0),
            behind => {
                let seconds = (behind / 1_000_000_000 + 1).to_string();
                let mut command = Command::new("unshare");
                // It is killed in the place of CRIU, which would go on without it.
                command.args(["--time", "--fork", "--kill-child", "--monotonic", &seconds]);
                command.args(["--boottime", &seconds, "--"]);
                command.arg(&self.0);
                command
            }
        };
        let arguments = ["restore", "--restore-detached", "--leave-stopped"];
        self.run(command.args(arguments).stdin(lock), folder, "restore", stop)
    }

    fn run(&self, command: &mut Command, folder: &Path, what: &str, stop: &AtomicBool) -> Result<(), String> {
        // What it says is no part of the checkpoint: it says something else at each restart.
        let work = folder.parent().unwrap_or(folder);
        command.arg("--images-dir").arg(folder).arg("--work-dir").arg(work).args(["--log-file", LOG, "-v2"]);
        command.args(["--file-locks", "--manage-cgroups=ignore"]);
        let program = command.get_program().to_owned();
        let started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = started.map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("there is no program {}", program.display()),
            _ => format!("cannot run {}: {error}", program.display()),
        })?;
        let begun = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if begun.elapsed() < LIMIT && !stop.load(Ordering::Relaxed) => thread::sleep(LOOK),
                Ok(None) => {
                    let _ = child.kill();
                    // What it has made is known by its having ended. One that sleeps in the kernel ends
                    // later, and a thread waits for it.
                    let end = Instant::now() + ENDING;
                    while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
                        thread::sleep(LOOK);
                    }
                    let _ = thread::Builder::new().spawn(move || child.wait());
                    return Err(format!("CRIU was ended after {} s", begun.elapsed().as_secs()));
                }
                Err(error) => return Err(format!("{}: {error}", program.display())),
            }
        };
        match status.success() {
            true => Ok(()),
            false => Err(format!("CRIU cannot {what} the processes: {}", why(status, &work.join(LOG)))),
        }
    }
}

fn in_path() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    program_in(env::split_paths(&path).chain(FOLDERS.map(PathBuf::from)), "criu")
}

/// The first two numbers of a version.
fn numbers(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().unwrap_or(0)))
}

/// What CRIU says of an error: the first ones in its log, without the places in its source. Those that follow
/// say what it gave up because of them.
fn why(status: ExitStatus, log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let found: Vec<String> = text.lines().filter_map(error).take(LINES_MAX).collect();
    match found.iter().any(|line| line.contains(TCP)) {
        true => NO_TCP.into(),
        false if found.is_empty() => status.to_string(),
        false => found.join("; "),
    }
}

fn error(line: &str) -> Option<String> {
    let (_, message) = line.split_once("Error (")?.1.split_once("): ")?;
    // It says so wherever it may not raise its own limit, and goes on.
    (!message.contains("rlimit")).then(|| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_errors_are_read() {
        assert_eq!(numbers("4.2.1"), Some((4, 2)));
        assert_eq!(numbers("6.18.5-amd64"), Some((6, 18)));
        assert_eq!(numbers("4."), Some((4, 0)));
        assert_eq!(numbers("GitID"), None);
        let line = "(00.010) Error (criu/sk-unix.c:914): unix: Can't dump half of stream unix connection.";
        assert_eq!(error(line).as_deref(), Some("unix: Can't dump half of stream unix connection."));
        assert_eq!(error("(00.000) Error (criu/util.c:1): rlimit: Can't setup RLIMIT_NOFILE for self"), None);
        assert_eq!(error("(00.000) Warn  (criu/kerndat.c:1): Can't keep kdat cache"), None);
    }
}
