//! Endpoints: the message layer, the packet layer and the carriers joined, with a thread that steps in when the program
//! does not call.
//!
//! An [`Endpoint`] knows its peers by [`Address`]. What goes to a peer on the same host goes through shared memory, what goes
//! to another host in packets over all rails of the pair of hosts. Operations are posted and complete later; [`Endpoint::progress`]
//! moves things on, [`Endpoint::poll`] tells what is over.

mod actions;
mod address;
mod api;
mod aside;
mod biased_lock;
mod bulk;
mod burst;
mod carriers;
mod clock;
mod close;
mod company;
mod core;
mod crowd;
mod doubt;
mod dual_copy;
mod dump;
mod endpoint;
mod held;
mod helper;
mod lanes;
mod line;
mod linger;
mod looks;
mod memory;
mod minder;
mod offers;
mod open;
mod options;
mod packets;
mod patience;
mod peer;
mod post;
mod rails;
mod ready;
mod record;
mod refusals;
mod remote;
mod request;
mod service;
mod shared;
mod sleep;
mod state;
mod static_rate;
mod stats;
mod stream;
mod table;
mod upcalls;
mod watch;
mod ways;

pub use address::{Address, AddressError};
pub use api::{
    Buffer, Claim, Completion, Failure, Found, Names, Peer, PostError, Probe, RecvArgs, Report, SendArgs,
};
pub use bulk::BulkCounters;
pub use dual_copy::DualCopyCounters;
pub use endpoint::Endpoint;
pub use line::{Expecting, Glance, Received, Waiting};
pub use open::OpenError;
pub use options::{Framing, Lanes, OnFailure, Options, Rate, SenderCopies, VariableError};
pub use rails::RailsError;
pub use remote::{RegisterError, RemoteArgs, RemoteDone, RemoteFailure, Rights, UnregisterError};
pub use static_rate::{ParseReceiversError, Receivers};
pub use stream::StreamCounters;
