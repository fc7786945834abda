//! Where hosts keep their records of how things were.

use crate::ApplyError;
use std::path::{Path, PathBuf};
use tasuki_host::{Mode, Report, Setup};

/// The folder that was asked for, or the one where this host keeps its record.
pub fn state_folder(asked: Option<&Path>) -> PathBuf {
    // A lab's hosts share the machine's /var, and each has a /run of its own.
    let default =
        if Path::new(tasuki_lab::HOST_SOCKET).exists() { "/run/tasuki-state" } else { "/var/lib/tasuki" };
    asked.map_or_else(|| default.into(), Path::to_path_buf)
}

/// Where, in the folder of the record, the resident runtime keeps its keys and jobs.
pub const RUNTIME_FOLDER: &str = "runtime";

/// Whether a folder holds a record.
pub fn is_kept(folder: &Path) -> bool {
    folder.join("changes.json").exists()
}

/// Takes back what the record in a folder says, if there is one.
pub(crate) fn undo_at(host: &str, folder: &Path, mode: Mode) -> Result<Option<Report>, ApplyError> {
    match is_kept(folder) {
        true => Ok(Some(Setup::open(host, folder, mode, true)?.undo(&mut |_| ())?)),
        false => Ok(None),
    }
}
