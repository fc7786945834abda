//! Sends and receives, as the engine takes them.

use std::sync::atomic::Ordering;

use tasuki_engine::{Buffer, Peer, PostError, RecvArgs, SendArgs};

use super::EpShared;
use super::wiring::Way;
use crate::abi::*;
use crate::guard::{Errno, Ret};
use crate::limits::{INJECT_SIZE, IOV_LIMIT};

/// What all sends have besides their bytes.
pub struct Tx {
    /// To whom.
    pub to: FiAddr,
    /// None: the untagged queue.
    pub tag: Option<u64>,
    /// Remote completion data.
    pub data: Option<u64>,
    /// Flags of the call.
    pub flags: u64,
    /// The program's pointer; none if injected by a call that has no completion.
    pub context: Option<Ptr>,
}

/// What all receives have besides their memory.
pub struct Rx {
    /// From whom.
    pub from: FiAddr,
    /// None: the untagged queue.
    pub tag: Option<u64>,
    /// Bits of the tag that do not matter.
    pub ignore: u64,
    /// Flags of the call.
    pub flags: u64,
    /// The program's pointer.
    pub context: Ptr,
}

/// Memory of a program, in as many pieces as are allowed.
pub struct Pieces {
    buffers: [Buffer; IOV_LIMIT],
    count: usize,
}

impl Pieces {
    /// One piece.
    pub fn one(ptr: *mut u8, len: usize) -> Pieces {
        let mut buffers = [Buffer { ptr: std::ptr::null_mut(), len: 0 }; IOV_LIMIT];
        buffers[0] = Buffer { ptr, len };
        Pieces { buffers, count: 1 }
    }

    /// Those of an array of `struct iovec`.
    ///
    /// # Safety
    /// `iov` has `count` entries.
    pub unsafe fn of(iov: *const IoVec, count: usize) -> Ret<Pieces> {
        let mut pieces = Pieces::one(std::ptr::null_mut(), 0);
        if count > IOV_LIMIT || (count > 0 && iov.is_null()) {
            return Err(Errno(FI_EINVAL));
        }
        for (index, buffer) in pieces.buffers.iter_mut().take(count).enumerate() {
            // SAFETY: less than `count`.
            let piece = unsafe { iov.add(index).read() };
            *buffer = Buffer { ptr: piece.iov_base.cast(), len: piece.iov_len };
        }
        pieces.count = count;
        Ok(pieces)
    }

    /// As the engine takes them.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers[..self.count]
    }
}

impl EpShared {
    /// Sends.
    ///
    /// # Safety
    /// The memory stays as it is until the operation completes, as fi_msg(3) demands.
    pub unsafe fn send(&self, pieces: Ret<Pieces>, tx: &Tx) -> Ret<usize> {
        let (pieces, wiring) = (pieces?, self.wiring()?);
        let peer = self.peers.peer(tx.to, &self.engine, &wiring.space)?;
        if tx.context.is_none() {
            self.lost.check(peer)?;
        }
        let inject = tx.context.is_none() || tx.flags & FI_INJECT != 0;
        if inject && pieces.buffers().iter().map(|buffer| buffer.len).sum::<usize>() > INJECT_SIZE {
            return Err(Errno(FI_EMSGSIZE));
        }
        let context = tx.context.map_or(0, |context| context as u64);
        let reports = tx.context.is_some() && wiring.tx.reports(tx.flags);
        let args = SendArgs {
            peer,
            tag: tx.tag,
            data: tx.data,
            buffers: pieces.buffers(),
            inject,
            quiet: self.quiet(&wiring.tx, reports, true, context),
            // Nobody is told when an injected message is delivered: the receiver need not say it.
            delivery: tx.context.is_some() && tx.flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE) != 0,
            context,
        };
        // SAFETY: by the contract.
        let posted = unsafe { self.engine.send(&args) };
        self.posted(posted, reports || args.quiet, true, context)
    }

    /// Receives, probes, or receives what was claimed.
    ///
    /// # Safety
    /// The memory is not touched until the operation completes, as fi_msg(3) demands.
    pub unsafe fn recv(&self, pieces: Ret<Pieces>, rx: &Rx) -> Ret<usize> {
        let pieces = pieces?;
        if rx.flags & FI_PEEK != 0 {
            return self.probe(rx);
        }
        if rx.flags & FI_CLAIM != 0 {
            // SAFETY: by the contract.
            return unsafe { self.recv_claimed(&pieces, rx) };
        }
        let way = &self.wiring()?.rx;
        let context = rx.context as u64;
        let reports = way.reports(rx.flags);
        let args = RecvArgs {
            source: self.source(rx.from)?,
            tag: rx.tag,
            ignore: rx.ignore,
            buffers: pieces.buffers(),
            multi: (rx.flags & FI_MULTI_RECV != 0).then(|| self.min_multi_recv.load(Ordering::Relaxed)),
            quiet: self.quiet(way, reports, false, context),
            context,
        };
        // SAFETY: by the contract.
        let posted = unsafe { self.engine.recv(&args) };
        self.posted(posted, reports || args.quiet, false, context)
    }

    /// The sender that a receive names; None: any.
    pub fn source(&self, from: FiAddr) -> Ret<Option<Peer>> {
        if !self.directed || from == FI_ADDR_UNSPEC {
            return Ok(None);
        }
        self.peers.peer(from, &self.engine, &self.wiring()?.space).map(Some)
    }

    /// Whether the engine need not report success. If it must for a counter's sake only, that is written down.
    pub fn quiet(&self, way: &Way, reports: bool, send: bool, context: u64) -> bool {
        if !reports && way.counter.is_some() {
            self.silent.add(send, context);
        }
        !reports && way.counter.is_none()
    }

    /// The result of a call; undoes the note of [`EpShared::quiet`] if the engine did not take the operation.
    pub fn posted(
        &self,
        posted: Result<(), PostError>,
        unnoted: bool,
        send: bool,
        context: u64,
    ) -> Ret<usize> {
        posted.map(|()| 0).map_err(|error| {
            if !unnoted {
                self.silent.take(send, context, true);
            }
            errno(error)
        })
    }
}

fn errno(error: PostError) -> Errno {
    Errno(match error {
        PostError::UnknownPeer(_) | PostError::UnknownClaim | PostError::NullBuffer(_) => FI_EINVAL,
        PostError::ClaimLost => FI_ECONNRESET,
        PostError::Closed => FI_EOPBADSTATE,
    })
}
