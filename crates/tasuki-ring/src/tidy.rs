//! Files that dead processes have left.

use std::path::Path;

use crate::file::{DIRECTORY, sweep};
use crate::layout::LOCK_OWNER;
use crate::{create, stats_page};

/// Removes the segments and statistics pages in `/dev/shm` that dead processes of this user have left: those
/// that were killed. Files of other users, and of processes that live, stay as they are. This takes a few
/// microseconds for each file of this user.
pub fn tidy() {
    tidy_in(Path::new(DIRECTORY));
}

/// Like [`tidy`], in another directory than `/dev/shm`.
pub fn tidy_in(directory: &Path) {
    sweep(directory, &[(create::PREFIX, LOCK_OWNER), (stats_page::PREFIX, stats_page::LOCK)]);
}
