//! One-sided operations: cut into the engine's transfers, and reported when the last transfer of an operation
//! is over.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tasuki_engine::{Buffer, Endpoint, Failure, Peer, RemoteArgs, RemoteDone, RemoteFailure};

use super::pairs::{NO_BYTES, Place, pair};
use crate::abi::*;
use crate::entries::{Entry, Fault};
use crate::ep::errno;
use crate::ep::wiring::Wiring;
use crate::guard::{Errno, Ret, lock};
use crate::limits::{INJECT_SIZE, IOV_LIMIT};

/// What every one-sided operation has besides its memory.
pub struct Access {
    /// The peer whose memory it is.
    pub peer: FiAddr,
    /// The peer's memory is read; otherwise it is written.
    pub read: bool,
    /// Remote completion data of a write.
    pub data: Option<u64>,
    /// Flags of the call.
    pub flags: u64,
    /// The program's pointer; `None` for an injecting call, which has no completion.
    pub context: Option<Ptr>,
}

/// An operation that is under way.
struct Operation {
    /// Kind of the operation, as its completion says it: `FI_RMA` or `FI_ATOMIC`, with `FI_READ` if bytes
    /// come back, else `FI_WRITE`.
    flags: u64,
    context: u64,
    /// A success is reported in the completion queue.
    reports: bool,
    /// Transfers that are not over.
    left: usize,
    fault: Option<i32>,
    /// Remote completion data that goes out when all bytes are in the peer's memory, and a place there.
    data: Option<(u64, Place)>,
}

/// All operations of an endpoint that are under way.
#[derive(Default)]
pub struct Rma {
    /// Number of operations: spares the locks in programs without one-sided access.
    count: AtomicUsize,
    operations: Mutex<Operations>,
}

#[derive(Default)]
struct Operations {
    numbers: u64,
    by_number: HashMap<u64, Operation>,
}

impl Rma {
    /// Begins a one-sided operation with this peer, which is not gone.
    ///
    /// # Safety
    /// The memory is as fi_rma(3) demands until the operation completes.
    pub unsafe fn begin(
        &self,
        (engine, wiring): (&Endpoint, &Wiring),
        peer: Peer,
        pieces: &[Buffer],
        places: &[Place],
        access: &Access,
    ) -> Ret<usize> {
        if places.len() > IOV_LIMIT || pieces.iter().any(|piece| piece.ptr.is_null() && piece.len > 0) {
            return Err(Errno(FI_EINVAL));
        }
        let pairs = pair(pieces, places)?;
        let inject = !access.read && (access.context.is_none() || access.flags & FI_INJECT != 0);
        // The engine copies a put of up to this size; the pieces of one operation are as small together.
        if inject && pieces.iter().map(|buffer| buffer.len).sum::<usize>() > INJECT_SIZE {
            return Err(Errno(FI_EMSGSIZE));
        }
        // The data of a single transfer travels with it. Several transfers may end in any order: the data
        // follows them.
        let (with, after) = match (&pairs[..], access.data) {
            ([_], data) => (data, None),
            ([.., (_, place)], data) => (None, data.map(|data| (data, Place { len: 0, ..*place }))),
            ([], _) => return Err(Errno(FI_EINVAL)),
        };
        let number = self.begun(FI_RMA, wiring, pairs.len(), after, access);
        for (at, (buffer, place)) in pairs.iter().enumerate() {
            // SAFETY: by the contract.
            let begun = unsafe { transfer(engine, peer, (*buffer, *place), with, access.read, number) };
            if let Err(error) = begun {
                // What has begun cannot be taken back: the operation fails as a whole when that is over.
                return self.give_up(wiring, number, pairs.len() - at, at == 0, error);
            }
        }
        Ok(0)
    }

    /// Takes down an operation of so many transfers, and gives its number. `data`: completion data that
    /// follows them.
    pub(super) fn begun(
        &self,
        kind: u64,
        wiring: &Wiring,
        left: usize,
        data: Option<(u64, Place)>,
        access: &Access,
    ) -> u64 {
        self.add(Operation {
            flags: kind | if access.read { FI_READ } else { FI_WRITE },
            context: access.context.map_or(0, |context| context as u64),
            reports: access.context.is_some() && wiring.tx.reports(access.flags),
            left,
            fault: None,
            data,
        })
    }

    /// An operation cannot go on with the `rest` of its transfers, or with `none`.
    pub(super) fn give_up(
        &self,
        wiring: &Wiring,
        number: u64,
        rest: usize,
        none: bool,
        error: Errno,
    ) -> Ret<usize> {
        if let Some(operation) = lock(&self.operations).by_number.get_mut(&number) {
            operation.left -= rest;
            operation.fault = Some(error.0);
        }
        match self.take_ended(number) {
            Some(_) if none => return Err(error),
            Some(operation) => operation.report(wiring),
            None => {}
        }
        Ok(0)
    }

    /// Whether one-sided operations of this side are under way.
    #[inline]
    pub fn accesses(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Reports operations whose transfers are over, to what `wiring` says. `lose` is told of peers with which
    /// a transfer has failed.
    pub fn drain(&self, engine: &Endpoint, wiring: &Wiring, lose: impl Fn(Peer, Failure)) {
        if !self.accesses() {
            return;
        }
        let mut over = Vec::new();
        engine.poll_remote(usize::MAX, |done| over.push(done));
        over.iter().for_each(|done| self.transferred(engine, wiring, done, &lose));
    }

    /// A transfer is over: its operation too, unless other transfers are under way or remote completion data
    /// follows.
    fn transferred(
        &self,
        engine: &Endpoint,
        wiring: &Wiring,
        done: &RemoteDone,
        lose: &impl Fn(Peer, Failure),
    ) {
        let fault = done.result.err().map(|failure| match failure {
            RemoteFailure::Refused => FI_EACCES,
            RemoteFailure::Misaligned => FI_EINVAL,
            RemoteFailure::Peer(failure) => {
                lose(done.peer, failure);
                errno::of_failure(failure)
            }
        });
        if let Some((data, place)) = self.end_transfer(done.context, fault) {
            let nothing = (NO_BYTES, place);
            // SAFETY: there are no bytes.
            let sent = unsafe { transfer(engine, done.peer, nothing, Some(data), false, done.context) };
            match sent {
                Ok(()) => return,
                Err(Errno(err)) => _ = self.end_transfer(done.context, Some(err)),
            }
        }
        if let Some(operation) = self.take_ended(done.context) {
            operation.report(wiring);
        }
    }

    fn add(&self, operation: Operation) -> u64 {
        self.count.fetch_add(1, Ordering::AcqRel);
        let mut operations = lock(&self.operations);
        operations.numbers += 1;
        let number = operations.numbers;
        operations.by_number.insert(number, operation);
        number
    }

    /// A transfer of this operation is over. Gives the remote completion data that is to go out now as one
    /// more transfer, if all others have succeeded.
    fn end_transfer(&self, number: u64, fault: Option<i32>) -> Option<(u64, Place)> {
        let mut operations = lock(&self.operations);
        let operation = operations.by_number.get_mut(&number)?;
        operation.left -= 1;
        operation.fault = operation.fault.or(fault);
        if operation.left > 0 || operation.fault.is_some() {
            return None;
        }
        let data = operation.data.take()?;
        operation.left = 1;
        Some(data)
    }

    /// Takes out this operation if all its transfers are over.
    fn take_ended(&self, number: u64) -> Option<Operation> {
        let mut operations = lock(&self.operations);
        if operations.by_number.get(&number)?.left > 0 {
            return None;
        }
        self.count.fetch_sub(1, Ordering::AcqRel);
        operations.by_number.remove(&number)
    }
}

impl Operation {
    /// Reports the operation, which is over, to its counter and to the completion queue.
    fn report(&self, wiring: &Wiring) {
        let counter = if self.flags & FI_READ != 0 { &wiring.reads } else { &wiring.writes };
        if let Some(counter) = counter {
            counter.count(self.fault.is_none());
        }
        // A program that waits for the counter would wait for ever if the queue did not tell it of failures.
        if (self.reports || self.fault.is_some())
            && let Some(queue) = &wiring.tx.queue
        {
            let fault = self.fault.map(|err| Fault { err, olen: 0 });
            let source = FI_ADDR_NOTAVAIL;
            let (context, flags) = (self.context, self.flags);
            queue.entries.push(Entry { context, flags, len: 0, buf: 0, data: 0, tag: 0, source, fault });
        }
    }
}

/// Begins a transfer between a buffer and a place of the peer's memory.
///
/// # Safety
/// As for [`Rma::begin`].
unsafe fn transfer(
    engine: &Endpoint,
    peer: Peer,
    (buffer, place): (Buffer, Place),
    data: Option<u64>,
    read: bool,
    number: u64,
) -> Ret {
    let Place { addr: offset, key, .. } = place;
    let args = RemoteArgs { peer, key, offset, buffer, data, quiet: false, context: number };
    // SAFETY: by the contract.
    let begun = unsafe { if read { engine.get(&args) } else { engine.put(&args) } };
    begun.map_err(errno::of_post)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(left: usize, data: Option<u64>) -> Operation {
        let place = Place { addr: 3, len: 0, key: 7 };
        let data = data.map(|data| (data, place));
        Operation { flags: FI_RMA | FI_WRITE, context: 1, reports: true, left, fault: None, data }
    }

    #[test]
    fn completion_data_follows_the_last_of_several_transfers() {
        let rma = Rma::default();
        let number = rma.add(operation(2, Some(77)));
        assert!(rma.end_transfer(number, None).is_none(), "one transfer is under way");
        assert!(rma.take_ended(number).is_none());
        assert!(matches!(rma.end_transfer(number, None), Some((77, Place { addr: 3, len: 0, key: 7 }))));
        assert!(rma.take_ended(number).is_none(), "the data is under way");
        assert!(rma.end_transfer(number, None).is_none());
        assert_eq!(rma.take_ended(number).map(|operation| operation.fault), Some(None));
        assert_eq!(rma.count.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn completion_data_of_a_failed_operation_stays_here() {
        let rma = Rma::default();
        let number = rma.add(operation(2, Some(77)));
        assert!(rma.end_transfer(number, Some(FI_EACCES)).is_none());
        assert!(rma.end_transfer(number, None).is_none());
        assert_eq!(rma.take_ended(number).map(|operation| operation.fault), Some(Some(FI_EACCES)));
    }
}
