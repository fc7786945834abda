//! One end of a connection, and the requests under way on it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slab::Slab;
use tasuki_engine::{Buffer, Peer};

use crate::context::Context;
use crate::error::Error;
use crate::net::{Net, State};

/// The sending or the receiving end of a connection.
pub(crate) struct Comm {
    pub context: Arc<Context>,
    net: Arc<Net>,
    peer: Peer,
    /// The connection's number, which the sender's endpoint has given it.
    number: u32,
    requests: Mutex<Slab<Box<Request>>>,
}

/// What NCCL calls a request: one send, or a group of receives. It lives until it is over, or until its
/// connection is closed if it has failed.
pub(crate) struct Request {
    comm: Arc<Comm>,
    slot: usize,
    parts: Vec<Part>,
    /// The log has been told that it has failed.
    told: AtomicBool,
}

/// An operation of a request.
struct Part {
    operation: u64,
    /// Its memory: address and length, bytes.
    memory: (usize, usize),
    /// Length of a send, bytes. The engine tells that of receives.
    sent: Option<usize>,
}

/// The engine's tag of a message: the connection's number and NCCL's tag.
fn tag(number: u32, of_nccl: i32) -> u64 {
    u64::from(number) << 32 | u64::from(of_nccl as u32)
}

fn memory(buffer: &Buffer) -> (usize, usize) {
    (buffer.ptr as usize, buffer.len)
}

impl Comm {
    pub fn new(context: Arc<Context>, net: Arc<Net>, peer: Peer, number: u32) -> Comm {
        let requests = Mutex::default();
        Comm { context, net, peer, number, requests }
    }

    fn requests(&self) -> MutexGuard<'_, Slab<Box<Request>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message.
    ///
    /// # Safety
    /// The buffer can be read, and does not change, until the request is over.
    pub unsafe fn send(self: &Arc<Comm>, of_nccl: i32, buffer: Buffer) -> Result<*mut Request, Error> {
        // SAFETY: as the caller promises.
        let operation = unsafe { self.net.send(self.peer, tag(self.number, of_nccl), buffer, false) }?;
        Ok(self.request(vec![Part { operation, memory: memory(&buffer), sent: Some(buffer.len) }]))
    }

    /// Receives a group of messages.
    ///
    /// # Safety
    /// The buffers can be written, and nobody else uses them, until the request is over.
    pub unsafe fn recv(self: &Arc<Comm>, group: &[(i32, Buffer)]) -> Result<*mut Request, Error> {
        let mut parts = Vec::with_capacity(group.len());
        for (of_nccl, buffer) in group {
            // SAFETY: as the caller promises.
            match unsafe { self.net.recv(Some(self.peer), tag(self.number, *of_nccl), *buffer) } {
                Ok(operation) => parts.push(Part { operation, memory: memory(buffer), sent: None }),
                Err(error) => {
                    // NCCL knows of no request that would end these.
                    let names: Vec<u64> = parts.iter().map(|part: &Part| part.operation).collect();
                    self.net.settle(&names, self.context.log);
                    names.iter().for_each(|&name| self.net.forget(name));
                    return Err(error);
                }
            }
        }
        Ok(self.request(parts))
    }

    fn request(self: &Arc<Comm>, parts: Vec<Part>) -> *mut Request {
        let mut requests = self.requests();
        let entry = requests.vacant_entry();
        let request =
            Request { comm: Arc::clone(self), slot: entry.key(), parts, told: AtomicBool::new(false) };
        &raw mut **entry.insert(Box::new(request))
    }

    /// Ends all operations that use memory of this range (address, bytes), or all there are.
    pub fn settle(&self, range: Option<(usize, usize)>) {
        let touched = |part: &Part| {
            let (begin, len) = part.memory;
            range.is_none_or(|(from, bytes)| {
                begin < from.saturating_add(bytes) && from < begin.saturating_add(len)
            })
        };
        let names: Vec<u64> = {
            let requests = self.requests();
            let parts = requests.iter().flat_map(|(_, request)| &request.parts);
            parts.filter(|part| touched(part)).map(|part| part.operation).collect()
        };
        self.net.settle(&names, self.context.log);
    }

    /// Closes this end: when this returns, nobody uses memory of its requests, and there are none any more.
    pub fn close(self: Arc<Comm>) {
        self.settle(None);
        // Each refers to this connection.
        let requests = std::mem::take(&mut *self.requests());
        for (_, request) in &requests {
            request.forget();
        }
        drop(requests);
        let context = Arc::clone(&self.context);
        drop(self);
        context.close_if_idle();
    }
}

impl Request {
    /// Tells the log of the failure once: NCCL asks again and again until it aborts.
    pub fn tell(&self, error: &Error) {
        if !self.told.swap(true, Ordering::Relaxed) {
            self.comm.context.log.warn(&error.text);
        }
    }

    /// The bytes that each part has moved, if all are over.
    pub fn test(&self) -> Result<Option<Vec<usize>>, Error> {
        if let Some(sizes) = self.sizes()? {
            return Ok(Some(sizes));
        }
        self.comm.net.turn();
        self.sizes()
    }

    fn sizes(&self) -> Result<Option<Vec<usize>>, Error> {
        let mut sizes = Vec::new();
        for part in &self.parts {
            match self.comm.net.state(part.operation) {
                State::Pending => return Ok(None),
                State::Done(len, _) => sizes.push(part.sent.unwrap_or(len)),
                State::Failed(error) => return Err(error),
            }
        }
        Ok(Some(sizes))
    }

    fn forget(&self) {
        self.parts.iter().for_each(|part| self.comm.net.forget(part.operation));
    }

    /// Ends a request that is over.
    ///
    /// # Safety
    /// `request` came from [`Comm::send`] or [`Comm::recv`], and is not used any more.
    pub unsafe fn end(request: *mut Request) {
        // SAFETY: as the caller promises.
        let (comm, slot) = unsafe { (Arc::clone(&(*request).comm), (*request).slot) };
        let request = comm.requests().try_remove(slot);
        if let Some(request) = request {
            request.forget();
        }
    }
}
