//! Data sockets, bound to an interface if one is named.

use super::{error::RawError, protocol::Protocol};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket,
    sockopt::{BindToDevice, ReceiveTimeout, SendTimeout, SndBuf, SndBufForce},
};
use nix::sys::time::TimeVal;
use std::{
    ffi::OsString,
    io,
    net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket},
    os::fd::{AsFd, AsRawFd},
    time::Duration,
};

/// Longest wait of a single call.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(5);

/// Makes the error of a failed socket; `doing` says what was being done.
pub(super) fn error(protocol: Protocol, doing: &'static str) -> impl FnOnce(io::Error) -> RawError {
    move |source| RawError::Socket { protocol, doing, source }
}

/// Binds a socket to an interface, so that a test of one cable cannot take another route.
fn hold_to(socket: &impl AsFd, interface: Option<&str>) -> io::Result<()> {
    if let Some(name) = interface {
        setsockopt(socket, BindToDevice, &OsString::from(name))?;
    }
    Ok(())
}

/// Bounds the time of every blocking call on the socket: sends by [`CALL_LIMIT`], receives by `receive`.
pub(super) fn bound_calls(socket: &impl AsFd, receive: Duration) -> io::Result<()> {
    let value =
        |limit: Duration| TimeVal::new(limit.as_secs().cast_signed(), i64::from(limit.subsec_micros()));
    setsockopt(socket, SendTimeout, &value(CALL_LIMIT))?;
    setsockopt(socket, ReceiveTimeout, &value(receive))?;
    Ok(())
}

pub(super) fn listen_tcp(address: Ipv4Addr, interface: Option<&str>) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((address, 0))?;
    hold_to(&listener, interface)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Connects; gives up after [`CALL_LIMIT`].
pub(super) fn connect_tcp(to: SocketAddrV4, interface: Option<&str>) -> io::Result<TcpStream> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    hold_to(&socket, interface)?;
    // SO_SNDTIMEO bounds connect() too (socket(7)).
    bound_calls(&socket, CALL_LIMIT)?;
    connect_within_limit(&socket, to)?;
    Ok(TcpStream::from(socket))
}

/// Connects a socket whose calls are bounded. When the time is up, the kernel returns EINPROGRESS, which
/// becomes an error.
pub(super) fn connect_within_limit(socket: &impl AsFd, to: SocketAddrV4) -> io::Result<()> {
    match connect(socket.as_fd().as_raw_fd(), &SockaddrIn::from(to)) {
        Err(Errno::EINPROGRESS) => {
            let said = format!("no answer from {to} within {} s", CALL_LIMIT.as_secs());
            Err(io::Error::new(io::ErrorKind::TimedOut, said))
        }
        result => Ok(result?),
    }
}

pub(super) fn bind_udp(address: Ipv4Addr, interface: Option<&str>) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((address, 0))?;
    hold_to(&socket, interface)?;
    Ok(socket)
}

pub(super) fn connect_udp(to: SocketAddrV4, interface: Option<&str>) -> io::Result<UdpSocket> {
    let socket = bind_udp(Ipv4Addr::UNSPECIFIED, interface)?;
    socket.connect(to)?;
    Ok(socket)
}

/// Asks for a send buffer of this many bytes.
pub(super) fn grow_send_buffer(socket: &UdpSocket, bytes: u32) {
    let bytes = bytes as usize;
    // The first call obeys the system's limit, the second needs root. A smaller buffer costs speed only, so
    // that errors are ignored.
    let _ = setsockopt(socket, SndBuf, &bytes);
    let _ = setsockopt(socket, SndBufForce, &bytes);
}

/// Whether an error says that there is nothing to take, or no room to send, at the moment.
pub(super) fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
