//! How many files a process may have open.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io;

/// More than any process of Tasuki's needs. Where the hard limit is a thousand million, programs that close
/// all files that they might have take minutes for it.
const FILES_MAX: u64 = 1 << 16;

/// Has this process, and what it starts, have as many files open at a time as its hard limit allows, 65536 at
/// most. The soft limit is low for the sake of programs that call select(2).
///
/// # Errors
/// What the system says.
pub fn raise_open_files() -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, hard.min(FILES_MAX).max(soft), hard)?)
}
