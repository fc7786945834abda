//! Files that are replaced whole and durably.

use rustix::{
    fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr},
    io::Errno,
};
use std::{
    fs::{self, File, Metadata, OpenOptions, Permissions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};

/// Longest list of attributes and longest attribute of a file (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX` of
/// include/uapi/linux/limits.h).
const ATTRIBUTES: usize = 65536;
/// Attributes that the kernel derives of a file's content, so that they are not those of another content.
const OF_CONTENT: [&[u8]; 2] = [b"security.ima", b"security.evm"];

/// Replaces a file as a whole: a reader, or the machine after a power cut, sees the old content or the new,
/// also if there was no room for the new one. Owner, mode and attributes of a file that is there stay, as
/// access lists and SELinux's labels; a new one gets the mode `new`, or that of any new file of this process.
/// What cannot be replaced, such as a pipe, a device or a file that a container mounts, is written to.
///
/// # Errors
/// What the system says.
pub fn replace_file(path: &Path, content: &[u8], new: Option<u32>) -> io::Result<()> {
    let old = fs::metadata(path).ok();
    // Links are followed, because the file may be one: then its target is to be changed.
    let target = path.canonicalize();
    if old.as_ref().is_some_and(|old| !old.is_file() || target.is_err()) {
        return overwrite(path, content);
    }
    let path = target.unwrap_or_else(|_| path.to_path_buf());
    if old.is_some() {
        // A user who may not write a file does not get around that by another one in its place.
        OpenOptions::new().write(true).open(&path)?;
    }
    let temporary = temporary(&path);
    let result = write_beside(&temporary, content, new, old.as_ref().map(|old| (path.as_path(), old)))
        .and_then(|()| fs::rename(&temporary, &path))
        .and_then(|()| sync_folder_of(&path));
    let Err(error) = result else { return Ok(()) };
    let _ = fs::remove_file(&temporary);
    if old.is_some() && is_in_place_only(&error) { overwrite(&path, content) } else { Err(error) }
}

/// Whether an error means that another file cannot take the place of one: that is a mount point, or this user
/// may make no file in its folder, or none of the old one's owner.
fn is_in_place_only(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    let all = [Errno::BUSY, Errno::ROFS, Errno::ACCESS, Errno::PERM, Errno::INVAL];
    errno.is_some_and(|errno| all.contains(&errno))
}

fn overwrite(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    file.write_all(content)?;
    match file.sync_all() {
        // Pipes and many devices hold nothing that could be on a disk.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".tasuki-new");
    path.with_file_name(name)
}

fn write_beside(
    at: &Path,
    content: &[u8],
    new: Option<u32>,
    old: Option<(&Path, &Metadata)>,
) -> io::Result<()> {
    // One that a killed process has left is no longer wanted, and a link that somebody put there never was.
    match fs::remove_file(at) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mode = old.map(|(_, old)| old.permissions().mode() & 0o7777).or(new);
    // Nobody else reads it before it has its owner.
    let first = mode.map_or(0o666, |mode| mode & 0o700);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(first).open(at)?;
    file.write_all(content)?;
    if let Some((path, old)) = old {
        fchown(&file, Some(old.uid()), Some(old.gid()))?;
        copy_attributes(path, &file);
    }
    if let Some(mode) = mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.sync_all()
}

/// Gives a file the attributes of another one. Some are not for this user to set, or the file system has
/// none: without them the content is worth more than nothing.
fn copy_attributes(from: &Path, to: &File) {
    let Ok(from) = File::open(from) else { return };
    let (mut names, mut value) = (vec![0u8; ATTRIBUTES], vec![0u8; ATTRIBUTES]);
    let Ok(length) = flistxattr(&from, &mut names[..]) else { return };
    let names = names[..length].split(|&byte| byte == 0);
    for name in names.filter(|name| !name.is_empty() && !OF_CONTENT.contains(name)) {
        if let Ok(length) = fgetxattr(&from, name, &mut value[..]) {
            let _ = fsetxattr(to, name, &value[..length], XattrFlags::empty());
        }
    }
}

/// Makes sure that a renaming or removal is on the disk.
///
/// # Errors
/// What the system says.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    match synced {
        // This user may write into the folder and not read it, or its file system has no such call.
        Err(error) if [ErrorKind::PermissionDenied, ErrorKind::InvalidInput].contains(&error.kind()) => {
            Ok(())
        }
        synced => synced,
    }
}
