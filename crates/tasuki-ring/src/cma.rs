//! Reading a peer's memory (process_vm_readv(2)).

use std::io;
use std::sync::atomic::Ordering;

use crate::Outbox;
use crate::layout::{AT_SECRET, AT_SECRET_ADDRESS, SECRET_BYTES};

/// The right to read the memory of one peer's process. When that process ends, reading fails; its id may then be given to another
/// process of this user: check [`Outbox::alive`] before acting on what was read from a peer that may be dead.
#[derive(Clone, Copy, Debug)]
pub struct Cma {
    pid: libc::pid_t,
}

impl Cma {
    /// Tries it: reads a secret at an address that the peer has published in its segment. None if that is forbidden (Yama, containers),
    /// or if the process id means another process here (PID namespaces).
    pub fn probe(outbox: &Outbox) -> Option<Cma> {
        let map = outbox.map();
        if !map.is_here() {
            return None;
        }
        let cma = Cma { pid: outbox.owner_pid().filter(|&pid| pid > 0)? };
        let (mut there, mut here) = ([0; SECRET_BYTES], [0; SECRET_BYTES]);
        cma.read(map.word(AT_SECRET_ADDRESS).load(Ordering::Relaxed), &mut there).ok()?;
        map.copy_out(AT_SECRET, &mut here);
        (there == here).then_some(cma)
    }

    /// Fills `into` from the peer's memory at `remote_addr`. All or an error; after an error `into` may be partly overwritten.
    pub fn read(&self, remote_addr: u64, into: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < into.len() {
            let rest = &mut into[done..];
            let local = libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() };
            let from = usize::try_from(remote_addr).ok().and_then(|from| from.checked_add(done));
            let from = from.ok_or(io::ErrorKind::InvalidInput)?;
            let remote = libc::iovec { iov_base: from as *mut libc::c_void, iov_len: rest.len() };
            // SAFETY: the kernel writes only to `rest`, which lives through the call; the other address means nothing in this process.
            let read = unsafe { libc::process_vm_readv(self.pid, &local, 1, &remote, 1, 0) };
            match usize::try_from(read) {
                // The rest is not mapped there.
                Ok(0) => return Err(io::Error::from_raw_os_error(libc::EFAULT)),
                Ok(read) => done += read,
                Err(_) => return Err(io::Error::last_os_error()),
            }
        }
        Ok(())
    }
}
