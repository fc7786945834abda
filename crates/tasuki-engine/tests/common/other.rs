//! Another process of the same executable: a test of it does what the environment asks for and is empty
//! otherwise.
#![allow(dead_code, reason = "not every test program stops or kills it")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use nix::{
    sys::signal::{Signal, kill},
    sys::wait::{WaitPidFlag, WaitStatus, waitpid},
    unistd::Pid,
};
use tasuki_engine::Address;

const TIMEOUT: Duration = Duration::from_secs(60);

pub struct Other {
    child: Child,
    stdin: ChildStdin,
    words: Receiver<String>,
}

impl Other {
    /// Starts it, as the test `helper`; gives the address of its endpoint.
    pub fn start(helper: &str, task: &str) -> (Other, Address) {
        let mut command = Command::new(std::env::current_exe().expect("own path"));
        command.args(["--exact", helper, "--nocapture", "--test-threads=1"]);
        command.env("TASUKI_TASK", task).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("own executable");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (tell, words) = channel();
        std::thread::spawn(move || {
            for text in stdout.lines().map_while(Result::ok) {
                // The test harness may have begun the line.
                if let Some((_, said)) = text.split_once("SAYS ") {
                    let _ = tell.send(said.trim().to_owned());
                }
            }
        });
        let mut other = Other { child, stdin, words };
        let address = other.hear_with(|| {}).parse().expect("an address");
        (other, address)
    }

    /// The next word that it says; `meanwhile` is done again and again until then.
    pub fn hear_with(&mut self, mut meanwhile: impl FnMut()) -> String {
        let start = Instant::now();
        loop {
            meanwhile();
            match self.words.try_recv() {
                Ok(word) => return word,
                Err(TryRecvError::Empty) => std::thread::yield_now(),
                Err(TryRecvError::Disconnected) => panic!("the other process ended early"),
            }
            assert!(start.elapsed() < TIMEOUT, "the other process says nothing");
        }
    }

    pub fn tell(&mut self, word: &str) {
        writeln!(self.stdin, "{word}").expect("it listens");
    }

    /// Ends it well; `meanwhile` is done again and again until then.
    pub fn finish(mut self, mut meanwhile: impl FnMut()) {
        self.tell("end");
        let start = Instant::now();
        loop {
            meanwhile();
            if let Some(status) = self.child.try_wait().expect("our child") {
                assert!(status.success());
                return;
            }
            assert!(start.elapsed() < TIMEOUT, "the other process does not end");
        }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// It gets no processor until [`Other::go_on`], none of its threads.
    pub fn stop(&self) {
        self.signal(Signal::SIGSTOP);
        let state = waitpid(self.pid(), Some(WaitPidFlag::WUNTRACED)).expect("our child");
        assert!(matches!(state, WaitStatus::Stopped(..)), "{state:?}");
    }

    /// It gets processors again.
    pub fn go_on(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("our child");
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Ends it without any clean-up of its own (SIGKILL).
    pub fn kill(mut self) {
        self.child.kill().expect("our child");
        self.child.wait().expect("its end");
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // After a failed test nothing else ends the child process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
