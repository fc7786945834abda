//! The receiving side of a stream: the bytes that were asked for, straight into the program's memory.

use std::collections::VecDeque;
use std::ptr::NonNull;

use tasuki_link::Stream;
use tasuki_proto::Time;
use tasuki_tuning::streams;

use crate::messages::{Messages, PullJob};

/// What is received from one peer.
#[derive(Default)]
pub(super) struct StreamRx {
    /// What was asked for, in order.
    jobs: VecDeque<PullJob>,
    /// Bytes of the first job that are there.
    done: u64,
    /// When something of it last arrived, or it was first waited for, ns.
    heard: Option<u64>,
}

impl StreamRx {
    pub fn is_at_work(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// The bytes of a job have been asked for.
    pub fn expect(&mut self, job: PullJob) {
        self.jobs.push_back(job);
    }

    /// Whether nothing has arrived for too long.
    pub fn has_stalled(&mut self, now: Time) -> bool {
        self.is_at_work() && now.0.saturating_sub(*self.heard.get_or_insert(now.0)) >= streams::STALLED_NS
    }

    /// Receives the bytes that are there, and gives how many. `None`: the stream is over, or a receive that
    /// waited for it.
    pub fn receive(&mut self, messages: &mut Messages, stream: &Stream, now: Time) -> Option<usize> {
        let mut total = 0;
        while total < streams::TURN_MAX && self.is_at_work() && stream.has_bytes() {
            let Some(job) = self.jobs.front() else { break };
            // If the receive is over, there is nowhere to put the next bytes of the stream, which are for it.
            let mut into = place(messages, job, self.done)?;
            // SAFETY: `place` names memory of a receive that is under way, and nobody else touches it
            // meanwhile.
            let count = stream.receive(unsafe { into.as_mut() }).ok()?;
            total += count;
            self.done += count as u64;
            if self.done < job.len {
                // Most likely the rest has not arrived yet, and to look for it at once would keep the kernel
                // from receiving it.
                break;
            }
            messages.layer_mut().handle_pulled(job.pull, true);
            self.jobs.pop_front();
            self.done = 0;
        }
        if total > 0 {
            self.heard = self.is_at_work().then_some(now.0);
        }
        Some(total)
    }

    /// All messages that are waited for go in packets. Gives how many.
    pub fn give_up(&mut self, messages: &mut Messages) -> usize {
        let count = self.jobs.len();
        self.jobs.drain(..).for_each(|job| messages.layer_mut().handle_pulled(job.pull, false));
        (self.done, self.heard) = (0, None);
        count
    }
}

/// The next memory of a receive, of which `done` bytes are there.
fn place(messages: &Messages, job: &PullJob, done: u64) -> Option<NonNull<[u8]>> {
    let memory = messages.memory_for(job)?;
    let begin = job.at + done;
    let len = (job.len - done).min(streams::TURN_MAX as u64);
    let base = memory.contiguous().filter(|_| begin + len <= memory.len())?;
    let first = NonNull::new(base.wrapping_add(begin as usize))?;
    Some(NonNull::slice_from_raw_parts(first, len as usize))
}
