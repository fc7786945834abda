//! A small server of HTTP/1.1 for texts and server-sent events, each connection of which is answered once and
//! closed.
//!
//! Every connection has a thread of its own and a time limit for all that it says and takes, so that a client
//! that is silent, slow or hostile keeps nobody waiting for longer than that. Server-sent events ([`Feed`])
//! are kept for no client: one that reads slowly gets fewer, and one that does not read is dropped.
#![forbid(unsafe_code)]

mod feed;
mod names;
mod reply;
mod request;
mod server;
mod shared;

pub use feed::{Feed, Subscription};
pub use names::Names;
pub use reply::{Body, Reply};
pub use request::Request;
pub use server::serve;
pub use shared::Shared;
