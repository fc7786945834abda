//! Descriptions of endpoints on request, by a signal.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

// A signal handler can reach nothing but statics. It only counts; the helper threads of all endpoints look.
static ASKED: AtomicU64 = AtomicU64::new(0);
static INSTALLED: Once = Once::new();

thread_local! {
    static ANSWERED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

extern "C" fn on_signal(_: i32) {
    ASKED.fetch_add(1, Ordering::Relaxed);
}

/// From now on SIGUSR2 asks all endpoints of the process for a description.
pub(crate) fn listen() {
    INSTALLED.call_once(|| {
        let action = SigAction::new(SigHandler::Handler(on_signal), SaFlags::SA_RESTART, SigSet::empty());
        // SAFETY: the handler does one relaxed addition, which is async-signal-safe.
        let _ = unsafe { sigaction(Signal::SIGUSR2, &action) };
    });
}

/// Whether a description was asked for, by SIGUSR2, since this thread last looked.
pub(crate) fn asked() -> bool {
    let asked = ASKED.load(Ordering::Relaxed);
    ANSWERED.replace(asked) != asked
}
