//! What is left of jobs that have no shepherd any more. A thread for each ends it: a process that sleeps in
//! the kernel dies late or never, and already to look at it may take as long as it sleeps.

use std::{
    io,
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
    time::{Duration, Instant},
};

/// How long it may take until nothing is left of a job, before the queue is told that something stays. A
/// shepherd may take five seconds to end by SIGTERM and as long by SIGKILL, and its processes as long again.
const LIMIT: Duration = Duration::from_secs(20);

/// A job of which something may be left on this host.
pub(super) struct Remains {
    /// Why it ends.
    why: String,
    done: Receiver<io::Result<()>>,
    since: Instant,
}

impl Remains {
    /// Begins to end a job by `end`, which may take its time.
    pub fn end(why: String, end: impl FnOnce() -> io::Result<()> + Send + 'static) -> Self {
        let (tell, done) = channel();
        // Without a thread nobody tells, which counts as a failure.
        let _ = thread::Builder::new().spawn(move || tell.send(end()));
        Self { why, done, since: Instant::now() }
    }

    /// Why the job ends, once nothing is left of it or it is given up; `None`: not yet.
    pub fn reason(&self, now: Instant) -> Option<String> {
        let problem = match self.done.try_recv() {
            Ok(Ok(())) => return Some(self.why.clone()),
            Ok(Err(error)) => error.to_string(),
            Err(TryRecvError::Disconnected) => "there is no thread for it".to_owned(),
            Err(TryRecvError::Empty) if now.saturating_duration_since(self.since) < LIMIT => return None,
            Err(TryRecvError::Empty) => format!("that takes longer than {} s", LIMIT.as_secs()),
        };
        Some(format!("{}; what is left of it cannot be ended: {problem}", self.why))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Worker, *};
    use crate::{copies::tests::stored_below, shelter::Shelter};
    use nix::{
        libc::O_NONBLOCK,
        sys::socket::{Shutdown, shutdown},
    };
    use std::{
        collections::BTreeMap,
        fs,
        os::{
            fd::AsRawFd,
            unix::{fs::OpenOptionsExt, net::UnixListener},
        },
        process::{self, Command},
        sync::mpsc,
    };
    use tasuki_control::{JobId, Report};
    use tasuki_shepherd::{RESIDENCE, Residence};

    /// Far longer than anything here takes.
    const LONG: Duration = Duration::from_secs(60);

    /// A job that nobody on this machine has: what is left of it is looked for by its number.
    fn job() -> JobId {
        1 << 41 | u64::from(process::id())
    }

    /// Has a worker lose the shepherd of a job, by a way that returns the jobs that are said to be here. Of
    /// its processes nobody can say which they are: to open the list is to wait.
    fn told(lose: impl FnOnce(&mut Worker) -> Vec<JobId> + Send + 'static) -> Vec<JobId> {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("cgroup.procs");
        assert!(Command::new("mkfifo").arg(&list).status().unwrap().success());
        let shelter = Shelter::open(&folder.path().join("jobs"), "1").unwrap();
        shelter.note(job(), &BTreeMap::new()).unwrap();
        let residence = serde_json::to_vec(&Residence::V2(folder.path().into())).unwrap();
        fs::write(shelter.socket(job()).with_extension(RESIDENCE), residence).unwrap();
        let mut worker = Worker::new("n1", shelter, Vec::new(), stored_below(folder.path()));
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            let now = Instant::now();
            let jobs = lose(&mut worker);
            for seconds in [0, 15] {
                worker.handle_time(now + Duration::from_secs(seconds));
                assert_eq!(worker.poll_report(), None, "{seconds}");
            }
            // A connection to the queue that comes and goes ends it no second time.
            assert_eq!(worker.take_over(), [job()]);
            worker.handle_time(now + Duration::from_secs(1000));
            let told = [worker.poll_report(), worker.poll_report()];
            let [Some(Report::Broken { why, .. }), Some(Report::Left { .. })] = &told else {
                panic!("{told:?}")
            };
            assert!(why.contains("shepherd") && why.contains("takes longer than 20 s"), "{why}");
            assert_eq!(worker.take_over(), [0; 0], "its files are gone");
            done.send(jobs).unwrap();
        });
        let jobs = is_done.recv_timeout(LONG).expect("the daemon goes on");
        // The thread ends, if it has come as far as that: the list is empty, and this is no cgroup.
        let _ = fs::OpenOptions::new().write(true).custom_flags(O_NONBLOCK).open(&list);
        jobs
    }

    #[test]
    fn what_cannot_be_ended_of_a_job_whose_shepherd_ends_holds_up_nobody() {
        let jobs = told(|worker| {
            let listener = UnixListener::bind(worker.shelter.socket(job())).unwrap();
            assert_eq!(worker.take_over(), [job()]);
            let (shepherd, _) = listener.accept().unwrap();
            // A child that another test starts has copies of both until it runs its program.
            for socket in [shepherd.as_raw_fd(), listener.as_raw_fd()] {
                shutdown(socket, Shutdown::Both).unwrap();
            }
            worker.pull(job());
            vec![job()]
        });
        assert_eq!(jobs, [job()]);
    }

    #[test]
    fn a_job_that_cannot_be_ended_when_its_host_comes_back_is_said_to_be_there() {
        assert_eq!(told(Worker::take_over), [job()]);
    }
}
