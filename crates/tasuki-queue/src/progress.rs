//! What hosts report.

use crate::{HostIndex, change::GONE, queue::Queue, schedule};
use tasuki_control::{Ending, Exit, JobId, Kind, Part, Presence, Punctuality, State};

impl Queue {
    /// A host is lost with all that ran there, or its daemon is of another version.
    pub fn host_lost(&mut self, now: u64, host: HostIndex, presence: Presence) {
        let why = match &presence {
            Presence::Lost(why) => why.clone(),
            Presence::Other(version) => format!("it runs {version}"),
            Presence::Up => return,
        };
        self.hosts[host].presence = presence;
        self.hosts[host].away = None;
        self.end_jobs_on(now, host, &why);
        self.end_attended(now, GONE, |attended| attended.host() == Some(host));
        schedule::advance(self, now);
    }

    /// A host has so much memory, in bytes.
    pub fn host_memory(&mut self, host: HostIndex, memory: u64) {
        self.hosts[host].memory = memory;
    }

    /// A host tells how well it has kept to the table of slices.
    pub fn kept(&mut self, host: HostIndex, kept: &Punctuality) {
        self.hosts[host].turns.add(kept);
    }

    pub(crate) fn end_jobs_on(&mut self, now: u64, host: HostIndex, why: &str) {
        let name = self.hosts[host].name.clone();
        for job in self.jobs_on(host) {
            self.lose_part(now, host, job, format!("{name}: {why}"));
        }
    }

    /// Whether a host has ranks of a job that runs, so that it may speak of the job.
    pub fn takes_part(&self, host: HostIndex, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|entry| entry.left.contains(&host))
    }

    /// The place of a host among the hosts of a job that runs, if it has ranks of it.
    pub fn part_of(&self, host: HostIndex, job: JobId) -> Option<usize> {
        let entry = self.jobs.get(&job).filter(|entry| entry.left.contains(&host))?;
        entry.hosts.iter().position(|one| *one == host)
    }

    /// The host that runs rank 0 of a job.
    pub fn first_host(&self, job: JobId) -> Option<HostIndex> {
        let entry = self.jobs.get(&job)?;
        entry.hosts.first().copied().filter(|first| entry.left.contains(first))
    }

    /// The hosts on which a job runs, or ran.
    pub fn placed_on(&self, job: JobId) -> Vec<HostIndex> {
        self.jobs.get(&job).map(|entry| entry.hosts.clone()).unwrap_or_default()
    }

    /// The hosts on which a job runs.
    pub fn hosts_of(&self, job: JobId) -> Vec<HostIndex> {
        self.jobs.get(&job).map(|entry| entry.left.iter().copied().collect()).unwrap_or_default()
    }

    /// A rank of a job has ended on a host.
    pub fn rank_ended(&mut self, now: u64, host: HostIndex, job: JobId, rank: u32, exit: Exit) {
        let Some(entry) = self.jobs.get_mut(&job).filter(|entry| entry.left.contains(&host)) else { return };
        if !entry.part(host).is_some_and(|part| part.ranks.contains(&rank)) {
            return;
        }
        entry.ended.insert(rank);
        if exit == Exit::Code(0) {
            return;
        }
        let name = &self.hosts[host].name;
        let reason = match entry.work.as_ref().map(|work| work.kind) {
            Some(Kind::OpenMpi { .. }) if entry.hosts.first() == Some(&host) => {
                format!("mpirun on {name} {exit}")
            }
            Some(Kind::OpenMpi { .. }) => format!("Open MPI's daemon on {name} {exit}"),
            _ => format!("rank {rank} on {name} {exit}"),
        };
        if entry.is_parallel() {
            self.end(now, job, State::Failed, exit.code(), reason);
        } else {
            let verdict = Ending { state: State::Failed, exit: exit.code(), reason };
            entry.verdict.get_or_insert(verdict);
        }
    }

    /// A job cannot go on.
    pub fn broken(&mut self, now: u64, host: HostIndex, job: JobId, why: &str, code: Option<i32>) {
        if self.takes_part(host, job) {
            let reason = format!("{}: {why}", self.hosts[host].name);
            self.end(now, job, State::Failed, code.unwrap_or(1), reason);
        }
    }

    /// No process of a job is left on a host.
    pub fn left(&mut self, now: u64, host: HostIndex, job: JobId) {
        if self.hosts[host].leftovers.remove(&job) {
            return schedule::advance(self, now);
        }
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        if !entry.left.remove(&host) {
            return;
        }
        let missing = |part: &Part| part.ranks.iter().any(|rank| !entry.ended.contains(rank));
        if entry.verdict.is_none() && entry.part(host).is_some_and(missing) {
            let reason = format!("{}: ranks ended in an unknown way", self.hosts[host].name);
            self.end(now, job, State::Failed, 1, reason);
            return;
        }
        self.settle(now, job);
    }
}
