//! One-sided operations: cut into the engine's transfers, and reported when the last of these is over.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tasuki_engine::{Buffer, Peer, RemoteArgs, RemoteDone, RemoteFailure};

use super::EpShared;
use super::complete::errno;
use crate::abi::*;
use crate::guard::{Errno, Ret, lock};
use crate::limits::{INJECT_SIZE, IOV_LIMIT};
use crate::queue::{Entry, Fault};

/// What all one-sided operations have besides their memory.
pub struct Access {
    /// Whose memory.
    pub peer: FiAddr,
    /// It is read; else written.
    pub read: bool,
    /// Flags of the call.
    pub flags: u64,
    /// The program's pointer; none if injected by a call that has no completion.
    pub context: Option<Ptr>,
}

/// A piece of a peer's memory.
#[derive(Clone, Copy)]
pub struct Place {
    pub addr: u64,
    pub len: u64,
    pub key: u64,
}

/// An operation that is under way.
struct Operation {
    read: bool,
    context: u64,
    /// The queue hears of it if it succeeds.
    reports: bool,
    /// Transfers that are not over.
    left: usize,
    fault: Option<i32>,
}

/// All that are under way.
#[derive(Default)]
pub struct Remote {
    /// Spares the locks where nobody uses this.
    count: AtomicUsize,
    operations: Mutex<Operations>,
}

#[derive(Default)]
struct Operations {
    numbers: u64,
    by_number: HashMap<u64, Operation>,
}

/// The pieces here and there, cut so that each pair is of one length.
fn pair(local: &[Buffer], remote: &[Place]) -> Ret<Vec<(Buffer, Place)>> {
    let here: u64 = local.iter().map(|buffer| buffer.len as u64).sum();
    let there =
        remote.iter().try_fold(0u64, |sum, place| sum.checked_add(place.len)).ok_or(Errno(FI_EINVAL))?;
    if here != there || remote.is_empty() {
        return Err(Errno(FI_EINVAL));
    }
    let mut pairs = Vec::with_capacity(local.len() + remote.len());
    let mut places = remote.iter().copied();
    let mut place = places.next().ok_or(Errno(FI_EINVAL))?;
    for buffer in local {
        let mut rest = *buffer;
        while rest.len > 0 {
            while place.len == 0 {
                place = places.next().ok_or(Errno(FI_EINVAL))?;
            }
            let len = place.len.min(rest.len as u64);
            pairs.push((Buffer { ptr: rest.ptr, len: len as usize }, Place { len, ..place }));
            place = Place { addr: place.addr.wrapping_add(len), len: place.len - len, ..place };
            rest = Buffer { ptr: rest.ptr.wrapping_add(len as usize), len: rest.len - len as usize };
        }
    }
    if pairs.is_empty() {
        // Nothing is moved; the peer is asked all the same, so that a wrong key is noticed.
        pairs.push((Buffer { ptr: std::ptr::null_mut(), len: 0 }, place));
    }
    Ok(pairs)
}

impl EpShared {
    /// Begins a one-sided operation.
    ///
    /// # Safety
    /// The memory is as fi_rma(3) demands until the operation completes.
    pub unsafe fn access(&self, pieces: Ret<&[Buffer]>, places: &[Place], access: &Access) -> Ret<usize> {
        let (pieces, wiring) = (pieces?, self.wiring()?);
        let peer = self.peers.peer(access.peer, &self.engine, &wiring.space)?;
        if access.context.is_none() {
            self.lost.check(peer)?;
        }
        if access.flags & FI_REMOTE_CQ_DATA != 0 || places.len() > IOV_LIMIT {
            return Err(Errno(FI_EINVAL));
        }
        let pairs = pair(pieces, places)?;
        let inject = access.context.is_none() || access.flags & FI_INJECT != 0;
        // Up to this size the engine copies what is put; several pieces are as small together.
        if inject && pieces.iter().map(|buffer| buffer.len).sum::<usize>() > INJECT_SIZE {
            return Err(Errno(FI_EMSGSIZE));
        }
        let operation = Operation {
            read: access.read,
            context: access.context.map_or(0, |context| context as u64),
            reports: access.context.is_some() && wiring.tx.reports(access.flags),
            left: pairs.len(),
            fault: None,
        };
        self.remote.count.fetch_add(1, Ordering::AcqRel);
        let number = {
            let mut operations = lock(&self.remote.operations);
            operations.numbers += 1;
            let number = operations.numbers;
            operations.by_number.insert(number, operation);
            number
        };
        for (at, (buffer, place)) in pairs.iter().enumerate() {
            // SAFETY: by the contract.
            if let Err(error) = unsafe { self.transfer(peer, *buffer, *place, access.read, number) } {
                // What has begun cannot be taken back: the operation fails as a whole when that is over.
                return self.give_up(number, pairs.len() - at, at == 0, error);
            }
        }
        Ok(0)
    }

    unsafe fn transfer(&self, peer: Peer, buffer: Buffer, place: Place, read: bool, number: u64) -> Ret {
        let args = RemoteArgs {
            peer,
            key: place.key,
            offset: place.addr,
            buffer,
            data: None,
            quiet: false,
            context: number,
        };
        // SAFETY: by the contract of `access`.
        let begun = unsafe { if read { self.engine.get(&args) } else { self.engine.put(&args) } };
        begun.map_err(|_| Errno(FI_EINVAL))
    }

    fn give_up(&self, number: u64, rest: usize, none: bool, error: Errno) -> Ret<usize> {
        let mut operations = lock(&self.remote.operations);
        if none {
            operations.by_number.remove(&number);
            self.remote.count.fetch_sub(1, Ordering::AcqRel);
            return Err(error);
        }
        if let Some(operation) = operations.by_number.get_mut(&number) {
            operation.left -= rest;
            operation.fault = Some(error.0);
        }
        Ok(0)
    }

    /// One-sided operations of this side are under way.
    pub fn accesses(&self) -> bool {
        self.remote.count.load(Ordering::Acquire) > 0
    }

    /// Reports transfers that are over.
    pub fn drain_remote(&self) {
        if !self.accesses() {
            return;
        }
        let mut over = Vec::new();
        self.engine.poll_remote(usize::MAX, |done| over.push(done));
        over.iter().for_each(|done| self.transferred(done));
    }

    fn transferred(&self, done: &RemoteDone) {
        let operation = {
            let mut operations = lock(&self.remote.operations);
            let Some(operation) = operations.by_number.get_mut(&done.context) else { return };
            operation.left -= 1;
            if let Err(failure) = done.result {
                operation.fault = Some(match failure {
                    RemoteFailure::Refused => FI_EACCES,
                    RemoteFailure::Peer(failure) => {
                        self.lose(done.peer, failure, |peer| self.engine.peer_address(peer));
                        errno(failure)
                    }
                });
            }
            if operation.left > 0 {
                return;
            }
            operations.by_number.remove(&done.context)
        };
        let Some(operation) = operation else { return };
        self.remote.count.fetch_sub(1, Ordering::AcqRel);
        self.accessed(&operation);
    }

    fn accessed(&self, operation: &Operation) {
        let Some(wiring) = self.wiring.get() else { return };
        let counter = if operation.read { &wiring.reads } else { &wiring.writes };
        if let Some(counter) = counter {
            counter.count(operation.fault.is_none());
        }
        // Whoever waits for the counter would wait for ever if the queue did not tell of failures.
        if (operation.reports || operation.fault.is_some())
            && let Some(queue) = &wiring.tx.queue
        {
            let flags = FI_RMA | if operation.read { FI_READ } else { FI_WRITE };
            let fault = operation.fault.map(|err| Fault { err, olen: 0 });
            let source = FI_ADDR_NOTAVAIL;
            let context = operation.context;
            queue.push(Entry { context, flags, len: 0, buf: 0, data: 0, tag: 0, source, fault });
        }
    }

    /// Lets peers reach memory.
    pub fn expose(&self, key: u64, memory: Buffer) -> Ret {
        // SAFETY: fi_mr(3): the memory stays until the registration is closed, which waits for `conceal`.
        match unsafe { self.engine.register_as(key, &[memory], tasuki_engine::Rights::BOTH) } {
            Ok(true) => Ok(()),
            Ok(false) => Err(Errno(FI_ENOKEY)),
            Err(_) => Err(Errno(FI_EOPBADSTATE)),
        }
    }

    /// Ends it; false if transfers are under way.
    pub fn conceal(&self, key: u64) -> bool {
        !matches!(self.engine.unregister(key), Err(tasuki_engine::UnregisterError::Busy(_)))
    }
}
