//! Completions of the engine, as entries of completion queues and as counts.

use tasuki_engine::{Address, Completion, Failure, Names, Peer, Received};

use super::wiring::Wiring;
use super::{EpShared, errno};
use crate::abi::*;
use crate::death::{self, PeerFailure};
use crate::entries::{Entry, Fault, Reader};
use crate::note;

/// The engine's context of injected messages, which have none of the program's. It is the address of nothing.
pub const INJECTED: u64 = u64::MAX;

impl EpShared {
    /// Reports a received message. Most are whole messages for the queue that is being read, and are written
    /// straight to its reader; others go through [`EpShared::complete`]. Called by the engine, as that one.
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

    /// Reports a completion to the queue and the counter of its direction. The engine calls this while it is
    /// locked, so that peers' addresses are asked of `address` and not of the engine.
    #[inline(never)]
    pub fn complete(
        &self,
        completion: &Completion,
        address: &dyn Fn(Peer) -> Option<Address>,
        wiring: &Wiring,
        reader: Option<&mut Reader<'_>>,
    ) {
        let name = |peer| self.peers.name(peer, address, &wiring.space);
        let (target, told, entry) = match *completion {
            Completion::Send { context, tagged, quiet, .. } => {
                (&wiring.tx, !quiet, Entry { context, ..blank(FI_SEND, tagged) })
            }
            Completion::Recv { context, source, tagged, tag, data, ptr, len, total, last, multi, quiet } => {
                if let Some(recorder) = &self.recorder {
                    recorder.received(source, tagged.then_some(tag), total, address);
                }
                let blank = blank(FI_RECV, tagged);
                let remote = if data.is_some() { FI_REMOTE_CQ_DATA } else { 0 };
                let over = if multi && last { FI_MULTI_RECV } else { 0 };
                let fault = (total > len).then(|| Fault { err: FI_ETRUNC, olen: (total - len) as usize });
                let told = !quiet || fault.is_some() || over != 0;
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
            Completion::Error { context, tagged, send, failure, peer, last, multi, .. } => {
                if let Some(peer) = peer {
                    self.lose(peer, failure, address);
                }
                let source = peer.map_or(FI_ADDR_NOTAVAIL, name);
                let (target, direction) = if send { (&wiring.tx, FI_SEND) } else { (&wiring.rx, FI_RECV) };
                let fault = Some(Fault { err: errno::of_failure(failure), olen: 0 });
                // An injected message has no context, and MPIs follow the context of every failed completion.
                // A program that waits for an answer hears of the failure by its receive, others by their
                // next send, which is refused.
                let told = !(send && context == INJECTED);
                if !told {
                    note!("an injected message is lost: error {}", errno::of_failure(failure));
                }
                let blank = blank(direction, tagged);
                // A receive of several messages gives its buffer back only when this is said.
                let flags = blank.flags | if multi && last { FI_MULTI_RECV } else { 0 };
                (target, told, Entry { context, flags, source, fault, ..blank })
            }
            Completion::Put { source, data, len } => {
                // No operation of this side is over: nothing is counted.
                let flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
                let (len, source) = (len as usize, name(source));
                let entry = Entry { flags, len, data, source, ..blank(0, false) };
                return wiring.rx.report_to(entry, reader);
            }
        };
        target.count(&entry);
        if told {
            target.report_to(entry, reader);
        }
    }

    /// Notes that an operation with this peer has failed. If the process is to end upon a peer's death, it
    /// ends here, unless it has exchanged something with the peer: then the engine has noticed the death and
    /// ended it before.
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
        self.lost.add(peer, errno::of_failure(failure));
    }
}

fn blank(direction: u64, tagged: bool) -> Entry {
    let flags = direction | if tagged { FI_TAGGED } else { FI_MSG };
    Entry { context: 0, flags, len: 0, buf: 0, data: 0, tag: 0, source: FI_ADDR_NOTAVAIL, fault: None }
}
