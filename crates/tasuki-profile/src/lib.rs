//! Why a program on memory across hosts waits: which lines, arrays and parallel regions cost what, and what
//! would help.
//!
//! * [`Recorder`] is in every process. It is told of page faults, of pages that come and go, of regions and
//!   waits, and keeps sums, so that what it holds is bounded by the pages that the program uses.
//! * [`Profile`] is made of the records of all processes, with the names that [`Program`] finds.
//! * [`Sharing`] says of a page why it moves between hosts. Which words a process has changed is found by
//!   comparing the page with a copy of what came (a twin, as in TreadMarks: P. Keleher et al., 1994); which
//!   ones it reads, by the addresses of its faults alone.
#![forbid(unsafe_code)]

mod advice;
mod arrays;
mod code;
mod html;
mod names;
mod profile;
mod program;
mod record;
mod recorder;
mod sharing;
mod text;
mod words;

pub use advice::Advice;
pub use arrays::Array;
pub use code::Line;
pub use html::{json, page};
pub use names::{Area, Code, Data, Kind, Names};
pub use profile::{Profile, Region, Share};
pub use program::{Mapped, Program};
pub use record::{Block, FaultSum, PageSum, Record, RegionSum};
pub use recorder::{Fault, Recorder, Wait};
pub use sharing::Sharing;
pub use text::print;
pub use words::{PAGE, Words};
