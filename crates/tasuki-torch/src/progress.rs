//! How operations come to their ends, and by which thread's work.

use std::thread;
use std::time::{Duration, Instant};

use tasuki_engine::{Completion, Endpoint, Failure, Peer, Standing};

use crate::error::Error;
use crate::net::{Deadline, Net};
use crate::states::{Lead, State};

/// How many completions are taken from the engine at a time.
const BATCH: usize = 64;

/// How long a thread asks again and again, offering the processor to others in between, before it sleeps.
/// Most answers of a short operation come sooner, and waking up takes as long.
const SPIN: Duration = Duration::from_micros(300);

/// Longest sleep before the time is looked at again.
const LOOK: Duration = Duration::from_millis(50);

impl Net {
    /// Waits until an operation is over, and returns the rank of the other side. `about` is the rank to name
    /// if the time is over.
    pub fn finish(&self, name: u64, about: Option<usize>, deadline: Deadline) -> Result<usize, Error> {
        let begin = Instant::now();
        let mut lead = None;
        loop {
            lead = lead.or_else(|| self.states.lead());
            if lead.as_ref().is_some_and(|lead| self.turn(lead).is_err()) {
                // Another thread closes the endpoint: until that is done, the memory may be in use.
                self.give_up();
            }
            match self.states.take(name) {
                State::Done(rank) => return Ok(rank),
                State::Failed(error) => return Err(error),
                State::Pending(_) => {}
            }
            if begin.elapsed() < SPIN {
                if lead.is_none() {
                    thread::yield_now();
                }
                continue;
            }
            let left = deadline.at.map_or(LOOK, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(Error::Timeout { rank: about, seconds: deadline.timeout.as_secs() });
            }
            if lead.is_none() {
                self.states.sleep(name, left.min(LOOK));
            } else {
                // The next turn notices if it was closed.
                let _ = self.with(|endpoint| endpoint.wait(Some(left.min(LOOK))));
            }
        }
    }

    /// What has become of an operation, which is forgotten if it is over.
    pub fn look(&self, name: u64) -> State {
        // A thread that leads already makes progress and notes what is over. What was under way when the
        // endpoint was closed is pending until its memory is not used any more.
        if let Some(lead) = self.states.lead() {
            let _ = self.turn(&lead);
        }
        self.states.take(name)
    }

    /// Makes progress and notes what is over.
    fn turn(&self, _: &Lead<'_>) -> Result<(), Error> {
        // The engine calls under its lock, where nothing else may be waited for.
        let mut over = Vec::new();
        self.with(|endpoint| endpoint.turn(BATCH, |completion| over.push(completion)))?;
        for completion in over {
            self.note(&completion);
        }
        self.fail_deserted();
        Ok(())
    }

    fn note(&self, completion: &Completion) {
        match *completion {
            Completion::Send { context, peer, .. } => {
                let rank = self.rank_of(peer);
                self.states.end(context, |_| State::Done(rank));
            }
            Completion::Recv { context, total, source, .. } => {
                let rank = self.rank_of(source);
                self.states.end(context, |wanted| match wanted {
                    Some(wanted) if wanted != total => {
                        State::Failed(Error::Length { rank, sent: total, wanted })
                    }
                    _ => State::Done(rank),
                });
            }
            Completion::Error { context, failure, peer, .. } => {
                let known = peer.and_then(|peer| self.explain(failure, peer));
                self.states.end(context, |_| State::Failed(known.unwrap_or(Error::Failed(failure))));
            }
            // Nothing here registers memory.
            Completion::Put { .. } => {}
        }
    }

    fn explain(&self, failure: Failure, peer: Peer) -> Option<Error> {
        let rank = self.rank_of(peer);
        let known = |endpoint: &Endpoint| {
            let host = endpoint.peer_address(peer)?.host().to_string();
            let reason = endpoint.failure_reason(peer).map_or(String::new(), |why| format!(": {why}"));
            Some(Error::Peer { rank, host, failure, reason })
        };
        self.with(known).ok().flatten()
    }

    /// Fails receives of any rank that might wait in vain. The engine leaves them posted, whoever dies.
    fn fail_deserted(&self) {
        let open = self.states.open(LOOK);
        let Some(error) = (!open.is_empty()).then(|| self.desertion()).flatten() else { return };
        for name in open {
            // One that a message was found for goes on.
            if matches!(self.with(|endpoint| endpoint.cancel(name)), Ok(true)) {
                self.states.end(name, |_| State::Failed(error.clone()));
            }
        }
    }

    /// Why a message of any rank may never come: a rank has failed, or no other rank is left.
    fn desertion(&self) -> Option<Error> {
        let mut is_alone = self.size > 1;
        let peers = self.peers.get().into_iter().flatten().enumerate();
        for (_, &peer) in peers.filter(|(rank, _)| *rank != self.rank) {
            match self.with(|endpoint| endpoint.standing(peer)).ok()? {
                Standing::Failed => return self.explain(Failure::PeerFailed, peer),
                Standing::Present => is_alone = false,
                Standing::Parted => {}
            }
        }
        is_alone.then_some(Error::Deserted)
    }
}

#[cfg(test)]
mod tests {
    use tasuki_engine::Buffer;

    use super::*;
    use crate::net::tests::pair;

    /// Two threads that ask at once: neither takes what the other one sleeps for.
    #[test]
    fn a_thread_takes_nothing_while_another_leads() {
        let [sender, receiver] = pair();
        let (mut sent, mut memory) = ([7u8; 8], [0u8; 8]);
        let buffer = |bytes: &mut [u8; 8]| Buffer { ptr: bytes.as_mut_ptr(), len: bytes.len() };
        let minute = || Deadline::after(Duration::from_secs(60));
        // SAFETY: both arrays are left alone until the operations are over.
        let (name, send) = unsafe {
            let name = receiver.recv(Some(0), 1, buffer(&mut memory)).expect("posted");
            (name, sender.send(1, 1, buffer(&mut sent)).expect("posted"))
        };
        let lead = receiver.states.lead().expect("nobody leads yet");
        sender.finish(send, Some(1), minute()).expect("sent");
        for _ in 0..1000 {
            assert!(matches!(receiver.look(name), State::Pending(Some(8))));
        }
        drop(lead);
        assert!(matches!(receiver.finish(name, Some(0), minute()), Ok(0)));
        assert_eq!(memory, [7; 8]);
    }
}
