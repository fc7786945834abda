//! The processes of a job: which they are, and how they stand still and go on.

use crate::shelter::name;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use tasuki_control::JobId;
use tasuki_shepherd::{is_of_job, is_of_this_host};

/// How often, and how long apart, processes are looked for that were killed and have not ended.
const ROUNDS: u32 = 200;
const ROUND: Duration = Duration::from_millis(10);
/// How often, and how long apart, is looked whether numbers of processes are free: 5 s.
const TRIES: u32 = 50;
const TRY: Duration = Duration::from_millis(100);

/// A shepherd and all processes below it.
pub(crate) fn of_shepherd(shepherd: i32) -> Vec<i32> {
    let mut found = vec![shepherd];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        let new: Vec<i32> = children(pid).into_iter().filter(|child| !found.contains(child)).collect();
        found.extend(new);
    }
    found
}

/// The children of a process; the kernel lists those of each thread (proc(5)).
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    texts
        .flat_map(|text| text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<i32>>())
        .collect()
}

/// Whether ranks of a shepherd that stands still have ended without its having seen that, or all have: who
/// began such a job again would only see it fail again.
pub(super) fn has_lost(shepherd: i32) -> bool {
    let ranks = children(shepherd);
    ranks.is_empty() || ranks.into_iter().any(has_ended)
}

/// Whether a process has ended, and nobody has waited for it yet (proc(5): the state stands behind the name).
fn has_ended(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

/// Has a shepherd and all processes below it go on. One that runs is not changed by that.
pub(crate) fn go_on(shepherd: i32) {
    // The shepherd last, so that what it looks at runs already.
    for pid in of_shepherd(shepherd).into_iter().rev() {
        let _ = kill(Pid::from_raw(pid), Signal::SIGCONT);
    }
}

/// The programs of the processes that a restart leaves half made.
pub(super) struct Makers<'a> {
    /// CRIU, until a process has its own program.
    pub criu: &'a Path,
    /// That of the shepherd, which is this one.
    pub own: PathBuf,
}

/// Kills those of the processes of a job that were made again, the shepherd among them, and waits until they
/// are gone. Another process may have taken the number of one since it was free: it is left alone.
pub(super) fn end(processes: &[i32], shepherd: i32, job: JobId, makers: &Makers) {
    let known = processes.iter().filter(|pid| is_of(**pid, shepherd, job, makers));
    // A rank that has cleared its environment is known by the process that started it.
    let family: Vec<i32> = known.flat_map(|pid| of_shepherd(*pid)).collect();
    let own: Vec<i32> = processes.iter().copied().filter(|pid| family.contains(pid)).collect();
    for pid in &own {
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
    let lives = |pid: &i32| Path::new(&format!("/proc/{pid}")).exists();
    for _ in 0..ROUNDS {
        if !own.iter().any(lives) {
            return;
        }
        thread::sleep(ROUND);
    }
}

/// Whether a process of this host is one of a job, its shepherd, or one that CRIU has not made to the end.
/// Other jobs have shepherds and CRIU at work as well: this daemon's, of which the job's own CRIU has ended.
fn is_of(pid: i32, shepherd: i32, job: JobId, makers: &Makers) -> bool {
    let folder = format!("/proc/{pid}");
    let runs = |program: &Path| fs::canonicalize(program).is_ok_and(|program| is_program(&folder, &program));
    let is_made = || runs(makers.criu) || pid == shepherd && runs(&makers.own);
    is_of_this_host(pid) && (is_of_job(pid, &name(job)) || is_made() && !is_below_this(pid))
}

/// Whether a process was started by this one, or by one that it started and that has not ended.
fn is_below_this(pid: i32) -> bool {
    let mut known = vec![pid];
    while let Some(parent) = known.last().and_then(|pid| parent(*pid)).filter(|pid| !known.contains(pid)) {
        if parent == process::id() as i32 {
            return true;
        }
        known.push(parent);
    }
    false
}

/// The parent of a process (proc(5): its number stands behind the state, which stands behind the name).
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Whether a process runs a program. That of a process which is ending cannot be told any more.
fn is_program(folder: &str, program: &Path) -> bool {
    fs::read_link(format!("{folder}/exe")).is_ok_and(|runs| runs == program)
}

/// Waits until processes can have these numbers again: what took one may be a command that ends at once.
pub(super) fn wait_free(processes: &[i32], stop: &AtomicBool) -> Result<(), String> {
    for _ in 1..TRIES {
        if are_free(processes).is_ok() || stop.load(Ordering::Relaxed) {
            break;
        }
        thread::sleep(TRY);
    }
    are_free(processes)
}

/// Whether processes can have these numbers again.
fn are_free(processes: &[i32]) -> Result<(), String> {
    // A thread has a number of the same kind, and no folder that a listing shows.
    let folder = |pid: &i32| format!("/proc/{pid}");
    let Some(pid) = processes.iter().find(|pid| Path::new(&folder(pid)).exists()) else { return Ok(()) };
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let user = fs::metadata(folder(pid)).map(|known| format!(" of user {}", known.uid())).unwrap_or_default();
    Err(format!(
        "the process number {pid}, which one of the job's had, is taken by {:?}{user}: restart the job when \
         that has ended",
        name.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::Read,
        os::unix::process::ExitStatusExt,
        process::{Command, Stdio},
    };
    use tasuki_shepherd::JOB_ID;

    #[test]
    fn a_rank_that_has_ended_is_seen_before_its_shepherd_sees_it() {
        let mut shepherd = Command::new("/bin/sh");
        // A shell waits for its children only when it is told to, or starts another one.
        shepherd.args(["-c", "sleep 1000 & echo $!; read x"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shepherd = shepherd.spawn().expect("sh starts");
        let mut said = [0; 16];
        let length = shepherd.stdout.as_mut().expect("a pipe").read(&mut said).expect("it says a number");
        let rank: i32 = String::from_utf8_lossy(&said[..length]).trim().parse().expect("a number");
        let pid = shepherd.id() as i32;
        assert_eq!((of_shepherd(pid), has_lost(pid)), (vec![pid, rank], false));
        kill(Pid::from_raw(rank), Signal::SIGKILL).expect("it is there");
        while !has_ended(rank) {
            thread::sleep(ROUND);
        }
        assert!(has_lost(pid));
        drop(shepherd.stdin.take());
        shepherd.wait().expect("it ends");
        assert!(has_lost(pid), "without ranks nothing is worth saving");
    }

    /// Programs that every host has, and which wait for input.
    fn makers() -> Makers<'static> {
        Makers { criu: Path::new("/bin/cat"), own: "/bin/bash".into() }
    }

    #[test]
    fn a_stranger_that_has_taken_a_number_is_left_alone() {
        let waits_for_input = |job: JobId| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "echo; read x"]).env_clear().env(JOB_ID, name(job));
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sh starts");
            // It has its environment only when it has begun.
            child.stdout.take().expect("a pipe").read_exact(&mut [0]).expect("it says something");
            child
        };
        let (mut own, mut other) = (waits_for_input(7), waits_for_input(77));
        // It would be closed by the wait for the process, which would end by itself then.
        let input = own.stdin.take();
        let pids = [own.id() as i32, other.id() as i32];
        let waits = thread::spawn(move || end(&pids, pids[0], 7, &makers()));
        assert_eq!(own.wait().expect("it was killed").signal(), Some(Signal::SIGKILL as i32));
        drop(input);
        waits.join().expect("no panic");
        assert_eq!(other.try_wait().expect("it is there"), None);
        other.kill().expect("it runs");
        other.wait().expect("it ends");
    }

    #[test]
    fn a_rank_that_has_cleared_its_environment_is_ended_with_its_shepherd() {
        let mut shepherd = Command::new("/bin/sh");
        shepherd.args(["-c", "env -i /bin/sh -c 'echo $$; read x'; true"]).env(JOB_ID, name(7));
        let mut shepherd = shepherd.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sh starts");
        let mut said = [0; 16];
        let length = shepherd.stdout.as_mut().expect("a pipe").read(&mut said).expect("it says a number");
        let rank: i32 = String::from_utf8_lossy(&said[..length]).trim().parse().expect("a number");
        // It would be closed by the wait for the process, which would end by itself then.
        let input = shepherd.stdin.take();
        let pids = [shepherd.id() as i32, rank];
        let waits = thread::spawn(move || end(&pids, pids[0], 7, &makers()));
        let ended = shepherd.wait();
        waits.join().expect("no panic");
        assert_eq!(ended.expect("it was killed").signal(), Some(Signal::SIGKILL as i32));
        assert!(has_ended(rank));
        drop(input);
    }

    /// Starts `program`, which waits for input, below a shell that has ended unless `lives`. Returns the
    /// shell and the number of the program.
    fn below_a_shell(program: &str, lives: bool) -> (process::Child, i32) {
        let end = if lives { "wait" } else { "exit" };
        let script = format!("exec 3<&0; {program} <&3 >&2 & echo $!; {end}");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &script]).env_clear().stdin(Stdio::piped());
        let mut shell = shell.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("sh starts");
        let mut said = [0; 16];
        let length = shell.stdout.as_mut().expect("a pipe").read(&mut said).expect("it says a number");
        let pid = String::from_utf8_lossy(&said[..length]).trim().parse().expect("a number");
        let runs = fs::canonicalize(program.split(' ').next().expect("a word")).expect("it is there");
        while !is_program(&format!("/proc/{pid}"), &runs) {
            thread::sleep(ROUND);
        }
        if !lives {
            // Its input, which would be closed by the wait, is what the program waits for.
            let input = shell.stdin.take();
            shell.wait().expect("it ends");
            shell.stdin = input;
        }
        (shell, pid)
    }

    #[test]
    fn programs_of_the_runtime_are_ended_where_they_can_be_of_the_restart_alone() {
        // As a restart leaves them when it fails: the CRIU that has made them is gone.
        let own = "/bin/bash -c 'read x; exit'";
        let (criu, shepherd) = (below_a_shell("/bin/cat", false), below_a_shell(own, false));
        // The shepherd of another job after a start of its daemon, at the number of a rank.
        let orphan = below_a_shell(own, false);
        // The CRIU and the shepherd of other jobs, which this daemon has started.
        let others = [below_a_shell("/bin/cat", true), below_a_shell(own, true)];
        let pids = [criu.1, shepherd.1, orphan.1, others[0].1, others[1].1];
        end(&pids[..4], shepherd.1, 7, &makers());
        assert_eq!(pids.map(has_ended), [true, true, false, false, false]);
        end(&pids[4..], others[1].1, 7, &makers());
        assert_eq!(pids.map(has_ended), [true, true, false, false, false]);
        for (mut shell, _) in [criu, shepherd, orphan].into_iter().chain(others) {
            drop(shell.stdin.take());
            shell.wait().expect("it ends");
        }
    }

    #[test]
    fn numbers_that_a_short_command_has_taken_are_waited_for() {
        let mut short = Command::new("sleep").arg("0.3").spawn().expect("sleep starts");
        let pid = short.id() as i32;
        let waits = thread::spawn(move || wait_free(&[pid], &AtomicBool::new(false)));
        // Its number is taken until somebody has waited for it.
        short.wait().expect("it ends");
        assert_eq!(waits.join().expect("no panic"), Ok(()));
        assert_eq!(wait_free(&[], &AtomicBool::new(false)), Ok(()));
    }

    #[test]
    fn who_has_taken_a_number_for_long_is_named() {
        let mut long = Command::new("sh");
        let long = long.args(["-c", "echo; read x"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut long = long.expect("sh starts");
        // It has its name only when it has begun.
        long.stdout.take().expect("a pipe").read_exact(&mut [0]).expect("it says something");
        // Nobody waits for the restart any more, so that this does not take as long as it may.
        let why = wait_free(&[long.id() as i32], &AtomicBool::new(true)).expect_err("it is taken");
        drop(long.stdin.take());
        long.wait().expect("it ends");
        assert!(why.contains(&format!("number {}", long.id())) && why.contains("\"sh\" of user "), "{why}");
    }
}
