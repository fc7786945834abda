//! The user at the other end of a connection, as the kernel knows it.

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};

/// Most groups that a process can have (NGROUPS_MAX).
const GROUPS_MAX: usize = 65_536;

/// The user who connected, and the groups that the user was in then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) uid: u32,
    groups: Vec<u32>,
}

impl Peer {
    /// Asks the kernel who connected (`SO_PEERCRED`, `SO_PEERGROUPS`).
    pub(crate) fn of(connection: &OwnedFd) -> io::Result<Peer> {
        let user = getsockopt(connection, PeerCredentials)?;
        let mut groups = supplementary(connection)?;
        groups.push(user.gid());
        Ok(Peer { uid: user.uid(), groups })
    }

    /// Whether the peer is root or a member of the group.
    pub(crate) fn belongs_to(&self, group: u32) -> bool {
        self.uid == 0 || self.groups.contains(&group)
    }
}

fn supplementary(connection: &OwnedFd) -> io::Result<Vec<u32>> {
    let mut groups = vec![0_u32; 64];
    loop {
        let mut length = size_of_val(groups.as_slice()) as libc::socklen_t;
        // SAFETY: the descriptor is open; the kernel writes at most `length` bytes into the vector.
        let result = unsafe {
            libc::getsockopt(
                connection.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result == 0 {
            groups.truncate(length as usize / size_of::<u32>());
            return Ok(groups);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::ERANGE) || groups.len() >= GROUPS_MAX {
            return Err(error);
        }
        groups.resize(GROUPS_MAX, 0);
    }
}
