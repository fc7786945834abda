//! `tasuki-agent`: takes the place of ssh for MPI launchers inside a lab host.
//!
//! Called as `tasuki-agent [OPTIONS] HOST COMMAND...` like ssh: options are accepted and ignored, the words
//! of the command are joined with spaces and given to a shell, and the environment is a fresh one.

use crate::{
    execute::{exit_code, in_host},
    failure::{Failure, NOT_STARTED},
};
use std::{ffi::OsString, path::PathBuf, process::ExitCode};
use tasuki_lab::{ExecRequest, Job, Lab};

/// Options of ssh that take a value (ssh(1)).
const WITH_VALUE: &[u8] = b"BbcDEeFIiJLlmOoPpQRSWw";

/// Runs the agent on the words after its name.
pub fn main(words: Vec<OsString>) -> Result<ExitCode, Failure> {
    let (host, command) = split(words).ok_or_else(|| {
        Failure::new("usage: tasuki-agent [ssh options] HOST COMMAND...").with_code(NOT_STARTED)
    })?;
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
    let exit = Lab::find()
        .map_err(Failure::from)
        .and_then(|lab| in_host(&lab, request, None))
        .map_err(|failure| failure.with_code(NOT_STARTED))?;
    Ok(exit_code(exit))
}

/// What a non-interactive ssh command finds (sshd(8), "LOGIN PROCESS"), so that what works in a lab works
/// on real machines.
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
fn split(words: Vec<OsString>) -> Option<(String, Vec<OsString>)> {
    let mut words = words.into_iter().peekable();
    while let Some(option) = words.next_if(|word| word.as_encoded_bytes().starts_with(b"-")) {
        let option = option.as_encoded_bytes();
        if option == b"--" {
            break;
        }
        // A value is the rest of the word, or the next word.
        let valued = option.iter().skip(1).position(|flag| WITH_VALUE.contains(flag));
        if valued.is_some_and(|at| at + 2 == option.len()) {
            words.next();
        }
    }
    let host = words.next()?.into_string().ok()?;
    // As in user@host.
    let host = host.rsplit('@').next().unwrap_or(&host).to_owned();
    Some((host, words.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &str, host: &str, command: &str) {
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        let (found, rest) = split(words).expect("a host");
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
