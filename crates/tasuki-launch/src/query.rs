//! Asks programs: loaders, launchers and libraries of any age may hang or talk without end when they are
//! asked for their version, so each is given a limit.

use crate::Environment;
use std::{ffi::OsString, io, process::Command, time::Duration};
use tasuki_process::{Limited, Output};

/// Runs `argv` with exactly the environment `env`, without standard input, as a [`Limited::probe`].
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] if the command has not ended within `limit`; else what the system says if it
/// cannot be started.
pub fn query(argv: &[OsString], env: &Environment, limit: Duration) -> io::Result<Output> {
    let (program, arguments) =
        argv.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "empty command"))?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    let output = Limited::probe(limit).run(&mut command)?;
    if output.timed_out {
        return Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {limit:?}")));
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> io::Result<Output> {
        let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        query(&["sh".into(), "-c".into(), script.into()], &env, limit)
    }

    #[test]
    fn the_environment_is_the_one_that_is_given() {
        let output = shell("env | grep -c ^CARGO; echo $PATH", Duration::from_secs(60)).unwrap();
        assert_eq!(output.stdout, "0\n/usr/bin:/bin\n");
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        let error = shell("sleep 1000", Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
