//! A memory barrier in all threads of the process at once: membarrier(2).

use libc::{MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED};

fn call(command: libc::c_int) -> bool {
    // SAFETY: the call takes numbers alone.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Prepares for it; false if the kernel has none, or a sandbox forbids it.
pub fn register() -> bool {
    call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && all()
}

/// After it whatever any thread had stored before can be seen here, and what was stored here before can be seen by whatever any thread
/// loads after. False if the process is not registered.
pub fn all() -> bool {
    call(MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}
