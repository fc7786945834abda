//! What belongs to the program's user, and to nobody else.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;
use nix::unistd::geteuid;

use crate::error::Error;

/// Demands that no other user can put anything into a folder: it would be taken for the program's memory. A
/// link may be the user's own, and the folder behind it counts.
pub(crate) fn is_the_users(path: &Path) -> Result<(), Error> {
    let found = fs::metadata(path).map_err(Error::file("look at the folder", path))?;
    let is_theirs = found.uid() != geteuid().as_raw() && found.uid() != 0;
    if is_theirs || found.mode() & 0o022 != 0 {
        return Err(Error::Foreign { path: path.to_owned() });
    }
    Ok(())
}

/// Files are made for this user alone, and never through a link.
pub(crate) fn to_write() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600).custom_flags(OFlag::O_NOFOLLOW.bits());
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;
    use std::collections::BTreeSet;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    /// What others own or may write to is refused with nothing written, and links are never followed.
    #[test]
    fn a_folder_into_which_others_may_put_files_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let (path, kept) = (place.path().join("folder"), place.path().join("kept"));
        fs::create_dir(&path).unwrap();
        fs::write(&kept, "as before").unwrap();
        let mode = |mode: u32| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for wrong in [0o777, 0o1777, 0o770] {
            mode(wrong);
            let told = Folder::open(&path, 0).unwrap_err().to_string();
            assert!(told.contains("belongs to another user, or others may write to it"), "{told}");
        }
        mode(0o755);
        if geteuid().is_root() {
            chown(&path, Some(65534), None).unwrap();
            assert!(matches!(Folder::open(&path, 0), Err(Error::Foreign { .. })));
            chown(&path, Some(0), None).unwrap();
        }
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        symlink(&kept, path.join("new-over-by-0")).unwrap();
        symlink(place.path().join("made"), path.join("rank-1.lock")).unwrap();
        let folder = Folder::open(&path, 0).unwrap();
        assert!(folder.end(&BTreeSet::from([7])).is_err() && Folder::open(&path, 1).is_err());
        assert_eq!(fs::read(&kept).unwrap(), b"as before");
        assert!(!place.path().join("made").exists());
    }
}
