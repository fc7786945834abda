//! Files outside of a checkpoint that its processes have open, where programs read and write.

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// A file, whatever its name is: device and inode.
pub(super) type FileId = (u64, u64);

/// A file that a process has open.
#[derive(Serialize, Deserialize)]
pub(super) struct Open {
    pub pid: i32,
    pub descriptor: i32,
    pub path: PathBuf,
    pub id: FileId,
    /// Its length, if the process may write to it.
    pub written: Option<u64>,
}

/// Which file a path leads to.
pub(super) fn id(path: impl AsRef<Path>) -> io::Result<FileId> {
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

impl Open {
    /// Cuts off what was written to the file after the checkpoint: the program writes that again.
    pub fn shorten(&self) -> Result<(), String> {
        let name = self.path.display();
        let wrong = |why: String| Err(format!("{name}, which the job had open, {why}"));
        let Some(len) = self.written else { return Ok(()) };
        // Those without a name any more are in the checkpoint themselves.
        if self.path.to_string_lossy().ends_with(" (deleted)") {
            return Ok(());
        }
        // Somebody may have put another kind of file in its place, of which an opening waits.
        let mut options = fs::OpenOptions::new();
        options.write(true).custom_flags(O_NOFOLLOW | O_NONBLOCK);
        let file: File = match options.open(&self.path) {
            Ok(file) => file,
            Err(error) => return wrong(format!("cannot be opened: {error}")),
        };
        let Ok(found) = file.metadata() else { return wrong("cannot be looked at".into()) };
        if (found.dev(), found.ino()) != self.id {
            return wrong("is another file now".into());
        }
        match found.len() {
            now if now < len => wrong(format!("has {now} bytes now, and had {len}")),
            now if now == len => Ok(()),
            _ => file.set_len(len).or_else(|error| wrong(format!("cannot be shortened: {error}"))),
        }
    }
}
