//! Closing descriptors without waiting: the kernel closes them later.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

/// `IORING_REGISTER_FILES` of `enum io_uring_register_op`.
const REGISTER_FILES: libc::c_uint = 2;
/// `sizeof(struct io_uring_params)`, which is part of the interface. Only zeroes are passed.
const PARAMS_BYTES: usize = 120;

/// Closes descriptors without waiting for the work that closing them takes. An io_uring gets them as its
/// registered files and is closed at once: the kernel dismantles it in a worker of its own, which does the
/// waiting. Where no io_uring can be made (an old kernel, `kernel.io_uring_disabled`, a seccomp filter) the
/// descriptors are returned, with the reason.
///
/// This helps only if nothing else refers to the same open files: closing the last reference waits.
pub fn leave(descriptors: Vec<OwnedFd>) -> Result<(), (Vec<OwnedFd>, io::Error)> {
    match register(&descriptors) {
        // This process's descriptors are closed first, so that the ring's references are the last ones; then
        // the ring is closed.
        Ok(ring) => {
            drop(descriptors);
            drop(ring);
            Ok(())
        }
        Err(error) => Err((descriptors, error)),
    }
}

/// Makes an io_uring that has these descriptors as its registered files.
fn register(descriptors: &[OwnedFd]) -> io::Result<OwnedFd> {
    let mut params = [0u64; PARAMS_BYTES / size_of::<u64>()];
    // SAFETY: the parameters are as large as the kernel's structure, aligned for its 64-bit fields, and
    // zeroed, as it demands.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
    let ring = i32::try_from(ring).ok().filter(|ring| *ring >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the call has just made this descriptor, and no other code has it.
    let ring = unsafe { OwnedFd::from_raw_fd(ring) };
    let numbers: Vec<i32> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    // SAFETY: the pointer and the count are those of a live array, which the call only reads.
    let done = unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            ring.as_raw_fd(),
            REGISTER_FILES,
            numbers.as_ptr(),
            numbers.len(),
        )
    };
    if done == 0 { Ok(ring) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    // pipe(7): a read gives end of file once all descriptors of the other end are closed, and waits for that.
    #[test]
    fn what_is_left_is_closed_in_the_end() {
        let (mut reader, writer) = io::pipe().unwrap();
        let (mut second, other) = io::pipe().unwrap();
        if let Err((back, error)) = leave(vec![writer.into(), other.into()]) {
            assert_eq!(back.len(), 2, "nothing is lost");
            return eprintln!("skipped: no io_uring here: {error}");
        }
        for reader in [&mut reader, &mut second] {
            assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        }
    }

    #[test]
    fn what_cannot_be_left_comes_back() {
        let (back, _) = leave(Vec::new()).expect_err("io_uring_register(2): no files, EINVAL");
        assert!(back.is_empty());
    }
}
