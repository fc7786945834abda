//! Which of the machine's cores a host has.
//!
//! Programs in a host take the machine to be theirs alone, and so spin. Left to itself, the kernel may keep
//! two spinning programs on one core for a long time while another core is free, and they take turns of
//! milliseconds. So every host has cores of its own, as long as there are at least as many cores as hosts.

use super::outcome::{Outcome, while_doing};
use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};
use std::ops::Range;

/// Keeps this process, and all that it starts, on the cores of host `number` of `hosts`.
pub fn keep_to(number: usize, hosts: usize) -> Outcome<()> {
    let own = Pid::from_raw(0);
    let all = sched_getaffinity(own).map_err(while_doing("ask for the cores"))?;
    let cores: Vec<usize> = (0..CpuSet::count()).filter(|core| all.is_set(*core) == Ok(true)).collect();
    let Some(share) = share(cores.len(), number, hosts) else { return Ok(()) };
    let mut set = CpuSet::new();
    for core in &cores[share] {
        set.set(*core).map_err(while_doing("choose cores"))?;
    }
    sched_setaffinity(own, &set).map_err(while_doing("keep to a host's cores"))
}

/// The share of so many cores that a host gets; `None` if there are more hosts than cores, which then share
/// all of them.
/// share them all.
fn share(cores: usize, number: usize, hosts: usize) -> Option<Range<usize>> {
    (hosts > 1 && number < hosts && hosts <= cores)
        .then(|| cores * number / hosts..cores * (number + 1) / hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_core_has_one_host_and_every_host_a_core() {
        for cores in 1..40 {
            for hosts in 2..=cores {
                let shares: Vec<_> = (0..hosts).filter_map(|number| share(cores, number, hosts)).collect();
                assert_eq!(shares.len(), hosts);
                assert!(shares.iter().all(|share| !share.is_empty()));
                assert!(shares.into_iter().flatten().eq(0..cores));
            }
        }
        assert_eq!(share(2, 0, 3), None);
        assert_eq!(share(8, 0, 1), None);
    }
}
