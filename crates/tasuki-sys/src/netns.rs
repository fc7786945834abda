//! Running code in another network namespace.

use nix::sched::{CloneFlags, setns};
use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
};

/// The thread's own network namespace. Dropping this value returns to it.
struct Home(File);

impl Drop for Home {
    fn drop(&mut self) {
        if let Err(error) = setns(&self.0, CloneFlags::CLONE_NEWNET) {
            // In a foreign namespace the thread would go on to configure the wrong host.
            panic!("cannot return to the own network namespace: {error}");
        }
    }
}

/// Runs `work` with the calling thread in the network namespace `namespace`, then returns to the thread's
/// own. Needs `CAP_SYS_ADMIN`. Sockets opened inside stay with that namespace.
pub fn within<T>(namespace: BorrowedFd, work: impl FnOnce() -> T) -> io::Result<T> {
    let home = Home(File::open("/proc/thread-self/ns/net")?);
    setns(namespace.as_fd(), CloneFlags::CLONE_NEWNET)?;
    let result = work();
    drop(home);
    Ok(result)
}
