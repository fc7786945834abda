//! What daemons of a cluster, and the commands of its users, say to each other: messages, frames, versions
//! and limits. Pure: bytes in, values out.
//!
//! - A connection begins with a [`Hello`] in both directions, which every version understands. Ends of
//!   different versions part with each other's version in hand.
//! - Then come frames ([`write`], [`Frames`]): four bytes of length, little endian, and a message in the
//!   encoding of the crate `postcard`. A frame has at most [`FRAME_MAX`] bytes.
//! - A command sends [`Request`]s to the daemon of its host and gets a [`Reply`] to each. A daemon sends
//!   [`Report`]s to the daemon that keeps the queue, and gets [`Order`]s from it.
#![forbid(unsafe_code)]

mod checkpoint;
mod frame;
mod hello;
mod image;
mod job;
mod limits;
mod notify;
mod order;
mod record;
mod request;
mod sharing;
mod terms;

pub use checkpoint::{Checkpoint, Epoch};
pub use frame::{FRAME_MAX, FrameError, Frames, write};
pub use hello::{Hello, HelloError, PROTOCOL};
pub use image::{ImageOrder, ImageReport};
pub use job::{
    Bytes, Ending, Exit, HostView, JobId, JobView, Kind, Limit, Part, Presence, Spread, State, Work,
};
pub use limits::UserLimits;
pub use notify::{Address, Notice};
pub use order::{Fence, Order, Report, Start};
pub use record::{ChangeRecord, HostRecord, JobRecord};
pub use request::{INPUT_MAX, Record, Reply, Request, SessionId, Stream, User};
pub use sharing::{Punctuality, Sharing, Table};
pub use terms::{ARRAY_INDEX, ARRAY_JOB, Array, Task, Terms, span};
