//! Programs in folders, as `execvp` would find them.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Whether some user may execute the file.
pub fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The path of the first program of this name in `folders`, which are looked through in their order.
pub fn program_in(folders: impl IntoIterator<Item = PathBuf>, name: impl AsRef<OsStr>) -> Option<PathBuf> {
    folders.into_iter().map(|folder| folder.join(name.as_ref())).find(|path| is_executable(path))
}
