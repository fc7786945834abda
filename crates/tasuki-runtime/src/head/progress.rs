//! What hosts tell of jobs that run, and what is told to hosts that come back with jobs.

use super::Head;
use crate::worker;
use tasuki_control::{Checkpoint, Epoch, Exit, Fence, JobId, Kind, Order, Record, Report, Start};
use tasuki_pmi::{FenceIn, FenceOut, Joint, Limits};
use tasuki_queue::HostIndex;

impl Head {
    /// A host speaks of a job, which it may if it has ranks of it.
    pub(super) fn progress(&mut self, host: HostIndex, report: Report) {
        match report {
            Report::Fence { job, fence } => self.fence(host, job, fence),
            Report::Absent { job, rank } if self.queue.takes_part(host, job) => self.absent(host, job, rank),
            Report::Output { job, first, records } => self.output(host, job, first, &records),
            Report::Heard { job, number } => self.out.push_back((host, Order::Taken { job, number })),
            Report::InputTaken { job, bytes } if self.queue.first_host(job) == Some(host) => {
                let again = self.inputs.taken(job, bytes);
                self.out.extend(again.into_iter().map(|order| (host, order)));
                self.feed_rank(job);
            }
            Report::InputClosed { job } if self.queue.first_host(job) == Some(host) => {
                self.inputs.closed(job);
                self.feed_rank(job);
            }
            Report::Exited { job, rank, exit } => self.exited(host, job, rank, exit),
            Report::Broken { job, why, code } => self.queue.broken(self.times.now(), host, job, &why, code),
            Report::Left { job } => self.queue.left(self.times.now(), host, job),
            _ => {}
        }
    }

    fn output(&mut self, host: HostIndex, job: JobId, first: u64, records: &[Record]) {
        if let Some(part) = self.queue.part_of(host, job) {
            if let Err(error) = self.followers.append(job, &self.journal.of(job), part, first, records) {
                let why = format!("its output cannot be written on {}: {error}", self.bundle.head().name);
                self.queue.fail(self.times.now(), job, why);
            }
            self.feed_followers(job);
        }
        // Of a job that was given up nobody wants it.
        let number = (first + records.len() as u64).saturating_sub(1);
        self.out.push_back((host, Order::Taken { job, number }));
    }

    fn exited(&mut self, host: HostIndex, job: JobId, rank: u32, exit: Exit) {
        self.queue.rank_ended(self.times.now(), host, job, rank, exit);
        // Processes of an Open MPI's job have other numbers than its ranks.
        if self.queue.kind_of(job) == Some(Kind::Pmi1) && self.queue.takes_part(host, job) {
            self.absent(host, job, rank);
        }
    }

    /// A rank will never come to a fence.
    fn absent(&mut self, host: HostIndex, job: JobId, rank: u32) {
        let stuck = self.joints.get_mut(&job).and_then(|joint| joint.gone(rank).err());
        if let Some(error) = stuck {
            self.queue.broken(self.times.now(), host, job, &error.to_string(), None);
        }
    }

    fn fence(&mut self, host: HostIndex, job: JobId, fence: Fence) {
        let Some(part) = self.queue.part_of(host, job) else { return };
        let Some(joint) = self.joints.get_mut(&job) else { return };
        let Fence { group, number, puts } = fence;
        match joint.join(FenceIn { host: part as u32, group, number, puts }) {
            Ok(None) => {}
            Ok(Some(out)) => {
                // Hosts that have the result go on: it must outlive this daemon for the others.
                if let Err(error) = self.journal.save_fences(job, joint.results()) {
                    let head = &self.bundle.head().name;
                    return self.queue.fail(
                        self.times.now(),
                        job,
                        format!("it cannot be written down on {head}: {error}"),
                    );
                }
                let order = fenced(job, out);
                let hosts = self.queue.hosts_of(job).into_iter();
                self.out.extend(hosts.map(|host| (host, order.clone())));
            }
            Err(error) => self.queue.broken(self.times.now(), host, job, &error.to_string(), None),
        }
    }

    /// Prepares the fences of a job that begins, once for all its hosts.
    pub(super) fn join(&mut self, start: &Start) {
        if start.work.kind == Kind::Plain || self.joints.contains_key(&start.job) {
            return;
        }
        match Joint::new(&worker::shape(start), Limits::default()) {
            Ok(joint) => drop(self.joints.insert(start.job, joint)),
            Err(error) => self.queue.fail(self.times.now(), start.job, error.to_string()),
        }
    }

    /// Goes on with the jobs that ran when an earlier daemon ended.
    pub(super) fn resume(&mut self) {
        let jobs: Vec<JobId> = self.queue.views(false).iter().map(|view| view.id).collect();
        for start in jobs.into_iter().filter_map(|job| self.queue.start_of(job)).collect::<Vec<_>>() {
            if let Err(why) = self.resume_job(&start) {
                let head = &self.bundle.head().name;
                let why = format!("what {head} has written down of it cannot be read: {why}");
                self.queue.fail(self.times.now(), start.job, why);
            }
        }
    }

    pub(super) fn resume_job(&mut self, start: &Start) -> Result<(), String> {
        let job = start.job;
        let resumed = self.followers.resume(job, &self.journal.of(job));
        resumed.map_err(|error| error.to_string())?;
        if start.work.kind != Kind::Plain {
            let results = self.journal.fences(job).map_err(|error| error.to_string())?;
            let joint = Joint::anew(&worker::shape(start), Limits::default(), results);
            self.joints.insert(job, joint.map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    /// Has what is written down of a job be as it was when a checkpoint was taken, its output among it. Until
    /// all hosts have its processes again it stays as it is: they may be unable to make them.
    pub(super) fn put_back(&mut self, job: JobId, epoch: Epoch) -> Result<(), String> {
        let start = self.queue.start_of(job).ok_or("it has ended")?;
        let ready = self.journal.put_back(job, epoch).map_err(|error| error.to_string());
        let ready = ready.and_then(|()| self.resume_job(&start));
        ready.map_err(|why| format!("what was written down with its checkpoint cannot be used: {why}"))
    }

    /// A job goes on from a checkpoint: later ones are of a run that is given up, as hosts know as well.
    pub(super) fn forget_newer(&mut self, job: JobId, epoch: Epoch) {
        let last = self.queue.view(job).and_then(|view| view.checkpoint);
        if let (true, known) = self.journal.forget_newer(job, epoch) {
            // Where it is not known what it took, it took about as much as the one after it.
            let known = known.or_else(|| Some(Checkpoint { epoch, taken: epoch, copied: false, ..last? }));
            self.queue.saved_before(job, known, None);
        }
    }

    /// A host is here, with these jobs: it may have missed results of fences, and the table of slices.
    pub(super) fn host_back(&mut self, host: HostIndex, cores: u32, jobs: &[JobId]) {
        if !jobs.is_empty() {
            self.out.push_back((host, Order::Table(Box::new(self.table.clone()))));
        }
        // The queue would have one removed that is over, whose end its shepherd alone knows for certain.
        let known: Vec<JobId> = jobs.iter().copied().filter(|job| !self.unwritten.has(*job)).collect();
        self.queue.host_back(self.times.now(), host, cores, &known);
        for job in jobs.iter().filter(|job| self.queue.takes_part(host, **job)).collect::<Vec<_>>() {
            self.tell_missed(host, *job);
        }
    }

    /// Tells a host the results of a job's fences, which it may have missed.
    pub(super) fn tell_missed(&mut self, host: HostIndex, job: JobId) {
        let missed = self.joints.get(&job).into_iter().flat_map(Joint::missed);
        self.out.extend(missed.map(|out| (host, fenced(job, out))));
    }
}

fn fenced(job: JobId, out: FenceOut) -> Order {
    let FenceOut { group, number, puts } = out;
    Order::Fenced { job, fence: Fence { group, number, puts } }
}
