//! The broker: opens raw lanes for programs that may not open them, and passes them over a Unix socket. What
//! those programs can do with them, and what not, is in `docs/guide/security.md`.
//!
//! One thread reads and writes, and never blocks on a client. A few others open and close packet sockets,
//! which takes the kernel some milliseconds each (it waits until all processors have passed through a
//! quiescent state). Users take turns at them.

mod budget;
mod error;
mod guard;
mod lingering;
mod listen;
mod nics;
mod peer;
mod queue;
mod server;
mod table;
mod work;

pub use budget::Limits;
pub use error::ServeError;
pub use guard::{GuardError, guard};
pub use listen::Listener;
pub use nics::Nics;
pub use server::{Options, serve};
