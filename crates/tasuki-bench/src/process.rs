//! Runs a command with a time limit and keeps what it says.

use nix::{
    sys::{
        signal::{Signal, killpg},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};
use std::{
    io::{self, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

/// Most bytes kept of each stream: the beginning of standard output, the end of standard error.
const KEPT_BYTES: usize = 16 << 20;
/// Time between being asked to end and being killed. A launcher needs it to stop its ranks, which are not
/// children of ours.
const GRACE: Duration = Duration::from_secs(5);
/// How long to wait for the end of the streams once the command has ended: something that it left behind may
/// hold them open.
const STREAM_PATIENCE: Duration = Duration::from_secs(2);

/// What came of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// It was stopped because its time was up.
    pub timed_out: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// Ended by itself with exit code 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0) && !self.timed_out
    }

    /// Why it is not a success, in words.
    pub fn reason(&self) -> String {
        match (self.timed_out, self.code, self.signal) {
            (true, ..) => "time limit".into(),
            (_, Some(code), _) => format!("exit code {code}"),
            (_, _, Some(signal)) => format!("signal {signal}"),
            _ => "ended in an unknown way".into(),
        }
    }

    /// The last `lines` lines of standard error that say something.
    pub fn stderr_tail(&self, lines: usize) -> String {
        let all: Vec<&str> = self.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

/// Runs `command` in a process group of its own, without standard input. When `limit` has passed, the group
/// is sent SIGTERM, five seconds later SIGKILL. Never waits much longer than that.
pub fn run_limited(command: &mut Command, limit: Duration) -> io::Result<Output> {
    run_fed(command, Stdio::null(), limit)
}

/// [`run_limited`] with this standard input.
pub fn run_fed(command: &mut Command, input: Stdio, limit: Duration) -> io::Result<Output> {
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let stdout = Stream::follow(child.stdout.take(), Keep::Beginning);
    let stderr = Stream::follow(child.stderr.take(), Keep::End);
    let (status, timed_out) = match wait_until(&mut child, Instant::now() + limit)? {
        Some(status) => (status, false),
        None => (stop(&mut child)?, true),
    };
    let deadline = Instant::now() + STREAM_PATIENCE;
    Ok(Output {
        code: status.code(),
        signal: status.signal(),
        timed_out,
        stdout: stdout.text(deadline),
        stderr: stderr.text(deadline),
    })
}

/// A thread waits: whoever looked from time to time would take the time between two looks for the command's.
fn wait_until(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    if let Some(status) = child.try_wait()? {
        return Ok(Some(status));
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        // The child is left to be reaped by its owner, so its number is its own until then.
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while waitid(Id::Pid(pid), flags) == Err(nix::errno::Errno::EINTR) {}
        // Nobody listens any more if it took too long.
        let _ = tell.send(());
    });
    match told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => child.wait().map(Some),
    }
}

fn stop(child: &mut Child) -> io::Result<ExitStatus> {
    // The child has not been waited for, so its number cannot belong to anyone else yet.
    let group = i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)?;
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        match killpg(group, signal) {
            Ok(()) | Err(nix::errno::Errno::ESRCH) => {}
            Err(errno) => return Err(errno.into()),
        }
        if let Some(status) = wait_until(child, Instant::now() + GRACE)? {
            return Ok(status);
        }
    }
    Err(io::Error::other(format!("process {group} does not end, even when killed")))
}

#[derive(Clone, Copy)]
enum Keep {
    Beginning,
    End,
}

/// A stream that a thread empties, so that the command never blocks on it.
struct Stream {
    kept: Arc<Mutex<Vec<u8>>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Stream {
    fn follow(source: Option<impl Read + Send + 'static>, keep: Keep) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&kept);
        let reader = source.map(|source| thread::spawn(move || pump(source, &shared, keep)));
        Self { kept, reader }
    }

    fn text(self, deadline: Instant) -> String {
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished()) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

fn pump(mut source: impl Read, kept: &Mutex<Vec<u8>>, keep: Keep) {
    let mut buffer = [0; 8192];
    loop {
        let count = match source.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let room = KEPT_BYTES.saturating_sub(kept.len());
        match keep {
            Keep::Beginning => kept.extend_from_slice(&buffer[..count.min(room)]),
            Keep::End => {
                if room < count {
                    kept.drain(..KEPT_BYTES / 2);
                }
                kept.extend_from_slice(&buffer[..count]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Output {
        run_limited(Command::new("sh").args(["-c", script]), limit).unwrap_or_default()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn keeps_output_and_exit_code() {
        let output = shell("echo out; echo one >&2; echo >&2; echo two >&2; exit 3", LONG);
        assert_eq!((output.stdout.as_str(), output.code), ("out\n", Some(3)));
        assert_eq!(output.stderr_tail(5), "one\ntwo");
        assert_eq!((output.reason().as_str(), output.is_success()), ("exit code 3", false));
        assert_eq!(shell("kill -KILL $$", LONG).reason(), "signal 9");
    }

    #[test]
    fn stops_what_takes_too_long_and_keeps_what_it_said() {
        let output = shell("echo begun; sleep 1000; echo never", Duration::from_millis(300));
        assert!(output.timed_out && !output.is_success());
        assert_eq!((output.stdout.as_str(), output.reason().as_str()), ("begun\n", "time limit"));
    }

    #[test]
    fn is_not_held_up_by_what_the_command_leaves_behind() {
        // The sleeper keeps standard output open for longer than any test may take.
        let output = shell("sleep 600 & echo $!", LONG);
        assert_eq!(output.code, Some(0));
        let sleeper = output.stdout.trim().parse().map(Pid::from_raw);
        let Ok(sleeper) = sleeper else { panic!("no process id in {output:?}") };
        assert!(nix::sys::signal::kill(sleeper, Signal::SIGKILL).is_ok());
    }

    #[test]
    fn a_flood_does_not_block_it() {
        let output = shell("head -c 40000000 /dev/zero; echo end >&2", LONG);
        assert_eq!((output.code, output.stdout.len()), (Some(0), KEPT_BYTES));
    }
}
