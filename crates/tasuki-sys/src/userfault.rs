//! Page faults that another thread answers: userfaultfd(2), `include/uapi/linux/userfaultfd.h`.
//!
//! Linux 5.7 or newer (6.10 on aarch64): anonymous memory, missing pages and pages that may not be written.

use std::fs::File;
use std::io;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;

/// `UFFD_API`: the version of the interface, and the type of its ioctls.
const API: u64 = 0xAA;
/// `UFFD_FEATURE_PAGEFAULT_FLAG_WP`: faults of writes to protected pages are told.
const FEATURE_WRITE_PROTECTION: u64 = 1;
/// `UFFD_FEATURE_THREAD_ID` (Linux 4.14): the thread is told.
const FEATURE_THREAD: u64 = 1 << 8;
/// `UFFD_FEATURE_EXACT_ADDRESS` (Linux 5.18): the address is told, and not its page alone.
const FEATURE_EXACT_ADDRESS: u64 = 1 << 11;
/// `UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP`.
const REGISTER_MISSING_AND_PROTECTED: u64 = 1 | 2;
/// `UFFDIO_COPY_MODE_WP`: the page is protected from writes from the start.
const COPY_PROTECTED: u64 = 2;
/// `UFFDIO_WRITEPROTECT_MODE_WP`.
const PROTECT: u64 = 1;
/// `UFFD_EVENT_PAGEFAULT`.
const EVENT_PAGE_FAULT: u8 = 0x12;
/// `UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP`.
const WRITES: u64 = 1 | 2;
/// `UFFD_USER_MODE_ONLY`: faults of system calls are not answered, which needs no privilege.
const USER_MODE_ONLY: i32 = 1;
/// `USERFAULTFD_IOC_NEW`: gives a descriptor, by the device that stands for the right to have one.
const OPEN: libc::c_ulong = 0xAA00;
/// `struct uffd_msg`: bytes, and where flags and address are in it.
const MESSAGE: usize = 32;
/// Messages that one read takes.
const AT_A_TIME: usize = 16;

/// `struct uffdio_api`.
#[repr(C)]
pub struct Handshake {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// `struct uffdio_range`.
#[repr(C)]
pub struct Range {
    start: u64,
    len: u64,
}

/// `struct uffdio_register`.
#[repr(C)]
pub struct Registration {
    range: Range,
    mode: u64,
    ioctls: u64,
}

/// `struct uffdio_copy`.
#[repr(C)]
pub struct Copy {
    to: u64,
    from: u64,
    len: u64,
    mode: u64,
    copied: i64,
}

/// `struct uffdio_zeropage`.
#[repr(C)]
pub struct Zero {
    range: Range,
    mode: u64,
    zeroed: i64,
}

/// `struct uffdio_writeprotect`.
#[repr(C)]
pub struct WriteProtect {
    range: Range,
    mode: u64,
}

/// The ioctls of `linux/userfaultfd.h`.
mod ioctl {
    use super::{Copy, Handshake, Range, Registration, WriteProtect, Zero};

    nix::ioctl_readwrite!(api, 0xAA, 0x3F, Handshake);
    nix::ioctl_readwrite!(register, 0xAA, 0x00, Registration);
    nix::ioctl_read!(wake, 0xAA, 0x02, Range);
    nix::ioctl_readwrite!(copy, 0xAA, 0x03, Copy);
    nix::ioctl_readwrite!(zero, 0xAA, 0x04, Zero);
    nix::ioctl_readwrite!(write_protect, 0xAA, 0x06, WriteProtect);
}

/// A thread has touched a page that it cannot use, and sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The address that it touched, or the first of its page.
    pub address: usize,
    /// It writes.
    pub writes: bool,
    /// The thread, as gettid(2) names it; 0: not told.
    pub thread: u32,
}

impl Fault {
    /// The instruction that touched the page: of a system call, the one behind it. `None` if the kernel does
    /// not tell it (`CONFIG_HAVE_ARCH_TRACEHOOK`), or the thread does not wait any more.
    pub fn instruction(&self) -> Option<u64> {
        // See proc_pid_syscall(5): the last number is where the thread is, whatever it waits in.
        let told = std::fs::read_to_string(format!("/proc/self/task/{}/syscall", self.thread)).ok()?;
        let last = told.split_ascii_whitespace().next_back()?;
        u64::from_str_radix(last.strip_prefix("0x")?, 16).ok()
    }
}

/// Why there is no descriptor.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The kernel gives none.
    #[error(transparent)]
    Refused(#[from] io::Error),
    /// The kernel has one that cannot protect pages from writes.
    #[error("userfaultfd of this kernel cannot protect pages from writes: {0}")]
    NoProtection(#[source] io::Error),
}

/// A descriptor that tells of faults and answers them.
///
/// All functions take pages as addresses; a page that does not lie in registered memory is an error.
pub struct UserFault {
    file: File,
    user_mode_only: bool,
}

impl UserFault {
    /// Opens a descriptor: with all rights if the process may have them, otherwise for faults of the program
    /// itself, so that system calls with pages that are not here fail (EFAULT).
    pub fn open() -> Result<UserFault, OpenError> {
        let open = |flags: i32| {
            let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | flags;
            // SAFETY: the call takes flags alone and gives a new descriptor.
            let fd = Errno::result(unsafe { libc::syscall(libc::SYS_userfaultfd, flags) })?;
            // SAFETY: nobody else owns the new descriptor.
            Ok::<_, Errno>(unsafe { OwnedFd::from_raw_fd(fd as i32) })
        };
        let by_device = || {
            let device = File::options().read(true).write(true).open("/dev/userfaultfd")?;
            let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
            // SAFETY: the call takes flags alone and gives a new descriptor.
            let fd = Errno::result(unsafe { libc::ioctl(device.as_raw_fd(), OPEN, flags) })?;
            // SAFETY: nobody else owns the new descriptor.
            io::Result::Ok(unsafe { OwnedFd::from_raw_fd(fd) })
        };
        let (fd, user_mode_only) = match open(0) {
            Ok(fd) => (fd, false),
            Err(Errno::EPERM) => match by_device() {
                Ok(fd) => (fd, false),
                Err(_) => (open(USER_MODE_ONLY).map_err(io::Error::from)?, true),
            },
            Err(error) => return Err(io::Error::from(error).into()),
        };
        let fault = UserFault { file: fd.into(), user_mode_only };
        // A kernel that does not know a feature refuses, and may be asked for less.
        fault
            .agree(FEATURE_WRITE_PROTECTION | FEATURE_THREAD | FEATURE_EXACT_ADDRESS)
            .or_else(|_| fault.agree(FEATURE_WRITE_PROTECTION))
            .map_err(OpenError::NoProtection)?;
        Ok(fault)
    }

    fn agree(&self, features: u64) -> io::Result<()> {
        let mut handshake = Handshake { api: API, features, ioctls: 0 };
        // SAFETY: the kernel reads and writes the structure, which lives until the call returns.
        unsafe { ioctl::api(self.raw(), &mut handshake) }?;
        Ok(())
    }

    /// True if system calls with pages that are not here fail.
    pub fn is_user_mode_only(&self) -> bool {
        self.user_mode_only
    }

    /// From now on faults in this memory are told here: anonymous, private, a multiple of the page size.
    ///
    /// # Safety
    /// Threads that touch the memory sleep until their fault is answered, and find what the answer puts
    /// there: no reference of Rust to it may exist.
    pub unsafe fn register(&self, start: usize, len: usize) -> io::Result<()> {
        let range = Range { start: start as u64, len: len as u64 };
        let mut registration = Registration { range, mode: REGISTER_MISSING_AND_PROTECTED, ioctls: 0 };
        // SAFETY: the kernel reads and writes the structure, which lives until the call returns.
        unsafe { ioctl::register(self.raw(), &mut registration) }?;
        Ok(())
    }

    /// Gives the faults that have been told since the last call to `each`.
    pub fn read(&self, mut each: impl FnMut(Fault)) -> io::Result<()> {
        let mut messages = [0; MESSAGE * AT_A_TIME];
        loop {
            let len = match (&self.file).read(&mut messages) {
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            for message in messages[..len].chunks_exact(MESSAGE) {
                let word =
                    |at: usize| message[at..].first_chunk().map_or(0, |word| u64::from_ne_bytes(*word));
                if message[0] == EVENT_PAGE_FAULT {
                    each(Fault {
                        address: word(16) as usize,
                        writes: word(8) & WRITES != 0,
                        thread: word(24) as u32,
                    });
                }
            }
        }
    }

    /// Puts a page's bytes in place, and wakes the threads that wait for it. They may write if `writable`.
    ///
    /// # Safety
    /// The page lies in memory that was registered here.
    pub unsafe fn install(&self, page: usize, bytes: &[u8], writable: bool) -> io::Result<()> {
        let mode = if writable { 0 } else { COPY_PROTECTED };
        let (to, from, len) = (page as u64, bytes.as_ptr() as u64, bytes.len() as u64);
        loop {
            let mut copy = Copy { to, from, len, mode, copied: 0 };
            // SAFETY: `bytes` can be read, and the kernel checks that the page is registered and missing.
            match unsafe { ioctl::copy(self.raw(), &mut copy) } {
                Err(Errno::EAGAIN) => continue,
                other => return other.map(|_| ()).map_err(Into::into),
            }
        }
    }

    /// Puts a page of zeros in place, which may be written, and wakes the threads that wait for it.
    ///
    /// # Safety
    /// As [`UserFault::install`].
    pub unsafe fn install_zeros(&self, page: usize, len: usize) -> io::Result<()> {
        loop {
            let range = Range { start: page as u64, len: len as u64 };
            let mut zero = Zero { range, mode: 0, zeroed: 0 };
            // SAFETY: the kernel checks that the page is registered and missing.
            match unsafe { ioctl::zero(self.raw(), &mut zero) } {
                Err(Errno::EAGAIN) => continue,
                other => return other.map(|_| ()).map_err(Into::into),
            }
        }
    }

    /// Protects a page from writes, or lets threads write it again and wakes those that wait for it. When
    /// this returns no thread is in the middle of a write.
    ///
    /// # Safety
    /// As [`UserFault::install`].
    pub unsafe fn protect(&self, page: usize, len: usize, protect: bool) -> io::Result<()> {
        loop {
            let range = Range { start: page as u64, len: len as u64 };
            let mut write_protect = WriteProtect { range, mode: if protect { PROTECT } else { 0 } };
            // SAFETY: the kernel checks that the page is registered.
            match unsafe { ioctl::write_protect(self.raw(), &mut write_protect) } {
                Err(Errno::EAGAIN) => continue,
                other => return other.map(|_| ()).map_err(Into::into),
            }
        }
    }

    /// Threads that wait for this page try again.
    pub fn wake(&self, page: usize, len: usize) -> io::Result<()> {
        let mut range = Range { start: page as u64, len: len as u64 };
        // SAFETY: the kernel reads the structure, which lives until the call returns.
        unsafe { ioctl::wake(self.raw(), &mut range) }?;
        Ok(())
    }

    fn raw(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

impl AsFd for UserFault {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests;
