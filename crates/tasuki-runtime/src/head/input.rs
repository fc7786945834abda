//! Standard input of jobs: a command hands over a piece, and is answered when there is room for the next one.

use std::collections::BTreeMap;
use tasuki_control::{Bytes, INPUT_MAX, JobId, JobView, Order};
use tasuki_queue::{Client, HostIndex};
use tasuki_shepherd::INPUT_WINDOW;

/// The input of a job.
#[derive(Default)]
struct Input {
    /// Bytes on their way to rank 0, which it has not taken yet.
    under_way: u64,
    /// Rank 0 reads no more.
    is_closed: bool,
    /// A piece that waits for room, and the command that it comes from.
    waiting: Option<(Client, Bytes)>,
}

/// The input of all jobs.
#[derive(Default)]
pub struct Inputs {
    jobs: BTreeMap<JobId, Input>,
}

impl Inputs {
    /// A command hands a piece over.
    pub fn add(&mut self, client: Client, job: JobId, bytes: Bytes) -> Result<(), String> {
        if bytes.len() > INPUT_MAX {
            return Err(format!("a piece of input has at most {INPUT_MAX} bytes"));
        }
        let input = self.jobs.entry(job).or_default();
        if input.waiting.is_some() {
            return Err(format!("another command feeds job {job}"));
        }
        input.waiting = Some((client, bytes));
        Ok(())
    }

    /// Rank 0 has read so much.
    pub fn taken(&mut self, job: JobId, bytes: u64) {
        if let Some(input) = self.jobs.get_mut(&job) {
            input.under_way = input.under_way.saturating_sub(bytes);
        }
    }

    /// Rank 0 reads no more.
    pub fn closed(&mut self, job: JobId) {
        self.jobs.entry(job).or_default().is_closed = true;
    }

    /// A command has gone.
    pub fn client_gone(&mut self, client: Client) {
        self.drop_from(|from| from == client);
    }

    /// All commands of a host have gone.
    pub fn host_gone(&mut self, host: HostIndex) {
        self.drop_from(|from| from.host == host);
    }

    fn drop_from(&mut self, is_gone: impl Fn(Client) -> bool) {
        for input in self.jobs.values_mut() {
            input.waiting.take_if(|(from, _)| is_gone(*from));
        }
    }

    /// The job is over.
    pub fn forget(&mut self, job: JobId) {
        self.jobs.remove(&job);
    }

    /// The piece that can go now: the command to be answered, and what rank 0's host is told, if the rank
    /// still reads. `first`: the host of rank 0, once the job has begun.
    pub fn next(
        &mut self,
        job: JobId,
        view: &JobView,
        first: Option<HostIndex>,
    ) -> Option<(Client, Option<(HostIndex, Order)>)> {
        let input = self.jobs.get_mut(&job)?;
        let room = (INPUT_WINDOW as u64).saturating_sub(input.under_way);
        let is_deaf = input.is_closed || view.state.is_over();
        let may_go =
            |piece: &mut (Client, Bytes)| is_deaf || (first.is_some() && piece.1.len() as u64 <= room);
        let (client, bytes) = input.waiting.take_if(may_go)?;
        let host = first.filter(|_| !is_deaf);
        input.under_way += host.map_or(0, |_| bytes.len() as u64);
        Some((client, host.map(|host| (host, Order::Input { job, bytes }))))
    }
}
