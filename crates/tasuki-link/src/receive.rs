//! Taking packets from the kernel.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::null_mut;

use crate::UdpStats;
use crate::address::RawAddr;
use crate::control::{Control, each_message, space};
use tasuki_tuning::datagrams::{JOINED_BYTES, PLAIN_BYTES, RECEIVED_MAX};

/// Room for the control messages of UDP_GRO and SO_RXQ_OVFL, of four bytes each.
const CONTROL_BYTES: usize = 2 * space(size_of::<libc::c_int>());

/// Buffers for received datagrams, allocated once. Their pages become memory when they are first used.
pub(crate) struct Buffers {
    bytes: Box<[u8]>,
    size: usize,
    names: Vec<RawAddr>,
    controls: Vec<Control<CONTROL_BYTES>>,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    /// The last value of SO_RXQ_OVFL, which counts dropped datagrams modulo 2^32.
    overflow: u32,
}

// SAFETY: the pointers in `headers` and `vectors` are written anew before each call of `fill` and used only
// within it.
unsafe impl Send for Buffers {}

impl Buffers {
    pub(crate) fn new(coalesce: bool) -> Buffers {
        let size = if coalesce { JOINED_BYTES } else { PLAIN_BYTES };
        let n = RECEIVED_MAX;
        // SAFETY: a header of zero bytes is a header without pointers.
        let header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        Buffers {
            bytes: vec![0; size * n].into_boxed_slice(),
            size,
            names: vec![RawAddr::empty(); n],
            controls: vec![Control([0; CONTROL_BYTES]); n],
            vectors: vec![libc::iovec { iov_base: null_mut(), iov_len: 0 }; n],
            headers: vec![header; n],
            overflow: 0,
        }
    }

    /// Makes one system call for at most `want` datagrams: recvmsg for one, which is cheaper than recvmmsg.
    /// Returns how many came.
    pub(crate) fn fill(&mut self, fd: &OwnedFd, want: usize) -> io::Result<usize> {
        let want = want.clamp(1, RECEIVED_MAX);
        let parts = self.bytes.chunks_exact_mut(self.size).zip(&mut self.vectors).zip(&mut self.names);
        let parts = parts.zip(&mut self.controls).zip(&mut self.headers).take(want);
        for ((((bytes, vector), name), control), header) in parts {
            *vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
            header.msg_len = 0;
            header.msg_hdr.msg_name = (name as *mut RawAddr).cast();
            header.msg_hdr.msg_namelen = RawAddr::ROOM;
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = (control as *mut Control<CONTROL_BYTES>).cast();
            header.msg_hdr.msg_controllen = CONTROL_BYTES as _;
            header.msg_hdr.msg_flags = 0;
        }
        if want == 1 {
            let header = &mut self.headers[0];
            // SAFETY: the header was just filled in with pointers to parts of `self`, whose lengths are their
            // own.
            let len = unsafe { libc::recvmsg(fd.as_raw_fd(), &mut header.msg_hdr, libc::MSG_DONTWAIT) };
            header.msg_len = u32::try_from(len).map_err(|_| io::Error::last_os_error())?;
            return Ok(1);
        }
        // SAFETY: the first `want` headers were just filled in with pointers to parts of `self`, whose
        // lengths are their own.
        let came = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                self.headers.as_mut_ptr(),
                want as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                null_mut(),
            )
        };
        usize::try_from(came).map_err(|_| io::Error::last_os_error())
    }

    /// Hands the packets of datagram `index` of the last `fill` to `each`. Returns how many there were.
    pub(crate) fn deliver(
        &mut self,
        index: usize,
        stats: &mut UdpStats,
        each: &mut impl FnMut(SocketAddr, &[u8]),
    ) -> usize {
        let header = &self.headers[index];
        let len = (header.msg_len as usize).min(self.size);
        let control_len = header.msg_hdr.msg_controllen.min(CONTROL_BYTES);
        let mut size = 0;
        let mut overflow = self.overflow;
        each_message(&self.controls[index].0[..control_len], |level, kind, data| match (level, kind) {
            (libc::SOL_UDP, libc::UDP_GRO) => size = usize::try_from(int(data)).unwrap_or(0),
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => overflow = int(data) as u32,
            _ => {}
        });
        stats.kernel_drops += u64::from(overflow.wrapping_sub(self.overflow));
        self.overflow = overflow;
        let truncated = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
        let from = match self.names[index].get() {
            Some(from) if !truncated => from,
            _ => {
                stats.unusable += 1;
                return 0;
            }
        };
        let bytes = &self.bytes[index * self.size..][..len];
        stats.received_bytes += len as u64;
        let mut packets = 0;
        if size == 0 || len <= size {
            each(from, bytes);
            packets = 1;
        } else {
            stats.coalesced += 1;
            for packet in bytes.chunks(size) {
                each(from, packet);
                packets += 1;
            }
        }
        stats.received_packets += packets as u64;
        packets
    }
}

/// The number in a control message's data.
fn int(data: &[u8]) -> libc::c_int {
    data.first_chunk().map_or(0, |bytes| libc::c_int::from_ne_bytes(*bytes))
}
