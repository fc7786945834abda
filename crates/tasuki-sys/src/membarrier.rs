//! A memory barrier in all threads of the process at once: membarrier(2).

use libc::{
    MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_QUERY, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
};

fn call(command: libc::c_int) -> libc::c_long {
    // SAFETY: the call takes numbers alone.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// Whether the kernel has it, and no sandbox forbids it. Asks and changes nothing.
pub fn is_offered() -> bool {
    let needed = MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    let offered = call(MEMBARRIER_CMD_QUERY);
    offered >= 0 && offered & libc::c_long::from(needed) == libc::c_long::from(needed)
}

/// Prepares for it; false if the kernel has none, or a sandbox forbids it. A process of several threads waits until all processors have been elsewhere,
/// some 15 ms; a second time nobody waits.
pub fn register() -> bool {
    call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0
}

/// After it whatever any thread had stored before can be seen here, and what was stored here before can be seen by whatever any thread
/// loads after. False if the process is not registered.
pub fn all() -> bool {
    call(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    // membarrier(2): a command that the query names succeeds once its registration has.
    #[test]
    fn what_is_offered_can_be_had() {
        if is_offered() {
            assert!(register() && all() && register());
        }
    }
}
