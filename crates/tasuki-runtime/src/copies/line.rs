//! A connection between two hosts for a copy, whose other end may be anybody, silent or gone.

use rustls::{ConnectionCommon, SideData, StreamOwned};
use socket2::{SockRef, TcpKeepalive};
use std::{
    io,
    net::TcpStream,
    ops::DerefMut,
    time::{Duration, Instant},
};

/// How long an end may take to prove who it is.
const GREETING: Duration = Duration::from_secs(5);
/// How long the other end may be silent in the middle of a copy.
pub(super) const SILENCE: Duration = Duration::from_secs(30);
/// How long nothing comes before the other host is asked whether it is there, and how often in vain.
const PROBE: Duration = Duration::from_secs(5);
const PROBES: u32 = 5;

/// Whether the other end has closed the connection.
pub(super) fn is_cut(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset)
}

/// Has the other end prove who it is, in time also if it sends a byte now and then.
pub(super) fn prove<C, S>(line: &mut StreamOwned<C, TcpStream>) -> io::Result<()>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    let end = Instant::now() + GREETING;
    line.sock.set_read_timeout(Some(GREETING))?;
    while line.conn.is_handshaking() {
        if Instant::now() >= end {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if line.conn.wants_write() {
            line.conn.write_tls(&mut line.sock)?;
        } else if line.conn.read_tls(&mut line.sock)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        } else if let Err(error) = line.conn.process_new_packets() {
            // An end that is turned away is told so by TLS, if it listens.
            let _ = line.conn.write_tls(&mut line.sock);
            return Err(io::Error::other(error));
        }
    }
    line.sock.set_read_timeout(Some(SILENCE))
}

/// A connection whose other end may be gone at any time.
pub(super) fn ready(socket: TcpStream) -> io::Result<TcpStream> {
    socket.set_nonblocking(false)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(SILENCE))?;
    socket.set_write_timeout(Some(SILENCE))?;
    // While the other end looks at a copy nothing is sent, and a dead host would be waited for.
    let alive = TcpKeepalive::new().with_time(PROBE).with_interval(PROBE).with_retries(PROBES);
    SockRef::from(&socket).set_tcp_keepalive(&alive)?;
    Ok(socket)
}
