//! Checkpoints of jobs: all hosts save their processes of a job, or make them again, before any goes on.

use super::{Head, copies::Copied, rounds::Round};
use std::collections::BTreeMap;
use tasuki_control::{Checkpoint, Epoch, ImageOrder, ImageReport, JobId, Order, Reply, User};
use tasuki_queue::{Client, HostIndex, begin_save, due_for_save, job_back, keeper, revive};

impl Head {
    /// Begins to save a job. `client`: the command that asks, with its user.
    pub(super) fn checkpoint(&mut self, job: JobId, client: Option<(Client, &User)>) -> Option<Reply> {
        if self.rounds.0.contains_key(&job) {
            return Some(Reply::Refused(format!("job {job} is being saved or restarted already")));
        }
        match begin_save(&mut self.queue, self.times.now(), job, client.map(|(_, user)| user)) {
            Err(refusal) => Some(Reply::Refused(refusal.to_string())),
            Ok((epoch, hosts)) => {
                self.tell_image(&hosts, |_| ImageOrder::Save { job, epoch });
                let clients = client.map(|(client, _)| client).into_iter().collect();
                self.begin_round(job, (epoch, false), hosts, clients);
                None
            }
        }
    }

    /// Saves jobs whose users want that again and again.
    pub(super) fn save_due(&mut self) {
        let mut due = due_for_save(&mut self.queue, self.times.now());
        // One that takes longer than from one time to the next is not begun twice.
        due.retain(|job| !self.rounds.0.contains_key(job));
        for job in due {
            if let Some(Reply::Refused(why)) = self.checkpoint(job, None) {
                self.queue.saved_as(job, Err(why));
            }
        }
    }

    /// Has a job that is over go on from a checkpoint.
    pub(super) fn restart(
        &mut self,
        job: JobId,
        epoch: Option<Epoch>,
        (client, user): (Client, &User),
    ) -> Option<Reply> {
        match self.try_restart(job, epoch, (client, user)) {
            Ok(()) => None,
            Err(why) => Some(Reply::Refused(why)),
        }
    }

    fn try_restart(
        &mut self,
        job: JobId,
        epoch: Option<Epoch>,
        (client, user): (Client, &User),
    ) -> Result<(), String> {
        self.queue.permit(user, job).map_err(|refusal| refusal.to_string())?;
        if !user.is_root {
            let why = "root alone may restart jobs, since their files are opened with root's rights: sudo";
            return Err(why.into());
        }
        let (saved, epoch) = self.journal.image(job, epoch)?;
        let start = revive(&mut self.queue, self.times.now(), user, saved, epoch)
            .map_err(|refusal| refusal.to_string())?;
        // The job is written down as one that runs before any host makes its processes.
        self.act();
        let hosts = self.queue.placed_on(job);
        let (start, keepers) = (Box::new(start), self.keepers(job, &hosts));
        self.tell_image(&hosts, |host| {
            let copy = keepers.get(&host).cloned();
            ImageOrder::Restore { start: start.clone(), epoch, copy }
        });
        self.begin_round(job, (epoch, true), hosts, vec![client]);
        Ok(())
    }

    fn begin_round(
        &mut self,
        job: JobId,
        (epoch, restores): (Epoch, bool),
        hosts: Vec<HostIndex>,
        clients: Vec<Client>,
    ) {
        self.rounds.0.insert(job, Round::begin(epoch, restores, hosts, clients));
    }

    fn tell_image(&mut self, hosts: &[HostIndex], order: impl Fn(HostIndex) -> ImageOrder) {
        self.out.extend(hosts.iter().map(|host| (*host, Order::Image(order(*host)))));
    }

    /// A host tells something of a checkpoint.
    pub(super) fn image_report(&mut self, host: HostIndex, report: ImageReport) {
        let job = report.job();
        match report {
            ImageReport::Back { .. } => {
                // While it stood still it heard of no other table, as of an urgent job.
                self.out.push_back((host, Order::Table(Box::new(self.table.clone()))));
                job_back(&mut self.queue, host, job);
                self.tell_missed(host, job);
            }
            ImageReport::Stored { .. } => {
                // The host was away when the job's checkpoints were removed.
                if self.queue.needs_nothing_of(job) && !self.journal.has_images(job) {
                    self.tell_image(&[host], |_| ImageOrder::Discard { job });
                }
            }
            ImageReport::Restored { .. } => self.host_is_done(host, job, None, Ok(0)),
            ImageReport::Saved { epoch, outcome, .. } => self.host_is_done(host, job, Some(epoch), outcome),
            ImageReport::Copied { epoch, outcome, .. } => {
                let name = &self.bundle.hosts[host].name;
                let copied = self.copying.heard((host, name), (job, epoch, outcome));
                self.note_copied(copied);
            }
        }
    }

    fn note_copied(&mut self, copied: impl IntoIterator<Item = Copied>) {
        copied.into_iter().for_each(|(job, epoch, outcome)| self.queue.copied_as(job, epoch, outcome));
    }

    /// The hosts that keep the copies of what each host of a job has of its checkpoints, if its user wants
    /// such: their names.
    fn keepers(&self, job: JobId, hosts: &[HostIndex]) -> BTreeMap<HostIndex, String> {
        if !self.queue.view(job).is_some_and(|view| view.terms.copied) {
            return BTreeMap::new();
        }
        let all = &self.bundle.hosts;
        let named = |host: &HostIndex| Some((*host, all[keeper(hosts, *host, all.len())?].name.clone()));
        hosts.iter().filter_map(named).collect()
    }

    fn host_is_done(
        &mut self,
        host: HostIndex,
        job: JobId,
        epoch: Option<Epoch>,
        outcome: Result<u64, String>,
    ) {
        let is_it = |round: &&mut Round| epoch.is_none_or(|epoch| epoch == round.epoch);
        let Some(round) = self.rounds.0.get_mut(&job).filter(is_it) else {
            if let (Some(epoch), Err(why)) = (epoch, &outcome)
                && self.has_saved(host, job, epoch)
            {
                return self.not_kept(host, (job, epoch), why);
            }
            // Nobody waits for it any more, and its processes shall not stand still for that.
            let order = epoch.map(|epoch| ImageOrder::Settle { job, epoch, keep: false, copy: None });
            return self.out.extend(order.map(|order| (host, Order::Image(order))));
        };
        round.awaited.remove(&host);
        match outcome {
            Ok(bytes) => round.bytes += bytes,
            Err(why) => round.problems.push(format!("{}: {why}", self.bundle.hosts[host].name)),
        }
        if round.awaited.is_empty() {
            self.end_round(job);
        }
    }

    /// Whether a host has said before that it has its part of a job's last checkpoint, which counted then.
    fn has_saved(&self, host: HostIndex, job: JobId, epoch: Epoch) -> bool {
        let last = self.queue.view(job).and_then(|view| view.checkpoint);
        last.is_some_and(|last| last.epoch == epoch) && self.queue.placed_on(job).contains(&host)
    }

    /// A host cannot keep its part of a checkpoint that counted: the one before is the last one again.
    fn not_kept(&mut self, host: HostIndex, (job, epoch): (JobId, Epoch), why: &str) {
        let why = format!("{}: {why}", self.bundle.hosts[host].name);
        let before = self.journal.before(job, epoch);
        self.journal.discard_image(job, epoch);
        self.copying.forget(job);
        self.queue.saved_before(job, before, Some(why));
        let order = ImageOrder::Settle { job, epoch, keep: false, copy: None };
        self.tell_image(&self.queue.placed_on(job), |_| order.clone());
    }

    /// All hosts of a job have said what came of it, or it was given up.
    fn end_round(&mut self, job: JobId) {
        let Some(round) = self.rounds.0.remove(&job) else { return };
        let reply = match round.restores {
            true => self.restored(job, &round),
            false => self.settle(job, &round),
        };
        round.clients.iter().for_each(|client| self.answer(*client, reply.clone()));
    }

    fn restored(&mut self, job: JobId, round: &Round) -> Reply {
        let ready = match round.problems.is_empty() {
            true => self.put_back(job, round.epoch),
            false => Err(round.problems.join("; ")),
        };
        if let Err(why) = ready {
            self.queue.fail(self.times.now(), job, format!("it cannot be restarted: {why}"));
            return Reply::Refused(format!("job {job} cannot be restarted: {why}"));
        }
        self.forget_newer(job, round.epoch);
        self.tell_image(&round.hosts, |_| ImageOrder::GoOn { job });
        // The command whose input it had, if there was one, is gone.
        let first = self.queue.first_host(job);
        let end = Order::Input { job, at: 0, bytes: tasuki_control::Bytes::new() };
        self.out.extend(first.map(|first| (first, end)));
        self.feed_followers(job);
        Reply::Restarted(round.epoch)
    }

    fn settle(&mut self, job: JobId, round: &Round) -> Reply {
        let epoch = round.epoch;
        let kept = match round.problems.is_empty() {
            true => self.keep_image(job, round),
            false => Err(round.problems.join("; ")),
        };
        let keep = kept.is_ok();
        let keepers = if keep { self.keepers(job, &round.hosts) } else { BTreeMap::new() };
        self.tell_image(&round.hosts, |host| {
            let copy = keepers.get(&host).cloned();
            ImageOrder::Settle { job, epoch, keep, copy }
        });
        if !keepers.is_empty() {
            self.copying.begin(job, epoch, &round.hosts);
        }
        match kept {
            Ok(checkpoint) => {
                self.queue.saved_as(job, Ok(checkpoint));
                Reply::Saved(checkpoint)
            }
            Err(why) => {
                self.queue.saved_as(job, Err(why.clone()));
                Reply::Refused(format!("job {job} was not saved, and goes on: {why}"))
            }
        }
    }

    fn keep_image(&mut self, job: JobId, round: &Round) -> Result<Checkpoint, String> {
        let (view, work) = self.queue.saved(job).ok_or("it is not known any more")?;
        let work = work.ok_or("it has ended")?;
        let kept = self.journal.keep_image(round.epoch, view, work);
        kept.map_err(|error| format!("it cannot be written down on {}: {error}", self.bundle.head().name))?;
        let taken = self.times.now().saturating_add_signed(self.times.ahead());
        let millis = u64::try_from(round.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Checkpoint { epoch: round.epoch, taken, bytes: round.bytes, millis, copied: false })
    }

    /// A host is gone, for a while or for good: what it was to save or to make again is not to be had.
    pub(super) fn host_gone_from_rounds(&mut self, host: HostIndex, why: &str) {
        let is_hit = |(job, round): (&JobId, &Round)| round.hosts.contains(&host).then_some(*job);
        let hit: Vec<JobId> = self.rounds.0.iter().filter_map(is_hit).collect();
        for job in hit {
            if let Some(round) = self.rounds.0.get_mut(&job) {
                round.problems.push(format!("{}: {why}", self.bundle.hosts[host].name));
            }
            self.end_round(job);
        }
        let copied = self.copying.host_gone((host, &self.bundle.hosts[host].name), why);
        self.note_copied(copied);
    }

    /// A job is over: nobody waits for its processes any more.
    pub(super) fn job_over_in_rounds(&mut self, job: JobId) {
        if let Some(round) = self.rounds.0.remove(&job) {
            let why = self.queue.view(job).and_then(|view| view.reason.clone()).unwrap_or_default();
            let reply = Reply::Refused(format!("job {job} has ended: {why}"));
            round.clients.iter().for_each(|client| self.answer(*client, reply.clone()));
        }
    }

    /// A job that ended well needs no checkpoint.
    pub(super) fn discard_if_done(&mut self, job: JobId) {
        let is_done = self.queue.view(job).is_some_and(|view| view.state == tasuki_control::State::Done);
        if is_done {
            self.discard_images(job);
        }
    }

    /// Nothing is to be left of a job that is forgotten.
    pub(super) fn forget_images(&mut self, job: JobId) {
        if self.journal.has_images(job) {
            let hosts: Vec<HostIndex> = (0..self.bundle.hosts.len()).collect();
            self.tell_image(&hosts, |_| ImageOrder::Discard { job });
        }
    }

    /// Removes all checkpoints of a job, if it has any.
    fn discard_images(&mut self, job: JobId) {
        let Some(view) = self.queue.view(job) else { return };
        if view.checkpoint.is_some() || self.journal.has_images(job) {
            // One that is not the job's may have copies.
            let all = view.terms.copied.then(|| (0..self.bundle.hosts.len()).collect());
            let hosts = all.unwrap_or_else(|| self.queue.placed_on(job));
            self.copying.forget(job);
            self.journal.discard_images(job);
            self.tell_image(&hosts, |_| ImageOrder::Discard { job });
        }
    }
}
