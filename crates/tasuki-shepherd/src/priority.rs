//! The shepherd's own priority. Those who are to be switched at an instant compute without end, so the
//! shepherd must precede them; what it starts must not.

/// Most favourable niceness that is asked for where there is no real-time priority to be had.
const NICE: libc::c_int = -20;

/// Has this thread precede all that run at normal priority, but none that it starts. Control groups can
/// forbid real-time priority; then less is taken, and without any right nothing.
pub fn raise() {
    if !set(libc::SCHED_FIFO, 1) && set(libc::SCHED_OTHER, 0) {
        // SAFETY: setpriority takes numbers; 0 is the calling process.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
    }
}

/// Takes that back.
pub fn lower() {
    set(libc::SCHED_OTHER, 0);
    // SAFETY: setpriority takes numbers; 0 is the calling process.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 0) };
}

/// Sets policy and priority of this thread, which its children do not get. Returns whether that was allowed.
fn set(policy: libc::c_int, priority: libc::c_int) -> bool {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is to a live value, which the call only reads; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &raw const parameter) == 0 }
}
