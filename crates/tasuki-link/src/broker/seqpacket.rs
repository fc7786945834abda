//! The connection to the broker: one message out and one back, each waited for until a given time at most.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;
use tasuki_sys::fork::Uninherited;
use tasuki_tuning::broker;

/// The system's error if a call has failed.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Connects to the `SOCK_SEQPACKET` socket at `path`. While its queue of connections is full it tries again,
/// until the given time.
pub(super) fn connect(path: &Path, until: Instant) -> io::Result<Uninherited<OwnedFd>> {
    // SAFETY: sockaddr_un is plain old data; all zeroes is a valid value.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let name = path.as_os_str().as_bytes();
    if name.len() >= address.sun_path.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    for (to, from) in address.sun_path.iter_mut().zip(name) {
        *to = from.cast_signed();
    }
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed.
    let raw = check(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?;
    // SAFETY: `raw` was just opened, and nothing else owns it.
    let fd = Uninherited::new(unsafe { OwnedFd::from_raw_fd(raw) });
    let len = size_of::<libc::sockaddr_un>() as libc::socklen_t;
    loop {
        // SAFETY: the address is initialised and has the length that is given.
        match check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), len) }) {
            Ok(_) => return Ok(fd),
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) && Instant::now() < until => {
                std::thread::sleep(broker::AGAIN);
            }
            Err(error) => return Err(error),
        }
    }
}

/// The user whose process called `listen` on the other end's socket (unix(7), SO_PEERCRED).
pub(super) fn listening_user(fd: &OwnedFd) -> io::Result<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the pointers are those of a live ucred and of its length.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut len,
        )
    })?;
    Ok(credentials.uid)
}

/// Sends one message. The connection is new, so there is room.
pub(super) fn send(fd: &OwnedFd, message: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length are those of a live slice.
    let sent = unsafe {
        libc::send(
            fd.as_raw_fd(),
            message.as_ptr().cast(),
            message.len(),
            libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
        )
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits until a message is there or the other end has hung up. `TimedOut` if neither happens in time.
fn wait(fd: &OwnedFd, until: Instant) -> io::Result<()> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // Rounded up, so that the last fraction of a millisecond is not spent calling `poll` again and again.
        let timeout = left.as_millis().min(60_000) as libc::c_int + 1;
        // SAFETY: one entry, which lives through the call.
        match check(unsafe { libc::poll(&raw mut poll, 1, timeout) }) {
            Ok(0) if Instant::now() >= until => return Err(io::ErrorKind::TimedOut.into()),
            Ok(0) => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Room for the control message that brings a descriptor, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Receives one message with the descriptors that may come along. All descriptors that came are returned, so
/// that none is left open.
pub(super) fn receive(fd: &OwnedFd, room: &mut [u8], until: Instant) -> io::Result<(usize, Vec<OwnedFd>)> {
    wait(fd, until)?;
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: a header of zero bytes is a header without pointers.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT;
    // SAFETY: the header points to a live vector and live control room of the lengths given.
    let got = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut header, flags) };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((got.unsigned_abs(), descriptors(&header)))
}

/// The descriptors of a received message.
fn descriptors(header: &libc::msghdr) -> Vec<OwnedFd> {
    let mut found = Vec::new();
    // SAFETY: recvmsg has filled the header in; its control room lives.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !at.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR give whole headers inside of the control room.
        let message = unsafe { at.read_unaligned() };
        if message.cmsg_level == libc::SOL_SOCKET && message.cmsg_type == libc::SCM_RIGHTS {
            // SAFETY: CMSG_LEN only computes.
            let head = unsafe { libc::CMSG_LEN(0) } as usize;
            let count = (message.cmsg_len as usize).saturating_sub(head) / size_of::<RawFd>();
            // SAFETY: `at` is a whole header inside of the control room; its data stands behind it.
            let data = unsafe { libc::CMSG_DATA(at) }.cast::<RawFd>();
            for number in 0..count {
                // SAFETY: the kernel has put `count` new descriptors there, which nothing else owns.
                found.push(unsafe { OwnedFd::from_raw_fd(data.add(number).read_unaligned()) });
            }
        }
        // SAFETY: `header` and `at` are those of the message that was received, whose control room lives.
        at = unsafe { libc::CMSG_NXTHDR(header, at) };
    }
    found
}
