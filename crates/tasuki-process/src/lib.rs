//! Child processes: run with a limit on time and output, fed from memory, quoted for a shell.
//!
//! [`Limited`] runs a command to its end, or ends it when its time is up, and keeps what it wrote as an
//! [`Output`]. [`text_file`] makes standard input of a text. [`quote`] makes a word that a POSIX shell gives
//! back unchanged. [`program_in`] finds a program. A [`ChildInput`] is written to without SIGPIPE, and
//! [`ignore_broken_pipes`] lets a process go on whose reader has gone. [`raise_open_files`] lets it have as
//! many files open as it may.

mod files;
mod input;
mod limited;
mod output;
mod pipes;
mod quote;
mod search;

pub use files::raise_open_files;
pub use input::text_file;
pub use limited::{Limited, end_with_parent, run_limited};
pub use output::Output;
pub use pipes::{ChildInput, ignore_broken_pipes};
pub use quote::quote;
pub use search::{is_executable, program_in};
