//! Endpoints: the message layer, the packet layer and the carriers joined, with a thread that steps in when the program
//! does not call.

mod address;
mod api;
mod endpoint;

pub use address::{Address, AddressError};
pub use api::{Buffer, Claim, Completion, Failure, Found, Peer, PostError, Probe, RecvArgs, SendArgs};
pub use endpoint::{Endpoint, OpenError, Options};
