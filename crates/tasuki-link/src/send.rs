//! Handing packets to the kernel.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::null_mut;

use crate::address::RawAddr;
use crate::control::{Control, SEGMENT_SPACE, put_segment};
use crate::queue::{Batch, Queue};
use tasuki_tuning::datagrams::SENT_MAX;

/// Headers for sendmmsg, allocated once.
pub(crate) struct SendHeaders {
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
    controls: Vec<Control<SEGMENT_SPACE>>,
}

// SAFETY: the pointers in `headers` and `vectors` are written anew before, and used only within, each call of
// `send_many`.
unsafe impl Send for SendHeaders {}

impl SendHeaders {
    pub(crate) fn new() -> SendHeaders {
        // SAFETY: a header of zero bytes is a header without pointers.
        let header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        SendHeaders {
            headers: vec![header; SENT_MAX],
            vectors: vec![libc::iovec { iov_base: null_mut(), iov_len: 0 }; SENT_MAX],
            controls: vec![Control([0; SEGMENT_SPACE]); SENT_MAX],
        }
    }
}

/// Sends the first batch, or its next packet if it is split, with one system call.
pub(crate) fn send_first(fd: &OwnedFd, queue: &Queue) -> io::Result<()> {
    let Some(batch) = queue.waiting().first() else { return Ok(()) };
    let bytes = queue.bytes(batch);
    if batch.split || batch.packets == 1 {
        // SAFETY: `bytes` and the address live through the call, and their lengths are their own.
        let sent = unsafe {
            libc::sendto(
                fd.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_DONTWAIT,
                (&batch.raw as *const RawAddr).cast(),
                batch.raw_len,
            )
        };
        return if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    }
    let mut control = Control([0; SEGMENT_SPACE]);
    let mut vector = libc::iovec { iov_base: null_mut(), iov_len: 0 };
    let header = message(batch, bytes, &mut vector, &mut control);
    // SAFETY: `header` points to `vector`, `control`, `bytes` and the address in `batch`, all of which live
    // through the call.
    let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &header, libc::MSG_DONTWAIT) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sends as many batches as one sendmmsg takes, and returns how many went. An error is about the first.
pub(crate) fn send_many(fd: &OwnedFd, queue: &Queue, room: &mut SendHeaders) -> io::Result<usize> {
    let mut count = 0;
    for batch in queue.waiting().iter().take(SENT_MAX) {
        let bytes = queue.bytes(batch);
        let header = message(batch, bytes, &mut room.vectors[count], &mut room.controls[count]);
        room.headers[count] = libc::mmsghdr { msg_hdr: header, msg_len: 0 };
        count += 1;
    }
    // SAFETY: the first `count` headers were just written; they point into `queue` and `room`, which live
    // through the call.
    let sent = unsafe {
        libc::sendmmsg(fd.as_raw_fd(), room.headers.as_mut_ptr(), count as libc::c_uint, libc::MSG_DONTWAIT)
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// The header of one send. It holds pointers to all four arguments, so the caller keeps them alive and in
/// place while it uses the header.
fn message(
    batch: &Batch,
    bytes: &[u8],
    vector: &mut libc::iovec,
    control: &mut Control<SEGMENT_SPACE>,
) -> libc::msghdr {
    *vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: a header of zero bytes is a header without pointers.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = (&batch.raw as *const RawAddr).cast_mut().cast();
    header.msg_namelen = batch.raw_len;
    header.msg_iov = vector;
    header.msg_iovlen = 1;
    if batch.packets > 1 && !batch.split {
        // The size fits into 16 bits, as a batch of several packets has at most 65,000 bytes (`queue`).
        put_segment(control, batch.size as u16);
        header.msg_control = (control as *mut Control<SEGMENT_SPACE>).cast();
        header.msg_controllen = SEGMENT_SPACE as _;
    }
    header
}
