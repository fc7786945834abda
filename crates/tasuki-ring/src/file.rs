//! Shared files and the locks by which a process is known to live.
//!
//! A POSIX record lock (fcntl(2), F_SETLK) is held by a process, ends with it however it ends, is not
//! inherited by fork, does not survive exec (our descriptors are close-on-exec), and F_GETLK tells about it
//! across PID namespaces. Its pitfall: closing *any* descriptor of the file ends the process's locks on it.
//! Therefore a process opens each file once: all users share it through a registry, and it is closed under
//! the registry's lock by the last of them.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::fork::Process;

/// The folder of all shared files.
pub(crate) const DIRECTORY: &str = "/dev/shm";

/// Files that this process has open. It is a static because the locks of a file belong to the process as a
/// whole: two parts of a program with a registry each would end each other's locks.
static REGISTRY: Mutex<Vec<Arc<Open>>> = Mutex::new(Vec::new());

struct Open {
    fd: OwnedFd,
    path: PathBuf,
    writable: bool,
    process: Process,
    /// Bytes that this process has locked. F_GETLK does not tell a process about its own locks.
    held: Mutex<BTreeSet<i64>>,
}

/// The holder of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Nobody,
    This,
    /// Another process, with its id as this PID namespace knows it: 0 or less if it does not.
    Other(libc::pid_t),
}

/// A file of the registry.
pub(crate) struct SharedFile(ManuallyDrop<Arc<Open>>);

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedFile {
    /// Makes a new file. `AlreadyExists` if there is one of this name.
    pub(crate) fn create(path: &Path, mode: libc::mode_t) -> io::Result<SharedFile> {
        let mut registry = registry();
        let fd = open(path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, mode)?;
        Ok(register(&mut registry, fd, path, true))
    }

    /// Opens an existing regular file, or shares it if this process has it open. It never waits, whatever
    /// another user may have put there.
    pub(crate) fn open(path: &Path, writable: bool) -> io::Result<SharedFile> {
        let mut registry = registry();
        // A file that is only open for reading holds no locks, so that opening and closing it a second time,
        // for writing, ends none.
        if let Some(file) = registry.iter().find(|file| file.path == path && (file.writable || !writable)) {
            return Ok(SharedFile(ManuallyDrop::new(Arc::clone(file))));
        }
        let fd = open(path, if writable { libc::O_RDWR } else { libc::O_RDONLY }, 0)?;
        if status(&fd)?.st_mode & libc::S_IFMT != libc::S_IFREG {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok(register(&mut registry, fd, path, writable))
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.0.fd
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    pub(crate) fn stat(&self) -> io::Result<libc::stat> {
        status(self.fd())
    }

    pub(crate) fn set_len(&self, len: u64) -> io::Result<()> {
        let len = libc::off_t::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: no pointers are passed.
        match unsafe { libc::ftruncate(self.fd().as_raw_fd(), len) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Takes memory for a range now, so that a full file system is an error here and not SIGBUS at the first
    /// touch.
    pub(crate) fn reserve(&self, offset: usize, len: usize) -> io::Result<()> {
        let [offset, len] =
            [offset, len].map(|value| libc::off_t::try_from(value).unwrap_or(libc::off_t::MAX));
        loop {
            // SAFETY: no pointers are passed.
            if unsafe { libc::fallocate(self.fd().as_raw_fd(), 0, offset, len) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    /// Reads without mapping, so that a file that is too short is an error and not SIGBUS.
    pub(crate) fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the buffer and its length belong together, and it lives through the call.
        let read =
            unsafe { libc::pread(self.fd().as_raw_fd(), into.as_mut_ptr().cast(), into.len(), offset) };
        match usize::try_from(read) {
            Ok(read) if read == into.len() => Ok(()),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Locks `byte`, a number: the byte need not exist in the file. False if this or another process has
    /// locked it.
    pub(crate) fn try_lock(&self, byte: i64) -> io::Result<bool> {
        let mut held = guard(&self.0.held);
        if held.contains(&byte) {
            return Ok(false);
        }
        match control(self.fd(), libc::F_SETLK, libc::F_WRLCK, byte) {
            Ok(_) => {
                held.insert(byte);
                Ok(true)
            }
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn unlock(&self, byte: i64) {
        if guard(&self.0.held).remove(&byte) {
            // Unlocking a locked byte fails only for a bad descriptor, and closing the file unlocks it as
            // well.
            let _ = control(self.fd(), libc::F_SETLK, libc::F_UNLCK, byte);
        }
    }

    pub(crate) fn holder(&self, byte: i64) -> io::Result<Holder> {
        if guard(&self.0.held).contains(&byte) {
            return Ok(Holder::This);
        }
        let lock = control(self.fd(), libc::F_GETLK, libc::F_RDLCK, byte)?;
        Ok(if i32::from(lock.l_type) == libc::F_UNLCK { Holder::Nobody } else { Holder::Other(lock.l_pid) })
    }

    pub(crate) fn unlink(&self) {
        // An error means that the file is gone already, which is fine.
        let _ = std::fs::remove_file(self.path());
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        // A forked child leaves its copy alone: the registry's lock may have been held by a thread that does
        // not exist here.
        if !self.0.process.is_current() {
            return;
        }
        let mut registry = registry();
        // SAFETY: this is the only place that drops it, and `self` is not used afterwards.
        let file = unsafe { ManuallyDrop::take(&mut self.0) };
        // Two references are left: this one and the registry's.
        if Arc::strong_count(&file) == 2 {
            registry.retain(|other| !Arc::ptr_eq(other, &file));
        }
        // If this closes the file, it does so before the lock on the registry ends.
        drop(file);
    }
}

fn registry() -> MutexGuard<'static, Vec<Arc<Open>>> {
    let mut registry = guard(&REGISTRY);
    // A forked child drops what its parent had open; closing these copies ends none of the parent's locks.
    registry.retain(|file| file.process.is_current());
    registry
}

fn register(registry: &mut Vec<Arc<Open>>, fd: OwnedFd, path: &Path, writable: bool) -> SharedFile {
    let (path, process, held) = (path.to_path_buf(), Process::current(), Mutex::default());
    // If a file of this name was removed and made again, the old one stays with its users and the new one is
    // found first.
    let file = Arc::new(Open { fd, path, writable, process, held });
    registry.insert(0, Arc::clone(&file));
    SharedFile(ManuallyDrop::new(file))
}

/// Flags for opening. Any user may put files into the directory, of any kind and under any name, so opening
/// does not follow links, does not acquire a terminal, and does not wait: neither for the other end of a
/// pipe, nor for another user who has a lease of the file (fcntl(2), F_SETLEASE; the kernel gives that user
/// 45 seconds to let go of it).
const CAREFULLY: libc::c_int = libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NOCTTY | libc::O_NONBLOCK;

fn open(path: &Path, flags: libc::c_int, mode: libc::mode_t) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is a string that ends in zero and lives through the call.
    let fd = unsafe { libc::open(path.as_ptr(), flags | CAREFULLY, mode) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn status(fd: &OwnedFd) -> io::Result<libc::stat> {
    // SAFETY: zero bytes are a value of this struct of integers.
    let mut stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` lives through the call.
    match unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) } {
        0 => Ok(stat),
        _ => Err(io::Error::last_os_error()),
    }
}

fn control(fd: &OwnedFd, command: libc::c_int, kind: libc::c_int, byte: i64) -> io::Result<libc::flock> {
    // SAFETY: zero bytes are a value of this struct of integers.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = byte;
    lock.l_len = 1;
    // SAFETY: `lock` lives through the call.
    match unsafe { libc::fcntl(fd.as_raw_fd(), command, &mut lock) } {
        0 => Ok(lock),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Removes the files in `directory` whose names begin with a prefix of `kinds`, that belong to this user, and
/// whose owner (the holder of the byte that stands beside the prefix) is gone. A process that makes a file
/// locks that byte and then checks that the file still has its name, so the byte is locked here while the
/// file is removed. Files of other users are not opened.
pub(crate) fn sweep(directory: &Path, kinds: &[(&str, i64)]) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    // SAFETY: no pointers are passed.
    let user = unsafe { libc::geteuid() };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let mut matching = kinds.iter().filter(|(prefix, _)| name.as_bytes().starts_with(prefix.as_bytes()));
        let Some(&(_, byte)) = matching.next() else { continue };
        // This is about the name itself, not about what a link points to. No other user can put another file
        // in the place of one of ours, since the directory is sticky.
        let ours = entry.metadata().is_ok_and(|found| found.uid() == user && found.is_file());
        if !ours {
            continue;
        }
        let Ok(file) = SharedFile::open(&entry.path(), true) else { continue };
        if file.stat().is_ok_and(|stat| stat.st_uid == user) && file.try_lock(byte).unwrap_or(false) {
            file.unlink();
            file.unlock(byte);
        }
    }
}
