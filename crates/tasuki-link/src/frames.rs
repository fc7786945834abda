//! Frames on their way to the kernel, one behind the other in one preallocated block.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use tasuki_tuning::raw_lanes;

/// The queue of frames. Nothing is allocated after `new`.
pub(crate) struct Frames {
    block: Box<[u8]>,
    used: usize,
    places: Vec<Place>,
    /// Frames before this one are done.
    first: usize,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

/// A frame in the block.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    /// Bytes of the frame with its header.
    len: usize,
    /// Bytes of the frame without its header.
    payload: usize,
}

// SAFETY: the pointers in `headers` and `vectors` are written anew before, and used only within, each call of
// `send`.
unsafe impl Send for Frames {}

impl Frames {
    /// A queue with room for `raw_lanes::FRAMES_MAX` frames of `frame_bytes` bytes.
    pub(crate) fn new(frame_bytes: usize) -> Frames {
        // SAFETY: a header of zero bytes is a header without pointers.
        let header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        Frames {
            block: vec![0; raw_lanes::FRAMES_MAX * frame_bytes].into_boxed_slice(),
            used: 0,
            places: Vec::with_capacity(raw_lanes::FRAMES_MAX),
            first: 0,
            vectors: vec![libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; raw_lanes::SENT_MAX],
            headers: vec![header; raw_lanes::SENT_MAX],
        }
    }

    /// Frames that wait.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.first
    }

    /// Adds a frame of a header of `header` bytes and at most `max` bytes of payload. `write` writes both and
    /// returns the length of the payload; 0 means that there is no frame after all. Returns false, without
    /// calling `write`, if there is no room.
    pub(crate) fn push(&mut self, header: usize, max: usize, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        if self.places.len() == raw_lanes::FRAMES_MAX {
            return false;
        }
        let Some(room) = self.block.get_mut(self.used..self.used + header + max) else { return false };
        let payload = write(room).min(max);
        if payload > 0 {
            self.places.push(Place { start: self.used, len: header + payload, payload });
            self.used += header + payload;
        }
        true
    }

    /// Hands as many frames to the kernel as one call takes. Returns how many frames and bytes of payload
    /// went. An error is about the first frame.
    pub(crate) fn send(&mut self, fd: BorrowedFd<'_>) -> io::Result<(usize, usize)> {
        let waiting = &self.places[self.first..];
        let count = match waiting {
            [] => return Ok((0, 0)),
            [Place { start, len, .. }] => {
                let frame = &self.block[*start..*start + *len];
                let flags = libc::MSG_DONTWAIT;
                // SAFETY: the pointer and length are those of a live slice.
                let sent = unsafe { libc::send(fd.as_raw_fd(), frame.as_ptr().cast(), frame.len(), flags) };
                if sent < 0 {
                    return Err(io::Error::last_os_error());
                }
                1
            }
            many => {
                let count = many.len().min(raw_lanes::SENT_MAX);
                for (at, Place { start, len, .. }) in many.iter().take(count).enumerate() {
                    let frame = &mut self.block[*start..*start + *len];
                    self.vectors[at] =
                        libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
                    self.headers[at].msg_hdr.msg_iov = &mut self.vectors[at];
                    self.headers[at].msg_hdr.msg_iovlen = 1;
                }
                let (headers, flags) = (self.headers.as_mut_ptr(), libc::MSG_DONTWAIT);
                // SAFETY: the first `count` headers were just written; they point into `self`, which lives
                // through the call.
                let sent =
                    unsafe { libc::sendmmsg(fd.as_raw_fd(), headers, count as libc::c_uint, flags as _) };
                usize::try_from(sent).map_err(|_| io::Error::last_os_error())?
            }
        };
        let bytes = self.places[self.first..self.first + count].iter().map(|place| place.payload).sum();
        self.pop(count);
        Ok((count, bytes))
    }

    /// Takes the first `count` frames off the queue, be they sent or dropped.
    pub(crate) fn pop(&mut self, count: usize) {
        self.first += count;
        if self.first >= self.places.len() {
            self.places.clear();
            (self.first, self.used) = (0, 0);
        }
    }
}
