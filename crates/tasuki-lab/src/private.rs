//! The folders of which every host has its own.

use std::path::{Path, PathBuf};

/// These folders are mounted fresh in every host.
pub const PRIVATE_FOLDERS: &[&str] = &["/tmp", "/dev/shm", "/run"];

/// The part of the file system that must be shared for `path` to be visible inside a host, if any. A file
/// directly in a private folder is shared alone; for anything deeper the folder's first level is shared, so
/// that a tree under, say, `/tmp/checkout` is mounted once.
pub fn to_share(path: &Path) -> Option<PathBuf> {
    let folder = PRIVATE_FOLDERS.iter().find(|folder| path.starts_with(folder))?;
    let first = path.strip_prefix(folder).ok()?.components().next()?;
    let share = Path::new(folder).join(first);
    // Every host has the lab's own folder already.
    (share != Path::new("/run/tasuki")).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_the_first_level_below_a_private_folder() {
        let share = |path: &str| to_share(Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(share("/tmp/checkout/target/debug/x"), Some("/tmp/checkout".into()));
        assert_eq!(share("/tmp/program"), Some("/tmp/program".into()));
        assert_eq!(share("/run/user/0"), Some("/run/user".into()));
        assert_eq!(share("/run/tasuki/bin/tasuki-agent"), None);
        assert_eq!(share("/tmp"), None);
        assert_eq!(share("/home/me/tmp/x"), None);
        assert_eq!(share("/tmpfoo/x"), None);
    }
}
