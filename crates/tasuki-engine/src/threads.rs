//! Threads of the engine, beside those of the program.

/// Runs `work` with all signals blocked: the program's signals are for the program's own threads.
pub(crate) fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    let all = nix::sys::signal::SigSet::all();
    let _ = all.thread_set_mask();
    work()
}
