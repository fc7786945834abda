//! Watching the process of another endpoint on this host without a ring to it.

use std::path::Path;

use crate::Token;
use crate::create;
use crate::file::{DIRECTORY, Holder, SharedFile};
use crate::layout::{AT_CLOSED, LOCK_OWNER};

/// Another endpoint's segment, held open to see what becomes of its process. It costs that process nothing, and
/// this one a descriptor.
pub struct Watch {
    file: SharedFile,
}

/// What a [`Watch`] sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// The process has its segment open, as far as the kernel can say.
    Lives,
    /// It has closed its segment.
    Closed,
    /// It is gone and has not closed its segment.
    Died,
}

impl Watch {
    /// Watches the owner of the segment named `token`. `None`: there is no such segment on this host, or it
    /// cannot be opened.
    pub fn open(token: &Token) -> Option<Watch> {
        Watch::open_in(Path::new(DIRECTORY), token)
    }

    /// Like [`Watch::open`], with the segment's file in another directory than `/dev/shm`.
    pub fn open_in(directory: &Path, token: &Token) -> Option<Watch> {
        SharedFile::open(&create::path(directory, token), true).ok().map(|file| Watch { file })
    }

    /// Looks (one or two system calls).
    pub fn look(&self) -> Sight {
        // An owner of which the kernel cannot say anything is not held to be dead.
        if self.file.holder(LOCK_OWNER).unwrap_or(Holder::This) != Holder::Nobody {
            return Sight::Lives;
        }
        // The owner says that it closes before it lets go of its lock.
        let mut closed = [0; 4];
        match self.file.read_at(AT_CLOSED as u64, &mut closed) {
            Ok(()) if closed == [0; 4] => Sight::Died,
            _ => Sight::Closed,
        }
    }
}
