//! Files and symbolic links, replaced whole and durably.

use crate::{HostError, Value};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
};
use tasuki_cluster::read_text;

/// Mode of a new file that all users may read.
pub const FOR_ALL: u32 = 0o644;

fn fail<'a>(
    host: &'a str,
    doing: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> HostError + use<'a> {
    move |source| HostError::File { host: host.into(), doing, path: path.into(), source }
}

/// Reads the content of a file.
pub fn read_file(host: &str, path: &Path) -> Result<Value, HostError> {
    match read_text(path).map_err(io::Error::from) {
        Ok(text) => Ok(Value::Text(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Value::Absent),
        Err(error) => Err(fail(host, "read", path)(error)),
    }
}

/// Reads the target of a link.
pub fn read_link(host: &str, path: &Path) -> Result<Value, HostError> {
    match fs::read_link(path) {
        Ok(target) => Ok(Value::Text(target.display().to_string())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Value::Absent),
        Err(error) => Err(fail(host, "read", path)(error)),
    }
}

/// Writes a file, or removes it.
pub fn write_file(host: &str, path: &Path, value: &Value) -> Result<(), HostError> {
    match value {
        Value::Text(text) => replace(path, text.as_bytes(), FOR_ALL).map_err(fail(host, "write", path)),
        _ => remove(path).map_err(fail(host, "remove", path)),
    }
}

/// Makes a symbolic link, or removes it.
pub fn write_link(host: &str, path: &Path, value: &Value) -> Result<(), HostError> {
    let make = |target: &str| {
        make_folder_of(path)?;
        remove(path)?;
        symlink(target, path)
    };
    match value {
        Value::Text(target) => make(target).map_err(fail(host, "make the link", path)),
        _ => remove(path).map_err(fail(host, "remove", path)),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // The folder is removed if it was made for this file alone; any other is not empty, or not Tasuki's to
    // remove.
    if path.parent() == Some(Path::new("/run/tasuki")) {
        let _ = fs::remove_dir("/run/tasuki");
    }
    Ok(())
}

fn make_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Replaces a file as a whole: a reader, or the machine after a power cut, sees the old content or the new.
/// Owner and mode of a file that is there stay; a new one, whose folder is made if need be, gets the mode
/// `new`.
///
/// # Errors
/// What the system says.
pub fn replace(path: &Path, content: &[u8], new: u32) -> io::Result<()> {
    make_folder_of(path)?;
    // Links are followed, because the file may be one: then its target is to be changed.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let temporary = temporary(&path);
    let old = fs::metadata(&path).ok();
    if is_mount_point(&path, old.as_ref()) {
        return overwrite(&path, content);
    }
    let mode = old.as_ref().map_or(new, |old| old.permissions().mode() & 0o7777);
    let result = write_beside(&temporary, content, mode, old.as_ref())
        .and_then(|()| fs::rename(&temporary, &path))
        .and_then(|()| sync_folder_of(&path));
    let Err(error) = result else { return Ok(()) };
    let _ = fs::remove_file(&temporary);
    // The file is a mount point of the same file system.
    if error.raw_os_error() == Some(nix::libc::EBUSY) { overwrite(&path, content) } else { Err(error) }
}

/// Whether a file is on another file system than its folder, as `/etc/hosts` of a container: then it cannot
/// be replaced by renaming, but only be overwritten.
fn is_mount_point(path: &Path, file: Option<&fs::Metadata>) -> bool {
    let folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
    file.zip(folder.as_ref()).is_some_and(|(file, folder)| file.dev() != folder.dev())
}

fn overwrite(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".tasuki-new");
    path.with_file_name(name)
}

fn write_beside(at: &Path, content: &[u8], mode: u32, old: Option<&fs::Metadata>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(at)?;
    file.write_all(content)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    if let Some(old) = old {
        // Only root can change the owner of a file; another user can replace only files of that user's own.
        let _ = chown(at, Some(old.uid()), Some(old.gid()));
    }
    file.sync_all()
}

/// Makes sure that a renaming or removal is on the disk.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}
