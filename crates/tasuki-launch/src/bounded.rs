//! Runs a command with a limit on its time and output: loaders, launchers and libraries of any age may hang or
//! talk without end when they are asked for their version.

use crate::Environment;
use nix::{
    sys::{
        signal::{Signal, killpg},
        wait::{Id, WaitPidFlag, WaitStatus, waitid},
    },
    unistd::Pid,
};
use std::{
    ffi::OsString,
    io::{self, Read},
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Most bytes that are kept of each output stream.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// How often a child is looked at.
const POLL: Duration = Duration::from_millis(2);

/// What a command said.
#[derive(Debug)]
pub struct Answer {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `argv` with exactly the environment `env`, without standard input. Whatever it started in its process
/// group is killed when it ends or when `limit` has passed; the latter is [`io::ErrorKind::TimedOut`].
pub fn run(argv: &[OsString], env: &Environment, limit: Duration) -> io::Result<Answer> {
    let (program, arguments) =
        argv.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "empty command"))?;
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let status = wait(&mut child, limit);
    let text = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
    Ok(Answer { status: status?, stdout: text(stdout), stderr: text(stderr) })
}

fn collect(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // What was read before an error is still an answer.
            let _ = stream.by_ref().take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes);
            let _ = io::copy(&mut stream, &mut io::sink());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<ExitStatus> {
    let start = Instant::now();
    let leader = Pid::from_raw(child.id().cast_signed());
    let has_ended = || {
        let state =
            waitid(Id::Pid(leader), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT)?;
        io::Result::Ok(state != WaitStatus::StillAlive)
    };
    let mut ended = has_ended()?;
    while !ended && start.elapsed() < limit {
        thread::sleep(POLL);
        ended = has_ended()?;
    }
    // Descendants that outlive the leader would hold the pipes open. The leader has not been reaped yet, so the
    // group's number cannot be anybody else's.
    let _ = killpg(leader, Signal::SIGKILL);
    let status = child.wait()?;
    if ended {
        Ok(status)
    } else {
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {limit:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit_ms: u64) -> io::Result<Answer> {
        let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        run(&["sh".into(), "-c".into(), script.into()], &env, Duration::from_millis(limit_ms))
    }

    #[test]
    fn gives_both_streams_and_the_exit_code() {
        let answer = shell("echo out; echo err >&2; exit 3", 10_000).unwrap();
        assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(answer.status.code(), Some(3));
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        assert_eq!(shell("sleep 1000", 50).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_descendant_that_keeps_the_pipe_open_does_not_hold_the_answer_back() {
        assert_eq!(shell("sleep 1000 & echo done", 10_000).unwrap().stdout, "done\n");
    }

    #[test]
    fn endless_output_is_cut() {
        let answer = shell("head -c 3000000 /dev/zero", 10_000).unwrap();
        assert_eq!(answer.stdout.len() as u64, OUTPUT_BYTES_MAX);
    }
}
