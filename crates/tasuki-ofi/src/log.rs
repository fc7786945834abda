//! Messages for people, on stderr, mostly only if the variable TASUKI_LOG is set: an MPI's output belongs to its program.

use std::io::Write as _;
use std::sync::OnceLock;

/// Whether anybody wants to read.
pub fn wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED
        .get_or_init(|| std::env::var_os("TASUKI_LOG").is_some_and(|value| !value.is_empty() && value != "0"))
}

/// Writes a line at once, lest lines of several processes mix.
pub fn say(text: &str) {
    let line = format!("tasuki-fi[{}]: {text}\n", std::process::id());
    // If stderr is closed there is nobody to tell.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Prints a line if TASUKI_LOG is set.
#[macro_export]
#[doc(hidden)]
macro_rules! note {
    ($($argument:tt)*) => {
        if $crate::log::wanted() {
            $crate::log::say(&format!($($argument)*));
        }
    };
}
