//! Records of the messages of a running program, and how the records of its ranks become one trace.
//!
//! An endpoint that records writes a **part**: a file that begins with a [`Head`] and goes on with
//! [`Record`]s, one for each message that it sends or that the program takes. [`Part::parse`] reads a part,
//! [`join`] matches the sends and the receives of all ranks, and [`Joined::write`] writes the text that
//! `docs/reference/trace-format.md` describes.
//!
//! Nothing here opens a file or reads a clock.
#![forbid(unsafe_code)]

mod error;
mod join;
mod part;
mod record;
mod text;

pub use error::{JoinError, PartError};
pub use join::{Direction, Event, Joined, LeftOut, join};
pub use part::{Head, Part};
pub use record::{Message, Name, Record, SLOT};
