//! Real cgroups (cgroups(7)): what a process may use there, and whether it knows that it is one of too many.
//! Each test runs itself as a child, which enters a group that the test has made.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, id};

use super::oversubscription::Oversubscription;
use super::oversubscription::tests::{Spinners, poll};
use super::processors::{Processors, affinity_of};
use crate::clock::Clock;
use tasuki_proto::Time;

/// The variable that tells a child which group it enters.
const GROUP: &str = "TASUKI_TEST_CGROUP";

/// A group of one controller, which is removed with its value.
struct Group(PathBuf);

impl Group {
    /// Makes a group. `None`, after a note, if that is not possible: without root, in a container, or if the
    /// controller is elsewhere.
    fn new(controller: &str, test: &str) -> Option<Group> {
        let made = Group::make(controller, test);
        if let Err(why) = &made {
            eprintln!("skipped: {test} needs root and a cgroup of its own ({controller}): {why}");
        }
        made.ok()
    }

    fn make(controller: &str, test: &str) -> Result<Group, String> {
        let mounts = fs::read_to_string("/proc/mounts").map_err(|error| error.to_string())?;
        let root = mounts.lines().find_map(|mount| {
            let fields: Vec<_> = mount.split(' ').collect();
            let &[_, at, kind, options, ..] = &fields[..] else { return None };
            let has = match kind {
                "cgroup" => options.split(',').any(|option| option == controller),
                "cgroup2" => fs::read_to_string(format!("{at}/cgroup.controllers"))
                    .is_ok_and(|all| all.split_whitespace().any(|one| one == controller)),
                _ => false,
            };
            has.then(|| (PathBuf::from(at), kind == "cgroup2"))
        });
        let (root, is_v2) = root.ok_or("it is not mounted")?;
        if is_v2 {
            // The controller is usually on already. Where it is refused, the files of the group are missing.
            let _ = fs::write(root.join("cgroup.subtree_control"), format!("+{controller}"));
        }
        let group = root.join(format!("tasuki-test-{}-{test}", id()));
        fs::create_dir(&group).map_err(|error| format!("{}: {error}", group.display()))?;
        Ok(Group(group))
    }

    /// Writes a setting by its name in version 2 or in version 1.
    fn set(&self, v2: (&str, &str), v1: &[(&str, &str)]) {
        let settings = if self.0.join(v2.0).exists() && v1.iter().all(|one| !self.0.join(one.0).exists()) {
            &[v2][..]
        } else {
            v1
        };
        for (name, value) in settings {
            fs::write(self.0.join(name), value).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    /// Runs a test of this program as a child inside.
    fn run(&self, test: &str) {
        let mut child = Command::new(std::env::current_exe().expect("a path"));
        let name = format!("{}::{test}", module_path!().split_once("::").expect("a module").1);
        child.args(["--exact", &name]).env(GROUP, &self.0);
        let ran = child.output().expect("runs");
        let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && said.contains("1 passed"), "{said}");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A child that has failed may still be in it for a moment; then it stays, empty, and harms nothing.
        let _ = fs::remove_dir(&self.0);
    }
}

/// If this is the child: enters the group.
fn enter() -> bool {
    let Some(group) = std::env::var_os(GROUP) else { return false };
    fs::write(PathBuf::from(group).join("cgroup.procs"), id().to_string()).expect("enters");
    true
}

/// How many processors may be used, and whether those are all of the machine.
fn usable() -> (u32, bool) {
    let mut processors = Processors::default();
    (processors.usable(Time(1)), processors.are_all())
}

/// Whether a thread finds, within some looks, that more want to run here than may.
fn is_oversubscribed() -> bool {
    let (processors, clock) = (Oversubscription::new(false), Clock::new());
    (0..100).any(|_| poll(&processors, clock).0 > 0)
}

/// `cpu.max` of half a processor's time: two threads are too many there, however many processors are idle.
#[test]
fn a_quota_of_one_processor_makes_two_threads_too_many() {
    let test = "a_quota_of_one_processor_makes_two_threads_too_many";
    if enter() {
        assert_eq!(usable(), (1, false), "half a processor, rounded up");
        let _ranks = Spinners::new(None, 1);
        assert!(is_oversubscribed());
        return;
    }
    let before = usable();
    let Some(group) = Group::new("cpu", test) else { return };
    let half = "50000 100000";
    group.set(("cpu.max", half), &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "50000")]);
    group.run(test);
    assert_eq!(usable(), before, "this process is outside");
}

/// A cpuset of one processor: as few as a mask of one.
#[test]
fn a_cpuset_of_one_processor_makes_two_threads_too_many() {
    let test = "a_cpuset_of_one_processor_makes_two_threads_too_many";
    if enter() {
        assert_eq!(usable().0, 1);
        let _ranks = Spinners::new(None, 1);
        assert!(is_oversubscribed());
        return;
    }
    let mask = affinity_of(0).expect("a mask");
    let Some(group) = Group::new("cpuset", test) else { return };
    let ours = mask[0].to_string();
    group.set(("cpuset.cpus", &ours), &[("cpuset.cpus", &ours), ("cpuset.mems", "0")]);
    group.run(test);
    assert_eq!(affinity_of(0), Some(mask), "this process is outside");
}
