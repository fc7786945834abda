//! Points at which tests kill a running `apply` or `undo`.

/// Name of the variable that has `apply` killed, as by `kill -9`, after so many steps.
pub const APPLY: &str = "TASUKI_APPLY_STOP_AFTER";
/// Name of the variable that has `undo` killed after so many steps.
pub const UNDO: &str = "TASUKI_UNDO_STOP_AFTER";

/// A text in every program that has crash points, by which `scripts/install` and `scripts/deb` tell such a
/// program from one that may be installed.
#[cfg(feature = "crash-points")]
static MARKER: &str = "TASUKI-TEST-BUILD: crash-points";

/// A callback for the number of steps done, which kills this process once the variable's number is reached.
#[cfg(feature = "crash-points")]
pub fn stop_after(variable: &str) -> impl FnMut(usize) + use<> {
    use nix::sys::signal::{Signal, raise};
    // Reading the marker here keeps it in the program.
    let is_test_build = !std::hint::black_box(MARKER).is_empty();
    let limit: Option<usize> = std::env::var(variable).ok().and_then(|steps| steps.parse().ok());
    move |done| {
        if is_test_build && limit == Some(done) {
            // No process can handle SIGKILL, so this does not return.
            let _ = raise(Signal::SIGKILL);
        }
    }
}

/// Without the feature `crash-points` nothing is killed.
#[cfg(not(feature = "crash-points"))]
pub fn stop_after(_variable: &str) -> impl FnMut(usize) + use<> {
    |_done| {}
}
