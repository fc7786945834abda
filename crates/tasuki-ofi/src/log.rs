//! Messages for people, on stderr, only if the variable TASUKI_LOG is set: an MPI's output belongs to its program.

use std::sync::OnceLock;

/// Whether anybody wants to read.
pub fn wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED
        .get_or_init(|| std::env::var_os("TASUKI_LOG").is_some_and(|value| !value.is_empty() && value != "0"))
}

/// Prints a line if TASUKI_LOG is set.
#[macro_export]
#[doc(hidden)]
macro_rules! note {
    ($($argument:tt)*) => {
        if $crate::log::wanted() {
            eprintln!("tasuki-fi[{}]: {}", std::process::id(), format_args!($($argument)*));
        }
    };
}
