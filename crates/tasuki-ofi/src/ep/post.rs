//! Sends, receives and one-sided operations, in the form that the engine takes.

use std::sync::atomic::Ordering;

use tasuki_engine::{Buffer, Peer, RecvArgs, SendArgs};

use super::complete::INJECTED;
use super::rma::{Access, Atomic, Place};
use super::wiring::Wiring;
use super::{EpShared, errno};
use crate::abi::*;
use crate::guard::{Errno, Ret};
use crate::limits::{INJECT_SIZE, IOV_LIMIT};

/// What every send has besides its bytes.
#[derive(Clone, Copy)]
pub struct Tx {
    /// The receiver.
    pub to: FiAddr,
    /// The tag; `None` for the untagged queue.
    pub tag: Option<u64>,
    /// Remote completion data.
    pub data: Option<u64>,
    /// Flags of the call.
    pub flags: u64,
    /// The program's pointer; `None` for an injecting call, which has no completion.
    pub context: Option<Ptr>,
}

/// What every receive has besides its memory.
#[derive(Clone, Copy)]
pub struct Rx {
    /// The sender; any, if it is `FI_ADDR_UNSPEC`.
    pub from: FiAddr,
    /// The tag; `None` for the untagged queue.
    pub tag: Option<u64>,
    /// Bits of the tag that do not matter.
    pub ignore: u64,
    /// Flags of the call.
    pub flags: u64,
    /// The program's pointer.
    pub context: Ptr,
}

/// An array of `struct iovec` as the engine's buffers.
///
/// # Safety
/// `iov` has `count` entries, which stay as they are for `'a`.
pub unsafe fn pieces<'a>(iov: *const IoVec, count: usize) -> Ret<&'a [Buffer]> {
    const { assert!(size_of::<IoVec>() == size_of::<Buffer>()) };
    const { assert!(align_of::<IoVec>() == align_of::<Buffer>()) };
    match count {
        0 => Ok(&[]),
        _ if count > IOV_LIMIT || iov.is_null() => Err(Errno(FI_EINVAL)),
        // SAFETY: the array has so many entries; both types are an address and a length in C's layout.
        _ => Ok(unsafe { std::slice::from_raw_parts(iov.cast(), count) }),
    }
}

impl EpShared {
    /// Posts a send. `RECORDS`: the endpoint records its messages; where it does not, nothing is asked.
    ///
    /// # Safety
    /// The memory stays as it is until the operation completes, as fi_msg(3) demands.
    #[inline(always)]
    pub unsafe fn send<const RECORDS: bool>(&self, pieces: Ret<&[Buffer]>, tx: &Tx) -> Ret<usize> {
        if RECORDS && let Some(recorder) = &self.recorder {
            recorder.enter();
        }
        let (pieces, wiring) = (pieces?, self.wiring()?);
        let peer = self.peers.peer(tx.to, &self.engine, &wiring.space)?;
        if tx.context.is_none() {
            self.lost.check(peer)?;
        }
        let inject = tx.context.is_none() || tx.flags & FI_INJECT != 0;
        if inject && pieces.iter().map(|buffer| buffer.len).sum::<usize>() > INJECT_SIZE {
            return Err(Errno(FI_EMSGSIZE));
        }
        let context = tx.context.map_or(INJECTED, |context| context as u64);
        let reports = tx.context.is_some() && wiring.tx.reports(tx.flags);
        let args = SendArgs {
            peer,
            tag: tx.tag,
            data: tx.data,
            buffers: pieces,
            inject,
            report: wiring.tx.report(reports),
            // The sender of an injected message is not told of its delivery, so that the receiver need not
            // report it.
            delivery: tx.context.is_some() && tx.flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE) != 0,
            more: tx.flags & FI_MORE != 0,
            context,
        };
        // SAFETY: by the contract.
        let posted = unsafe { self.engine.send(&args) };
        if RECORDS && let Some(recorder) = &self.recorder {
            recorder.posted(posted.is_ok(), &args, |peer| self.engine.peer_address(peer));
        }
        match posted {
            Ok(()) => Ok(0),
            Err(error) => Err(errno::of_post(error)),
        }
    }

    /// Posts a receive; with `FI_PEEK` or `FI_CLAIM`, looks for or receives a message that has arrived.
    ///
    /// # Safety
    /// The memory is not touched until the operation completes, as fi_msg(3) demands.
    #[inline(always)]
    pub unsafe fn recv(&self, pieces: Ret<&[Buffer]>, rx: &Rx) -> Ret<usize> {
        if rx.flags & (FI_PEEK | FI_CLAIM) != 0 {
            // SAFETY: by the contract.
            return unsafe { self.recv_unexpected(pieces, &{ *rx }) };
        }
        let (pieces, target) = (pieces?, &self.wiring()?.rx);
        let context = rx.context as u64;
        let reports = target.reports(rx.flags);
        let args = RecvArgs {
            source: self.source(rx.from)?,
            tag: rx.tag,
            ignore: rx.ignore,
            buffers: pieces,
            multi: (rx.flags & FI_MULTI_RECV != 0).then(|| self.min_multi_recv.load(Ordering::Relaxed)),
            report: target.report(reports),
            context,
        };
        // SAFETY: by the contract.
        let posted = unsafe { self.engine.recv(&args) };
        match posted {
            Ok(()) => Ok(0),
            Err(error) => Err(errno::of_post(error)),
        }
    }

    /// [`EpShared::recv`] with `FI_PEEK` or `FI_CLAIM`. Memory counts only where bytes are to be received.
    ///
    /// # Safety
    /// As for [`EpShared::recv`].
    #[inline(never)]
    unsafe fn recv_unexpected(&self, pieces: Ret<&[Buffer]>, rx: &Rx) -> Ret<usize> {
        if rx.flags & FI_PEEK != 0 {
            return self.probe(rx);
        }
        let pieces = if rx.flags & FI_DISCARD != 0 { &[] } else { pieces? };
        // SAFETY: by the contract.
        unsafe { self.recv_claimed(pieces, rx) }
    }

    /// Begins a one-sided operation.
    ///
    /// # Safety
    /// The memory is as fi_rma(3) demands until the operation completes.
    pub unsafe fn access(&self, pieces: &[Buffer], places: &[Place], access: &Access) -> Ret<usize> {
        let (wiring, peer) = self.target(access)?;
        // SAFETY: by the contract.
        unsafe { self.rma.begin((&self.engine, wiring), peer, pieces, places, access) }
    }

    /// Begins an atomic operation.
    ///
    /// # Safety
    /// The places for former values are as fi_atomic(3) demands until the operation completes.
    pub unsafe fn atomic(&self, atomic: &Atomic<'_>, places: &[Place], access: &Access) -> Ret<usize> {
        let (wiring, peer) = self.target(access)?;
        // SAFETY: by the contract.
        unsafe { self.rma.begin_atomic((&self.engine, wiring), peer, atomic, places, access) }
    }

    /// What a one-sided operation is reported to, and its peer.
    fn target(&self, access: &Access) -> Ret<(&Wiring, Peer)> {
        let wiring = self.wiring()?;
        let peer = self.peers.peer(access.peer, &self.engine, &wiring.space)?;
        if access.context.is_none() {
            self.lost.check(peer)?;
        }
        if let Some(recorder) = &self.recorder {
            recorder.one_sided();
        }
        Ok((wiring, peer))
    }

    /// The sender that a receive names; `None`: any.
    #[inline]
    pub fn source(&self, from: FiAddr) -> Ret<Option<Peer>> {
        if !self.directed || from == FI_ADDR_UNSPEC {
            return Ok(None);
        }
        self.peers.peer(from, &self.engine, &self.wiring()?.space).map(Some)
    }
}
