//! Parts of the machine's file system that a host shares although they are below one of its private folders.

use nix::mount::{MntFlags, umount2};
use std::{
    ffi::CString,
    fs, io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::Path,
};

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}

/// A copy of the mounts at `path`, not attached anywhere (open_tree(2)).
pub fn open_tree(path: &Path) -> io::Result<OwnedFd> {
    const OPEN_TREE_CLONE: libc::c_uint = 1;
    let path = c_path(path)?;
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC as libc::c_uint | libc::AT_RECURSIVE as libc::c_uint;
    // SAFETY: path is a nul-terminated string that outlives the call.
    let raw = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for this process, and no other code has it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw as RawFd) })
}

/// Attaches a tree at `path` in the current mount namespace, unless it is there already.
pub fn attach_tree(path: &Path, tree: OwnedFd) -> io::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
    let source = fs::File::from(tree);
    let metadata = source.metadata()?;
    if let Ok(there) = fs::metadata(path) {
        if (there.dev(), there.ino()) == (metadata.dev(), metadata.ino()) {
            return Ok(());
        }
        // What was shared under this name is another file by now: it was removed and made again.
        let _ = umount2(path, MntFlags::MNT_DETACH);
    }
    make_mount_point(path, metadata.is_dir())?;
    let at = c_path(path)?;
    // SAFETY: both paths are nul-terminated strings that outlive the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            source.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            at.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn make_mount_point(path: &Path, folder: bool) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if folder {
        return fs::create_dir_all(path);
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::File::create(path).map(drop)
}
