//! TCP connections for streams of bulk: bytes straight out of the program's memory and straight into it,
//! without packets of our own.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};
use tasuki_sys::fork::Uninherited;
use tasuki_tuning::streams;

/// Sending on a stream that the other side has ended is an error. Without this flag the kernel also sends the
/// signal SIGPIPE, which ends a program that does not know of the stream (send(2)).
const WITHOUT_SIGNAL: libc::c_int = libc::MSG_NOSIGNAL;

/// An end of a stream on this host: an address, and the NIC by which the stream is to leave and arrive.
#[derive(Clone, Debug)]
pub struct StreamEnd {
    /// The address of this end.
    pub address: IpAddr,
    /// NIC to bind to. Without the permission the socket stays unbound, like that of a [`crate::UdpLink`].
    pub device: Option<String>,
}

impl StreamEnd {
    /// Opens a nonblocking socket at this address, on any free port.
    fn open(&self) -> io::Result<Uninherited<Socket>> {
        let domain = if self.address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let socket = Socket::new(domain, Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
        let socket = Uninherited::new(socket);
        if let Some(device) = &self.device {
            // An error is no harm: the addresses lead to that NIC as well, by the routes.
            let _ = socket.bind_device(Some(device.as_bytes()));
        }
        socket.bind(&SocketAddr::new(self.address, 0).into())?;
        Ok(socket)
    }
}

/// Waits for streams to be opened. Its socket is nonblocking.
pub struct StreamListener {
    socket: Uninherited<Socket>,
    local: SocketAddr,
}

impl StreamListener {
    /// Opens a listener on any free port.
    pub fn open(end: &StreamEnd) -> io::Result<StreamListener> {
        let socket = end.open()?;
        socket.listen(4)?;
        let local = socket.local_addr()?.as_socket().ok_or(ErrorKind::AddrNotAvailable)?;
        Ok(StreamListener { socket, local })
    }

    /// The listener's own address and port.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The next stream that a peer has opened, and the address from which it comes; `None` if there is none.
    pub fn accept(&self) -> io::Result<Option<(Stream, IpAddr)>> {
        match self.socket.accept() {
            Ok((socket, from)) => {
                let socket = Uninherited::new(socket);
                socket.set_nonblocking(true)?;
                prepare(&socket)?;
                let from = from.as_socket().ok_or(ErrorKind::AddrNotAvailable)?;
                Ok(Some((Stream { socket }, from.ip().to_canonical())))
            }
            Err(error) if is_later(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Sets what either end of a stream needs to send.
fn prepare(socket: &Socket) -> io::Result<()> {
    // The sender hands over all there is at once, so that waiting for more before a segment leaves would only
    // delay it.
    socket.set_tcp_nodelay(true)?;
    // Without the permission the stream has the kernel's own buffer, which grows as the stream flows.
    let _ = setsockopt(socket, sockopt::SndBufForce, &streams::SEND_BUFFER);
    Ok(())
}

/// A stream, by which both sides send and receive. Its socket is nonblocking. The stream is closed when it is
/// dropped; what has not been received by then is lost.
pub struct Stream {
    socket: Uninherited<Socket>,
}

impl Stream {
    /// Begins to open a stream; [`Stream::is_open`] tells when it is.
    pub fn connect(end: &StreamEnd, to: SocketAddr) -> io::Result<Stream> {
        let socket = end.open()?;
        prepare(&socket)?;
        match socket.connect(&to.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(Stream { socket }),
        }
    }

    /// Whether the stream is open by now. An error if the other side refused it or does not answer.
    pub fn is_open(&self) -> io::Result<bool> {
        if let Some(error) = self.socket.take_error()? {
            return Err(error);
        }
        match self.socket.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sends as many of `bytes` as the kernel takes now, perhaps none.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        later(self.socket.send_with_flags(bytes, WITHOUT_SIGNAL))
    }

    /// Receives what is there, perhaps nothing, at most as much as fits into `into`. The end of the
    /// stream is an error ([`ErrorKind::UnexpectedEof`]), since a sender ends no stream on which it has
    /// something to send.
    pub fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        received((&*self.socket).read(into))
    }

    /// As [`Stream::send`], of bytes that lie in several places.
    pub fn send_vectored(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        later(self.socket.send_vectored_with_flags(pieces, WITHOUT_SIGNAL))
    }

    /// As [`Stream::receive`], into several places, one behind the other.
    pub fn receive_vectored(&self, pieces: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        if pieces.iter().all(|piece| piece.is_empty()) {
            return Ok(0);
        }
        received((&*self.socket).read_vectored(pieces))
    }

    /// Bytes that were sent and that the other side's kernel has not acknowledged (tcp(7), `SIOCOUTQ`).
    /// Asking takes no lock of the socket.
    pub fn unacknowledged(&self) -> io::Result<u64> {
        let mut count: libc::c_int = 0;
        // SAFETY: `count` lives through the call, and the kernel writes an `int` there.
        match unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut count) } {
            0 => Ok(count.max(0) as u64),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Has the kernel acknowledge at once what has come (tcp(7), `TCP_QUICKACK`), if it has not yet.
    pub fn acknowledge(&self) {
        // If it fails, the kernel acknowledges in its own time, or the stream is over.
        let _ = self.socket.set_tcp_quickack(true);
    }

    /// Ends the stream in both directions: from now on the kernel acknowledges nothing more that arrives
    /// (`tcp_rcv_state_process` of the kernel answers it with a reset). What it has acknowledged before can
    /// still be received.
    pub fn shut_down(&self) {
        // It fails if the stream is over already, which is as good.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Whether there is enough room for a call of [`Stream::send`] to be worthwhile. Asking takes no lock of
    /// the socket, which the kernel needs for each packet.
    pub fn has_room(&self) -> bool {
        self.is_ready(PollFlags::POLLOUT)
    }

    /// Whether there is something to receive, or the stream is over. Asking takes no lock of the socket, like
    /// [`Stream::has_room`].
    pub fn has_bytes(&self) -> bool {
        self.is_ready(PollFlags::POLLIN)
    }

    fn is_ready(&self, wanted: PollFlags) -> bool {
        let mut fds = [PollFd::new(self.socket.as_fd(), wanted)];
        // An error of `poll` counts as ready, since the call that the caller is about to make tells more.
        poll(&mut fds, PollTimeout::ZERO) != Ok(0)
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// What a read of at least one byte has brought: nothing at all is the end.
fn received(done: io::Result<usize>) -> io::Result<usize> {
    match done {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        done => later(done),
    }
}

fn later(done: io::Result<usize>) -> io::Result<usize> {
    match done {
        Err(error) if is_later(&error) => Ok(0),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{SigSet, Signal};
    use std::net::Ipv4Addr;

    fn pair() -> (Stream, Stream) {
        let end = StreamEnd { address: IpAddr::V4(Ipv4Addr::LOCALHOST), device: None };
        let listener = StreamListener::open(&end).unwrap();
        assert!(listener.accept().unwrap().is_none());
        let from = Stream::connect(&end, listener.local()).unwrap();
        let to = loop {
            if let Some((to, ip)) = listener.accept().unwrap() {
                assert_eq!(ip, end.address);
                break to;
            }
        };
        while !from.is_open().unwrap() {}
        (from, to)
    }

    #[test]
    fn bytes_come_out_as_they_went_in_and_nobody_waits() {
        let (from, to) = pair();
        assert!([&from, &to].iter().all(|end| end.socket.tcp_nodelay().unwrap()), "both ends may send");
        let bytes: Vec<u8> = (0..20_000_000u32).map(|at| ((at * 7) ^ (at >> 9)) as u8).collect();
        let mut into = vec![0; bytes.len()];
        assert_eq!(to.receive(&mut into).unwrap(), 0);
        let (mut sent, mut received) = (0, 0);
        while received < bytes.len() {
            sent += from.send(&bytes[sent..]).unwrap();
            received += to.receive(&mut into[received..]).unwrap();
        }
        assert!(into == bytes && !to.has_bytes() && from.has_room());
        drop(from);
        while !to.has_bytes() {}
        assert_eq!(to.receive(&mut into).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    /// Whether the signal SIGPIPE waits for this thread.
    fn has_sigpipe() -> bool {
        let mut waiting = SigSet::empty().as_ref().to_owned();
        // SAFETY: `waiting` is a signal set that lives through the calls, the first of which writes all of
        // it.
        unsafe {
            libc::sigpending(&raw mut waiting) == 0
                && libc::sigismember(&raw const waiting, libc::SIGPIPE) == 1
        }
    }

    // send(2): "EPIPE ... the process will also receive a SIGPIPE unless MSG_NOSIGNAL is set". A signal that
    // a thread blocks waits for it, even if the process ignores it, as this one does (sig_ignored() in
    // kernel/signal.c).
    #[test]
    fn sending_on_a_stream_that_is_over_is_an_error_and_no_signal() {
        let mut sigpipe = SigSet::empty();
        sigpipe.add(Signal::SIGPIPE);
        sigpipe.thread_block().unwrap();
        let bytes = [7; 1000];
        let one: &dyn Fn(&Stream) -> io::Result<usize> = &|stream| stream.send(&bytes);
        let several: &dyn Fn(&Stream) -> io::Result<usize> =
            &|stream| stream.send_vectored(&[IoSlice::new(&bytes), IoSlice::new(&bytes)]);
        for send in [one, several] {
            let (from, to) = pair();
            drop(to);
            // The first bytes are answered by a reset, what is sent after that fails.
            let error = loop {
                if let Err(error) = send(&from) {
                    break error;
                }
            };
            assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
            let again = send(&from).unwrap_err();
            assert_eq!(again.kind(), ErrorKind::BrokenPipe);
            assert!(!has_sigpipe());
        }
    }

    #[test]
    fn where_nobody_listens_no_stream_opens() {
        let end = StreamEnd { address: IpAddr::V4(Ipv4Addr::LOCALHOST), device: None };
        let to = StreamListener::open(&end).unwrap().local();
        let refused = Stream::connect(&end, to).map(|stream| {
            loop {
                match stream.is_open() {
                    Ok(false) => {}
                    other => break other,
                }
            }
        });
        assert!(refused.is_err() || refused.is_ok_and(|open| open.is_err()));
    }
}
