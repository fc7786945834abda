//! What a process gives on to those that it starts, besides its environment.

use nix::sys::resource::{Resource, getrlimit};
use std::fs;
use tasuki_control::Limit;

/// What limits there are (getrlimit(2)).
const RESOURCES: [Resource; 15] = [
    Resource::RLIMIT_AS,
    Resource::RLIMIT_CORE,
    Resource::RLIMIT_CPU,
    Resource::RLIMIT_DATA,
    Resource::RLIMIT_FSIZE,
    Resource::RLIMIT_LOCKS,
    Resource::RLIMIT_MEMLOCK,
    Resource::RLIMIT_MSGQUEUE,
    Resource::RLIMIT_NICE,
    Resource::RLIMIT_NOFILE,
    Resource::RLIMIT_NPROC,
    Resource::RLIMIT_RTPRIO,
    Resource::RLIMIT_RTTIME,
    Resource::RLIMIT_SIGPENDING,
    Resource::RLIMIT_STACK,
];

/// The limits of this process.
pub(crate) fn limits() -> Vec<Limit> {
    let limit = |resource: Resource| {
        let (soft, hard) = getrlimit(resource).ok()?;
        Some(Limit { resource: resource as u32, soft, hard })
    };
    RESOURCES.into_iter().filter_map(limit).collect()
}

/// The bits that new files of this process do not get. The kernel tells it without changing it in
/// proc_pid_status(5) alone.
pub(crate) fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o022)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_umask_are_those_that_a_shell_shows() {
        let shell = |script: &str| {
            let output = std::process::Command::new("sh").args(["-c", script]).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let files = limits().into_iter().find(|limit| limit.resource == Resource::RLIMIT_NOFILE as u32);
        assert_eq!(files.unwrap().soft.to_string(), shell("ulimit -n"));
        assert_eq!(umask(), u32::from_str_radix(&shell("umask"), 8).unwrap());
    }
}
