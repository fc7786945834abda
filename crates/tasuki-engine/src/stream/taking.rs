//! The receiving side: what was asked for, straight into the program's memory.

use std::collections::VecDeque;
use std::ptr::NonNull;

use tasuki_link::Stream;
use tasuki_proto::Time;

use super::TURN;
use crate::bulk::Job;
use crate::core::Core;

/// What has been asked for and does not come for so long goes in packets: the rail may be dead, and packets find another. ns.
const STALLED: u64 = 1_000_000_000;

/// What is received from one peer.
#[derive(Default)]
pub(crate) struct Taking {
    /// What was asked for, in order.
    jobs: VecDeque<Job>,
    /// Bytes of the first that are there.
    done: u64,
    /// When something last came of it, or it was first waited for, ns.
    heard: Option<u64>,
}

impl Taking {
    pub fn is_at_work(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Something that has been asked for.
    pub fn expect(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    /// Nothing has come for too long.
    pub fn has_stalled(&mut self, now: Time) -> bool {
        self.is_at_work() && now.0.saturating_sub(*self.heard.get_or_insert(now.0)) >= STALLED
    }

    /// Receives what is there; how much. `None`: the stream is over, or somebody who waited for it.
    pub fn receive(&mut self, core: &mut Core, stream: &Stream, now: Time) -> Option<usize> {
        let mut total = 0;
        while total < TURN && self.is_at_work() && stream.has_bytes() {
            let Some(job) = self.jobs.front() else { break };
            // What follows in the stream is for this receive, and it is over: there is nowhere to put it.
            let mut into = place_of(core, job, self.done)?;
            // SAFETY: `place_of` names memory of a receive that is under way; nobody else touches it meanwhile.
            let count = stream.receive(unsafe { into.as_mut() }).ok()?;
            total += count;
            self.done += count as u64;
            if self.done < job.len {
                // The rest has not come yet, most likely, and to look for it at once would keep the kernel from receiving it.
                break;
            }
            core.msg.handle_pulled(job.pull, true);
            self.jobs.pop_front();
            self.done = 0;
        }
        if total > 0 {
            self.heard = self.is_at_work().then_some(now.0);
        }
        Some(total)
    }

    /// All that is waited for goes in packets; how many messages.
    pub fn give_up(&mut self, core: &mut Core) -> usize {
        let count = self.jobs.len();
        self.jobs.drain(..).for_each(|job| core.msg.handle_pulled(job.pull, false));
        (self.done, self.heard) = (0, None);
        count
    }
}

/// The memory of a receive that is not there yet.
fn place_of(core: &Core, job: &Job, done: u64) -> Option<NonNull<[u8]>> {
    let recv = core.recvs.get(job.user as usize).filter(|recv| recv.id == Some(job.recv))?;
    let begin = job.at + done;
    let len = (job.len - done).min(TURN as u64);
    let base = recv.memory.contiguous().filter(|_| begin + len <= recv.memory.len())?;
    let first = NonNull::new(base.wrapping_add(begin as usize))?;
    Some(NonNull::slice_from_raw_parts(first, len as usize))
}
