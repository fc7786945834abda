//! Completions that the program has not read yet, in the order in which operations ended.

use std::collections::VecDeque;

use crate::api::{Completion, Failure, Peer, Report};
use crate::peers::{Names, Peers};

/// The completion queue of an endpoint.
#[derive(Default)]
pub(crate) struct Completions(VecDeque<Completion>);

impl Completions {
    #[inline(always)]
    pub fn push(&mut self, completion: Completion) {
        self.0.push_back(completion);
    }

    /// A send is over and has succeeded: the program is told, if it wants to be.
    #[inline(never)]
    pub fn push_sent(&mut self, report: Report, context: u64, peer: Peer, tagged: bool) {
        if report != Report::Failure {
            let quiet = report == Report::Quiet;
            self.0.push_back(Completion::Send { context, peer, tagged, quiet });
        }
    }

    /// A put of a peer is in the program's memory. The program is told if completion data came with it.
    pub fn push_put(&mut self, source: Peer, data: Option<u64>, len: u64) {
        if let Some(data) = data {
            self.0.push_back(Completion::Put { source, data, len });
        }
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes the oldest completion.
    pub fn pop(&mut self) -> Option<Completion> {
        self.0.pop_front()
    }

    /// Gives up to `max` completions to `each`, the oldest first. Returns how many.
    pub fn drain(
        &mut self,
        max: usize,
        peers: &Peers,
        mut each: impl FnMut(&Completion, &Names<'_>),
    ) -> usize {
        let names = Names(peers);
        let (first, second) = self.0.as_slices();
        let count = max.min(first.len() + second.len());
        let from_first = count.min(first.len());
        first[..from_first].iter().for_each(|completion| each(completion, &names));
        second[..count - from_first].iter().for_each(|completion| each(completion, &names));
        if count == self.0.len() {
            self.0.clear();
        } else {
            self.0.drain(..count);
        }
        count
    }

    /// Drops all completions: the program reads no more.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// The failure that the program is told when an operation of the message layer has failed.
pub(crate) fn translate(failure: tasuki_msg::Failure) -> Failure {
    use tasuki_msg::Gone;
    match failure {
        tasuki_msg::Failure::Cancelled => Failure::Cancelled,
        tasuki_msg::Failure::PeerGone(_, Gone::Failed) => Failure::PeerFailed,
        tasuki_msg::Failure::PeerGone(_, Gone::Closed) => Failure::PeerClosed,
    }
}
