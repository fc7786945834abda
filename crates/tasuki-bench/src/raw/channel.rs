//! Messages of a fixed size over TCP and UDP.

use super::{
    sockets::{CALL_LIMIT, is_nothing},
    spin::Spin,
};
use std::{
    io::{self, Read, Write},
    net::{TcpStream, UdpSocket},
    time::Duration,
};

/// Longest sleep of a blocking receive, after which its caller checks the time and the control connection.
pub(super) const SLEEP: Duration = Duration::from_millis(50);

/// Carries messages between two peers. Both know the size of a message; its first four bytes are a sequence
/// number.
pub(super) trait Channel {
    /// Sends a message; the time that this takes is bounded.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// Receives a message; true if the buffer holds all of it. If false, the next call must be given the same
    /// buffer.
    fn receive(&mut self, message: &mut [u8]) -> io::Result<bool>;

    /// Whether messages can be lost.
    fn is_lossy(&self) -> bool;
}

/// Messages over TCP. Whether a call sleeps depends on the socket's mode.
pub(super) struct TcpChannel {
    stream: TcpStream,
    filled: usize,
}

impl TcpChannel {
    /// A channel over a connection; with `spin` no call ever sleeps.
    pub fn new(stream: TcpStream, spin: bool) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        super::sockets::bound_calls(&stream, SLEEP)?;
        stream.set_nonblocking(spin)?;
        Ok(Self { stream, filled: 0 })
    }
}

impl Channel for TcpChannel {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let mut sent = 0;
        let mut spin = Spin::default();
        while sent < message.len() {
            match self.stream.write(&message[sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    sent += count;
                    spin = Spin::default();
                }
                Err(error) if is_nothing(&error) => {
                    if spin.idle().is_some_and(|waited| waited > CALL_LIMIT) {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<bool> {
        match self.stream.read(&mut message[self.filled..]) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                self.filled += count;
                let whole = self.filled == message.len();
                if whole {
                    self.filled = 0;
                }
                Ok(whole)
            }
            Err(error) if is_nothing(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn is_lossy(&self) -> bool {
        false
    }
}

/// Messages over UDP. No call sleeps. A socket that is not connected connects to the sender of the first
/// message.
pub(super) struct UdpChannel {
    socket: UdpSocket,
    connected: bool,
}

impl UdpChannel {
    pub fn new(socket: UdpSocket, connected: bool) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, connected })
    }
}

impl Channel for UdpChannel {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match self.socket.send(message) {
            // If the queue is full, the message is lost, as in a full switch.
            Err(error) if is_nothing(&error) || is_queue_full(&error) => Ok(()),
            result => result.map(drop),
        }
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<bool> {
        let result = if self.connected {
            self.socket.recv(message)
        } else {
            let from = self.socket.recv_from(message);
            from.and_then(|(count, address)| {
                self.socket.connect(address)?;
                self.connected = true;
                Ok(count)
            })
        };
        match result {
            Ok(count) => Ok(count == message.len()),
            Err(error) if is_nothing(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn is_lossy(&self) -> bool {
        true
    }
}

/// Whether an error says that the interface's queue is full or its cable is down.
pub(super) fn is_queue_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::errno::Errno::ENOBUFS as i32)
}
