//! What takes too long: ranks that have left their MPI and do not end, and shepherds that do not end jobs.
//!
//! A shepherd is one thread. It can do nothing else while it starts a rank whose working directory is on a
//! file server that does not answer, so that one that was told to end its job may never read that. It is
//! asked whether it works, and is killed with its job if it does not say so.

use super::{GRACE_MS, Remains, Running, Worker, name, send};
use std::time::{Duration, Instant};
use tasuki_control::{JobId, Report};
use tasuki_shepherd::Command;

/// How long a rank that has left its MPI without MPI_Finalize may take to end, before that is said to be why
/// the job ends: how the rank ended says more.
const LOST: Duration = Duration::from_secs(1);
/// How long a shepherd that was told to end its job may say nothing, beyond the grace of ranks, before it is
/// asked whether it works; and how long it may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// Bytes of orders that may wait for a shepherd before it counts as one that does not work. No shepherd that
/// reads lets a hundredth of it wait.
const ORDERS_MAX: usize = 64 << 20;

impl Running {
    /// Its shepherd has said something, and so it works.
    pub(super) fn has_spoken(&mut self, now: Instant) {
        self.asked = None;
        self.ask_at = self.ask_at.map(|_| now + ANSWER);
    }

    fn is_stuck(&self, now: Instant) -> bool {
        self.asked.is_some_and(|asked| now.duration_since(asked) >= ANSWER)
            || self.shepherd.commands().waiting() > ORDERS_MAX
    }
}

impl Worker {
    /// Has a job's ranks end.
    pub(super) fn end(&mut self, job: JobId) {
        self.end_still(job);
        self.tell(job, Command::End { grace_ms: GRACE_MS });
        if let Some(running) = self.jobs.get_mut(&job).filter(|running| !running.is_over) {
            let grace = Duration::from_millis(GRACE_MS);
            running.ask_at = running.ask_at.or(Some(Instant::now() + grace + ANSWER));
        }
    }

    /// Says of ranks that have left their MPI and do not end why their job ends, and ends what shepherds that
    /// do not work do not end.
    pub fn handle_time(&mut self, now: Instant) {
        for (job, running) in &mut self.jobs {
            let late: Vec<u32> =
                running.lost.extract_if(.., |_, since| now - *since > LOST).map(|(r, _)| r).collect();
            let report = |rank| Report::Broken { job: *job, why: without_finalize(rank), code: None };
            if !late.is_empty() && running.lost.is_empty() {
                send(running, &Command::Taken(running.taken));
            }
            self.out.extend(late.into_iter().map(report));
            if running.asked.is_none() && !running.is_over && running.ask_at.is_some_and(|at| at <= now) {
                send(running, &Command::Query);
                running.asked = Some(now);
            }
        }
        let stuck = self.jobs.iter().filter(|(_, running)| running.is_stuck(now));
        for job in stuck.map(|(job, _)| *job).collect::<Vec<JobId>>() {
            // Where this daemon was held up itself, the answer lies unread.
            self.pull(job);
            if self.jobs.get(&job).is_some_and(|running| running.is_stuck(now)) {
                self.give_up(job);
            }
        }
        self.report_remains(now);
        self.report_still();
    }

    /// Reports jobs of which nothing is left, or of which something stays.
    fn report_remains(&mut self, now: Instant) {
        let reasons = self.remains.iter().filter_map(|(job, remains)| Some((*job, remains.reason(now)?)));
        for (job, why) in reasons.collect::<Vec<_>>() {
            self.remains.remove(&job);
            self.shelter.forget(job);
            self.out.extend([Report::Broken { job, why, code: None }, Report::Left { job }]);
        }
    }

    /// Kills a shepherd that does not work, with its job.
    fn give_up(&mut self, job: JobId) {
        let Some(running) = self.jobs.get_mut(&job) else { return };
        let why = match running.shepherd.kill() {
            Ok(()) => "its shepherd did not answer any more, and was killed".to_owned(),
            Err(error) => format!("its shepherd does not answer any more, and cannot be killed: {error}"),
        };
        self.abandoned(job, why);
    }

    pub(super) fn shepherd_gone(&mut self, job: JobId, why: &str) {
        self.abandoned(job, format!("its shepherd ended: {why}"));
    }

    /// Ends what is left of a job that has no shepherd any more.
    fn abandoned(&mut self, job: JobId, why: String) {
        let Some(running) = self.jobs.remove(&job) else { return };
        // One that has said nothing yet has written down where its ranks are before it started any.
        let residence = running.residence.or_else(|| self.shelter.residence(job));
        let sweep = move || residence.map_or(Ok(0), |all| tasuki_shepherd::sweep(&name(job), &all)).map(drop);
        self.remains.insert(job, Remains::end(why, sweep));
    }
}

pub(super) fn without_finalize(rank: u32) -> String {
    format!("rank {rank} left its MPI without MPI_Finalize, so that others could wait for it for ever")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{copies::tests::stored_below, shelter::Shelter};
    use nix::unistd::{Uid, User};
    use std::{
        collections::BTreeMap, fs, io::Write, os::unix::net::UnixListener, process, sync::mpsc, thread,
    };
    use tasuki_control::{Bytes, Kind, Order, Part, Request, Start};
    use tasuki_shepherd::{Event, JOB_ID, RESIDENCE, Residence, Shepherd, State};

    /// Far longer than anything here takes.
    const LIMIT: Duration = Duration::from_secs(60);
    const SECOND: Duration = Duration::from_secs(1);

    /// A job that no other test, and nobody on this machine, has: what is left of it is found by its number.
    fn job(which: u64) -> JobId {
        1 << 40 | u64::from(process::id()) << 4 | which
    }

    /// A job whose environment is longer than what sockets take by themselves.
    fn start(job: JobId) -> Order {
        let Report::Request { request: Request::Submit { work, .. }, .. } = Report::sample() else {
            panic!("the sample is a job")
        };
        let mut work = *work;
        (work.kind, work.ranks, work.over_tasuki) = (Kind::Plain, 1, false);
        work.env.push((Bytes::from(&b"LONG"[..]), Bytes::from(vec![b'x'; 2 << 20])));
        let user = User::from_uid(Uid::effective()).unwrap().expect("a user").name;
        let parts = vec![Part { host: "n1".into(), ranks: vec![0] }];
        Order::Start(Box::new(Start { job, user, work, parts }))
    }

    fn worker(folder: &tempfile::TempDir, shepherd: &[&str]) -> Worker {
        let shelter = Shelter::open(&folder.path().join("jobs"), "1").unwrap();
        let shepherd = shepherd.iter().map(Into::into).collect();
        Worker::new("n1", shelter, shepherd, stored_below(folder.path()))
    }

    fn reports(worker: &mut Worker) -> Vec<Report> {
        std::iter::from_fn(|| worker.poll_report()).collect()
    }

    /// What is told of a job that has lost its shepherd, once nothing is left of it.
    fn ending(worker: &mut Worker, now: Instant) -> Vec<Report> {
        let (mut all, end) = (Vec::new(), Instant::now() + LIMIT);
        while !all.iter().any(|report| matches!(report, Report::Left { .. })) && Instant::now() < end {
            worker.handle_time(now);
            all.extend(reports(worker));
            thread::sleep(Duration::from_millis(1));
        }
        all
    }

    /// Whether a process has ended; one that nobody has waited for yet counts.
    fn is_gone(pid: u32) -> bool {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
    }

    fn until(holds: impl Fn() -> bool) -> bool {
        let end = Instant::now() + LIMIT;
        while Instant::now() < end && !holds() {
            thread::sleep(Duration::from_millis(1));
        }
        holds()
    }

    #[test]
    fn a_shepherd_that_does_nothing_holds_up_nobody_and_is_killed_with_its_job() {
        let folder = tempfile::tempdir().unwrap();
        let (job, (done, is_done)) = (job(1), mpsc::channel());
        let mut worker = worker(&folder, &["/bin/sleep", "1000"]);
        let told = thread::spawn(move || {
            worker.obey(start(job));
            for _ in 0..5000 {
                worker.obey(Order::Freeze { job });
                worker.obey(Order::Thaw { job });
            }
            worker.obey(Order::End { job });
            done.send(()).unwrap();
            worker
        });
        is_done.recv_timeout(LIMIT).expect("the daemon goes on");
        let (mut worker, now) = (told.join().unwrap(), Instant::now());
        let shepherd = worker.jobs[&job].shepherd.pid().expect("it was started");
        // What it has written down leads to a process of the job.
        let residence = serde_json::to_vec(&Residence::Processes).unwrap();
        fs::write(worker.shelter.socket(job).with_extension(RESIDENCE), residence).unwrap();
        let mut rank = process::Command::new("/bin/sleep");
        let mut rank = rank.arg("1000").env(JOB_ID, name(job)).spawn().unwrap();
        let environment = format!("/proc/{}/environ", rank.id());
        assert!(until(|| fs::read(&environment).is_ok_and(|all| !all.is_empty())), "its program runs");
        worker.handle_time(now + SECOND);
        worker.handle_time(now + 8 * SECOND);
        worker.handle_time(now + 9 * SECOND);
        assert_eq!(reports(&mut worker), []);
        assert!(!is_gone(shepherd) && !is_gone(rank.id()));
        worker.handle_time(now + 14 * SECOND);
        let all = ending(&mut worker, now + 14 * SECOND);
        let [Report::Broken { why, .. }, Report::Left { .. }] = &all[..] else { panic!("{all:?}") };
        assert!(why.contains("did not answer any more, and was killed"), "{why}");
        assert!(until(|| is_gone(shepherd)) && until(|| is_gone(rank.id())));
        rank.wait().unwrap();
        assert_eq!(fs::read_dir(folder.path().join("jobs")).unwrap().count(), 0, "its files are gone");
    }

    #[test]
    fn a_shepherd_that_answers_may_take_as_long_as_ranks_do() {
        let folder = tempfile::tempdir().unwrap();
        let (job, path) = (job(2), folder.path().join("socket"));
        let listener = UnixListener::bind(&path).unwrap();
        let shepherd = Shepherd::attach(&path).unwrap();
        let (mut socket, _) = listener.accept().unwrap();
        let mut worker = worker(&folder, &[]);
        worker.jobs.insert(job, Running::new(shepherd, BTreeMap::new()));
        worker.obey(Order::End { job });
        let mut now = Instant::now() + 10 * SECOND;
        for _ in 0..3 {
            worker.handle_time(now);
            let state = State {
                pid: 1,
                residence: Residence::Processes,
                ranks: Vec::new(),
                frozen: false,
                taken: 0,
                input: 0,
            };
            let body = serde_json::to_vec(&Event::State(state)).unwrap();
            let length = (body.len() + 1) as u32;
            socket.write_all(&[&length.to_le_bytes()[..], &[0], &body].concat()).unwrap();
            now += 30 * SECOND;
            worker.handle_time(now);
            now += 30 * SECOND;
        }
        let broken = |report: &Report| matches!(report, Report::Broken { .. } | Report::Left { .. });
        assert!(!reports(&mut worker).iter().any(broken));
        // It does not answer any more.
        worker.handle_time(now);
        worker.handle_time(now + 30 * SECOND);
        assert_eq!(ending(&mut worker, now).into_iter().filter(broken).count(), 2);
    }
}
