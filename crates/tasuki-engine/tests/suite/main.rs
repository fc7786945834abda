//! Endpoints of one process talk to each other, through shared memory and in packets over loopback.
//!
//! Truth from outside: the bytes that were sent, and the rules of MPI for their order. `TASUKI_SEED` replays
//! a random test.

mod broken_streams;
mod bulk;
mod closing;
mod coalescing;
mod exchange;
mod framing;
mod node;
mod operations;
#[path = "../common/other.rs"]
mod other;
mod page;
#[path = "../common/plain.rs"]
mod plain;
mod remote;
mod sockets;
mod standing;
mod stopped;
mod streams;
mod unanswered;
