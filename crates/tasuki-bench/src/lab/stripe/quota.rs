//! A slower processor: control groups that let a process run for a part of the time only. They end with their
//! value; those that a killed command has left behind are removed by the next one.

use crate::BenchError;
use nix::{errno::Errno, sys::signal::kill, unistd::Pid};
use std::{
    fs,
    path::{Path, PathBuf},
    process,
};

/// How the names of the groups begin.
const NAME: &str = "tasuki-bench";
/// Shortest time that the kernel grants in a period, us (`min_cfs_quota_period`).
const QUOTA_MIN_US: f64 = 1000.0;
/// Period in which a process gets its part, us: short, so that buffers reach over the pause.
const PERIOD_US: f64 = 20_000.0;
/// Longest period that the kernel takes, us.
const PERIOD_MAX_US: f64 = 1_000_000.0;

/// How far the share of a processor goes down or up while only one end of the range is known.
const STEPS: (f64, f64) = (0.85, 1.15);

/// What a share of a processor proved to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tried {
    /// More NICs bring more.
    TooFast,
    /// Fewer NICs are not used in full.
    TooSlow,
    /// It is the one that is sought.
    Right,
}

/// A share of a processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quota {
    /// The share, per cent.
    pub percent: f64,
    /// Whether it was given, or proved to be the right one.
    pub is_found: bool,
}

impl Quota {
    /// Tries shares from this one on, at most so many, until one is right. None that was right: the last one
    /// that was tried.
    pub fn sought(
        first: f64,
        most: u32,
        mut tried: impl FnMut(f64) -> Result<Tried, BenchError>,
    ) -> Result<Self, BenchError> {
        let (mut too_slow, mut too_fast, mut percent): (Option<f64>, Option<f64>, f64) = (None, None, first);
        for step in 1..=most {
            match tried(percent)? {
                Tried::Right => return Ok(Self { percent, is_found: true }),
                Tried::TooFast => too_fast = Some(percent),
                Tried::TooSlow => too_slow = Some(percent),
            }
            let next = match (too_slow, too_fast) {
                // The right one lies between: steps of one width could go to and fro beside it.
                (Some(low), Some(high)) if low < high => (low * high).sqrt(),
                (_, Some(high)) if high == percent => percent * STEPS.0,
                _ => (percent * STEPS.1).min(100.0),
            };
            if step == most || next == percent {
                break;
            }
            percent = next;
        }
        Ok(Self { percent, is_found: false })
    }

    /// What a reader must know of a share that did not prove to be the right one.
    pub fn note(&self) -> Option<String> {
        let text = format!(
            "no slow processor was found on which a third NIC brings nothing and two bring what they can: \
             {:.1} % of one, tried last, is none; give another with --quota",
            self.percent
        );
        (!self.is_found).then_some(text)
    }
}

/// A group for each of two sides.
pub(in crate::lab) struct Quotas {
    /// Folders of the two groups.
    groups: [PathBuf; 2],
    /// Whether they follow the rules of version 2.
    is_v2: bool,
}

impl Quotas {
    /// Makes the groups, each with this share of one processor, in per cent.
    pub fn new(percent: f64) -> Result<Self, BenchError> {
        let (root, is_v2) = controller(&fs::read_to_string("/proc/mounts")?).ok_or_else(|| {
            BenchError::refused(
                "no control group for processor time is mounted (cpu, below /sys/fs/cgroup): a slow \
                 processor cannot be had; measure with --cpu fast",
            )
        })?;
        remove_left_behind(&root);
        let group = |side: &str| root.join(format!("{NAME}-{}-{side}", process::id()));
        let quotas = Self { groups: [group("sender"), group("receiver")], is_v2 };
        if is_v2 {
            // The controller is usually on already. Where it is refused, the files below are missing, which
            // is reported then.
            let _ = fs::write(root.join("cgroup.subtree_control"), "+cpu");
        }
        for group in &quotas.groups {
            fs::create_dir(group)
                .map_err(|error| BenchError::refused(format!("cannot make {}: {error}", group.display())))?;
        }
        quotas.set(percent)?;
        Ok(quotas)
    }

    /// Sets the share of both sides, in per cent of one processor.
    pub fn set(&self, percent: f64) -> Result<(), BenchError> {
        let (quota, period) = times(percent);
        for group in &self.groups {
            let write = |name: &str, text: String| {
                let path = group.join(name);
                fs::write(&path, text)
                    .map_err(|error| BenchError::refused(format!("cannot write {}: {error}", path.display())))
            };
            if self.is_v2 {
                write("cpu.max", format!("{quota} {period}"))?;
            } else {
                // The limit is lifted first, because the kernel checks quota and period against each other.
                write("cpu.cfs_quota_us", "-1".into())?;
                write("cpu.cfs_period_us", period.to_string())?;
                write("cpu.cfs_quota_us", quota.to_string())?;
            }
        }
        Ok(())
    }

    /// The file of members of a side (0 or 1), into which a process writes `0` to join.
    pub fn members(&self, side: usize) -> PathBuf {
        self.groups[side].join("cgroup.procs")
    }
}

impl Drop for Quotas {
    fn drop(&mut self) {
        for group in &self.groups {
            // Its processes have ended by now; if not, the group stays, and the next command removes it.
            let _ = fs::remove_dir(group);
        }
    }
}

/// Quota and period of a share in per cent, us: the period is as short as the least quota allows.
fn times(percent: f64) -> (u64, u64) {
    let share = percent / 100.0;
    let period = (QUOTA_MIN_US / share).clamp(PERIOD_US, PERIOD_MAX_US);
    ((period * share).max(QUOTA_MIN_US).round() as u64, period.round() as u64)
}

/// Where groups for processor time are made, and whether by the rules of version 2 (cgroups(7)), from the
/// text of `/proc/mounts`.
fn controller(mounts: &str) -> Option<(PathBuf, bool)> {
    let fields = || mounts.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let of_kind = |kind: &'static str| fields().filter(move |fields| fields.get(2) == Some(&kind));
    let old = of_kind("cgroup")
        .find(|fields| fields.get(3).is_some_and(|options| options.split(',').any(|it| it == "cpu")));
    if let Some(fields) = old {
        return Some((fields[1].into(), false));
    }
    let has_cpu = |root: &str| {
        let controllers = fs::read_to_string(Path::new(root).join("cgroup.controllers")).unwrap_or_default();
        controllers.split_whitespace().any(|it| it == "cpu")
    };
    of_kind("cgroup2").find(|fields| has_cpu(fields[1])).map(|fields| (fields[1].into(), true))
}

/// Removes groups of commands that have ended.
fn remove_left_behind(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner =
            name.to_str().and_then(|name| name.strip_prefix(NAME)?.strip_prefix('-')?.split('-').next());
        let owner = owner.and_then(|owner| owner.parse().ok()).map(Pid::from_raw);
        if owner.is_some_and(|owner| kill(owner, None) == Err(Errno::ESRCH)) {
            // It fails if another command removes the same group at this moment.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each try of a search told, where these shares are right.
    fn search(first: f64, right: std::ops::Range<f64>) -> (Quota, Vec<f64>) {
        let mut shares = Vec::new();
        let quota = Quota::sought(first, 8, |percent| {
            shares.push(percent);
            Ok(match right.contains(&percent) {
                true => Tried::Right,
                false if percent < right.start => Tried::TooSlow,
                false => Tried::TooFast,
            })
        });
        (quota.expect("nothing fails"), shares)
    }

    #[test]
    fn a_share_is_found_only_if_it_was_tried_and_is_right() {
        for (first, right) in [(40.0, 20.0..22.0), (10.0, 20.0..24.0), (40.0, 39.0..41.0), (50.0, 46.0..47.0)]
        {
            let (quota, shares) = search(first, right.clone());
            assert!(quota.is_found && right.contains(&quota.percent), "{first}, {right:?}: {shares:?}");
            assert_eq!(quota.note(), None);
        }
        // A third NIC always brings something; two never bring what they can, though nothing holds them back.
        for (first, right) in [(40.0, 0.0..0.1), (90.0, 200.0..300.0)] {
            let (quota, shares) = search(first, right);
            assert!(!quota.is_found && shares.len() <= 8, "{shares:?}");
            assert_eq!(Some(&quota.percent), shares.last(), "it was tried");
            assert!(shares.iter().all(|share| *share <= 100.0), "{shares:?}");
            assert!(quota.note().is_some_and(|note| note.contains("--quota")));
        }
    }

    #[test]
    fn shares_become_times_that_the_kernel_takes() {
        assert_eq!(times(10.0), (2000, 20_000));
        assert_eq!(times(5.0), (1000, 20_000));
        assert_eq!(times(2.0), (1000, 50_000));
        assert_eq!(times(0.01), (1000, 1_000_000));
        assert_eq!(times(100.0), (20_000, 20_000));
    }

    #[test]
    fn the_controller_is_found_where_it_is_mounted() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n\
            cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\n";
        assert_eq!(controller(mounts), Some(("/sys/fs/cgroup/cpu".into(), false)));
        assert_eq!(controller("proc /proc proc rw 0 0\n"), None);
    }
}
