//! File descriptors that `lab-init` keeps in reserve, so that a lab that has used up all others still
//! answers, says what is wrong, and can be taken down.

use nix::sys::resource::{Resource, getrlimit};
use std::{
    fs::{self, File},
    os::fd::OwnedFd,
};

/// Number of descriptors: a client's connection, its message with standard input, output and error, two for a
/// job, one to fork with, one for the answer, and as many again for what the kernel is asked meanwhile.
const KEPT: usize = 16;

/// Descriptors that are open for no other purpose than to be closed when there are no others.
#[derive(Default)]
pub struct Reserve {
    kept: Vec<OwnedFd>,
}

impl Reserve {
    /// Opens what is missing. Returns whether the reserve is complete.
    pub fn fill(&mut self) -> bool {
        while self.kept.len() < KEPT {
            let Ok(file) = File::open("/dev/null") else { return false };
            self.kept.push(file.into());
        }
        true
    }

    /// Makes the reserve's descriptors free for use, until it is filled again.
    pub fn release(&mut self) {
        self.kept.clear();
    }

    /// What to tell a client whose command cannot be started for want of descriptors. To be called while the
    /// reserve is free.
    pub fn exhausted() -> String {
        let used = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
        format!(
            "the lab's process may have {limit} files open (ulimit -n where `tasuki lab up` ran), has \
             {used}, and keeps the last {KEPT} for `tasuki lab status` and `tasuki lab down`: end commands \
             that run in its hosts, or take it down, say ulimit -n {} and bring it up again",
            (4 * limit).max(1024)
        )
    }
}
