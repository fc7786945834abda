//! What every daemon does for the jobs that have ranks on its host: it has shepherds start them, passes
//! orders on to the shepherds, and reports what they tell.

mod keeping;
mod late;
mod openmpi;
mod plain;
mod remains;
mod saving;
mod spec;
mod still;
mod told;

pub(crate) use spec::shape;

use crate::{
    copies::Copies,
    images::Images,
    shelter::{Shelter, name},
    turns::Tables,
};
use remains::Remains;
use spec::spec;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ffi::OsString,
    os::fd::{AsFd, BorrowedFd},
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};
use still::Still;
use tasuki_control::{Epoch, Fence, ImageReport, JobId, Order, Report, Start};
use tasuki_pmi::FenceOut;
use tasuki_queue::PATIENCE;
use tasuki_shepherd::{Command, OwnerEnd, Residence, Shepherd};

/// How long ranks may take to end after SIGTERM, before they are killed.
const GRACE_MS: u64 = 2000;
/// Events of a shepherd that are handled before others have their turn.
const EVENTS_MAX: usize = 64;

/// A job's ranks on this host.
struct Running {
    shepherd: Shepherd,
    /// The shepherd's process.
    pid: Option<u32>,
    residence: Option<Residence>,
    /// Ranks that have left their MPI and may still live, and since when.
    lost: BTreeMap<u32, Instant>,
    /// Ranks that have ended.
    ended: BTreeSet<u32>,
    /// The ranks that each process stands for, by its number: where an Open MPI starts its ranks itself,
    /// those of the whole host. A process that is not here is a rank.
    proxies: BTreeMap<u32, Vec<u32>>,
    /// What the queue has written down, by the numbers of the shepherd's events.
    taken: u64,
    /// No process of the job is left here.
    is_over: bool,
    /// The queue wants to hear nothing of the job any more.
    is_forgotten: bool,
    /// When its shepherd, which has been told to end it, is to be asked whether it works.
    ask_at: Option<Instant>,
    /// When its shepherd was asked that, if it has said nothing since.
    asked: Option<Instant>,
}

impl Running {
    fn new(shepherd: Shepherd, proxies: BTreeMap<u32, Vec<u32>>) -> Self {
        Self {
            shepherd,
            pid: None,
            residence: None,
            lost: BTreeMap::new(),
            ended: BTreeSet::new(),
            proxies,
            taken: 0,
            is_over: false,
            is_forgotten: false,
            ask_at: None,
            asked: None,
        }
    }
}

/// The jobs of this host.
pub(crate) struct Worker {
    host: String,
    /// Where shepherds wait for another daemon.
    shelter: Shelter,
    /// The command that runs a shepherd.
    shepherd: Vec<OsString>,
    jobs: BTreeMap<JobId, Running>,
    /// Jobs without shepherds of which something may be left here.
    remains: BTreeMap<JobId, Remains>,
    /// Jobs whose processes stand still for a checkpoint, or are being made again.
    still: BTreeMap<JobId, Still>,
    images: Images,
    copies: Copies,
    /// Checkpoints of which copies are on their way to another host, one of a job at most.
    copying: BTreeMap<JobId, Epoch>,
    /// What threads tell of checkpoints that they keep, and of copies that they send.
    told: (Sender<ImageReport>, Receiver<ImageReport>),
    out: VecDeque<Report>,
    /// Bytes of the last report of output.
    written: usize,
}

impl Worker {
    /// No jobs yet. `shepherd`: the command that runs a shepherd.
    pub fn new(
        host: &str,
        shelter: Shelter,
        shepherd: Vec<OsString>,
        (images, copies): (Images, Copies),
    ) -> Self {
        let (jobs, remains, still, copying, out) = Default::default();
        let (host, told, written) = (host.into(), channel(), 0);
        Self { host, shelter, shepherd, jobs, remains, still, images, copies, copying, told, out, written }
    }

    /// Takes over what another daemon, or an earlier connection to the queue, has left on this host. Returns
    /// the jobs; their shepherds tell again what was not taken. Those without a shepherd of this version end.
    pub fn take_over(&mut self) -> Vec<JobId> {
        self.let_go();
        self.take_over_still();
        let is_passed = |job| self.remains.contains_key(&job) || self.still.contains_key(&job);
        let (taken, lost) = self.shelter.take_over(is_passed);
        for (job, shepherd, memo) in taken {
            self.jobs.insert(job, Running::new(shepherd, memo.proxies));
        }
        for job in lost {
            let why =
                "its tasukid came back without the job, whose shepherd has ended or is of another version";
            self.remains.insert(job, Remains::end(why.into(), self.shelter.ending(job)));
        }
        let stored: BTreeSet<JobId> = self.images.jobs().into_iter().chain(self.copies.jobs()).collect();
        let stored = stored.into_iter().map(|job| Report::Image(ImageReport::Stored { job }));
        self.out.extend(stored);
        self.jobs.keys().chain(self.remains.keys()).chain(self.still.keys()).copied().collect()
    }

    /// Leaves all jobs to their shepherds. What they told and was not reported they will tell again.
    pub fn let_go(&mut self) {
        self.let_go_still();
        self.jobs.clear();
        self.out.clear();
    }

    /// What is to be reported next.
    pub fn poll_report(&mut self) -> Option<Report> {
        self.out.pop_front()
    }

    /// The descriptors of all shepherds, with whether each is to be watched for room.
    pub fn shepherds(&self) -> impl Iterator<Item = (JobId, BorrowedFd<'_>, bool)> {
        self.jobs.iter().map(|(job, running)| {
            let awaits_room = running.shepherd.commands().waiting() > 0;
            (*job, running.shepherd.as_fd(), awaits_room)
        })
    }

    /// Sends a job's shepherd what its socket takes now of what it was told.
    pub fn push(&self, job: JobId) {
        if let Some(running) = self.jobs.get(&job) {
            // A shepherd that does not listen has ended, which the next reading finds.
            let _ = running.shepherd.commands().flush();
        }
    }

    /// Does what the daemon that keeps the queue says.
    pub fn obey(&mut self, order: Order) {
        match order {
            Order::Start(start) => self.start(&start),
            Order::Fenced { job, fence: Fence { group, number, puts } } => {
                self.tell(job, Command::Fenced(FenceOut { group, number, puts }));
            }
            Order::Input { job, bytes, .. } if bytes.is_empty() => self.tell(job, Command::InputEnd),
            Order::Input { job, at, bytes } => {
                self.tell(job, Command::Input { at, bytes: bytes.into_vec() });
            }
            Order::Freeze { job } => self.tell(job, Command::Freeze),
            Order::Thaw { job } => self.tell(job, Command::Thaw),
            Order::End { job } => self.end(job),
            Order::Taken { job, number } => self.taken(job, number),
            Order::Forget { job } => self.forget(job),
            Order::Image(order) => self.obey_image(order),
            Order::Beat | Order::Answer { .. } | Order::Table(_) | Order::Clock { .. } => {}
        }
    }

    /// Tells all jobs their turns.
    pub fn take_turns(&self, tables: &Tables) {
        for (job, running) in &self.jobs {
            tables.of(*job).for_each(|turns| send(running, &Command::Turns(turns)));
        }
    }

    fn tell(&mut self, job: JobId, command: Command) {
        if let Some(running) = self.jobs.get(&job) {
            send(running, &command);
        } else if let Some(still) = self.still.get_mut(&job) {
            still.keep(command);
        }
    }

    fn start(&mut self, start: &Start) {
        let job = start.job;
        let proxies = openmpi::proxies(start, &self.host);
        let shepherd = spec(start, &self.host).and_then(|mut spec| {
            let socket = self.shelter.socket(job);
            spec.owner = OwnerEnd::Survive { socket, patience_ms: PATIENCE * 1000 };
            let noted = self.shelter.note(job, &proxies);
            noted.map_err(|error| format!("it cannot be written down for the next tasukid: {error}"))?;
            let started = Shepherd::start(&self.shepherd, &spec);
            started.map_err(|error| format!("its shepherd does not start: {error}"))
        });
        match shepherd {
            Ok(shepherd) => {
                let running = Running::new(shepherd, proxies);
                if !start.work.attended {
                    send(&running, &Command::InputEnd);
                }
                self.jobs.insert(job, running);
            }
            Err(why) => {
                self.shelter.forget(job);
                self.out.extend([Report::Broken { job, why, code: None }, Report::Left { job }]);
            }
        }
    }

    /// The queue has written down what was reported of a job up to a number. What may still become the reason
    /// for the job's end stays with the shepherd.
    fn taken(&mut self, job: JobId, number: u64) {
        let Some(running) = self.jobs.get_mut(&job) else { return };
        running.taken = number;
        if running.lost.is_empty() {
            send(running, &Command::Taken(number));
        }
    }

    /// The queue wants to hear nothing of a job any more: its shepherd may go once it has ended.
    fn forget(&mut self, job: JobId) {
        let Some(running) = self.jobs.get_mut(&job) else { return };
        running.is_forgotten = true;
        if running.is_over {
            send(running, &Command::Taken(u64::MAX));
            self.jobs.remove(&job);
            self.shelter.forget(job);
        }
    }

    /// Takes what a job's shepherd tells.
    pub fn pull(&mut self, job: JobId) {
        let mut taken = 0;
        while let Some(running) = self.jobs.get_mut(&job) {
            // No descriptor tells again of what was read already.
            if taken >= EVENTS_MAX && !running.shepherd.holds_event() {
                return;
            }
            taken += 1;
            match running.shepherd.next(Some(Duration::ZERO)) {
                Ok(None) => return,
                Ok(Some(event)) => {
                    running.has_spoken(Instant::now());
                    self.handle(job, event);
                }
                Err(error) => return self.shepherd_gone(job, &error.to_string()),
            }
        }
    }
}

/// Tells a shepherd something. One that does not read holds up nobody.
fn send(running: &Running, command: &Command) {
    // A shepherd that does not listen has ended, which the next reading finds.
    let _ = running.shepherd.commands().post(command);
}
