//! Jobs whose processes stand still on this host, for a checkpoint or because they were made again from one.
//!
//! A thread for each saves them or makes them again. The shepherd stands still as well: it is one of the
//! processes, and has no daemon meanwhile. When they go on, this daemon takes the job over as it would from
//! an earlier one.

#[cfg(test)]
mod tests;

use super::{
    Running, Worker,
    keeping::{not_kept, take_care},
    remains::Remains,
    send,
    still::{Still, What},
};
use crate::images::{Flock, go_on};
use std::{
    collections::BTreeMap,
    io,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use tasuki_control::{Epoch, ImageOrder, ImageReport, JobId, Report, Start};
use tasuki_shepherd::Shepherd;

/// How long a shepherd may take to let its daemon go.
const PART: Duration = Duration::from_secs(10);
/// Why there is no copy of a checkpoint that comes too soon after another.
const BUSY: &str = "the copy of the checkpoint before is still on its way: take them less often";

impl Worker {
    /// Does what the daemon that keeps the queue says of checkpoints.
    pub(super) fn obey_image(&mut self, order: ImageOrder) {
        match order {
            ImageOrder::Save { job, epoch } => self.save(job, epoch),
            ImageOrder::Settle { job, epoch, keep, copy } => self.settle((job, epoch), keep, copy),
            ImageOrder::Restore { start, epoch, copy } => self.restore(&start, epoch, copy),
            ImageOrder::GoOn { job } => self.go_on(job),
            ImageOrder::Discard { job } => {
                let (images, copies) = (self.images.clone(), self.copies.clone());
                // Files may be large, and nobody waits for their removal.
                let _ = thread::Builder::new().spawn(move || {
                    images.discard(job);
                    copies.discard(job);
                });
            }
        }
    }

    fn save(&mut self, job: JobId, epoch: Epoch) {
        let refuse =
            |why: &str| Report::Image(ImageReport::Saved { job, epoch, outcome: Err(why.to_owned()) });
        let Some(running) = self.jobs.remove(&job) else {
            return self.out.push_back(refuse("it has no processes here"));
        };
        let known = running.pid.zip(running.residence.clone()).filter(|_| !running.is_over);
        let Some((pid, residence)) = known else {
            self.jobs.insert(job, running);
            return self.out.push_back(refuse("its processes are being started or have ended"));
        };
        let (proxies, images) = (running.proxies.clone(), self.images.clone());
        let flock = Flock { shepherd: pid as i32, residence, proxies: proxies.clone() };
        let shepherd = running.shepherd;
        let work = move |stop: &AtomicBool| {
            shepherd.part(PART).map_err(|error| format!("its shepherd does not let go: {error}"))?;
            Ok((images.save(job, epoch, &flock, stop)?, flock.shepherd))
        };
        self.still.insert(job, Still::begin(What::Save(epoch), proxies, work));
    }

    fn restore(&mut self, start: &Start, epoch: Epoch, copy: Option<String>) {
        let job = start.job;
        if self.shelter.has(job) || self.still.contains_key(&job) {
            let why = "something of the job is still here".to_owned();
            return self.out.extend([Report::Broken { job, why, code: None }, Report::Left { job }]);
        }
        let proxies = super::openmpi::proxies(start, &self.host);
        let (images, copies, socket) = (self.images.clone(), self.copies.clone(), self.shelter.socket(job));
        let work = move |stop: &AtomicBool| {
            let manifest = images.sound(job, epoch).or_else(|why| {
                let from = copy.ok_or_else(|| why.clone())?;
                let got = copies.get(&from, (job, epoch), &images, stop);
                got.map_err(|copy| format!("{why}; {copy}"))
            });
            let flock = images.restore((job, epoch), &manifest?, &socket, stop)?;
            Ok((0, flock.shepherd))
        };
        self.still.insert(job, Still::begin(What::Restore(epoch), proxies, work));
    }

    /// All hosts have saved a job's processes, or one could not. `copy`: the host that gets a copy.
    fn settle(&mut self, (job, epoch): (JobId, Epoch), keep: bool, copy: Option<String>) {
        match keep.then(|| self.images.name(job, epoch)) {
            Some(Ok(())) => self.keep(job, epoch, copy),
            Some(Err(error)) => self.out.push_back(Report::Image(not_kept(job, epoch, &error))),
            None => {}
        }
        match self.still.get_mut(&job) {
            // The thread that writes it removes it when it is done.
            Some(still) if still.working.is_some() => return still.is_given_up = true,
            Some(_) => self.go_on(job),
            None => {}
        }
        if !keep {
            self.images.drop_epoch(job, epoch);
        }
    }

    /// Has the disk keep a checkpoint, and another host its copy. That takes long, and this thread tells the
    /// daemon of the queue that the host is there.
    fn keep(&mut self, job: JobId, epoch: Epoch, copy: Option<String>) {
        let (images, copies, tell) = (self.images.clone(), self.copies.clone(), self.told.0.clone());
        let copied = |why: &str| ImageReport::Copied { job, epoch, outcome: Err(why.into()) };
        let read = self.copying.get(&job).copied();
        let is_busy = copy.is_some() && read.is_some();
        self.out.extend(is_busy.then(|| Report::Image(copied(BUSY))));
        let copy = copy.filter(|_| !is_busy);
        let is_copied = copy.is_some();
        let work = move || take_care((&images, &copies), (job, epoch), read, copy, &tell);
        match thread::Builder::new().name("keep".into()).spawn(work) {
            Ok(_) => self.copying.extend(is_copied.then_some((job, epoch))),
            Err(error) => {
                let why = format!("there is no thread for it: {error}");
                eprintln!("checkpoint {epoch} of job {job} may not be on the disk yet: {why}");
                self.out.extend(is_copied.then(|| Report::Image(copied(&why))));
            }
        }
    }

    /// Has a job's processes go on.
    fn go_on(&mut self, job: JobId) {
        let Some(still) = self.still.remove(&job) else { return };
        if let Some(shepherd) = still.shepherd {
            go_on(shepherd);
        }
        self.images.restored(job);
        if let What::Restore(epoch) = still.what {
            self.images.forget_newer(job, epoch);
        }
        match Shepherd::attach(&self.shelter.socket(job)) {
            Ok(shepherd) => {
                let running = Running::new(shepherd, still.proxies);
                still.input.iter().for_each(|command| send(&running, command));
                self.jobs.insert(job, running);
                self.out.push_back(Report::Image(ImageReport::Back { job }));
                if still.ends {
                    self.end(job);
                }
            }
            Err(error) => {
                let why = format!("its shepherd is gone after a checkpoint: {error}");
                self.remains.insert(job, Remains::end(why, self.shelter.ending(job)));
            }
        }
    }

    /// A job that stands still is to end.
    pub(super) fn end_still(&mut self, job: JobId) {
        let Some(still) = self.still.get_mut(&job) else { return };
        (still.ends, still.is_given_up) = (true, true);
        still.stop.store(true, Ordering::Relaxed);
        if still.working.is_none() {
            self.give_up_still(job);
        }
    }

    /// Takes note of what threads have done.
    pub(super) fn report_still(&mut self) {
        for report in self.told.1.try_iter() {
            if let ImageReport::Copied { job, .. } = &report {
                self.copying.remove(job);
            }
            self.out.push_back(Report::Image(report));
        }
        let done: Vec<_> =
            self.still.iter_mut().filter_map(|(job, still)| Some((*job, still.done()?))).collect();
        for (job, done) in done {
            match done {
                Ok((bytes, shepherd)) => self.work_is_done(job, bytes, shepherd),
                Err(why) => self.work_failed(job, why),
            }
        }
    }

    fn work_is_done(&mut self, job: JobId, bytes: u64, shepherd: i32) {
        let Some(still) = self.still.get_mut(&job) else { return };
        still.shepherd = Some(shepherd);
        match still.what {
            _ if still.is_given_up => self.give_up_still(job),
            What::Save(epoch) => {
                self.out.push_back(Report::Image(ImageReport::Saved { job, epoch, outcome: Ok(bytes) }));
            }
            What::Restore(_) => {
                let proxies = still.proxies.clone();
                let noted = self.shelter.note(job, &proxies);
                match noted {
                    Ok(()) => self.out.push_back(Report::Image(ImageReport::Restored { job })),
                    Err(error) => self.end_restored(job, format!("it cannot be written down: {error}")),
                }
            }
            What::Wait => self.go_on(job),
        }
    }

    fn work_failed(&mut self, job: JobId, why: String) {
        let Some(still) = self.still.get(&job) else { return };
        match still.what {
            What::Save(epoch) => {
                self.out.push_back(Report::Image(ImageReport::Saved { job, epoch, outcome: Err(why) }));
                self.go_on(job);
            }
            What::Restore(_) => {
                self.still.remove(&job);
                self.images.restored(job);
                self.shelter.forget(job);
                self.out.extend([Report::Broken { job, why, code: None }, Report::Left { job }]);
            }
            What::Wait => self.go_on(job),
        }
    }

    /// Has a job go on without its checkpoint, or ends one that was made again and that nobody waits for.
    fn give_up_still(&mut self, job: JobId) {
        let Some(still) = self.still.get(&job) else { return };
        match still.what {
            What::Save(epoch) => {
                self.images.drop_part(job, epoch);
                self.go_on(job);
            }
            What::Restore(_) => self.end_restored(job, "it was given up while it was being restarted".into()),
            What::Wait => self.go_on(job),
        }
    }

    fn end_restored(&mut self, job: JobId, why: String) {
        self.still.remove(&job);
        let (ending, images) = (self.shelter.ending(job), self.images.clone());
        let end = move || -> io::Result<()> {
            images.wait_restored(job);
            let ended = ending();
            images.restored(job);
            ended
        };
        self.remains.insert(job, Remains::end(why, end));
    }

    /// The connection to the queue was lost: checkpoints that are not whole are worth nothing.
    pub(super) fn let_go_still(&mut self) {
        for still in self.still.values_mut() {
            still.is_given_up = true;
            // A copy that is being fetched is not wanted any more: the next restart begins anew.
            if matches!(still.what, What::Restore(_)) {
                still.stop.store(true, Ordering::Relaxed);
            }
        }
        let idle = self.still.iter().filter(|(_, still)| still.working.is_none());
        for job in idle.map(|(job, _)| *job).collect::<Vec<JobId>>() {
            self.give_up_still(job);
        }
    }

    /// Jobs that an earlier daemon was making again end. Those that stand still for a checkpoint that it
    /// began go on once nobody writes it.
    pub(super) fn take_over_still(&mut self) {
        let mut jobs = self.images.restoring();
        jobs.retain(|job| !self.still.contains_key(job) && !self.remains.contains_key(job));
        for job in jobs {
            self.end_restored(job, "its tasukid ended while it was being restarted".into());
        }
        let mut jobs = self.images.interrupted();
        jobs.retain(|job| !self.still.contains_key(job));
        for job in jobs {
            let (images, shepherd) = (self.images.clone(), self.shelter.shepherd(job));
            let clear = move |_: &AtomicBool| {
                images.clear(job);
                shepherd.map(|shepherd| (0, shepherd)).ok_or_else(|| "it has no shepherd".to_owned())
            };
            if shepherd.is_some() {
                self.still.insert(job, Still::begin(What::Wait, BTreeMap::new(), clear));
            } else {
                // Nobody waits for that. What stays is looked at by the next daemon.
                let _ = thread::Builder::new().spawn(move || clear(&AtomicBool::new(false)));
            }
        }
    }
}
