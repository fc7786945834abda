//! Checks who listens on a lab's socket.
//!
//! The name of an abstract socket belongs to the process that binds it first, and any local user can bind
//! `tasuki-lab/NAME`. A client hands its open files and its environment to a lab, so before it sends anything
//! it must know that the other end is a lab.

use nix::{
    sys::socket::{getsockopt, sockopt::PeerCredentials},
    unistd::Pid,
};
use std::{fmt, fs, os::fd::AsFd};

/// Name of `lab-init`'s process, which it gives itself before it listens.
pub(crate) const PROCESS_NAME: &str = "tasuki-lab";

/// A process that holds a lab's name and is no lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// Its process number; 0 if this process cannot see it.
    pub pid: i32,
    /// Its name, as in `ps`.
    pub program: String,
    /// Its user, as this process sees it.
    pub uid: u32,
    /// How it differs from a lab.
    pub why: &'static str,
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, program, uid, why } = self;
        write!(f, "process {pid} ({program:?}) of user {uid}, which {why}")
    }
}

/// The process number of the lab at the other end of a connection; `None` if this process cannot see it, as
/// inside a host. Credentials are those of the process that called `listen` (unix(7), SO_PEERCRED), so they
/// cannot change later.
///
/// A lab is root's, is the first process of a PID namespace, has the name [`PROCESS_NAME`] and, in the user
/// namespace of this process, has every capability that this process has: root in a confined container that
/// shares the machine's network is not trusted with more than it has.
pub(crate) fn check(socket: &impl AsFd) -> Result<Option<Pid>, Stranger> {
    let stranger = |pid, uid, status: Option<&Status>, why| Stranger {
        pid,
        program: status.map_or_else(|| "unknown".into(), |status| status.name.clone()),
        uid,
        why,
    };
    let Ok(peer) = getsockopt(socket, PeerCredentials) else {
        return Err(stranger(0, u32::MAX, None, "does not say who it is"));
    };
    let status = Status::of(&peer.pid().to_string());
    let refuse = |why| Err(stranger(peer.pid(), peer.uid(), status.as_ref(), why));
    if peer.uid() != 0 {
        return refuse("is not root");
    }
    if peer.pid() == 0 {
        // The listener is in another PID namespace, as a lab is for its own hosts. But it is root's.
        return Ok(None);
    }
    match (&status, Status::of("self")) {
        (Some(status), Some(own))
            if status.is_lab() && (is_foreign(peer.pid()) || own.has_no_more_rights_than(status)) =>
        {
            Ok(Some(Pid::from_raw(peer.pid())))
        }
        (Some(status), Some(_)) if status.is_lab() => refuse("has fewer rights than this command"),
        _ => refuse("is no `tasuki lab`"),
    }
}

/// Whether a process is in another user namespace than this process, or in one that this process may not look
/// into, which the kernel refuses to a process with fewer rights (ptrace(2), PTRACE_MODE_READ). Then
/// capabilities cannot be compared.
fn is_foreign(pid: i32) -> bool {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/user")).ok();
    namespace(&pid.to_string()).is_none_or(|theirs| Some(theirs) != namespace("self"))
}

/// What `/proc/PID/status` says of a process (proc_pid_status(5)).
struct Status {
    name: String,
    /// Process numbers, from the namespace of this `/proc` to the innermost.
    numbers: Vec<i32>,
    /// Permitted capabilities, one bit each.
    capabilities: u64,
}

impl Status {
    fn of(process: &str) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(str::trim)
        };
        Some(Self {
            name: field("Name")?.to_owned(),
            numbers: field("NSpid")?.split_whitespace().filter_map(|number| number.parse().ok()).collect(),
            capabilities: u64::from_str_radix(field("CapPrm")?, 16).ok()?,
        })
    }

    fn is_lab(&self) -> bool {
        self.name == PROCESS_NAME && self.numbers.len() > 1 && self.numbers.last() == Some(&1)
    }

    fn has_no_more_rights_than(&self, other: &Self) -> bool {
        self.capabilities & !other.capabilities == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(name: &str, numbers: &str, capabilities: &str) -> Status {
        let text = format!("Name:\t{name}\nUmask:\t0022\nNSpid:\t{numbers}\nCapPrm:\t{capabilities}\n");
        Status::parse(&text).expect("a status")
    }

    #[test]
    fn a_lab_is_the_first_of_its_namespace_and_has_its_name() {
        assert!(status(PROCESS_NAME, "4711\t1", "1ff").is_lab());
        assert!(!status(PROCESS_NAME, "4711", "1ff").is_lab(), "in no namespace of its own");
        assert!(!status(PROCESS_NAME, "4711\t17", "1ff").is_lab(), "not the first in it");
        assert!(!status(PROCESS_NAME, "1", "1ff").is_lab(), "the machine's own first process");
        assert!(!status("python3", "4711\t1", "1ff").is_lab());
    }

    #[test]
    fn root_of_a_container_has_fewer_rights() {
        let (root, container) =
            (status("tasuki", "1", "1ffffffffff"), status(PROCESS_NAME, "9\t1", "a80425fb"));
        assert!(!root.has_no_more_rights_than(&container));
        assert!(container.has_no_more_rights_than(&root) && root.has_no_more_rights_than(&root));
    }

    #[test]
    fn this_process_has_a_status() {
        let own = Status::of("self").expect("a status");
        assert_eq!(own.numbers.first().copied(), Some(std::process::id().cast_signed()));
    }
}
