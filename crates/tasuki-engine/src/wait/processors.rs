//! What the kernel tells about processors: which ones this process may use, how many threads want to run, and
//! how long this thread has waited for one.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::{Pid, SysconfVar, sysconf};
use tasuki_proto::Time;
use tasuki_tuning::oversubscription;

/// The processors that this process may use.
#[derive(Default)]
pub(super) struct Processors {
    /// The affinity mask of this thread.
    mask: Vec<usize>,
    /// Processors of the machine that are online.
    online: usize,
    /// What the cgroups allow, in processors; `None`: all the time of all processors.
    quota: Option<f64>,
    quota_read: Option<Time>,
}

impl Processors {
    /// Reads the affinity mask, and now and then the quota, and gives how many processors may be used: at
    /// least 1.
    pub fn usable(&mut self, now: Time) -> u32 {
        let online = sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
        self.online = online.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
        self.mask = affinity_of(0).unwrap_or_default();
        if self.quota_read.is_none_or(|read| now.since_ns(read) >= oversubscription::QUOTA_HOLDS_NS) {
            (self.quota, self.quota_read) = (cgroup_quota(Path::new("/sys/fs/cgroup")), Some(now));
        }
        let masked = if self.mask.is_empty() { self.online } else { self.mask.len() };
        let allowed = self.quota.map_or(usize::MAX, |quota| quota.ceil() as usize);
        u32::try_from(masked.min(allowed)).unwrap_or(u32::MAX).max(1)
    }

    /// Whether neither mask nor quota keeps this process from any processor of the machine.
    pub fn are_all(&self) -> bool {
        let quota = self.quota.is_none_or(|quota| quota >= self.online as f64);
        (self.mask.is_empty() || self.mask.len() >= self.online) && quota
    }

    /// How much of one thread with the affinity mask `theirs` is to be expected on our processors: the part
    /// of its mask that is in ours.
    pub fn share_of(&self, theirs: &[usize]) -> f64 {
        let common = theirs.iter().filter(|cpu| self.mask.contains(cpu)).count();
        if theirs.is_empty() { 0.0 } else { common as f64 / theirs.len() as f64 }
    }
}

/// The processors that a process may use, by number; 0 means the calling thread. `None`: there is no such
/// process.
pub(super) fn affinity_of(pid: i32) -> Option<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(pid)).ok()?;
    Some((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu) == Ok(true)).collect())
}

/// How many processors the cgroups of this process allow in all, if any limits them (cgroup v2: `cpu.max`;
/// v1: `cpu.cfs_quota_us`).
fn cgroup_quota(root: &Path) -> Option<f64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().filter_map(|text| quota_of_line(root, text)).min_by(f64::total_cmp)
}

/// The least quota of one hierarchy, given by a line of cgroups(7)
/// `hierarchy-ID:controller-list:cgroup-path`.
fn quota_of_line(root: &Path, text: &str) -> Option<f64> {
    let mut fields = text.splitn(3, ':');
    let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let mounts: &[&str] = match controllers {
        "" => &["", "unified"],
        list if list.split(',').any(|one| one == "cpu") => &["cpu", "cpu,cpuacct"],
        _ => return None,
    };
    let chain = |mount: &&str| {
        let base = root.join(mount);
        let group = base.join(path.trim_start_matches('/'));
        let groups: Vec<PathBuf> = group.ancestors().map(Path::to_owned).collect();
        groups.into_iter().take_while(move |group| group.starts_with(&base))
    };
    mounts.iter().flat_map(chain).filter_map(|group| quota_of_group(&group)).min_by(f64::total_cmp)
}

fn quota_of_group(group: &Path) -> Option<f64> {
    let read = |name| std::fs::read_to_string(group.join(name)).ok();
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number > 0.0);
    if let Some(text) = read("cpu.max") {
        let (quota, period) = text.split_once(' ')?;
        return Some(number(quota)? / number(period)?);
    }
    // Without a limit the quota is -1.
    Some(number(&read("cpu.cfs_quota_us")?)? / number(&read("cpu.cfs_period_us")?)?)
}

/// How many threads of the machine want to run.
#[derive(Default)]
pub(super) struct RunningThreads(Option<Option<File>>);

impl RunningThreads {
    /// Threads that run or wait for a processor, the calling one included. `None` without `/proc`.
    pub fn count(&mut self) -> Option<u32> {
        let file = self.0.get_or_insert_with(|| File::open("/proc/loadavg").ok()).as_ref()?;
        let mut text = [0; 64];
        let len = file.read_at(&mut text, 0).ok()?;
        running(&text[..len])
    }
}

/// The number before the slash in `0.20 0.18 0.12 1/80 11206` (proc_loadavg(5)).
fn running(loadavg: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(loadavg).ok()?;
    text.split_whitespace().nth(3)?.split('/').next()?.parse().ok()
}

/// How long the asking thread has waited for a processor.
#[derive(Default)]
pub(super) struct RunDelay {
    last: Option<(Time, u64)>,
}

impl RunDelay {
    /// The part of the time since the last call in which this thread wanted to run and did not, 0 to 1.
    /// `None` at the first call, if hardly any time has passed, if another thread asked last, or where the
    /// kernel does not count it.
    pub fn share_since_last(&mut self, now: Time) -> Option<f64> {
        let text = std::fs::read("/proc/thread-self/schedstat").ok()?;
        let waited = run_delay(&text)?;
        let (then, before) = self.last.replace((now, waited))?;
        let elapsed = now.since_ns(then);
        // Another thread's count may be anything; one that could be ours has grown by no more than the time.
        let delay = waited.checked_sub(before).filter(|delay| *delay <= elapsed)?;
        (elapsed > 0).then(|| delay as f64 / elapsed as f64)
    }
}

/// The second number of `schedstat` (Documentation/scheduler/sched-stats.rst): time spent waiting on a run
/// queue, ns.
fn run_delay(schedstat: &[u8]) -> Option<u64> {
    std::str::from_utf8(schedstat).ok()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fourth_word_of_loadavg_tells_how_many_threads_run() {
        // The example of proc_loadavg(5), and text that is none.
        assert_eq!(running(b"0.20 0.18 0.12 1/80 11206\n"), Some(1));
        assert_eq!(running(b"0.00 0.01 0.05 13/1024 7\n"), Some(13));
        for nonsense in [&b""[..], b"0.20 0.18 0.12", b"0.20 0.18 0.12 x/80 1", b"\xff"] {
            assert_eq!(running(nonsense), None);
        }
    }

    #[test]
    fn the_second_word_of_schedstat_is_the_delay() {
        assert_eq!(run_delay(b"5000 76795 1\n"), Some(76_795));
        assert_eq!(run_delay(b"5000"), None);
    }

    #[test]
    fn quotas_of_both_versions_of_cgroups_are_found_and_the_least_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("job/cpu.max", "200000 100000\n");
        write("job/rank/cpu.max", "max 100000\n");
        assert_eq!(quota_of_line(root.path(), "0::/job/rank"), Some(2.0));
        assert_eq!(quota_of_line(root.path(), "0::/"), None, "no limit");
        write("cpu/box/cpu.cfs_quota_us", "150000\n");
        write("cpu/box/cpu.cfs_period_us", "100000\n");
        assert_eq!(quota_of_line(root.path(), "4:cpu,cpuacct:/box"), Some(1.5));
        write("cpu/box/cpu.cfs_quota_us", "-1\n");
        assert_eq!(quota_of_line(root.path(), "4:cpu,cpuacct:/box"), None, "no limit");
        assert_eq!(quota_of_line(root.path(), "5:memory:/box"), None, "another controller");
    }

    #[test]
    fn a_thread_that_may_use_other_processors_takes_nothing_from_us() {
        let ours = Processors { mask: vec![0, 1], ..Processors::default() };
        assert_eq!(ours.share_of(&[0, 1]), 1.0);
        assert_eq!(ours.share_of(&[1, 2, 3, 4]), 0.25);
        assert_eq!(ours.share_of(&[2, 3]), 0.0);
    }
}
