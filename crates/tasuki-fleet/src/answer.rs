//! What a host answers.

use crate::way::Way;
use serde::de::DeserializeOwned;
use std::{fmt, io};
use tasuki_process::Output;
use thiserror::Error;

/// What a shell, and so ssh, reports of a command that it does not find.
const NOT_FOUND: i32 = 127;
/// The command that a login finds, unless the user says where another is.
const TASUKI: &str = "tasuki";
/// What ssh reports when it cannot reach a host (ssh(1), "EXIT STATUS").
pub(crate) const NOT_REACHED: i32 = 255;
/// How many lines of standard error an error quotes.
const TAIL_LINES: usize = 3;
/// How many characters of what a host printed an error quotes.
const QUOTED: usize = 80;
/// At how many lines a report is looked for.
const BEGINNINGS: usize = 100;

/// Why a host did not do what it was asked: its name, what failed, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct HostError {
    /// The host.
    pub host: String,
    /// What failed.
    pub why: String,
    /// What helps, as a command where there is one.
    pub remedy: Option<String>,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.host, self.why)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

/// What came of a task on a host.
#[derive(Debug)]
pub struct Answer {
    /// The host's name.
    pub host: String,
    /// How errors call the host: by its name, or "this machine".
    pub(crate) label: String,
    /// The host's `tasuki` that was to run, over ssh; `None`: it was another command.
    pub(crate) tasuki: Option<String>,
    /// How ssh reaches the host; `None`: without ssh.
    pub(crate) ssh: Option<Way>,
    /// The program that was run to reach the host, for the error that it cannot be run.
    pub(crate) program: String,
    /// How the command ended.
    pub(crate) output: io::Result<Output>,
}

impl Answer {
    /// How messages call the host: by its name, or "this machine".
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What the command printed.
    ///
    /// # Errors
    /// If the host was not reached, or the command failed.
    pub fn text(self) -> Result<String, HostError> {
        match &self.output {
            Ok(output) if output.is_success() => {
                Ok(self.output.map(|output| output.stdout).unwrap_or_default())
            }
            _ => Err(self.error()),
        }
    }

    /// The JSON value that the command printed. A command that has something to report does so whatever its
    /// exit code is, so that is only asked for if there is no such value. What a start file of the host's
    /// shell prints before a list or an object is passed over.
    ///
    /// # Errors
    /// If the host was not reached, the command failed without a report, or the report has another form.
    pub fn json<T: DeserializeOwned>(self) -> Result<T, HostError> {
        let parsed = self.output.as_ref().map(|output| (output.is_success(), report(&output.stdout)));
        match parsed {
            Ok((_, Ok(value))) => Ok(value),
            Ok((true, Err(_))) if let Some(why) = self.cut() => {
                Err(HostError { host: self.label.clone(), why, remedy: None })
            }
            Ok((true, Err(why))) => Err(self.odd(&why)),
            _ => Err(self.error()),
        }
    }

    /// That the answer is longer than what was kept of it, if it is.
    fn cut(&self) -> Option<String> {
        let output = self.output.as_ref().ok().filter(|output| output.is_cut)?;
        Some(format!("its answer is longer than {} MiB, and was cut", output.stdout.len() >> 20))
    }

    /// The error for an answer of another form than was expected; `why` says what is odd about it.
    pub fn odd(&self, why: &str) -> HostError {
        HostError {
            host: self.label.clone(),
            why: format!("its tasuki answered oddly: {why}"),
            remedy: Some(format!("install the same version of tasuki on {} as here", self.label)),
        }
    }

    fn error(&self) -> HostError {
        let plain = |why: String| (why, None);
        let (why, remedy) = match (&self.output, &self.ssh) {
            (Err(error), _) => plain(format!("cannot run {}: {error}", self.program)),
            (Ok(output), Some(way)) if output.code == Some(NOT_REACHED) => {
                let why = format!("it does not answer: {}", said(output));
                (why, Some(way.remedy()))
            }
            (Ok(output), Some(_)) if let Some(tasuki) = self.unfound(output) => not_found(tasuki, output),
            (Ok(output), Some(_)) => plain(failure(output).trim_end_matches('.').into()),
            (Ok(output), None) => plain(failure(output)),
        };
        HostError { host: self.label.clone(), why, remedy }
    }

    /// The `tasuki` that a host's shell did not find.
    fn unfound(&self, output: &Output) -> Option<&str> {
        self.tasuki.as_deref().filter(|_| output.code == Some(NOT_FOUND))
    }
}

/// The value that a text is, from its beginning or from a line with which a list or an object begins.
fn report<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let whole = serde_json::from_str(text).map_err(|error| {
        let line: String = text.lines().next().unwrap_or_default().chars().take(QUOTED).collect();
        format!("{error}; it began with {line:?}")
    });
    let ends = text.match_indices('\n').map(|(end, _)| &text[end + 1..]);
    let mut later = ends.filter(|rest| rest.starts_with(['[', '{'])).take(BEGINNINGS);
    whole.or_else(|why| later.find_map(|rest| serde_json::from_str(rest).ok()).ok_or(why))
}

fn failure(output: &Output) -> String {
    format!("{}: {}", output.reason(), output.stderr_tail(TAIL_LINES))
}

/// The end of what a command printed on standard error.
fn said(output: &Output) -> String {
    output.stderr_tail(TAIL_LINES).trim_end_matches('.').to_owned()
}

/// What failed, and what helps, where the machine's shell did not find this `tasuki`. Many commands have no
/// --remote: it is named to those that were given it.
fn not_found(tasuki: &str, output: &Output) -> (String, Option<String>) {
    let remedy = match tasuki == TASUKI {
        true => {
            "install it there, where a login without a terminal finds it: below /usr/local, or with a link"
        }
        false => "--remote must say where it is there",
    };
    (format!("it has no tasuki: {}", said(output)), Some(remedy.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(ssh: Option<&str>, code: i32, stdout: &str, stderr: &str) -> Answer {
        let output =
            Output { code: Some(code), stdout: stdout.into(), stderr: stderr.into(), ..Output::default() };
        let name = || String::from("n2");
        let ssh = ssh.map(|target| Way {
            target: target.into(),
            file: Some("cluster.toml".into()),
            ..Way::default()
        });
        Answer {
            host: name(),
            label: name(),
            tasuki: Some(TASUKI.into()),
            ssh,
            program: "ssh".into(),
            output: Ok(output),
        }
    }

    #[test]
    fn an_error_names_the_host_what_failed_and_what_helps() {
        let unreached = answer(Some("-p 22 n2"), 255, "", "ssh: connect: No route to host.\n");
        let error = unreached.text().unwrap_err().to_string();
        assert!(
            error.starts_with(
                "n2: it does not answer: ssh: connect: No route to host; try `ssh -p 22 n2 true`"
            )
        );
        let absent = || answer(Some("n2"), 127, "", "sh: tasuki: not found");
        let error = absent().text().unwrap_err();
        let remedy = error.remedy.unwrap_or_default();
        assert!(error.why.contains("it has no tasuki") && remedy.contains("/usr/local"), "{remedy}");
        // Not all commands have that option: one that was given it does.
        assert!(!remedy.contains("--remote"), "{remedy}");
        let elsewhere = Answer { tasuki: Some("/opt/tasuki".into()), ..absent() };
        let remedy = elsewhere.text().unwrap_err().remedy;
        assert!(remedy.as_ref().is_some_and(|text| text.contains("--remote")), "{remedy:?}");
        let local = answer(None, 255, "", "one\ntwo").text().unwrap_err().to_string();
        assert_eq!(local, "n2: exit code 255: one\ntwo", "without ssh 255 is the command's own");
        let output = Err(io::ErrorKind::NotFound.into());
        let unstarted = Answer { output, ..answer(Some("n2"), 0, "", "") };
        assert!(unstarted.text().unwrap_err().why.starts_with("cannot run ssh: "));
    }

    #[test]
    fn a_report_counts_whatever_the_exit_code_is() {
        assert_eq!(answer(None, 1, "[7]", "").json::<Vec<u8>>(), Ok(vec![7]));
        assert!(answer(None, 1, "no", "why").json::<Vec<u8>>().unwrap_err().why.contains("exit code 1: why"));
        let odd = answer(None, 0, "no", "").json::<Vec<u8>>().unwrap_err();
        assert!(odd.why.contains("oddly") && odd.remedy.is_some_and(|text| text.contains("same version")));
    }

    #[test]
    fn what_a_start_file_prints_before_a_report_is_passed_over() {
        let greeted = "Welcome to n2\n[maintenance on Friday]\n[\n  7,\n  8\n]\n";
        assert_eq!(answer(None, 0, greeted, "").json::<Vec<u8>>(), Ok(vec![7, 8]));
        let odd = answer(None, 0, "Welcome to n2\n{}", "").json::<Vec<u8>>().unwrap_err();
        assert!(odd.why.contains("\"Welcome to n2\""), "{odd}");
    }
}
