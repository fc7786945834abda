//! The socket that clients connect to: made by the broker, or handed over by systemd.

use crate::ServeError;
use nix::{
    sys::{
        socket::{
            AddressFamily, Backlog, Shutdown, SockFlag, SockType, UnixAddr, bind, connect, getsockopt,
            listen, shutdown, socket,
            sockopt::{AcceptConn, SockType as SockTypeOf},
        },
        stat::{Mode, fchmod},
    },
    unistd::{Gid, chown},
};
use std::{
    fs, io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

/// Most connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// First descriptor that systemd hands over (sd_listen_fds(3)).
const HANDED: i32 = 3;

/// A listening socket. Its file is removed with it if the broker has made it.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    /// The file that the broker has made, with its inode number, which tells it from a file that has taken
    /// its place.
    made: Option<(PathBuf, u64)>,
}

impl Listener {
    /// The socket that systemd has handed to this process, if it has. To be called once, before there are
    /// threads or other descriptors.
    pub fn from_systemd() -> Result<Option<Listener>, ServeError> {
        let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u32>().ok());
        if number("LISTEN_PID") != Some(std::process::id()) {
            return Ok(None);
        }
        match number("LISTEN_FDS") {
            None | Some(0) => Ok(None),
            Some(1) => {
                // SAFETY: by systemd's protocol the descriptor is open and this process owns it; no other
                // code has taken it.
                let fd = unsafe { OwnedFd::from_raw_fd(HANDED) };
                Listener::over(fd).map(Some)
            }
            Some(_) => Err(ServeError::Handed("more than one socket")),
        }
    }

    fn over(fd: OwnedFd) -> Result<Listener, ServeError> {
        if getsockopt(&fd, SockTypeOf) != Ok(SockType::SeqPacket) || getsockopt(&fd, AcceptConn) != Ok(true) {
            return Err(ServeError::Handed("no listening socket of sequential packets"));
        }
        let flags = nix::fcntl::OFlag::O_NONBLOCK;
        let set = nix::fcntl::fcntl(&fd, nix::fcntl::FcntlArg::F_SETFL(flags));
        set.map_err(|errno| ServeError::Wait(errno.into()))?;
        Ok(Listener { fd, made: None })
    }

    /// Makes a socket to which only root and members of the group can connect. It replaces one at which no
    /// process listens any more.
    pub fn bind(path: &Path, group: u32) -> Result<Listener, ServeError> {
        let fail = |what| move |source| ServeError::Socket { what, path: path.into(), source };
        let address = UnixAddr::new(path).map_err(|errno| fail("name")(errno.into()))?;
        remove_old(path, &address)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(fail("make the folder of"))?;
        }
        let fd = private_socket().map_err(|errno| fail("open")(errno.into()))?;
        bind(fd.as_raw_fd(), &address).map_err(|errno| fail("bind")(errno.into()))?;
        chown(path, None, Some(Gid::from_raw(group))).map_err(|errno| fail("chown")(errno.into()))?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o660);
        fs::set_permissions(path, mode).map_err(fail("chmod"))?;
        let backlog = Backlog::new(BACKLOG).unwrap_or(Backlog::MAXCONN);
        listen(&fd, backlog).map_err(|errno| fail("listen on")(errno.into()))?;
        let inode = fs::metadata(path).map_err(fail("look at"))?.ino();
        Ok(Listener { fd, made: Some((path.into(), inode)) })
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let Some((path, inode)) = &self.made else { return };
        if fs::metadata(path).is_ok_and(|meta| meta.ino() == *inode) {
            // If this fails, the next broker removes the file.
            let _ = fs::remove_file(path);
        }
        // A child between fork and exec has a copy of the descriptor, which would keep the socket listening.
        let _ = shutdown(self.fd.as_raw_fd(), Shutdown::Both);
    }
}

/// A socket whose file belongs to its owner alone from its first moment.
///
/// The kernel gives the file the mode that the socket has (`unix_bind_bsd` in net/unix/af_unix.c), less the
/// process's mask. A change of that mask would hold for all threads of the process.
fn private_socket() -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?;
    fchmod(&fd, Mode::S_IRUSR | Mode::S_IWUSR)?;
    Ok(fd)
}

/// Removes a socket at which no process listens; any other file stays.
fn remove_old(path: &Path, address: &UnixAddr) -> Result<(), ServeError> {
    let fail = |what| move |source| ServeError::Socket { what, path: path.into(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(fail("look at")(error)),
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(fail("replace")(io::Error::other("it is no socket")));
        }
        Ok(_) => {}
    }
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let asking = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None);
    let asking = asking.map_err(|errno| fail("open")(errno.into()))?;
    match connect(asking.as_raw_fd(), address) {
        Err(nix::errno::Errno::ECONNREFUSED) => fs::remove_file(path).map_err(fail("remove")),
        Err(nix::errno::Errno::ENOENT) => Ok(()),
        _ => Err(ServeError::Taken(path.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// Without this a file would have mode 0755 here, as programs are usually started with mask 022.
    #[test]
    fn nobody_else_may_connect_before_the_group_may() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let fd = private_socket().expect("a socket");
        bind(fd.as_raw_fd(), &UnixAddr::new(&path).expect("a path")).expect("binds");
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    /// What the kernel says of this process (proc(5)).
    fn mask() -> String {
        let status = fs::read_to_string("/proc/self/status").expect("the process's state");
        status.lines().find(|line| line.starts_with("Umask:")).expect("its mask").to_owned()
    }

    #[test]
    fn listeners_that_are_made_at_once_leave_the_mask_of_the_process_alone() {
        let before = mask();
        let group = Gid::current().as_raw();
        let make = || {
            let folder = tempfile::tempdir().expect("a folder");
            for _ in 0..200 {
                Listener::bind(&folder.path().join("run/socket"), group).expect("listens");
            }
        };
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(make))));
        assert_eq!(mask(), before);
    }
}
