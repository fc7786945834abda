//! What the engine reports, as entries of queues and counts.

use tasuki_engine::{Address, Completion, Failure, Names, Peer, Received};

use super::EpShared;
use super::wiring::Wiring;
use crate::abi::*;
use crate::death::{self, PeerFailure};
use crate::note;
use crate::queue::{Entry, Fault, Reader};

impl EpShared {
    /// Writes what most completions are, a whole message, to the reader if that waits for it; reports anything else, too, where it belongs. The engine is at work:
    /// see [`EpShared::complete`].
    #[inline(always)]
    pub fn hand_over(
        &self,
        received: &Received,
        names: &Names<'_>,
        wiring: &Wiring,
        reader: &mut Reader<'_>,
    ) {
        let address = |peer| names.address(peer);
        let Received { context, source, tagged, tag, data, ptr, len, total } = *received;
        if total > len || !wiring.rx.goes_to(reader) {
            return self.complete(&(*received).into(), &address, wiring, Some(reader));
        }
        let remote = if data.is_some() { FI_REMOTE_CQ_DATA } else { 0 };
        let raw = CqTaggedEntry {
            op_context: context as Ptr,
            flags: FI_RECV | remote | if tagged { FI_TAGGED } else { FI_MSG },
            len: len as usize,
            buf: ptr.cast(),
            data: data.unwrap_or(0),
            tag,
        };
        reader.write(&raw, || self.peers.name(source, address, &wiring.space));
    }

    /// Reports a completion where it belongs. May be called while the engine is at work, which therefore is asked for no address, but `address`.
    #[inline(never)]
    pub fn complete(
        &self,
        completion: &Completion,
        address: &dyn Fn(Peer) -> Option<Address>,
        wiring: &Wiring,
        reader: Option<&mut Reader<'_>>,
    ) {
        let name = |peer| self.peers.name(peer, address, &wiring.space);
        let (way, told, entry) = match *completion {
            Completion::Send { context, tagged, quiet, .. } => {
                (&wiring.tx, !quiet, Entry { context, ..blank(FI_SEND, tagged) })
            }
            Completion::Recv { context, source, tagged, tag, data, ptr, len, total, last, multi, quiet } => {
                let blank = blank(FI_RECV, tagged);
                let remote = if data.is_some() { FI_REMOTE_CQ_DATA } else { 0 };
                let over = if multi && last { FI_MULTI_RECV } else { 0 };
                let fault = (total > len).then(|| Fault { err: FI_ETRUNC, olen: (total - len) as usize });
                let told = !quiet || fault.is_some();
                let entry = Entry {
                    context,
                    flags: blank.flags | remote | over,
                    len: len as usize,
                    buf: ptr as usize,
                    data: data.unwrap_or(0),
                    tag,
                    source: name(source),
                    fault,
                };
                (&wiring.rx, told, entry)
            }
            Completion::Error { context, tagged, send, failure, peer, quiet, .. } => {
                if let Some(peer) = peer {
                    self.lose(peer, failure, address);
                }
                let source = peer.map_or(FI_ADDR_NOTAVAIL, name);
                let (way, direction) = if send { (&wiring.tx, FI_SEND) } else { (&wiring.rx, FI_RECV) };
                let fault = Some(Fault { err: errno(failure), olen: 0 });
                // An injected message has no context, and MPIs follow the context of whatever fails. Whoever waits for an answer
                // hears of the failure by the receive; others by the next send, which is refused.
                let told = !(send && quiet && context == 0);
                if !told {
                    note!("an injected message is lost: error {}", errno(failure));
                }
                (way, told, Entry { context, source, fault, ..blank(direction, tagged) })
            }
            Completion::Put { source, data, len } => {
                // No operation of this side is over: nothing is counted.
                let flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
                let (len, source) = (len as usize, name(source));
                let entry = Entry { flags, len, data, source, ..blank(0, false) };
                return wiring.rx.report_to(entry, reader);
            }
        };
        way.count(&entry);
        if told {
            way.report_to(entry, reader);
        }
    }
}

impl EpShared {
    /// An operation with this peer has failed. Whoever ends upon a peer's death does so here if nothing had been exchanged with it, and earlier otherwise.
    pub fn lose(&self, peer: Peer, failure: Failure, address: impl FnOnce(Peer) -> Option<Address>) {
        if failure == Failure::Cancelled {
            return;
        }
        if failure == Failure::PeerFailed
            && self.peer_failure == PeerFailure::Abort
            && let Some(address) = address(peer)
        {
            death::end(&address);
        }
        self.lost.add(peer, errno(failure));
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
