//! Points at which tests kill a running `apply` or `undo`.
//!
//! With the feature `crash-points` a variable of the environment says after how many steps this process is
//! killed, as by `kill -9`. Every other build has neither the points nor the names of the variables.

/// A callback for the number of steps that `apply` has done.
pub fn in_apply() -> impl FnMut(usize) {
    #[cfg(feature = "crash-points")]
    return armed::stop_after("TASUKI_APPLY_STOP_AFTER");
    #[cfg(not(feature = "crash-points"))]
    return |_done| {};
}

/// A callback for the number of steps that `undo` has done.
pub fn in_undo() -> impl FnMut(usize) {
    #[cfg(feature = "crash-points")]
    return armed::stop_after("TASUKI_UNDO_STOP_AFTER");
    #[cfg(not(feature = "crash-points"))]
    return |_done| {};
}

#[cfg(feature = "crash-points")]
mod armed {
    use nix::sys::signal::{Signal, raise};

    /// A text in every program that has crash points, by which `scripts/install` and `scripts/deb` tell such
    /// a program from one that may be installed.
    static MARKER: &str = "TASUKI-TEST-BUILD: crash-points";

    /// A callback for the number of steps done, which kills this process once the variable's number is
    /// reached.
    pub fn stop_after(variable: &str) -> impl FnMut(usize) + use<> {
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
}
