//! Locks that no other user can take.

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// How often a file is opened that its last owner removes at that moment.
const ATTEMPTS: usize = 100;

/// A file that this process alone has locked. Other users cannot open it: whoever can open a file, if only
/// for reading, can lock it. Dropping this removes the file.
#[derive(Debug)]
pub struct Lock {
    file: Flock<File>,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock of this file, which is made if need be; `None`: another process has it.
    ///
    /// # Errors
    /// What the system says.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        for _ in 0..ATTEMPTS {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            match Flock::lock(options.open(path)?, FlockArg::LockExclusiveNonblock) {
                Ok(file) => {
                    let lock = Self { file, path: path.into() };
                    // The last owner may have removed the file between the two calls.
                    if lock.is_at_its_place() {
                        return Ok(Some(lock));
                    }
                }
                Err((_, Errno::EWOULDBLOCK)) => return Ok(None),
                Err((_, errno)) => return Err(errno.into()),
            }
        }
        Err(ErrorKind::Interrupted.into())
    }

    fn is_at_its_place(&self) -> bool {
        let place = |file: fs::Metadata| (file.dev(), file.ino());
        let (own, there) = (self.file.metadata().map(place), fs::metadata(&self.path).map(place));
        own.is_ok_and(|own| there.is_ok_and(|there| own == there))
    }

    /// Removes the file, so that its folder may be removed. Another process may take the lock from then on.
    pub fn remove(&self) {
        // What is at its place is not another owner's, who would have found this one locked.
        if self.is_at_its_place() {
            // If this fails, the next owner takes the file as it is.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn one_process_has_it_and_no_other_user_can_open_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = Lock::take(&path).unwrap().expect("nobody has it");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        assert!(Lock::take(&path).unwrap().is_none());
        drop(lock);
        assert!(!path.exists());
    }

    #[test]
    fn a_lock_whose_file_was_removed_is_no_longer_one_and_leaves_the_next_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path).unwrap().expect("nobody has it");
        first.remove();
        let second = Lock::take(&path).unwrap().expect("its file is another one");
        drop(first);
        assert!(path.exists() && Lock::take(&path).unwrap().is_none(), "the second one has it");
        drop(second);
    }
}
