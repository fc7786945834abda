//! Endpoints: the message layer, the packet layer and the carriers joined, with a thread that steps in when
//! the program does not call.
//!
//! An [`Endpoint`] knows its peers by [`Address`]. Messages to a peer on the same host go through shared
//! memory, messages to another host in packets over all rails of the pair of hosts. Operations are posted and
//! complete later: [`Endpoint::progress`] moves them on, [`Endpoint::poll`] and its relatives tell which are
//! over.
//!
//! The state behind an endpoint's lock has owners, each with a narrow interface: `engine` lists them.

mod address;
mod api;
mod arrived;
mod biased_lock;
mod clock;
mod close;
mod coalesce_watch;
mod deferred_close;
mod dump;
mod endpoint;
mod engine;
mod helper;
mod inner;
mod liveness;
mod memory;
mod messages;
mod net;
mod open;
mod options;
mod peers;
mod rendezvous;
mod rma;
mod shm;
mod sleep;
mod sync;
mod table;
mod threads;
mod wait;

pub use address::{Address, AddressError};
pub use api::{
    Buffer, Claim, Completion, Failure, Found, Peer, PostError, Probe, RecvArgs, Report, SendArgs, Standing,
};
pub use endpoint::{Endpoint, Sink};
pub use net::rails::RailsError;
pub use net::static_rate::{ParseReceiversError, Receivers};
pub use open::OpenError;
pub use options::{Framing, Lanes, OnFailure, Options, Rate, SenderCopies, VariableError};
pub use peers::Names;
pub use rendezvous::bulk::BulkCounters;
pub use rendezvous::stream::StreamCounters;
pub use rma::api::{
    AtomicArgs, RegisterError, RemoteArgs, RemoteDone, RemoteFailure, Rights, UnregisterError,
};
pub use rma::operations::{AtomicOp, Datatype};
pub use shm::dual_copy::DualCopyCounters;
pub use shm::inline::Received;
pub use tasuki_sys::fork::Uninherited;
pub use wait::siblings::Siblings;
