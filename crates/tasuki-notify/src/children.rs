//! The processes that tell users, as the daemon sees them: it starts some at a time, waits for none, and ends
//! those that take too long.

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use std::{
    collections::VecDeque,
    ffi::OsString,
    fs::File,
    io::{self, Read},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tasuki_control::{JobId, Notice};

/// Time for one process, beyond what its own limits come to.
const LIMIT: Duration = Duration::from_secs(120);
/// Most processes at a time.
const RUNNING_MAX: usize = 16;
/// Most processes of one user at a time, so that a server that does not answer delays only this user's.
const OF_USER_MAX: usize = 2;
/// Most jobs whose users wait to be told.
const WAITING_MAX: usize = 1000;
/// Most bytes of what a process says.
const WORDS_MAX: u64 = 1000;
/// PATH for jobs that have none.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A job whose user is to be told of its end.
#[derive(Debug)]
pub struct Task {
    /// The job.
    pub job: JobId,
    /// Its user.
    pub user: String,
    /// Where to, see [`tasuki_control::Address`].
    pub address: String,
    /// The job's PATH.
    pub path: Option<OsString>,
    /// The job's record, JSON of a [`tasuki_control::JobView`].
    pub record: File,
}

#[derive(Debug)]
struct Running {
    job: JobId,
    user: String,
    child: Child,
    until: Instant,
}

/// The processes that tell users.
#[derive(Debug, Default)]
pub struct Notifiers {
    waiting: VecDeque<Task>,
    running: Vec<Running>,
    over: Vec<(JobId, Notice)>,
}

impl Notifiers {
    /// Tells a user as soon as there is room for a process.
    pub fn add(&mut self, task: Task) {
        if self.waiting.len() >= WAITING_MAX {
            let why = format!("the users of {WAITING_MAX} other jobs waited to be told");
            self.over.push((task.job, Notice::Failed(why)));
            return;
        }
        self.waiting.push_back(task);
    }

    /// Starts what can be started, by `command` with user and address behind it, and returns what is known
    /// since the last call. Never waits.
    pub fn poll(&mut self, command: &[OsString]) -> Vec<(JobId, Notice)> {
        let over = &mut self.over;
        self.running.retain_mut(|running| match outcome(running) {
            Some(notice) => {
                over.push((running.job, notice));
                false
            }
            None => true,
        });
        while self.running.len() < RUNNING_MAX {
            let of_user = |user: &str| self.running.iter().filter(|running| running.user == user).count();
            let next = self.waiting.iter().position(|task| of_user(&task.user) < OF_USER_MAX);
            let Some(task) = next.and_then(|next| self.waiting.remove(next)) else { break };
            let (job, user) = (task.job, task.user.clone());
            match start(command, task) {
                Ok(child) => {
                    self.running.push(Running { job, user, child, until: Instant::now() + LIMIT });
                }
                Err(error) => self.over.push((job, Notice::Failed(format!("cannot start: {error}")))),
            }
        }
        std::mem::take(&mut self.over)
    }
}

fn start(command: &[OsString], task: Task) -> io::Result<Child> {
    let (program, words) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    // Root's jobs are told of by another user, to whom root's programs may be closed.
    let path = task.path.filter(|_| task.user != "root").unwrap_or_else(|| PATH.into());
    let mut command = Command::new(program);
    command.args(words).arg(&task.user).arg(&task.address);
    command.env_clear().env("PATH", path).env("USER", &task.user).env("LOGNAME", &task.user);
    command.stdin(task.record).stdout(Stdio::null()).stderr(Stdio::piped());
    command.process_group(0).current_dir("/").spawn()
}

/// What became of a process; `None`: it runs, and may.
fn outcome(running: &mut Running) -> Option<Notice> {
    let ended = match running.child.try_wait() {
        Ok(ended) => ended,
        Err(error) => return Some(Notice::Failed(error.to_string())),
    };
    match ended {
        Some(status) if status.success() => Some(Notice::Told),
        Some(status) => {
            let words = words(&mut running.child);
            let why = if words.is_empty() { status.to_string() } else { words };
            Some(Notice::Failed(why))
        }
        None if Instant::now() < running.until => None,
        None => {
            // It is the leader of its group. The signal ends it, and the next line takes its remains away.
            let _ = killpg(Pid::from_raw(running.child.id() as i32), Signal::SIGKILL);
            let _ = running.child.wait();
            Some(Notice::Failed(format!("took longer than {} s", LIMIT.as_secs())))
        }
    }
}

/// The last line that a process that has ended has said. One that it left behind may hold the pipe open, so
/// nothing is waited for.
fn words(child: &mut Child) -> String {
    let Some(pipe) = child.stderr.take() else { return String::new() };
    let mut bytes = Vec::new();
    if fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).is_ok() {
        // What has been read before an error stays.
        let _ = pipe.take(WORDS_MAX).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let line = line.strip_prefix("tasuki: ").unwrap_or(line);
    line.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn task(job: JobId, user: &str, address: &str) -> Task {
        let record = File::open("/dev/null").unwrap();
        Task { job, user: user.into(), address: address.into(), path: None, record }
    }

    fn all(notifiers: &mut Notifiers, script: &str, count: usize) -> Vec<(JobId, Notice)> {
        let command = ["sh", "-c", script].map(OsString::from);
        let mut known = Vec::new();
        while known.len() < count {
            known.extend(notifiers.poll(&command));
            thread::sleep(Duration::from_millis(5));
        }
        known.sort_by_key(|(job, _)| *job);
        known
    }

    #[test]
    fn each_process_is_told_who_and_where_and_its_end_is_known() {
        let mut notifiers = Notifiers::default();
        // In a script of sh -c the first word behind it is $0.
        let script =
            "case $1 in good) exit 0;; *) echo noise >&2; echo tasuki: not $1 of $0 >&2; exit 1; esac";
        (0..20).for_each(|job| notifiers.add(task(job, "anna", if job % 2 == 0 { "good" } else { "bad" })));
        let known = all(&mut notifiers, script, 20);
        for (job, notice) in known {
            let expected = match job % 2 {
                0 => Notice::Told,
                _ => Notice::Failed("not bad of anna".into()),
            };
            assert_eq!(notice, expected, "{job}");
        }
    }

    #[test]
    fn a_user_whose_server_is_silent_delays_nobody_else() {
        let mut notifiers = Notifiers::default();
        (0..5).for_each(|job| notifiers.add(task(job, "anna", "slow")));
        notifiers.add(task(9, "berta", "good"));
        let known = all(&mut notifiers, "[ $1 = good ] || sleep 1000", 1);
        assert_eq!(known, [(9, Notice::Told)]);
        assert_eq!((notifiers.running.len(), notifiers.waiting.len()), (OF_USER_MAX, 3));
        // As if their time were up.
        notifiers.waiting.clear();
        notifiers.running.iter_mut().for_each(|running| running.until = Instant::now());
        let known = all(&mut notifiers, "", OF_USER_MAX);
        assert!(known.iter().all(|(_, notice)| *notice == Notice::Failed("took longer than 120 s".into())));
    }

    #[test]
    fn what_cannot_be_started_is_known_too() {
        let mut notifiers = Notifiers::default();
        notifiers.add(task(1, "anna", "x"));
        let known = notifiers.poll(&[OsString::from("/no/such/program")]);
        assert!(
            matches!(&known[..], [(1, Notice::Failed(why))] if why.contains("cannot start")),
            "{known:?}"
        );
    }
}
