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
    let (host, command) = split(argv).ok_or(LabError::AgentUsage)?;
    let script = command.join(&OsString::from(" "));
    let request = ExecRequest {
        host,
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

/// Host and command from an ssh command line.
fn split(argv: Vec<OsString>) -> Option<(String, Vec<OsString>)> {
    let mut argv = argv.into_iter().peekable();
    while let Some(option) = argv.next_if(|argument| argument.as_encoded_bytes().starts_with(b"-")) {
        let option = option.as_encoded_bytes();
        if option == b"--" {
            break;
        }
        // The value of an option is the rest of its argument, or the next argument.
        let valued = option.iter().skip(1).position(|flag| WITH_VALUE.contains(flag));
        if valued.is_some_and(|at| at + 2 == option.len()) {
            argv.next();
        }
    }
    let host = argv.next()?.into_string().ok()?;
    // The host may be written as user@host.
    let host = host.rsplit('@').next().unwrap_or(&host).to_owned();
    Some((host, argv.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(argv: &str, host: &str, command: &str) {
        let argv: Vec<OsString> = argv.split(' ').map(OsString::from).collect();
        let (found, rest) = split(argv).expect("a host");
        assert_eq!((found.as_str(), rest.join(&OsString::from(" "))), (host, OsString::from(command)));
    }

    #[test]
    fn reads_command_lines_as_ssh_does() {
        check("n2 orted -mca x 1", "n2", "orted -mca x 1");
        check("-x n2 hydra_pmi_proxy --control-port n1:3", "n2", "hydra_pmi_proxy --control-port n1:3");
        check("-o StrictHostKeyChecking=no -p 22 -q me@n3 hostname", "n3", "hostname");
        check("-oBatchMode=yes -tt n3 ls -l", "n3", "ls -l");
        check("-- n1 true", "n1", "true");
    }
}
