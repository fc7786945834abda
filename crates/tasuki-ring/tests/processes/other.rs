//! The other process: this test program once more.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The other process.
pub struct Other {
    pub child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Other {
    /// Starts this test program once more, to do a task.
    pub fn start(task: &str, args: &[&str]) -> Other {
        Other::start_by(Command::new(std::env::current_exe().expect("own path")), task, args)
    }

    /// Like [`Other::start`], by a command that starts the program which its last argument names.
    pub fn start_by(mut command: Command, task: &str, args: &[&str]) -> Other {
        command.args(["--exact", "helper", "--nocapture", "--test-threads=1"]);
        command.env("TASUKI_TASK", [&[task], args].concat().join(" "));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("own executable");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        Other { child, stdin, stdout }
    }

    /// The next line that it says to us.
    pub fn hear(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(
                self.stdout.read_line(&mut line).expect("its output") > 0,
                "the other process ended early"
            );
            // The test harness may have written the beginning of the line.
            if let Some((_, said)) = line.split_once("SAYS ") {
                return said.trim().to_owned();
            }
        }
    }

    /// Says something to it.
    pub fn tell(&mut self) {
        self.stdin.write_all(b"go\n").expect("it listens");
    }

    /// Waits for its end, which must be a good one.
    pub fn finish(mut self) {
        assert!(self.child.wait().expect("its end").success());
    }

    /// Ends it without any clean-up of its own (SIGKILL).
    pub fn kill(mut self) {
        self.child.kill().expect("our child");
        self.child.wait().expect("its end");
    }
}

/// Says a line to the process that has started this one.
pub fn say(text: &str) {
    println!("SAYS {text}");
}

/// Waits until the process that has started this one says something.
pub fn wait_for_word() {
    std::io::stdin().read_line(&mut String::new()).expect("a word");
}
