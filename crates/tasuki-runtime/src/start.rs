//! Starting and ending daemons: of this host, and of all hosts of a fleet, which get their keys then.

use crate::{Bundle, DaemonNote, RuntimeError, shelter};
use std::{
    fs,
    io::ErrorKind,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};
use tasuki_fleet::{Answer, Fleet, HostError, Task};
use tasuki_host::{RUNTIME_UNIT, daemon};

/// How long a host may take to start or end its daemon.
const LIMIT: Duration = Duration::from_secs(60);
/// How long new daemons may take to find each other before they are left to themselves.
const MEETING: Duration = Duration::from_secs(10);
/// How long to wait between two looks at whether they have.
const LOOK: Duration = Duration::from_millis(50);

/// Gives this host a bundle, and starts its daemon anew, with its jobs in `folder`. Those that run here end.
///
/// # Errors
/// If the folder cannot be written to, or the daemon does not start.
pub fn start_local(bundle: &Bundle, folder: &Path) -> Result<(), RuntimeError> {
    end_all()?;
    bundle.store(folder)?;
    start_again(folder)
}

/// Starts the daemon of this host anew, with the keys and jobs that are in `folder`. Those that run go on.
///
/// # Errors
/// If there are no keys, or the daemon does not start.
pub fn start_again(folder: &Path) -> Result<(), RuntimeError> {
    Bundle::load(folder)?;
    end_local()?;
    let folder = folder.to_string_lossy();
    let argv = ["daemon", "--background", "--state-dir", &folder];
    Ok(daemon::start(RUNTIME_UNIT, &argv, Stdio::null())?)
}

/// Ends the daemon of this host. Jobs go on for a while, and the next daemon takes them over. Returns false
/// if none ran.
///
/// # Errors
/// If it does not end.
pub fn end_local() -> Result<bool, RuntimeError> {
    daemon::systemctl("stop", RUNTIME_UNIT);
    Ok(tasuki_watch::end::<DaemonNote>()?)
}

/// Ends the daemon of this host, and what jobs have here.
fn end_all() -> Result<(), RuntimeError> {
    end_local()?;
    shelter::end_jobs(Path::new(shelter::FOLDER));
    Ok(())
}

/// Ends the daemon of this host and what jobs have here, and removes its folder: keys, jobs and their output.
///
/// # Errors
/// If it does not end, or the folder cannot be removed.
pub fn remove_local(folder: &Path) -> Result<(), RuntimeError> {
    end_all()?;
    match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(RuntimeError::File { doing: "remove", path: folder.into(), source })
        }
        _ => Ok(()),
    }
}

/// What the daemon of this host says of itself; `None`: none runs.
pub fn note() -> Option<DaemonNote> {
    tasuki_watch::said()
}

/// Starts the daemons of all hosts of a fleet, unless all run already for this very cluster, in this version.
/// They get new keys, and jobs that run end. Returns whether they were started.
///
/// # Errors
/// For the hosts on which that fails: why.
pub fn start_all(fleet: &Fleet, checksum: u32, version: &str) -> Result<bool, StartError> {
    let cluster = fleet.cluster().ok_or(StartError::NoCluster)?;
    let notes = fleet.run_all(&Task::tasuki(["daemon", "--status", "--json"]));
    let is_same = |note: &DaemonNote| note.cluster == checksum && note.version == version;
    let runs = |answer: Answer| answer.json::<Vec<DaemonNote>>().is_ok_and(|notes| notes.iter().any(is_same));
    if notes.into_iter().map(runs).filter(|runs| !runs).count() == 0 {
        return Ok(false);
    }
    let bundles = Bundle::make_all(cluster, checksum, matches!(fleet, Fleet::Lab(_)))?;
    let task = |host: usize| {
        Task::tasuki(["daemon", "--install"]).input(bundles[host].to_text()).limit(LIMIT).lasting()
    };
    let answers = fleet.run_each(task, |_| ());
    let errors: Vec<HostError> = answers.into_iter().filter_map(|answer| answer.text().err()).collect();
    if !errors.is_empty() {
        return Err(StartError::Hosts(errors));
    }
    wait_until_met(fleet);
    Ok(true)
}

/// Waits until all hosts take part, so that the first command after this finds them. Which one does not is
/// what that command says.
fn wait_until_met(fleet: &Fleet) {
    let end = Instant::now() + MEETING;
    while Instant::now() < end && fleet.run(0, &Task::tasuki(["hosts"])).text().is_err() {
        thread::sleep(LOOK);
    }
}

/// Why daemons are not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The fleet is this machine alone.
    #[error("the runtime is for the hosts of a cluster file or a lab")]
    NoCluster,
    /// There are no keys.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// It fails on hosts.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Hosts(Vec<HostError>),
}
