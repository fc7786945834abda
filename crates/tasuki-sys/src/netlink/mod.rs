//! Synchronous rtnetlink: one socket, one request at a time, every request acknowledged.
//!
//! A socket belongs to the network namespace in which it was opened, whatever the thread does afterwards
//! (`netlink(7)`), so a [`Netlink`] stays with one host's network.

mod address;
mod link;
mod neighbour;
mod qdisc;
mod route;
mod saved_route;

pub use address::Address;
pub use link::{Link, VethEnd};
pub use neighbour::Neighbour;
pub use qdisc::{AttachedProgram, TokenBucket};
pub use route::{Gateway, ROUTE_PROTOCOL, Route};
pub use saved_route::SavedRoute;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use std::io;
use thiserror::Error;

/// What the kernel answered to a request that failed.
#[derive(Debug, Error)]
#[error("{request}: {source}")]
pub struct NetlinkError {
    /// The request in words, with the interface or address that it was about.
    pub request: String,
    /// The kernel's error number.
    pub source: io::Error,
}

impl NetlinkError {
    /// Whether the kernel said that the object exists already.
    pub fn is_exists(&self) -> bool {
        self.source.raw_os_error() == Some(libc::EEXIST)
    }

    /// Whether the kernel does not know the kind of object (its driver is not there).
    pub fn is_unsupported(&self) -> bool {
        matches!(self.source.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENODEV))
    }
}

/// How an object is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// Fail with `EEXIST` if it is there.
    Exclusive,
    /// Make it, or make the one that is there like it.
    Replace,
}

impl Create {
    fn flags(self) -> u16 {
        match self {
            Create::Exclusive => NLM_F_CREATE | NLM_F_EXCL,
            Create::Replace => NLM_F_CREATE | NLM_F_REPLACE,
        }
    }
}

/// An rtnetlink socket of the network namespace in which it was opened.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Netlink {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        Ok(Self { socket, sequence: 0, buffer: Vec::with_capacity(64 * 1024) })
    }

    /// Sends one request and waits for the kernel's acknowledgement (the kernel answers synchronously, so
    /// this never waits long). Returns what came before the acknowledgement.
    fn request(
        &mut self,
        what: impl FnOnce() -> String,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<Vec<RouteNetlinkMessage>, NetlinkError> {
        self.transact(message, flags | NLM_F_REQUEST | NLM_F_ACK)
            .map_err(|source| NetlinkError { request: what(), source })
    }

    /// Asks for all objects of a kind.
    fn dump(
        &mut self,
        what: impl FnOnce() -> String,
        message: RouteNetlinkMessage,
    ) -> Result<Vec<RouteNetlinkMessage>, NetlinkError> {
        self.transact(message, NLM_F_REQUEST | NLM_F_DUMP)
            .map_err(|source| NetlinkError { request: what(), source })
    }

    fn transact(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut packet = NetlinkMessage::from(message);
        packet.header.flags = flags;
        packet.header.sequence_number = self.sequence;
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;

        let mut answers = Vec::new();
        loop {
            self.buffer.clear();
            self.socket.recv(&mut self.buffer, 0)?;
            if self.take_answers(&mut answers)? {
                return Ok(answers);
            }
        }
    }

    /// Reads the messages of one datagram; true once the answer is complete.
    fn take_answers(&self, answers: &mut Vec<RouteNetlinkMessage>) -> io::Result<bool> {
        let mut rest = self.buffer.as_slice();
        while !rest.is_empty() {
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            let length = (message.header.length as usize).next_multiple_of(4);
            let ours = message.header.sequence_number == self.sequence;
            match message.payload {
                _ if !ours => {}
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                NetlinkPayload::Error(_) => return Ok(true),
                NetlinkPayload::InnerMessage(inner) => answers.push(inner),
                _ => {}
            }
            rest = rest.get(length.max(1)..).unwrap_or_default();
        }
        Ok(false)
    }
}
