//! Files and symbolic links, replaced whole and durably.

use crate::{HostError, Value};
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use std::{
    fs::{self, OpenOptions},
    io::{self, ErrorKind, Write},
    os::unix::fs::symlink,
    path::Path,
};
use tasuki_cluster::{read_text, replace_file};

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

/// Replaces a file as [`replace_file`] does, and makes its folder if need be. A new one gets the mode `new`.
/// A file that is mounted at its place is overwritten.
///
/// # Errors
/// What the system says.
pub fn replace(path: &Path, content: &[u8], new: u32) -> io::Result<()> {
    make_folder_of(path)?;
    if is_mounted(path) {
        let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
        file.write_all(content)?;
        return file.sync_all();
    }
    replace_file(path, content, Some(new))
}

/// Whether a file is mounted at its place, as `/etc/hosts` of a container. Its folder may be another one's
/// then, of the machine for instance, and other containers have theirs in it.
fn is_mounted(path: &Path) -> bool {
    let file = statx(CWD, path, AtFlags::empty(), StatxFlags::empty());
    file.is_ok_and(|file| file.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}
