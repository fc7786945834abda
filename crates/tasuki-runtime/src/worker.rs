//! What every daemon does for the jobs that have ranks on its host: it has shepherds start them, passes
//! orders on to the shepherds, and reports what they tell.

mod openmpi;
mod plain;
mod spec;

pub(crate) use spec::shape;

use crate::turns::Tables;
use spec::{name, spec};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ffi::OsString,
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};
use tasuki_control::{Bytes, Exit, Fence, JobId, Order, Punctuality, Record, Report, Start, Stream};
use tasuki_pmi::FenceOut;
use tasuki_shepherd::{Command, End, Event, Kept, Residence, Shepherd};

/// How long ranks may take to end after SIGTERM, before they are killed.
const GRACE_MS: u64 = 2000;
/// How long a rank that has left its MPI without MPI_Finalize may take to end, before that is said to be why
/// the job ends: how the rank ended says more.
const LOST: Duration = Duration::from_secs(1);
/// Events of a shepherd that are handled before others have their turn.
const EVENTS_MAX: usize = 64;

/// A job's ranks on this host.
struct Running {
    shepherd: Shepherd,
    residence: Option<Residence>,
    /// Ranks that have left their MPI and may still live, and since when.
    lost: BTreeMap<u32, Instant>,
    /// Ranks that have ended.
    ended: BTreeSet<u32>,
    /// The ranks that each process stands for, by its number: where an Open MPI starts its ranks itself,
    /// those of the whole host. A process that is not here is a rank.
    proxies: BTreeMap<u32, Vec<u32>>,
}

/// The jobs of this host.
pub(crate) struct Worker {
    host: String,
    /// The command that runs a shepherd.
    shepherd: Vec<OsString>,
    jobs: BTreeMap<JobId, Running>,
    out: VecDeque<Report>,
}

impl Worker {
    /// No jobs yet. `shepherd`: the command that runs a shepherd.
    pub fn new(host: &str, shepherd: Vec<OsString>) -> Self {
        Self { host: host.into(), shepherd, jobs: BTreeMap::new(), out: VecDeque::new() }
    }

    /// What is to be reported next.
    pub fn poll_report(&mut self) -> Option<Report> {
        self.out.pop_front()
    }

    /// Whether nothing of any job is left.
    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The descriptors of all shepherds.
    pub fn shepherds(&self) -> impl Iterator<Item = (JobId, BorrowedFd<'_>)> {
        self.jobs.iter().map(|(job, running)| (*job, running.shepherd.as_fd()))
    }

    /// Ends everything at once.
    pub fn end_all(&mut self) {
        for running in self.jobs.values() {
            send(running, &Command::End { grace_ms: 0 });
        }
    }

    /// Does what the daemon that keeps the queue says.
    pub fn obey(&mut self, order: Order) {
        match order {
            Order::Start(start) => self.start(&start),
            Order::Fenced { job, fence: Fence { group, puts } } => {
                self.tell(job, &Command::Fenced(FenceOut { group, puts }));
            }
            Order::Input { job, bytes } if bytes.is_empty() => self.tell(job, &Command::InputEnd),
            Order::Input { job, bytes } => self.tell(job, &Command::Input(bytes.into_vec())),
            Order::Freeze { job } => self.tell(job, &Command::Freeze),
            Order::Thaw { job } => self.tell(job, &Command::Thaw),
            Order::End { job } => self.tell(job, &Command::End { grace_ms: GRACE_MS }),
            Order::Beat | Order::Answer { .. } | Order::Table(_) | Order::Clock { .. } => {}
        }
    }

    /// Tells all jobs their turns.
    pub fn take_turns(&self, tables: &Tables) {
        for (job, running) in &self.jobs {
            tables.of(*job).for_each(|turns| send(running, &Command::Turns(turns)));
        }
    }

    fn tell(&self, job: JobId, command: &Command) {
        if let Some(running) = self.jobs.get(&job) {
            send(running, command);
        }
    }

    fn start(&mut self, start: &Start) {
        let job = start.job;
        let shepherd = spec(start, &self.host).and_then(|spec| {
            let started = Shepherd::start(&self.shepherd, &spec);
            started.map_err(|error| format!("its shepherd does not start: {error}"))
        });
        match shepherd {
            Ok(shepherd) => {
                let running = Running {
                    shepherd,
                    residence: None,
                    lost: BTreeMap::new(),
                    ended: BTreeSet::new(),
                    proxies: openmpi::proxies(start, &self.host),
                };
                if !start.work.attended {
                    send(&running, &Command::InputEnd);
                }
                self.jobs.insert(job, running);
            }
            Err(why) => {
                self.out.extend([Report::Broken { job, why, code: None }, Report::Left { job }]);
            }
        }
    }

    /// Takes what a job's shepherd tells.
    pub fn pull(&mut self, job: JobId) {
        for _ in 0..EVENTS_MAX {
            let Some(running) = self.jobs.get_mut(&job) else { return };
            match running.shepherd.next(Some(Duration::ZERO)) {
                Ok(None) => return,
                Ok(Some(event)) => self.handle(job, event),
                Err(error) => return self.shepherd_gone(job, &error.to_string()),
            }
        }
    }

    fn shepherd_gone(&mut self, job: JobId, why: &str) {
        let Some(running) = self.jobs.remove(&job) else { return };
        let mut why = format!("its shepherd ended: {why}");
        if let Some(residence) = &running.residence
            && let Err(error) = tasuki_shepherd::sweep(&name(job), residence)
        {
            why = format!("{why}; what is left of it cannot be ended: {error}");
        }
        self.out.extend([Report::Broken { job, why, code: None }, Report::Left { job }]);
    }

    fn handle(&mut self, job: JobId, event: Event) {
        let Some(running) = self.jobs.get_mut(&job) else { return };
        let broken = |why: String, code| Report::Broken { job, why, code };
        match event {
            Event::Started(state) => running.residence = Some(state.residence),
            Event::NotStarted { why, .. } => self.out.push_back(broken(why, None)),
            Event::Output { rank, stream, bytes, .. } => self.output(job, rank, stream, bytes),
            Event::InputTaken(bytes) => self.out.push_back(Report::InputTaken { job, bytes }),
            Event::InputClosed => self.out.push_back(Report::InputClosed { job }),
            Event::Fence(fence) => {
                let fence = Fence { group: fence.group, puts: fence.puts };
                self.out.push_back(Report::Fence { job, fence });
            }
            Event::Abort { rank, code, message } => {
                self.out.push_back(broken(format!("rank {rank} called MPI_Abort: {message}"), Some(code)));
            }
            Event::Gone { rank } => self.out.push_back(Report::Absent { job, rank }),
            Event::Stuck { rank, awaits } => {
                let why = format!("rank {rank} waits for rank {awaits}, which has ended or has left its MPI");
                self.out.push_back(broken(why, None));
            }
            Event::Lost { rank } if !running.ended.contains(&rank) => {
                running.lost.insert(rank, Instant::now());
            }
            Event::Lost { rank } => self.out.push_back(broken(without_finalize(rank), None)),
            Event::Refused { rank, why } => self.out.push_back(broken(format!("rank {rank}: {why}"), None)),
            Event::RankEnded { rank, end } => self.rank_ended(job, rank, end),
            Event::Failed { what } => self.out.push_back(broken(what, None)),
            Event::Ended { .. } => {
                self.jobs.remove(&job);
                self.out.push_back(Report::Left { job });
            }
            Event::Kept(Kept { switches, late, missed, worst }) => {
                self.out.push_back(Report::Turns(Punctuality { switches, late, missed, worst_ns: worst }));
            }
            Event::Frozen { .. } | Event::Thawed { .. } | Event::State(_) => {}
        }
    }

    fn rank_ended(&mut self, job: JobId, rank: u32, end: End) {
        let Some(running) = self.jobs.get_mut(&job) else { return };
        running.ended.insert(rank);
        let exit = match end {
            End::Exit(code) => Exit::Code(code),
            End::Signal(signal) => Exit::Signal(signal),
        };
        if running.lost.remove(&rank).is_some() && exit == Exit::Code(0) {
            self.out.push_back(Report::Broken { job, why: without_finalize(rank), code: None });
        }
        let ranks = running.proxies.get(&rank).cloned().unwrap_or_else(|| vec![rank]);
        self.out.extend(ranks.into_iter().map(|rank| Report::Exited { job, rank, exit }));
    }

    fn output(&mut self, job: JobId, rank: u32, stream: tasuki_shepherd::Stream, bytes: Vec<u8>) {
        let stream = match stream {
            tasuki_shepherd::Stream::Out => Stream::Out,
            tasuki_shepherd::Stream::Err => Stream::Error,
        };
        let record = Record { rank, stream, bytes: Bytes::from(bytes) };
        match self.out.back_mut() {
            Some(Report::Output { job: last, records }) if *last == job => records.push(record),
            _ => self.out.push_back(Report::Output { job, records: vec![record] }),
        }
    }

    /// Says of ranks that have left their MPI and do not end why their job ends.
    pub fn handle_time(&mut self, now: Instant) {
        for (job, running) in &mut self.jobs {
            let late: Vec<u32> =
                running.lost.extract_if(.., |_, since| now - *since > LOST).map(|(r, _)| r).collect();
            let report = |rank| Report::Broken { job: *job, why: without_finalize(rank), code: None };
            self.out.extend(late.into_iter().map(report));
        }
    }
}

fn without_finalize(rank: u32) -> String {
    format!("rank {rank} left its MPI without MPI_Finalize, so that others could wait for it for ever")
}

fn send(running: &Running, command: &Command) {
    // A shepherd that does not listen has ended, which the next reading finds.
    let _ = running.shepherd.commands().send(command);
}
