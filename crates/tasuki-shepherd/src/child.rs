//! What a rank's process does between fork and exec. Nothing here allocates or takes a lock: all is
//! prepared before the fork, and only system calls are made.

use crate::{Ids, Limit};
use nix::{
    errno::Errno,
    sched::{CpuSet, sched_setaffinity},
    sys::{
        prctl,
        signal::{SigSet, Signal},
    },
    unistd::{Gid, Pid, Uid, chdir, getppid, setgid, setgroups, setsid, setuid, write},
};
use std::{
    ffi::CString,
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

/// The steps, in their order. The number of the step that failed goes through a pipe to the shepherd.
const STEPS: [&str; 8] = [
    "begin a session",
    "enter the job's cgroup",
    "set a limit on a resource",
    "bind the rank to its cores",
    "take the groups and the id of the user",
    "have the rank end with the shepherd",
    "enter the working directory",
    "pass on the PMI descriptor",
];

/// Everything that the steps need.
pub struct Steps {
    /// The cgroup's `cgroup.procs`, opened by the shepherd with its own rights.
    pub door: Option<OwnedFd>,
    /// Limits on resources.
    pub limits: Vec<Limit>,
    /// Cores to run on.
    pub cores: Option<CpuSet>,
    /// Groups, group and user; `None`: as the shepherd.
    pub ids: Option<(Vec<Gid>, Gid, Uid)>,
    /// Mask of permissions of new files.
    pub umask: Option<libc::mode_t>,
    /// Working directory.
    pub folder: CString,
    /// The rank's end of its PMI connection, which alone stays open in the program.
    pub pmi: Option<RawFd>,
    /// The shepherd.
    pub parent: Pid,
    /// Where to write the number of the step that failed.
    pub report: OwnedFd,
}

/// The ids that a rank takes; `None`: it has them already.
pub fn ids(ids: &Ids) -> Option<(Vec<Gid>, Gid, Uid)> {
    let is_own = !Uid::effective().is_root() && Uid::effective().as_raw() == ids.uid;
    let groups = ids.groups.iter().copied().map(Gid::from_raw).collect();
    (!is_own).then(|| (groups, Gid::from_raw(ids.gid), Uid::from_raw(ids.uid)))
}

/// What a step is, for a message.
pub fn name_of(step: u8) -> &'static str {
    STEPS.get(usize::from(step)).copied().unwrap_or("start")
}

impl Steps {
    /// Takes all steps.
    ///
    /// # Errors
    /// What the system said to the step whose number was written to the pipe.
    pub fn take(&self) -> io::Result<()> {
        for step in 0..STEPS.len() as u8 {
            if let Err(errno) = self.step(step) {
                // The shepherd knows the error also without the number of its step.
                let _ = write(&self.report, &[step]);
                return Err(io::Error::from_raw_os_error(errno as i32));
            }
        }
        Ok(())
    }

    fn step(&self, step: u8) -> nix::Result<()> {
        match step {
            0 => begin_session(),
            1 => self.door.as_ref().map_or(Ok(()), |door| write(door, b"0").map(drop)),
            2 => self.limits.iter().try_for_each(set_limit),
            3 => self.cores.as_ref().map_or(Ok(()), |cores| sched_setaffinity(Pid::from_raw(0), cores)),
            4 => self.take_ids(),
            // Taking ids forgets the wish to end with the parent, so it comes after that.
            5 => self.end_with_parent(),
            6 => self.enter_folder(),
            _ => self.pmi.map_or(Ok(()), keep_open),
        }
    }

    /// Groups first, the user last: a process that is not root any more can take nothing else.
    fn take_ids(&self) -> nix::Result<()> {
        let Some((groups, gid, uid)) = &self.ids else { return Ok(()) };
        setgroups(groups)?;
        setgid(*gid)?;
        setuid(*uid)
    }

    fn end_with_parent(&self) -> nix::Result<()> {
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // A parent that ended before the call will not be reported any more.
        if getppid() == self.parent { Ok(()) } else { Err(Errno::ESRCH) }
    }

    fn enter_folder(&self) -> nix::Result<()> {
        if let Some(mask) = self.umask {
            // SAFETY: umask takes a number and cannot fail.
            unsafe { libc::umask(mask) };
        }
        chdir(self.folder.as_c_str())
    }
}

/// A session of the rank's own, which hears the signals that the shepherd has blocked for itself.
fn begin_session() -> nix::Result<()> {
    setsid()?;
    SigSet::empty().thread_set_mask()
}

/// Sets a limit. The user says what it is to be, and this process is still root, who could raise it: so it
/// is never more than what the shepherd itself has.
fn set_limit(limit: &Limit) -> nix::Result<()> {
    let resource = limit.resource as libc::__rlimit_resource_t;
    let mut value = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a value that lives through the call.
    Errno::result(unsafe { libc::getrlimit(resource, &mut value) })?;
    value.rlim_max = value.rlim_max.min(limit.hard);
    value.rlim_cur = value.rlim_max.min(limit.soft);
    // SAFETY: the pointer is to a value that lives through the call, which only reads it.
    Errno::result(unsafe { libc::setrlimit(resource, &value) }).map(drop)
}

fn keep_open(descriptor: RawFd) -> nix::Result<()> {
    // SAFETY: F_SETFD takes a number; the descriptor is the parent's and was copied by the fork.
    Errno::result(unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) }).map(drop)
}

/// The descriptor's number, for [`Steps::pmi`] and the variable of the rank.
pub fn number(descriptor: &OwnedFd) -> RawFd {
    descriptor.as_raw_fd()
}
