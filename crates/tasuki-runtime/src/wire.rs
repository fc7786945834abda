//! A connection between two daemons: frames over TLS over a TCP socket that never blocks.

use rustls::Connection;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream},
    os::fd::{AsFd, BorrowedFd},
    thread,
    time::{Duration, Instant},
};
use tasuki_control::{FrameError, Frames, Hello};

/// How often an end that has nothing to say says that it is there.
pub(crate) const BEAT: Duration = Duration::from_secs(1);
/// How long an end may be silent before it counts as lost. A host whose processors are busy answers later
/// than its daemon would like to.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);
/// How long an end may take to prove who it is.
const GREETING: Duration = Duration::from_secs(5);
/// Bytes that are encrypted at a time.
const PIECE: usize = 64 << 10;

/// How often, and how long apart, it is tried to listen at a port that is taken: 5 s.
const TRIES: u32 = 100;
const TRY: Duration = Duration::from_millis(50);

/// Listens on all addresses of this host, for sockets that never block. A port that is taken is tried again
/// for a while: a daemon that has just ended may have left its socket to a command that it was starting.
pub(crate) fn listen(port: u16) -> io::Result<TcpListener> {
    for _ in 1..TRIES {
        match listen_now(port) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => thread::sleep(TRY),
            other => return other,
        }
    }
    listen_now(port)
}

fn listen_now(port: u16) -> io::Result<TcpListener> {
    let any = |address: SocketAddr| TcpListener::bind(address);
    // Where IPv6 is off, IPv4 is all there is.
    let listener =
        any((Ipv6Addr::UNSPECIFIED, port).into()).or_else(|_| any((Ipv4Addr::UNSPECIFIED, port).into()))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Why a connection is of no use any more.
pub(crate) type Why = String;

/// Why a message was not sent.
#[derive(Debug)]
pub(crate) enum Unsent {
    /// It is longer than a message may be, and nothing of it was sent: the connection is as good as before.
    Long(Why),
    /// The connection is of no use any more.
    Ended(Why),
}

/// A connection between two daemons.
pub(crate) struct Wire {
    socket: TcpStream,
    tls: Connection,
    frames: Frames,
    /// What is to be encrypted.
    out: Vec<u8>,
    begun: Instant,
    heard: Instant,
    said: Instant,
    /// The other end's first words, once they have come.
    hello: Option<Hello>,
}

impl Wire {
    /// A connection over a socket, which says what this program is.
    pub fn new(socket: TcpStream, tls: impl Into<Connection>, hello: &Hello) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        let now = Instant::now();
        let mut tls: Connection = tls.into();
        let out = hello.to_bytes();
        tls.set_buffer_limit(None);
        let frames = Frames::default();
        Ok(Self { socket, tls, frames, out, begun: now, heard: now, said: now, hello: None })
    }

    /// The certificate that the other end has proved to be its own; `None`: not yet.
    pub fn certificate(&self) -> Option<&[u8]> {
        if self.tls.is_handshaking() {
            return None;
        }
        self.tls.peer_certificates()?.first().map(|certificate| certificate.as_ref())
    }

    /// Puts a message behind those that are to be sent, and sends what the socket takes.
    pub fn send(&mut self, message: &impl Serialize) -> Result<(), Unsent> {
        tasuki_control::write(message, &mut self.out).map_err(|error| match error {
            FrameError::Long(_) => Unsent::Long(error.to_string()),
            FrameError::Malformed(_) => Unsent::Ended(error.to_string()),
        })?;
        self.push().map_err(Unsent::Ended)
    }

    /// Bytes that wait to be sent.
    pub fn waiting(&self) -> usize {
        self.out.len()
    }

    /// Whether the socket is to be watched for room.
    pub fn wants_room(&self) -> bool {
        self.tls.wants_write() || (!self.out.is_empty() && !self.tls.is_handshaking())
    }

    /// Sends what the socket takes.
    pub fn push(&mut self) -> Result<(), Why> {
        loop {
            if !self.tls.wants_write() && !self.tls.is_handshaking() && !self.out.is_empty() {
                let piece = self.out.len().min(PIECE);
                let taken = self.tls.writer().write(&self.out[..piece]).map_err(why)?;
                self.out.drain(..taken);
            }
            if !self.tls.wants_write() {
                return Ok(());
            }
            match self.tls.write_tls(&mut self.socket) {
                Ok(_) => self.said = Instant::now(),
                Err(error) if is_later(&error) => return Ok(()),
                Err(error) => return Err(why(error)),
            }
        }
    }

    /// Takes what has come.
    pub fn pull(&mut self) -> Result<(), Why> {
        loop {
            match self.tls.read_tls(&mut self.socket) {
                Ok(0) => return Err("it closed the connection".into()),
                Ok(_) => {}
                Err(error) if is_later(&error) => return Ok(()),
                Err(error) => return Err(why(error)),
            }
            let state = self.tls.process_new_packets().map_err(|error| error.to_string())?;
            self.heard = Instant::now();
            let mut plain = vec![0; state.plaintext_bytes_to_read()];
            if !plain.is_empty() {
                self.tls.reader().read_exact(&mut plain).map_err(why)?;
                self.frames.feed(&plain);
            }
        }
    }

    /// The other end's first words; `None`: they have not come yet.
    pub fn hello(&mut self) -> Result<Option<&Hello>, Why> {
        if self.hello.is_none()
            && let Some((hello, length)) =
                Hello::read(self.frames.rest()).map_err(|error| error.to_string())?
        {
            self.frames.skip(length);
            self.hello = Some(hello);
        }
        Ok(self.hello.as_ref())
    }

    /// The next message, behind the first words.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Why> {
        self.frames.take().map_err(|error| error.to_string())
    }

    /// Whether nothing has been said for so long that something should be.
    pub fn should_beat(&self, now: Instant) -> bool {
        self.out.is_empty() && !self.tls.is_handshaking() && now.duration_since(self.said) >= BEAT
    }

    /// Whether the other end seems to have been silent for too long, or has not proved in time who it is.
    /// What it has said may still lie unread in the socket, if this process did something else meanwhile.
    pub fn is_silent(&self, now: Instant) -> bool {
        self.is_late(now) || now.duration_since(self.heard) > SILENCE
    }

    /// Whether it is silent although the socket was read since. `heard`: when something had come last before.
    pub fn is_still_silent(&self, now: Instant, heard: Instant) -> bool {
        self.is_late(now) || self.heard == heard
    }

    /// When something came last.
    pub fn heard(&self) -> Instant {
        self.heard
    }

    fn is_late(&self, now: Instant) -> bool {
        self.hello.is_none() && now.duration_since(self.begun) > GREETING
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether a call would have blocked.
pub(crate) fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn why(error: io::Error) -> Why {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => "it closed the connection".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_testkit::ports::own_port;

    #[test]
    fn a_port_that_is_taken_for_a_moment_is_waited_for() {
        let port = own_port();
        let holder = listen_now(port).expect("it is free");
        let waits = thread::spawn(move || listen(port));
        // As a rule it finds the port taken meanwhile.
        thread::sleep(TRY);
        drop(holder);
        waits.join().expect("no panic").expect("it is free again");
    }
}
