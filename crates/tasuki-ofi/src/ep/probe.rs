//! `FI_PEEK`, `FI_CLAIM` and `FI_DISCARD`: looking for messages that no receive was posted for.
//!
//! The answer to a peek is always a completion, although the call itself could give it, because MPIs expect
//! one kind of answer. If nothing was found the completion fails with `FI_ENOMSG` (fi_tagged(3)).

use tasuki_engine::{Buffer, Found, Probe};

use super::post::Rx;
use super::{EpShared, errno};
use crate::abi::*;
use crate::entries::{Entry, Fault};
use crate::guard::{Errno, Ret};
use crate::members::Member;

impl EpShared {
    /// A receive with `FI_PEEK`.
    pub fn probe(&self, rx: &Rx) -> Ret<usize> {
        let probe = Probe { source: self.source(rx.from)?, tag: rx.tag, ignore: rx.ignore };
        let context = rx.context as u64;
        // A program may do nothing but peek, and still has to make progress.
        self.progress(None);
        let found = if rx.flags & FI_DISCARD != 0 {
            self.engine.discard(&probe)
        } else if rx.flags & FI_CLAIM != 0 {
            self.claims.reserve(context, || self.engine.claim(&probe))?
        } else {
            self.engine.peek(&probe)
        };
        match found {
            Some(found) => self.report_found(rx, &found, found.len),
            None => self.report(self.missing(rx)),
        }
    }

    /// A receive with `FI_CLAIM`, of a message that was reserved under the same context.
    ///
    /// # Safety
    /// As for [`EpShared::recv`].
    pub unsafe fn recv_claimed(&self, pieces: &[Buffer], rx: &Rx) -> Ret<usize> {
        let target = &self.wiring()?.rx;
        let context = rx.context as u64;
        let (claim, found) = self.claims.take(context)?;
        if rx.flags & FI_DISCARD != 0 {
            // An error says that the message was lost with its sender, which discards it as well.
            let _ = self.engine.discard_claimed(claim);
            return self.report_found(rx, &found, 0);
        }
        let reports = target.reports(rx.flags);
        // SAFETY: by the contract.
        let posted = unsafe { self.engine.recv_claimed(claim, pieces, target.report(reports), context) };
        posted.map_err(errno::of_post)?;
        if let Some(answers) = self.answers {
            answers.give(&self.engine, &found);
        }
        Ok(0)
    }

    fn report_found(&self, rx: &Rx, found: &Found, len: u64) -> Ret<usize> {
        let source =
            self.peers.name(found.source, |peer| self.engine.peer_address(peer), &self.wiring()?.space);
        let data = if found.data.is_some() { FI_REMOTE_CQ_DATA } else { 0 };
        self.report(Entry {
            flags: kind(rx) | data,
            len: len as usize,
            data: found.data.unwrap_or(0),
            tag: found.tag,
            source,
            fault: None,
            ..self.missing(rx)
        })
    }

    fn missing(&self, rx: &Rx) -> Entry {
        Entry {
            context: rx.context as u64,
            flags: kind(rx),
            len: 0,
            buf: 0,
            data: 0,
            tag: rx.tag.unwrap_or(0),
            source: FI_ADDR_NOTAVAIL,
            fault: Some(Fault { err: FI_ENOMSG, olen: 0 }),
        }
    }

    fn report(&self, entry: Entry) -> Ret<usize> {
        self.wiring()?.rx.queue.as_ref().ok_or(Errno(FI_ENOCQ))?.entries.push(entry);
        Ok(0)
    }
}

fn kind(rx: &Rx) -> u64 {
    FI_RECV | if rx.tag.is_some() { FI_TAGGED } else { FI_MSG }
}
