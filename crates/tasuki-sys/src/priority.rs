//! Scheduling priorities of threads.

use std::io;

/// Gives the calling thread, and those that it starts, normal priority again, after [`raise`].
pub fn lower() {
    let parameter = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a live sched_param, which the call only reads; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameter) };
}

/// Gives the calling thread, and those that it starts, precedence over all that run at normal priority: for
/// daemons that do little, but on time. If the kernel refuses that (for lack of rights, or because of control
/// groups), less is tried.
pub fn raise() -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: 1 };
    // SAFETY: the pointer is to a live sched_param, which the call only reads; 0 is the calling process.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameter) } == 0 {
        return Ok(());
    }
    // SAFETY: setpriority takes no pointers; 0 is the calling process.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -15) } == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

/// Has a thread preempt whatever runs at normal priority on its processor, at once, as an interrupt would
/// (SCHED_FIFO; sched(7)).
pub fn preempt(thread: u32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: 50 };
    let thread = i32::try_from(thread).map_err(io::Error::other)?;
    // SAFETY: the pointer is to a live sched_param, which the call only reads.
    match unsafe { libc::sched_setscheduler(thread, libc::SCHED_FIFO, &raw const parameter) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
