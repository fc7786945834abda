//! Standard input of jobs: a command hands over a piece, and is answered when there is room for the next one.
//! What rank 0 has not taken is kept, and goes to the next daemon of its host as well.

use std::collections::BTreeMap;
use tasuki_control::{Bytes, INPUT_MAX, JobId, Order, Reply};
use tasuki_queue::Client;
use tasuki_shepherd::INPUT_WINDOW;

/// A piece that waits for room.
struct Piece {
    client: Client,
    /// Place of the first byte in the whole input.
    at: u64,
    bytes: Bytes,
}

/// The input of a job.
#[derive(Default)]
struct Input {
    /// What was sent to rank 0 and not taken by it yet.
    kept: Vec<u8>,
    /// Place of the first byte of `kept`: rank 0 has taken all before it.
    taken: u64,
    /// It is known what rank 0 has taken, since its host is here and has said so.
    is_known: bool,
    /// The end was sent.
    is_whole: bool,
    /// Rank 0 reads no more.
    is_closed: bool,
    waiting: Option<Piece>,
}

/// The input of all jobs.
#[derive(Default)]
pub struct Inputs {
    jobs: BTreeMap<JobId, Input>,
}

/// What follows when a piece may go: the answer to its command, and what rank 0's host is told.
pub struct Next {
    /// The command.
    pub client: Client,
    /// Its answer.
    pub reply: Reply,
    /// The order to the host, if rank 0 still reads.
    pub order: Option<Order>,
}

impl Inputs {
    /// A command hands a piece over, whose first byte has this place.
    pub fn add(&mut self, client: Client, job: JobId, at: u64, bytes: Bytes) -> Result<(), String> {
        if bytes.len() > INPUT_MAX {
            return Err(format!("a piece of input has at most {INPUT_MAX} bytes"));
        }
        let input = self.jobs.entry(job).or_default();
        if input.waiting.is_some() {
            return Err(format!("another command feeds job {job}"));
        }
        input.waiting = Some(Piece { client, at, bytes });
        Ok(())
    }

    /// Another command feeds the job from now on.
    pub fn release(&mut self, job: JobId) {
        if let Some(input) = self.jobs.get_mut(&job) {
            input.waiting = None;
        }
    }

    /// Rank 0's host says how many bytes it has taken. Returns what the host is to be told again, if it was
    /// away meanwhile.
    pub fn taken(&mut self, job: JobId, bytes: u64) -> Vec<Order> {
        let input = self.jobs.entry(job).or_default();
        let more = usize::try_from(bytes.saturating_sub(input.taken)).unwrap_or(usize::MAX);
        input.kept.drain(..more.min(input.kept.len()));
        input.taken = input.taken.max(bytes);
        if std::mem::replace(&mut input.is_known, true) {
            return Vec::new();
        }
        let order = |at, bytes: &[u8]| Order::Input { job, at, bytes: Bytes::from(bytes) };
        let kept = (!input.kept.is_empty()).then(|| order(input.taken, &input.kept));
        let end = input.is_whole.then(|| order(input.end(), &[]));
        kept.into_iter().chain(end).collect()
    }

    /// Rank 0 reads no more.
    pub fn closed(&mut self, job: JobId) {
        self.jobs.entry(job).or_default().is_closed = true;
    }

    /// The host of these jobs' rank 0 is away.
    pub fn part(&mut self, is_hit: impl Fn(JobId) -> bool) {
        for (_, input) in self.jobs.iter_mut().filter(|(job, _)| is_hit(**job)) {
            input.is_known = false;
        }
    }

    /// Commands have gone.
    pub fn drop_from(&mut self, is_gone: impl Fn(Client) -> bool) {
        for input in self.jobs.values_mut() {
            input.waiting.take_if(|piece| is_gone(piece.client));
        }
    }

    /// The job is over.
    pub fn forget(&mut self, job: JobId) {
        self.jobs.remove(&job);
    }

    /// What follows if the piece that waits can go now. `is_over`: no rank of the job runs.
    pub fn next(&mut self, job: JobId, is_over: bool) -> Option<Next> {
        self.jobs.get_mut(&job)?.next(job, is_over)
    }
}

impl Input {
    /// The place behind all that was sent.
    fn end(&self) -> u64 {
        // A host of this cluster might say anything.
        self.taken.saturating_add(self.kept.len() as u64)
    }

    fn next(&mut self, job: JobId, is_over: bool) -> Option<Next> {
        let Piece { client, at, bytes } = self.waiting.take()?;
        let answer = |reply, order| Some(Next { client, reply, order });
        if self.is_closed || is_over {
            return answer(Reply::Input { taken: at.saturating_add(bytes.len() as u64) }, None);
        }
        let known = self.end().checked_sub(at);
        let Some(known) = known.filter(|_| self.is_known) else {
            if self.is_known {
                let why = format!("input from byte {at} on, after byte {}", self.end());
                return answer(Reply::Refused(why), None);
            }
            self.waiting = Some(Piece { client, at, bytes });
            return None;
        };
        let fresh = bytes.get(usize::try_from(known).unwrap_or(usize::MAX)..).unwrap_or_default();
        if self.kept.len() + fresh.len() > INPUT_WINDOW {
            self.waiting = Some(Piece { client, at, bytes });
            return None;
        }
        self.is_whole |= bytes.is_empty();
        let is_news = bytes.is_empty() || !fresh.is_empty();
        let order = is_news.then(|| Order::Input { job, at: self.end(), bytes: Bytes::from(fresh) });
        self.kept.extend(fresh);
        answer(Reply::Input { taken: self.taken }, order)
    }
}
