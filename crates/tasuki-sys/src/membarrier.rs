//! A memory barrier in all threads of the process at once: membarrier(2).

use libc::{
    MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_QUERY, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
};

fn call(command: libc::c_int) -> libc::c_long {
    // SAFETY: the call takes numbers only.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// Whether the kernel offers such barriers and no sandbox forbids them. This only asks.
pub fn is_offered() -> bool {
    let needed = MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    let offered = call(MEMBARRIER_CMD_QUERY);
    offered >= 0 && offered & libc::c_long::from(needed) == libc::c_long::from(needed)
}

/// Registers the process for such barriers. False if the kernel has none, or a sandbox forbids them. In a
/// process of several threads this waits until all processors have passed through the scheduler, some 15 ms;
/// later calls do not wait.
pub fn register() -> bool {
    call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0
}

/// Makes a barrier in all threads of the process. After it this thread sees whatever any thread had stored
/// before, and whatever this thread had stored before is seen by loads that any thread makes after it. False
/// if the process is not registered.
pub fn all() -> bool {
    call(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    // membarrier(2): a command that the query lists succeeds once it has been registered.
    #[test]
    fn what_is_offered_can_be_had() {
        if is_offered() {
            assert!(register() && all() && register());
        }
    }
}
