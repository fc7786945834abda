//! What the engine reports, as entries of queues and counts.

use tasuki_engine::{Completion, Failure};

use super::EpShared;
use crate::abi::*;
use crate::note;
use crate::queue::{Entry, Fault};

impl EpShared {
    /// Reports a completion where it belongs.
    pub fn complete(&self, completion: Completion) {
        let Some(wiring) = self.wiring.get() else {
            return;
        };
        let (send, context, quiet) = kind(&completion);
        let way = if send { &wiring.tx } else { &wiring.rx };
        if let Completion::Error { failure, peer: Some(peer), .. } = completion
            && failure != Failure::Cancelled
        {
            self.lost.add(peer, errno(failure));
        }
        let entry = self.entry(completion, &wiring.space);
        if let Some(counter) = &way.counter {
            counter.count(entry.fault.is_none());
        }
        match entry.fault {
            None if quiet => return,
            // An injected message has no context, and MPIs follow the context of whatever fails. Whoever waits for an answer
            // hears of the failure by the receive; others by the next send, which is refused.
            Some(fault) if send && quiet && context == 0 => {
                note!("an injected message is lost: error {}", fault.err);
                return;
            }
            _ => {}
        }
        if let Some(queue) = &way.queue {
            queue.push(entry);
        }
    }

    fn entry(&self, completion: Completion, space: &crate::space::Space) -> Entry {
        match completion {
            Completion::Send { context, tagged, .. } => Entry { context, ..blank(FI_SEND, tagged) },
            Completion::Recv { context, source, tagged, tag, data, ptr, len, total, last, multi, .. } => {
                let blank = blank(FI_RECV, tagged);
                let mut flags = blank.flags;
                if data.is_some() {
                    flags |= FI_REMOTE_CQ_DATA;
                }
                if multi && last {
                    flags |= FI_MULTI_RECV;
                }
                Entry {
                    context,
                    flags,
                    len: len as usize,
                    buf: ptr as usize,
                    data: data.unwrap_or(0),
                    tag,
                    source: self.peers.name(source, &self.engine, space),
                    fault: (total > len).then(|| Fault { err: FI_ETRUNC, olen: (total - len) as usize }),
                }
            }
            Completion::Error { context, tagged, send, failure, peer, .. } => {
                let source = peer.map_or(FI_ADDR_NOTAVAIL, |peer| self.peers.name(peer, &self.engine, space));
                let direction = if send { FI_SEND } else { FI_RECV };
                let fault = Some(Fault { err: errno(failure), olen: 0 });
                Entry { context, source, fault, ..blank(direction, tagged) }
            }
        }
    }
}

/// Send, context, quiet.
fn kind(completion: &Completion) -> (bool, u64, bool) {
    match *completion {
        Completion::Send { context, quiet, .. } => (true, context, quiet),
        Completion::Recv { context, quiet, .. } => (false, context, quiet),
        Completion::Error { context, quiet, send, .. } => (send, context, quiet),
    }
}

fn blank(direction: u64, tagged: bool) -> Entry {
    let flags = direction | if tagged { FI_TAGGED } else { FI_MSG };
    Entry { context: 0, flags, len: 0, buf: 0, data: 0, tag: 0, source: FI_ADDR_NOTAVAIL, fault: None }
}

/// The number for a failure.
pub fn errno(failure: Failure) -> i32 {
    match failure {
        Failure::Cancelled => FI_ECANCELED,
        Failure::PeerFailed => FI_ECONNRESET,
        Failure::PeerClosed => FI_ESHUTDOWN,
    }
}
