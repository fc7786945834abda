//! This machine.

use nix::unistd::gethostname;
use std::{ffi::OsStr, process::Command};

/// The name of this machine without its domain.
pub fn host_name() -> String {
    let name = gethostname().unwrap_or_default();
    let name = name.to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// A command that runs this very program again, on this machine.
pub fn this_program(argv: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(argv);
    command
}
