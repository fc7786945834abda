//! The cgroup of a job: where it is made, and what is written to its files (kernel documentation,
//! `admin-guide/cgroup-v2.rst` and `cgroup-v1/freezer-subsystem.rst`).

use crate::Residence;
use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// For this long its state is read again and again: standing still takes tens of microseconds as a rule,
/// and the kernel's own notice comes milliseconds late.
const FREEZE_SPIN: Duration = Duration::from_millis(2);
/// How long the processes of a cgroup that were killed and reaped may take to leave it.
const REMOVE_LIMIT: Duration = Duration::from_secs(20);
/// How often a name with a number behind it is tried when a job's name is taken.
const NAMES: u32 = 1000;

/// Makes a cgroup for a job, in `parent` or in the cgroup of this process; [`Residence::Processes`] if
/// there is no hierarchy in which this process may.
pub fn create(id: &str, parent: Option<&Path>) -> Residence {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let parents = match parent {
        Some(parent) => vec![parent.to_owned()],
        None => [own_folder(&mounts, &own, None), own_folder(&mounts, &own, Some("freezer"))]
            .into_iter()
            .flatten()
            .collect(),
    };
    parents.iter().find_map(|parent| create_in(parent, id)).unwrap_or(Residence::Processes)
}

fn create_in(parent: &Path, id: &str) -> Option<Residence> {
    // Containers and hosts of labs may share a kernel, and each may have a job of this name. Two that had the
    // cgroup of one name in turn would kill each other's processes: a job that is restarted makes its own
    // again. Each of them has a network of its own.
    let host = fs::metadata("/proc/thread-self/ns/net").map_or(0, |network| network.ino());
    let names = (0..NAMES).map(|number| match number {
        0 => format!("tasuki-{id}-{host}"),
        number => format!("tasuki-{id}-{host}.{number}"),
    });
    for folder in names.map(|name| parent.join(name)) {
        match fs::create_dir(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(_) => return None,
        }
        if folder.join("cgroup.kill").exists() && folder.join("cgroup.freeze").exists() {
            return Some(Residence::V2(folder));
        }
        if folder.join("freezer.state").exists() {
            return Some(Residence::V1Freezer(folder));
        }
        // Another hierarchy, or a kernel older than 5.14: nothing here that helps.
        let _ = fs::remove_dir(&folder);
        return None;
    }
    None
}

/// The folder of this process's cgroup in the unified hierarchy, or in version 1's with a controller.
fn own_folder(mounts: &str, own: &str, controller: Option<&str>) -> Option<PathBuf> {
    let has = |list: &str| controller.is_some_and(|name| list.split(',').any(|word| word == name));
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, list, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_it = if controller.is_some() { has(list) } else { number == "0" && list.is_empty() };
        is_it.then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let is_it = match (after.next()?, controller) {
            ("cgroup2", None) => true,
            ("cgroup", Some(_)) => has(after.nth(1)?),
            _ => false,
        };
        let mut before = before.split(' ').skip(3);
        let (root, point) = (before.next()?, before.next()?);
        let below = Path::new(path).strip_prefix(root).ok()?;
        is_it.then(|| Path::new(point).join(below))
    })
}

/// The file to which a process writes 0 to enter the cgroup.
pub fn door(residence: &Residence) -> Option<PathBuf> {
    folder(residence).map(|folder| folder.join("cgroup.procs"))
}

fn folder(residence: &Residence) -> Option<&Path> {
    match residence {
        Residence::V2(folder) | Residence::V1Freezer(folder) => Some(folder),
        Residence::Processes => None,
    }
}

/// The processes in the cgroup and in those below it. One of another PID namespace, which has the number
/// 0 here, cannot be signalled by it: 0 would be the caller's own process group.
pub fn members(residence: &Residence) -> Vec<i32> {
    let mut found = Vec::new();
    for folder in folder(residence).map(tree).unwrap_or_default() {
        let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        found.extend(text.lines().filter_map(|line| line.parse().ok()).filter(|pid: &i32| *pid > 0));
    }
    found
}

/// A cgroup and those below it, the lowest first.
fn tree(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut found: Vec<PathBuf> = entries.filter(is_folder).flat_map(|entry| tree(&entry.path())).collect();
    found.push(folder.to_owned());
    found
}

/// Tells the kernel that all processes of a cgroup are to stand still, or to go on, and does not wait.
///
/// # Errors
/// If the kernel refuses.
pub fn begin_freeze(residence: &Residence, frozen: bool) -> io::Result<()> {
    let (file, words) = match residence {
        Residence::V2(folder) => (folder.join("cgroup.freeze"), ["0", "1"]),
        Residence::V1Freezer(folder) => (folder.join("freezer.state"), ["THAWED", "FROZEN"]),
        Residence::Processes => return Ok(()),
    };
    fs::write(file, words[usize::from(frozen)])
}

/// Has all processes of a cgroup stand still, and returns true when they do. False: some do not within this
/// time, and will as soon as the kernel is done with what it does for them: a process in the midst of a call
/// to a dead file server can make that take for ever.
///
/// # Errors
/// If the kernel refuses.
pub fn freeze(residence: &Residence, limit: Duration) -> io::Result<bool> {
    begin_freeze(residence, true)?;
    let (folder, state, wanted) = match residence {
        Residence::V2(folder) => (folder, "cgroup.events", "frozen 1"),
        Residence::V1Freezer(folder) => (folder, "freezer.state", "FROZEN"),
        Residence::Processes => return Ok(true),
    };
    let begin = Instant::now();
    while !fs::read_to_string(folder.join(state))?.lines().any(|line| line == wanted) {
        match begin.elapsed() {
            elapsed if elapsed > limit => return Ok(false),
            elapsed if elapsed > FREEZE_SPIN => thread::sleep(Duration::from_micros(200)),
            _ => thread::yield_now(),
        }
    }
    Ok(true)
}

/// Kills all processes of a cgroup of version 2 at once, so that none can fork away. In version 1 the
/// caller has frozen them, signals [`members`] and has them go on.
///
/// # Errors
/// If the kernel refuses.
pub fn kill(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("cgroup.kill"), "1")
}

/// Removes the cgroup and those below it. There is nothing to do if it is gone.
///
/// # Errors
/// If processes are in it.
pub fn remove(residence: &Residence) -> io::Result<()> {
    for folder in folder(residence).map(tree).unwrap_or_default() {
        let begin = Instant::now();
        while let Err(error) = fs::remove_dir(&folder) {
            match error.kind() {
                io::ErrorKind::NotFound => break,
                // A process that has just died is still being taken out.
                io::ErrorKind::ResourceBusy if begin.elapsed() < REMOVE_LIMIT => {
                    thread::sleep(Duration::from_millis(1));
                }
                _ => return Err(error),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Lines of Debian 12 with both versions mounted, of one with version 2 alone, and of a container that
    // sees a part of the hierarchy.
    #[test]
    fn the_own_folder_is_found_in_every_arrangement() {
        let mounts = "30 24 0:27 / /sys/fs/cgroup/freezer rw,relatime shared:9 - cgroup cgroup rw,freezer\n\
                      31 24 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let own = "9:name=systemd:/\n6:freezer:/a b/c\n0::/x\n";
        let v2 = own_folder(mounts, own, None);
        assert_eq!(v2, Some("/sys/fs/cgroup/unified/x".into()));
        let v1 = own_folder(mounts, own, Some("freezer"));
        assert_eq!(v1, Some("/sys/fs/cgroup/freezer/a b/c".into()));
        let mounts = "31 24 0:28 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let own = "0::/docker/1/job\n";
        assert_eq!(own_folder(mounts, own, None), Some("/sys/fs/cgroup/job".into()));
        assert_eq!(own_folder(mounts, own, Some("freezer")), None);
        assert_eq!(own_folder("", own, None), None);
    }
}
