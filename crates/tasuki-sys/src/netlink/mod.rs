//! Synchronous rtnetlink: every request is acknowledged.
//!
//! A socket belongs to the network namespace in which it was opened, whatever the thread does afterwards
//! (`netlink(7)`), so a [`Netlink`] stays with one host's network.

mod address;
mod counters;
mod link;
mod neighbour;
mod qdisc;
mod route;
mod saved_route;
mod watch;

pub use address::Address;
pub use counters::LinkCounters;
pub use link::{Link, VethEnd};
pub use neighbour::Neighbour;
pub use qdisc::{AttachedProgram, Filter, TokenBucket};
pub use route::{Gateway, ROUTE_PROTOCOL, Route};
pub use saved_route::SavedRoute;
pub use watch::LinkWatch;

use crate::conversation::Conversation;
use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
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
    /// Fail with `EEXIST` if the object exists.
    Exclusive,
    /// Make the object, or change the existing one to be like it.
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
pub struct Netlink(Conversation);

impl Netlink {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open() -> io::Result<Self> {
        Conversation::open(NETLINK_ROUTE).map(Self)
    }

    /// Sends one request and waits for the kernel's acknowledgement. Returns the messages before it.
    fn request(
        &mut self,
        what: impl FnOnce() -> String,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<Vec<RouteNetlinkMessage>, NetlinkError> {
        self.0.transact(message, flags | NLM_F_ACK).map_err(|source| NetlinkError { request: what(), source })
    }

    /// Requests all objects of a kind.
    fn dump(
        &mut self,
        what: impl FnOnce() -> String,
        message: RouteNetlinkMessage,
    ) -> Result<Vec<RouteNetlinkMessage>, NetlinkError> {
        self.0.transact(message, NLM_F_DUMP).map_err(|source| NetlinkError { request: what(), source })
    }
}
