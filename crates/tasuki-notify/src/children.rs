//! The processes that tell users, as the daemon sees them: it starts some at a time, waits for none, and ends
//! those that take too long.

#[cfg(test)]
mod tests;

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
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tasuki_control::{JobId, Notice};

/// Time for one process, beyond what its own limits come to.
const LIMIT: Duration = Duration::from_secs(120);
/// How long a process that was killed may take to end before it counts as one that cannot.
const DEATH: Duration = Duration::from_secs(10);
/// Most processes at a time.
const RUNNING_MAX: usize = 16;
/// Most processes of one user at a time, so that a server that does not answer delays only this user's.
const OF_USER_MAX: usize = 2;
/// Most jobs of one user who waits to be told.
const WAITING_MAX: usize = 200;
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
    /// The job's PATH.
    pub path: Option<OsString>,
    /// The file with the job's record, JSON of a [`tasuki_control::JobView`], which says where to.
    pub record: PathBuf,
}

#[derive(Debug)]
struct Running {
    job: JobId,
    user: String,
    child: Child,
    /// When it is killed; of one that was: when it should have ended.
    until: Instant,
}

/// The processes that tell users.
#[derive(Debug, Default)]
pub struct Notifiers {
    waiting: VecDeque<Task>,
    running: Vec<Running>,
    /// Processes that were killed and are still there: what sleeps in the kernel dies late or never.
    dying: Vec<Running>,
    over: Vec<(JobId, Notice)>,
}

impl Notifiers {
    /// Tells a user as soon as there is room for a process.
    pub fn add(&mut self, task: Task) {
        let waiting = self.waiting.iter().filter(|other| other.user == task.user).count();
        if waiting >= WAITING_MAX {
            let why = format!("{} waited to be told of {WAITING_MAX} other jobs", task.user);
            self.over.push((task.job, Notice::Failed(why)));
            return;
        }
        self.waiting.push_back(task);
    }

    /// Starts what can be started, by `command` with the user behind it, and returns what is known since the
    /// last call. Never waits.
    pub fn poll(&mut self, command: &[OsString]) -> Vec<(JobId, Notice)> {
        self.dying.retain_mut(is_there);
        for mut running in std::mem::take(&mut self.running) {
            match outcome(&mut running) {
                None => self.running.push(running),
                Some(notice) => {
                    self.over.push((running.job, notice));
                    if is_there(&mut running) {
                        self.dying.push(Running { until: Instant::now() + DEATH, ..running });
                    }
                }
            }
        }
        self.give_up();
        while self.running.len() < RUNNING_MAX {
            let of_user = |user: &str| {
                self.running.iter().chain(&self.dying).filter(|running| running.user == user).count()
            };
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

    /// Users all of whose processes do not even end when they are killed are told nothing.
    fn give_up(&mut self) {
        let late = self.dying.iter().filter(|dying| dying.until <= Instant::now());
        let late: Vec<&str> = late.map(|dying| dying.user.as_str()).collect();
        let count = |user: &str| late.iter().filter(|of| **of == user).count();
        let (lost, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition::<VecDeque<Task>, _>(|task| count(&task.user) >= OF_USER_MAX);
        self.waiting = waiting;
        let why = "processes that were to tell of other jobs sleep in the kernel and cannot be ended: does a \
                   folder of PATH answer no more?";
        self.over.extend(lost.into_iter().map(|task| (task.job, Notice::Failed(why.into()))));
    }
}

/// Whether a process has not ended yet.
fn is_there(running: &mut Running) -> bool {
    matches!(running.child.try_wait(), Ok(None))
}

fn start(command: &[OsString], task: Task) -> io::Result<Child> {
    let (program, words) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    // Root's jobs are told of by another user, to whom root's programs may be closed.
    let path = task.path.filter(|_| task.user != "root").unwrap_or_else(|| PATH.into());
    let mut command = Command::new(program);
    command.args(words).arg(&task.user);
    command.env_clear().env("PATH", path).env("USER", &task.user).env("LOGNAME", &task.user);
    // What it says about where to tell the user is on no command line, which all can read.
    command.stdin(File::open(&task.record)?).stdout(Stdio::null()).stderr(Stdio::piped());
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
            // It is the leader of its group. Nobody waits for its end, which may never come.
            let _ = killpg(Pid::from_raw(running.child.id() as i32), Signal::SIGKILL);
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
