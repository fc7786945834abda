//! How a command ended, and what it wrote.

/// What came of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Exit code; `None` if a signal ended the command.
    pub code: Option<i32>,
    /// The signal that ended the command, if one did.
    pub signal: Option<i32>,
    /// Whether the command was ended because its time was up.
    pub timed_out: bool,
    /// The beginning of standard output.
    pub stdout: String,
    /// Whether standard output was longer than what was kept of it.
    pub is_cut: bool,
    /// Standard error; its end, where it was long.
    pub stderr: String,
}

impl Output {
    /// Whether the command ended by itself, in time, with exit code 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0) && !self.timed_out
    }

    /// Why the command is not a success, in words.
    pub fn reason(&self) -> String {
        match (self.timed_out, self.code, self.signal) {
            (true, ..) => "time limit".into(),
            (_, Some(code), _) => format!("exit code {code}"),
            (_, _, Some(signal)) => format!("signal {signal}"),
            _ => "ended in an unknown way".into(),
        }
    }

    /// The last `lines` lines of standard error that are not blank.
    pub fn stderr_tail(&self, lines: usize) -> String {
        let all: Vec<&str> = self.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}
