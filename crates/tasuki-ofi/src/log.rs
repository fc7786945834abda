//! Messages for people: to libfabric's log (`FI_LOG_LEVEL`), and to stderr, there mostly only if the variable
//! TASUKI_LOG is set, because an MPI's output belongs to its program.

use std::io::Write as _;
use std::sync::OnceLock;

use crate::host::Level;
use crate::provider;

/// Whether TASUKI_LOG asks for notes on stderr.
fn wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED
        .get_or_init(|| std::env::var_os("TASUKI_LOG").is_some_and(|value| !value.is_empty() && value != "0"))
}

/// Writes a line to stderr, in one piece so that lines of several processes do not mix.
fn print(text: &str) {
    let line = format!("tasuki-fi[{}]: {text}\n", std::process::id());
    // If stderr is closed there is nobody to tell.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// What the user must hear although an MPI hides it: on stderr in any case, and in libfabric's log as a
/// warning.
pub fn say(text: &str) {
    print(text);
    provider::log(Level::Warn, text);
}

/// A note, if anybody wants notes.
pub fn note(text: impl FnOnce() -> String) {
    if !wanted() && !provider::logs(Level::Info) {
        return;
    }
    let text = text();
    if wanted() {
        print(&text);
    }
    provider::log(Level::Info, &text);
}

/// A note: see [`note`].
#[macro_export]
#[doc(hidden)]
macro_rules! note {
    ($($argument:tt)*) => { $crate::log::note(|| format!($($argument)*)) };
}
