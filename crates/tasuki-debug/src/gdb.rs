//! One gdb that has one process.

use crate::{
    follow::follow,
    order::{State, Told},
    program::Program,
    target::Debuggee,
};
use nix::sys::signal::Signal;
use procfs::process::Process;
use serde_json::{Map, Value};
use std::{
    io::Write,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tasuki_process::{ChildInput, end_with_parent};
use tasuki_stacks::{
    gdb::{LIMIT, not_run, refusal},
    halted,
    mi::{Answer, Record},
};

/// Tokens of what gdb is told at first; commands have later ones.
const ATTACH: u32 = 1;
const READY: u32 = 2;
/// Settings: nothing asks back, waits for a key, or is loaded from the network.
const SETTINGS: [&str; 6] = [
    "confirm off",
    "pagination off",
    "width 0",
    "height 0",
    "debuginfod enabled off",
    "breakpoint pending on",
];
/// How long it may take to see that its process has ended.
const UNSAID: Duration = Duration::from_secs(2);
/// Most text that is kept until it is asked for, bytes: a program may have structures without end.
const TEXT_MAX: usize = 4 << 20;

/// A gdb.
pub(crate) struct Gdb {
    pid: u32,
    program: Program,
    input: Option<ChildInput>,
    state: State,
    text: String,
    /// When gdb must have attached by; `None`: it has.
    deadline: Option<Instant>,
    token: u32,
    /// Whether its last command was one that gdb does not wait for: then Ctrl-C is not for the process.
    in_background: bool,
    /// Whether the process has ended, so that gdb has none.
    is_empty: bool,
    /// Since when its process is known to have ended although it does not say so.
    dead_since: Option<Instant>,
}

impl Gdb {
    /// Starts one that attaches to a process. What it prints goes to `tell`, line by line, `None` at its end.
    pub fn start(debuggee: &Debuggee, tell: impl Fn(Option<Record>) -> bool + Send + 'static) -> Self {
        let pid = debuggee.pid;
        let deadline = Some(Instant::now() + LIMIT);
        let (state, text) = (State::Busy, String::new());
        let mut gdb = Self {
            pid,
            program: Program::default(),
            input: None,
            state,
            text,
            deadline,
            token: READY,
            in_background: false,
            is_empty: false,
            dead_since: None,
        };
        if let Some(why) = halted::obstacle(pid) {
            gdb.state = State::Gone(why);
            return gdb;
        }
        let mut command = Command::new("gdb");
        // Without the user's own start files: they may run commands, and ask.
        command.args(["--quiet", "-nx", "--interpreter=mi3"]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Told to end, gdb lets its process go on.
        end_with_parent(&mut command);
        match command.spawn() {
            Err(error) => gdb.state = State::Gone(not_run(&error)),
            Ok(mut child) => {
                gdb.input = child.stdin.take().map(ChildInput::from);
                if let Some(output) = child.stdout.take() {
                    follow(output, tell);
                }
                gdb.program = Program(Some(child));
                SETTINGS.iter().for_each(|setting| gdb.write(&format!("-gdb-set {setting}")));
                gdb.write(&format!("{ATTACH}-target-attach {pid}"));
                gdb.write(&format!("{READY}-gdb-version"));
            }
        }
        gdb
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What it has said since the last time, and what it does.
    pub fn told(&mut self) -> Told {
        Told { pid: self.pid, state: self.state.clone(), text: std::mem::take(&mut self.text) }
    }

    /// Gives it a command of gdb's own language.
    pub fn command(&mut self, text: &str) {
        if self.state != State::Stopped {
            return;
        }
        self.token += 1;
        self.state = State::Busy;
        self.in_background = text.trim_end().ends_with('&');
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        let line = format!("{}-interpreter-exec console \"{escaped}\"", self.token);
        self.write(&line);
    }

    fn write(&mut self, line: &str) {
        let Some(input) = &mut self.input else { return };
        // If it has ended, its output says so.
        let _ = input.write_all(format!("{}\n", line.replace(['\n', '\r'], " ")).as_bytes());
    }

    /// Stops its process, or ends what it does itself, as Ctrl-C does.
    pub fn interrupt(&mut self) {
        match self.state {
            State::Running if self.in_background => self.write("-exec-interrupt"),
            State::Running | State::Busy if self.deadline.is_none() => self.program.signal(Signal::SIGINT),
            _ => {}
        }
    }

    /// It is not there any more; a reason that was known before stays.
    pub fn forget(&mut self, state: State) {
        if !matches!(self.state, State::Gone(_)) {
            self.state = state;
        }
    }

    /// When it has to be looked at even if it says nothing.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline.filter(|_| self.state == State::Busy)
    }

    /// Gives it up if it is late, or does not see that its process has ended. Returns whether it was.
    pub fn check(&mut self, now: Instant) -> bool {
        if self.deadline.is_none() && self.state.is_at_work() && halted::has_ended(self.pid) {
            let since = *self.dead_since.get_or_insert(now);
            if now.duration_since(since) >= UNSAID {
                self.end("it has ended", now);
                return true;
            }
            return false;
        }
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return false;
        }
        let process = i32::try_from(self.pid).ok().and_then(|pid| Process::new(pid).ok());
        let state = process.and_then(|process| process.stat().ok()).map(|stat| stat.state);
        let where_it_is = match state {
            Some('D') => "; the process waits for a device or a file (state D)",
            _ => "",
        };
        let why = format!("gdb has not answered within {} s{where_it_is}", LIMIT.as_secs());
        self.end(&why, Instant::now());
        true
    }

    /// Takes a line of its output. Returns whether there is news.
    pub fn take(&mut self, record: Option<Record>) -> bool {
        match record {
            None => self.has_ended(),
            Some(Record::Text(text)) => {
                if self.text.len() < TEXT_MAX {
                    self.text += &text;
                }
                return false;
            }
            Some(Record::Answer(answer)) => return self.answered(&answer),
            Some(Record::Change(class, results)) => return self.changed(&class, &results),
        }
        true
    }

    fn has_ended(&mut self) {
        if !matches!(self.state, State::Gone(_)) {
            self.end("gdb has ended", Instant::now());
        }
    }

    fn answered(&mut self, answer: &Answer) -> bool {
        let message = || answer.results.get("msg").and_then(Value::as_str).unwrap_or_default();
        let is_error = answer.class == "error";
        match answer.token {
            ATTACH if is_error => {
                let why = refusal(message());
                self.end(&why, Instant::now() + LIMIT);
            }
            READY if self.state == State::Busy => {
                self.deadline = None;
                self.text.clear();
                self.state = State::Stopped;
            }
            token if token == self.token && token > READY => {
                if is_error && !self.text.contains(message()) {
                    self.text += &format!("{}\n", message());
                }
                match answer.class.as_str() {
                    "running" => self.state = State::Running,
                    _ if self.is_empty || halted::has_ended(self.pid) => {
                        self.end("it has ended", Instant::now() + LIMIT)
                    }
                    _ if self.state == State::Busy || (is_error && self.state.is_at_work()) => {
                        self.state = State::Stopped;
                    }
                    _ => {}
                }
            }
            _ => return false,
        }
        true
    }

    fn changed(&mut self, class: &str, results: &Map<String, Value>) -> bool {
        match class {
            "stopped" => {
                let word = |name| results.get(name).and_then(Value::as_str).unwrap_or_default();
                match word("reason") {
                    "exited-normally" => self.end("it has ended, with exit code 0", Instant::now() + LIMIT),
                    "exited" => {
                        // gdb writes it in octal.
                        let code = u8::from_str_radix(word("exit-code"), 8).unwrap_or_default();
                        self.end(&format!("it has ended, with exit code {code}"), Instant::now() + LIMIT);
                    }
                    "exited-signalled" => {
                        let why = format!("it has ended by {}", word("signal-name"));
                        self.end(&why, Instant::now() + LIMIT);
                    }
                    _ if self.state == State::Running => self.state = State::Stopped,
                    _ => return false,
                }
                true
            }
            "thread-group-exited" => {
                self.is_empty = true;
                false
            }
            _ => false,
        }
    }

    /// Has it let its process go on, and end; [`Self::finish`] sees to that.
    pub fn let_go(&mut self) {
        self.interrupt();
        self.write("-target-detach");
        self.write("-gdb-exit");
        self.input = None;
    }

    /// Waits until it has ended, and ends it if that takes longer than until then. Its process goes on.
    pub fn finish(&mut self, end: Instant) {
        for (signal, end) in [(Signal::SIGTERM, end), (Signal::SIGKILL, end + Duration::from_secs(2))] {
            if self.program.ends_by(end) {
                return;
            }
            self.program.signal(signal);
            if signal == Signal::SIGKILL {
                halted::let_go(self.pid);
            }
        }
        if !self.program.ends_by(end + Duration::from_secs(3)) {
            // It cannot be ended: the kernel does something for it that takes longer.
            self.program = Program::default();
        }
    }

    /// There is nothing left for it to do, for this reason. It may take until then to end.
    fn end(&mut self, why: &str, end: Instant) {
        self.state = State::Gone(why.into());
        self.deadline = None;
        self.let_go();
        self.finish(end);
    }
}

impl Drop for Gdb {
    fn drop(&mut self) {
        self.let_go();
        self.finish(Instant::now());
    }
}
