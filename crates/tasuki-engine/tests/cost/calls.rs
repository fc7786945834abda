//! The system calls that send and receive, counted on their way: the linker takes these functions instead of
//! the C library's of the same names. Counted by thread, as endpoints' helper threads, which step in when the
//! program has to wait, are not on a message's way.

use std::cell::Cell;

use libc::{c_int, c_long, c_uint, c_void, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec};

thread_local! {
    static SENDS: Cell<u64> = const { Cell::new(0) };
    static RECEIVES: Cell<u64> = const { Cell::new(0) };
}

/// Calls of this thread to send, and to receive.
pub fn counted() -> (u64, u64) {
    (SENDS.get(), RECEIVES.get())
}

fn one(counter: &'static std::thread::LocalKey<Cell<u64>>) {
    counter.set(counter.get() + 1);
}

/// As in the C library, which sets errno.
macro_rules! call {
    ($counter:ident, $number:expr, $($argument:expr),*) => {{
        one(&$counter);
        // SAFETY: the caller's arguments, of the types that the call has.
        unsafe { libc::syscall($number, $($argument as c_long),*) as _ }
    }};
}

#[unsafe(no_mangle)]
unsafe extern "C" fn send(fd: c_int, bytes: *const c_void, len: size_t, flags: c_int) -> ssize_t {
    call!(SENDS, libc::SYS_sendto, fd, bytes, len, flags, 0, 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendto(
    fd: c_int,
    bytes: *const c_void,
    len: size_t,
    flags: c_int,
    to: *const sockaddr,
    to_len: socklen_t,
) -> ssize_t {
    call!(SENDS, libc::SYS_sendto, fd, bytes, len, flags, to, to_len)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    call!(SENDS, libc::SYS_sendmsg, fd, message, flags)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int {
    call!(SENDS, libc::SYS_sendmmsg, fd, messages, count, flags)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recv(fd: c_int, bytes: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    call!(RECEIVES, libc::SYS_recvfrom, fd, bytes, len, flags, 0, 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    call!(RECEIVES, libc::SYS_recvmsg, fd, message, flags)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    call!(RECEIVES, libc::SYS_recvmmsg, fd, messages, count, flags, timeout)
}
