//! A window of tmux for each of several commands.

use std::{
    env,
    ffi::OsString,
    io::{IsTerminal, stdin, stdout},
    process::{Command, ExitStatus, Stdio, id},
};

/// Opens a window for each of these commands of a shell, which come with the windows' names: in the session
/// that this terminal is in, or in one of its own, which is shown. Where that fails no window is left, as
/// nobody would see what runs there.
///
/// # Errors
/// If this is no terminal, or tmux fails.
pub fn windows(lines: &[(String, String)]) -> Result<(), String> {
    let session = env::var_os("TMUX").is_none().then(|| format!("tasuki-debug-{}", id()));
    if session.is_some() && !(stdin().is_terminal() && stdout().is_terminal()) {
        return Err(
            "--tmux shows windows on a terminal, and this is none; over ssh, `ssh -t` makes one".into()
        );
    }
    Windows { tmux: vec!["tmux".into()], session, made: Vec::new() }.open(lines)
}

struct Windows {
    /// tmux, and what stands before its arguments.
    tmux: Vec<OsString>,
    /// The session of these windows alone; `None`: that of this terminal.
    session: Option<String>,
    /// Windows that are made, by their ids.
    made: Vec<String>,
}

impl Windows {
    fn open(mut self, lines: &[(String, String)]) -> Result<(), String> {
        let made = lines.iter().try_for_each(|(name, line)| self.make(name, line));
        let shown = made.and_then(|()| self.show());
        if shown.is_err() {
            self.close();
        }
        shown
    }

    fn make(&mut self, name: &str, line: &str) -> Result<(), String> {
        let session = self.session.as_deref();
        let place: Vec<String> = match session {
            Some(session) if self.made.is_empty() => {
                ["new-session", "-d", "-s", session].map(str::to_owned).into()
            }
            Some(session) => vec!["new-window".into(), "-t".into(), format!("{session}:")],
            None => vec!["new-window".into()],
        };
        let mut command = self.tmux();
        command.args(place).args(["-P", "-F", "#{window_id}", "-n", name, line]);
        let output = command.stderr(Stdio::inherit()).output().map_err(|error| not_run(&error))?;
        success(output.status)?;
        self.made.push(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        Ok(())
    }

    /// Shows a session until it ends, or the user leaves it.
    fn show(&self) -> Result<(), String> {
        let Some(session) = &self.session else { return Ok(()) };
        let status = self.tmux().args(["attach-session", "-t", session]).status();
        success(status.map_err(|error| not_run(&error))?)
    }

    /// Closes all windows. What runs in one ends with it.
    fn close(&self) {
        let close = |kind: &str, of: &str| {
            // What has gone meanwhile need not be closed; and that tmux fails was said.
            let _ = self.tmux().args([kind, "-t", of]).stderr(Stdio::null()).status();
        };
        match &self.session {
            Some(_) if self.made.is_empty() => {}
            Some(session) => close("kill-session", session),
            None => self.made.iter().for_each(|window| close("kill-window", window)),
        }
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new(&self.tmux[0]);
        command.args(&self.tmux[1..]);
        command
    }
}

fn success(status: ExitStatus) -> Result<(), String> {
    if status.success() { Ok(()) } else { Err(format!("tmux has failed ({status})")) }
}

fn not_run(error: &std::io::Error) -> String {
    format!("cannot run tmux: {error}; apt-get install tmux")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// What tmux was told by the opening of three windows, where the command with this word fails; and
    /// whether that was an error.
    fn told_tmux(session: Option<&str>, fails: &str) -> (Vec<String>, bool) {
        let folder = tempfile::tempdir().expect("a folder");
        let [tmux, log] = ["tmux", "log"].map(|name| folder.path().join(name));
        let script = format!(
            "echo \"$*\" >>'{log}'\ncase \"$*\" in *'{fails}'*) exit 1;; esac\necho @$(wc -l <'{log}')\n",
            log = log.display()
        );
        fs::write(&tmux, script).expect("writes");
        let (tmux, session) = (vec!["sh".into(), tmux.into()], session.map(str::to_owned));
        let lines = ["0", "1", "2"].map(|rank| (format!("rank {rank}"), format!("debug {rank}")));
        let opened = Windows { tmux, session, made: Vec::new() }.open(&lines);
        let told = fs::read_to_string(log).expect("it was run");
        (told.lines().map(str::to_owned).collect(), opened.is_err())
    }

    #[test]
    fn windows_that_cannot_be_shown_are_closed() {
        let (told, failed) = told_tmux(Some("s"), "attach-session");
        assert!(failed);
        assert!(told[0].starts_with("new-session -d -s s ") && told[0].ends_with("debug 0"), "{told:?}");
        assert!(told[1].starts_with("new-window -t s: ") && told[2].ends_with("debug 2"), "{told:?}");
        assert_eq!(told[3..], ["attach-session -t s", "kill-session -t s"]);
        let (told, failed) = told_tmux(Some("s"), "debug 1");
        assert!(failed && told[2..] == ["kill-session -t s"], "{told:?}");
        let (told, failed) = told_tmux(Some("s"), "debug 0");
        assert!(failed && told.len() == 1, "no session was made: {told:?}");
    }

    #[test]
    fn of_the_session_of_this_terminal_only_own_windows_are_closed() {
        let (told, failed) = told_tmux(None, "debug 2");
        assert!(failed);
        assert_eq!(told[3..], ["kill-window -t @1", "kill-window -t @2"]);
        let (told, failed) = told_tmux(None, "nothing fails");
        assert!(!failed && told.len() == 3, "{told:?}");
    }

    #[test]
    fn windows_that_are_shown_stay() {
        let (told, failed) = told_tmux(Some("s"), "nothing fails");
        assert!(!failed && told[3..] == ["attach-session -t s"], "{told:?}");
    }
}
