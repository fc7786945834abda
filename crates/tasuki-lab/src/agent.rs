//! `tasuki-agent`: takes the place of ssh for MPI launchers inside a lab host.
//!
//! It is called as `tasuki-agent [OPTIONS] HOST COMMAND...`, like ssh: options are accepted and ignored, the
//! arguments of the command are joined with spaces and given to a shell, and the environment is a fresh one.

use crate::{ExecRequest, Exit, Job, Lab, LabError};
use std::{ffi::OsString, path::PathBuf};

/// Options of ssh that take a value (ssh(1)).
const WITH_VALUE: &[u8] = b"BbcDEeFIiJLlmOoPpQRSWw";

/// Runs the agent: `argv` are the arguments behind its name.
///
/// # Errors
/// If the arguments name no host, or the command could not be started in it. ssh's exit code for both is 255.
pub fn main(argv: Vec<OsString>) -> Result<Exit, LabError> {
    let call = SshCall::parse(argv).ok_or(LabError::AgentUsage)?;
    let script = call.script();
    let request = ExecRequest {
        host: call.host,
        argv: vec!["/bin/sh".into(), "-c".into(), script],
        env: login_environment(),
        cwd: PathBuf::from("/"),
        share: Vec::new(),
        job: Job::Inherit,
        terminal: false,
    };
    Lab::find()?.run(request, None)
}

/// The environment that a non-interactive command of ssh finds (sshd(8), "LOGIN PROCESS"), so that what works
/// in a lab works on real machines.
fn login_environment() -> Vec<(OsString, OsString)> {
    let value = |name: &str, default: &str| {
        (OsString::from(name), std::env::var_os(name).unwrap_or_else(|| default.into()))
    };
    vec![
        ("PATH".into(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()),
        value("HOME", "/root"),
        value("USER", "root"),
        value("LOGNAME", "root"),
        value("SHELL", "/bin/sh"),
    ]
}

/// What a launcher calls in the place of ssh: `[OPTIONS] HOST COMMAND...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshCall {
    /// Options of ssh, with their values.
    pub options: Vec<OsString>,
    /// The user, if the host is written as `user@host`.
    pub user: Option<String>,
    /// The host.
    pub host: String,
    /// The words of the command.
    pub command: Vec<OsString>,
}

impl SshCall {
    /// Takes the arguments of a call apart. `None`: they name no host.
    pub fn parse(argv: Vec<OsString>) -> Option<Self> {
        let mut argv = argv.into_iter().peekable();
        let mut options = Vec::new();
        while let Some(option) = argv.next_if(|argument| argument.as_encoded_bytes().starts_with(b"-")) {
            if option == "--" {
                break;
            }
            // The value of an option is the rest of its argument, or the next argument.
            let bytes = option.as_encoded_bytes();
            let valued = bytes.iter().skip(1).position(|flag| WITH_VALUE.contains(flag));
            let has_next = valued.is_some_and(|at| at + 2 == bytes.len());
            options.push(option);
            if has_next {
                options.extend(argv.next());
            }
        }
        let host = argv.next()?.into_string().ok()?;
        let (user, host) = match host.rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host.to_owned()),
            None => (None, host),
        };
        Some(Self { options, user, host, command: argv.collect() })
    }

    /// The command as the shell of the host gets it: ssh joins its words with spaces.
    pub fn script(&self) -> OsString {
        self.command.join(&OsString::from(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(argv: &str, options: &str, host: &str, command: &str) {
        let argv: Vec<OsString> = argv.split(' ').map(OsString::from).collect();
        let call = SshCall::parse(argv).expect("a host");
        let name = call.user.iter().map(|user| format!("{user}@")).collect::<String>() + &call.host;
        let found = (call.options.join(&OsString::from(" ")), name.as_str(), call.script());
        assert_eq!(found, (options.into(), host, command.into()));
    }

    #[test]
    fn reads_command_lines_as_ssh_does() {
        check("n2 orted -mca x 1", "", "n2", "orted -mca x 1");
        let proxy = "hydra_pmi_proxy --control-port n1:3";
        check(&format!("-x n2 {proxy}"), "-x", "n2", proxy);
        let options = "-o StrictHostKeyChecking=no -p 22 -q";
        check(&format!("{options} me@n3 hostname"), options, "me@n3", "hostname");
        check("-oBatchMode=yes -tt n3 ls -l", "-oBatchMode=yes -tt", "n3", "ls -l");
        check("-- n1 true", "", "n1", "true");
        assert_eq!(SshCall::parse(vec!["-x".into()]), None);
    }
}
