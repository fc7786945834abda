//! A connected UDP socket for length-coded bulk: datagrams straight out of the program's memory and straight
//! into it.

use std::io;
use std::mem::zeroed;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::null_mut;

use nix::sys::socket::{SockaddrStorage, connect, getsockopt, sockopt};
use tasuki_sys::fork::Uninherited;

use crate::{LinkError, UdpOptions, socket};
use tasuki_tuning::bulk::BATCH;

/// A piece of memory.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Its first byte.
    pub ptr: *mut u8,
    /// Its length in bytes.
    pub len: usize,
}

/// A nonblocking UDP socket without a queue or buffers of its own.
pub struct BulkSocket {
    fd: Uninherited<OwnedFd>,
    local: SocketAddr,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

// SAFETY: the pointers in `headers` and `vectors` are written anew before each call and used only within it.
unsafe impl Send for BulkSocket {}

impl BulkSocket {
    /// Opens the socket. It receives from any sender until it is connected.
    pub fn bind(options: &UdpOptions) -> Result<BulkSocket, LinkError> {
        let opened = socket::open(options)?;
        // Coalescing (UDP_GRO) is off, because datagrams that the kernel joins lose their lengths.
        let _ = socket::set(&opened.fd, libc::SOL_UDP, libc::UDP_GRO, 0);
        Ok(BulkSocket {
            fd: opened.fd,
            local: opened.local,
            vectors: vec![libc::iovec { iov_base: null_mut(), iov_len: 0 }; 2 * BATCH],
            // SAFETY: a header of zero bytes is a header without pointers.
            headers: vec![unsafe { zeroed() }; BATCH],
        })
    }

    /// Connects the socket to an address: from then on it receives from there alone, and all datagrams go
    /// there.
    pub fn connect(&self, to: SocketAddr) -> io::Result<()> {
        Ok(connect(self.fd.as_raw_fd(), &SockaddrStorage::from(to))?)
    }

    /// The socket's own address and port.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The descriptor, for `poll`.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Size of the receive buffer that the kernel has granted, in bytes. The kernel charges more than its
    /// length for each datagram.
    pub fn receive_buffer(&self) -> usize {
        getsockopt(&self.fd, sockopt::RcvBuf).unwrap_or(0)
    }

    /// Sends a datagram for each piece, at most [`BATCH`]. Returns how many the kernel took, which is
    /// less if it has no room now.
    ///
    /// # Safety
    /// All bytes of the pieces can be read.
    pub unsafe fn send(&mut self, pieces: &[Piece]) -> io::Result<usize> {
        let count = pieces.len().min(BATCH);
        for ((piece, vector), header) in pieces.iter().zip(&mut self.vectors).zip(&mut self.headers) {
            *vector = libc::iovec { iov_base: piece.ptr.cast(), iov_len: piece.len };
            fill(header, vector, 1);
        }
        let fd = self.fd.as_raw_fd();
        // SAFETY: the first `count` headers were just filled in with pointers to parts of `self`, which name
        // memory that can be read.
        let sent = unsafe { libc::sendmmsg(fd, self.headers.as_mut_ptr(), count as libc::c_uint, 0) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Receives a datagram into each pair of pieces, at most [`BATCH`] of them. The second piece of a
    /// pair is for what does not fit into the first. `lens` gets the datagrams' lengths in bytes, also of
    /// those that were longer than both pieces. The error is `WouldBlock` if no datagram waits.
    ///
    /// # Safety
    /// All bytes of the pieces can be written, and nothing else uses them during the call.
    pub unsafe fn receive(&mut self, pairs: &[[Piece; 2]], lens: &mut Vec<usize>) -> io::Result<()> {
        lens.clear();
        let count = pairs.len().min(BATCH);
        for ((pair, vectors), header) in
            pairs.iter().zip(self.vectors.chunks_exact_mut(2)).zip(&mut self.headers)
        {
            for (piece, vector) in pair.iter().zip(&mut *vectors) {
                *vector = libc::iovec { iov_base: piece.ptr.cast(), iov_len: piece.len };
            }
            fill(header, &mut vectors[0], 2);
        }
        let (fd, flags) = (self.fd.as_raw_fd(), libc::MSG_DONTWAIT | libc::MSG_TRUNC);
        // SAFETY: the first `count` headers were just filled in with pointers to parts of `self`, which name
        // memory that can be written.
        let came = unsafe {
            libc::recvmmsg(fd, self.headers.as_mut_ptr(), count as libc::c_uint, flags as _, null_mut())
        };
        let came = usize::try_from(came).map_err(|_| io::Error::last_os_error())?;
        lens.extend(self.headers[..came].iter().map(|header| header.msg_len as usize));
        Ok(())
    }

    /// Drops the datagrams that wait, at most `most` of them.
    pub fn discard(&mut self, most: usize) {
        let nothing = Piece { ptr: null_mut(), len: 0 };
        let mut lens = Vec::new();
        for _ in 0..most.div_ceil(BATCH) {
            // SAFETY: pieces of no bytes are not written.
            if unsafe { self.receive(&[[nothing; 2]; BATCH], &mut lens) }.is_err() {
                return;
            }
        }
    }
}

/// Makes `header` that of one datagram in `count` vectors.
fn fill(header: &mut libc::mmsghdr, vectors: &mut libc::iovec, count: usize) {
    header.msg_len = 0;
    header.msg_hdr.msg_iov = vectors;
    header.msg_hdr.msg_iovlen = count as _;
    header.msg_hdr.msg_flags = 0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr, UdpSocket};

    fn pair() -> (BulkSocket, BulkSocket) {
        let open = || BulkSocket::bind(&UdpOptions::new(IpAddr::V4(Ipv4Addr::LOCALHOST))).unwrap();
        let (a, b) = (open(), open());
        a.connect(b.local()).unwrap();
        b.connect(a.local()).unwrap();
        (a, b)
    }

    fn piece(bytes: &mut [u8]) -> Piece {
        Piece { ptr: bytes.as_mut_ptr(), len: bytes.len() }
    }

    #[test]
    fn datagrams_keep_their_lengths_and_go_where_they_are_told() {
        let (mut a, mut b) = pair();
        // The lengths are equal, so that the kernel would join the datagrams if it were asked to.
        let mut from = [vec![1; 1000], vec![2; 1000], vec![3; 999], vec![4; 50]];
        let pieces: Vec<Piece> = from.iter_mut().map(|bytes| piece(bytes)).collect();
        // SAFETY: the pieces are those of vectors that live to the end of the test.
        assert_eq!(unsafe { a.send(&pieces) }.unwrap(), 4);
        let (mut into, mut over) = (vec![vec![0; 900]; 5], vec![vec![0; 60]; 5]);
        let pairs: Vec<[Piece; 2]> =
            into.iter_mut().zip(&mut over).map(|(a, b)| [piece(a), piece(b)]).collect();
        let mut lens = Vec::new();
        // SAFETY: the pieces are those of vectors that live to the end of the test.
        unsafe { b.receive(&pairs, &mut lens) }.unwrap();
        assert_eq!(lens, [1000, 1000, 999, 50], "the lengths as sent, also of what was cut");
        assert_eq!((&into[1], &over[1]), (&vec![2; 900], &vec![2; 60]));
        assert!(into[3][..50] == [4; 50] && into[3][50..].iter().all(|byte| *byte == 0));
        // SAFETY: the pieces are those of vectors that live to the end of the test.
        let error = unsafe { b.receive(&pairs, &mut lens) }.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn strangers_are_not_heard_and_what_waits_can_be_dropped() {
        let (mut a, mut b) = pair();
        UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().send_to(&[1], b.local()).unwrap();
        let (mut byte, mut lens) = ([7u8], Vec::new());
        // SAFETY: the byte lives through the calls.
        unsafe {
            assert_eq!(
                b.receive(&[[piece(&mut byte); 2]], &mut lens).unwrap_err().kind(),
                io::ErrorKind::WouldBlock
            );
            assert_eq!(a.send(&[piece(&mut byte); 3]).unwrap(), 3);
            b.discard(100);
            assert!(b.receive(&[[piece(&mut byte); 2]], &mut lens).is_err());
        }
        assert!(b.receive_buffer() > 0);
    }
}
