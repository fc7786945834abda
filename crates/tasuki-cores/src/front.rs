//! What stands in front of a rank's program.

use std::ffi::OsString;

/// The environment variable in which a rank has the name that its host's kernel gives the host.
pub(crate) const HOST: &str = "TASUKI_CORES_HOST";
/// What the shell is called in lists of processes.
const NAME: &str = "tasuki-cores";
/// What the shell does: the limit is lifted as far as it may be, and the program takes the shell's place.
const SCRIPT: &str = "ulimit -c unlimited 2>/dev/null || ulimit -S -c \"$(ulimit -H -c)\"; \
    read -r TASUKI_CORES_HOST </proc/sys/kernel/hostname; export TASUKI_CORES_HOST; exec \"$@\"";

/// The words before a program and its arguments with which its ranks may leave core files that say whose they
/// are.
pub fn front() -> Vec<OsString> {
    ["/bin/sh", "-c", SCRIPT, NAME].map(OsString::from).to_vec()
}
