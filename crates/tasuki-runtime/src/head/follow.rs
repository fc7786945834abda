//! Commands that follow the output of jobs: each asks for what comes behind a place, and is answered when
//! there is something.

use crate::log::{self, Logs};
use std::{io, path::Path};
use tasuki_control::{JobId, JobView, Record, Reply};
use tasuki_queue::{Client, HostIndex};

struct Follower {
    client: Client,
    job: JobId,
    from: u64,
}

/// Commands that wait for output, and the logs.
#[derive(Default)]
pub struct Followers {
    waiting: Vec<Follower>,
    logs: Logs,
}

impl Followers {
    /// A command asks for the output of a job from a place on.
    pub fn add(&mut self, client: Client, job: JobId, from: u64) {
        self.waiting.push(Follower { client, job, from });
    }

    /// A command has gone.
    pub fn client_gone(&mut self, client: Client) {
        self.waiting.retain(|follower| follower.client != client);
    }

    /// All commands of a host have gone.
    pub fn host_gone(&mut self, host: HostIndex) {
        self.waiting.retain(|follower| follower.client.host != host);
    }

    /// Keeps output of a job whose folder this is.
    pub fn append(
        &mut self,
        job: JobId,
        folder: &Path,
        part: usize,
        first: u64,
        records: &[Record],
    ) -> io::Result<()> {
        self.logs.append(job, folder, part, first, records)
    }

    /// Goes on with the output of a job that has outlived an earlier daemon.
    pub fn resume(&mut self, job: JobId, folder: &Path) -> io::Result<()> {
        self.logs.resume(job, folder)
    }

    /// The job writes no more.
    pub fn close(&mut self, job: JobId) {
        self.logs.close(job);
    }

    /// Takes the commands out that can be answered about a job; `over`: the job, if it is over.
    pub fn answers(&mut self, job: JobId, folder: &Path, over: Option<&JobView>) -> Vec<(Client, Reply)> {
        let (of_job, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|follower| follower.job == job);
        self.waiting = others;
        let mut answers = Vec::new();
        for follower in of_job {
            match (log::read(folder, follower.from), over) {
                (Err(error), _) => {
                    let why = format!("the output of job {job} cannot be read: {error}");
                    answers.push((follower.client, Reply::Refused(why)));
                }
                (Ok((records, next)), _) if !records.is_empty() => {
                    answers.push((follower.client, Reply::Output { records, next }));
                }
                (_, Some(view)) => answers.push((follower.client, Reply::Over(Box::new(view.clone())))),
                (_, None) => self.waiting.push(follower),
            }
        }
        answers
    }
}
