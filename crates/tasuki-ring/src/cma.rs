//! Copies between a peer's memory and this process's own (process_vm_readv(2), process_vm_writev).

use std::io;

use crate::Outbox;
use crate::layout::{AT_SECRET, AT_SECRET_ADDRESS, SECRET_BYTES};
use crate::sync::Ordering;

/// The right to the memory of one peer's process. When that process ends, reading and writing fail; its id
/// may then be given to another process of this user: check [`Outbox::alive`] before acting on what was read
/// from a peer that may be dead, and right before writing.
#[derive(Clone, Copy, Debug)]
pub struct Cma {
    pid: libc::pid_t,
}

impl Cma {
    /// Tries to read a secret at an address that the peer has published in its segment. `None` if that is
    /// forbidden (Yama, containers), or if the process id means another process here (PID namespaces).
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

    /// Fills `into` from the peer's memory at `remote_addr`. It reads all bytes or gives an error, after
    /// which `into` may be partly overwritten.
    pub fn read(&self, remote_addr: u64, into: &mut [u8]) -> io::Result<()> {
        transfer(remote_addr, into.len(), |done, remote| {
            let rest = &mut into[done..];
            let local = libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() };
            // SAFETY: the kernel writes only to `rest`, which lives through the call; the other address means
            // nothing in this process.
            unsafe { libc::process_vm_readv(self.pid, &local, 1, &remote, 1, 0) }
        })
    }

    /// Writes `from` to the peer's memory at `remote_addr`. It writes all bytes or gives an error, after
    /// which some may have been written. The kernel permits it or not by the same rules as reading, but
    /// whether it permits reading says nothing of filters of system calls: be prepared for an error.
    ///
    /// # Safety
    /// The peer, if it lives, has asked for these bytes there. `from` can be read for `len` bytes, and no
    /// thread writes to it meanwhile.
    pub unsafe fn write(&self, remote_addr: u64, from: *const u8, len: usize) -> io::Result<()> {
        transfer(remote_addr, len, |done, remote| {
            let local =
                libc::iovec { iov_base: from.wrapping_add(done).cast_mut().cast(), iov_len: len - done };
            // SAFETY: the kernel only reads what the caller says can be read; the other address means nothing
            // in this process.
            unsafe { libc::process_vm_writev(self.pid, &local, 1, &remote, 1, 0) }
        })
    }
}

/// Copies `len` bytes to or from the peer's memory at `remote_addr`, in as many calls of `copy` as that
/// needs. `copy` is told how many bytes are done and where the rest is, and returns what the system call
/// does.
fn transfer(
    remote_addr: u64,
    len: usize,
    mut copy: impl FnMut(usize, libc::iovec) -> isize,
) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        let there = usize::try_from(remote_addr).ok().and_then(|there| there.checked_add(done));
        let there = there.ok_or(io::ErrorKind::InvalidInput)?;
        let remote = libc::iovec { iov_base: there as *mut libc::c_void, iov_len: len - done };
        match usize::try_from(copy(done, remote)) {
            // The kernel copied nothing: the rest is not mapped in the peer's process.
            Ok(0) => return Err(io::Error::from_raw_os_error(libc::EFAULT)),
            Ok(more) => done += more,
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
    Ok(())
}
