//! The cores of this host.

use nix::{
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};

/// Number of cores that ranks may use.
pub(crate) fn cores() -> u32 {
    let allowed = sched_getaffinity(Pid::from_raw(0));
    let count =
        |set: CpuSet| (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or(false)).count() as u32;
    allowed.map_or(1, count).max(1)
}
