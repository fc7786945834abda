//! The control connection: requests and answers, each a line of JSON.

use super::{
    error::RawError,
    protocol::Protocol,
    sockets::CALL_LIMIT,
    streamed::{Side, StreamTest},
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::fd::AsFd,
    thread,
    time::{Duration, Instant},
};
use tasuki_rate::Slow;

/// The longest line, bytes.
const LINE_BYTES: u64 = 64 * 1024;

/// A request of the measuring peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub(super) enum Request {
    /// Asks to prepare a test.
    Prepare {
        protocol: Protocol,
        /// The serving peer's address on the path.
        data: Ipv4Addr,
        /// Number in all frames of this test.
        session: u32,
        /// The measuring peer's MAC address, if the test uses frames.
        mac: Option<[u8; 6]>,
        work: Work,
    },
    /// Says that a burst is about to be sent. If `held`, nothing may be taken before all of it has been sent.
    Burst { held: bool },
    /// Says that a burst has been sent, and how many packets it had.
    Sent { packets: u64 },
    /// Ends the test and asks for its result.
    Stop,
}

/// What the serving peer does in a test.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "kebab-case")]
pub(super) enum Work {
    /// Sends all messages of this size back.
    Echo { bytes: u32 },
    /// Counts what arrives.
    Count { warm_up_s: f64 },
    /// Takes bursts out of a buffer of `buffer_bytes`.
    Drain { slow: Slow, buffer_bytes: u64 },
    /// Takes messages from connections.
    Stream(StreamTest),
}

/// An answer of the serving peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub(super) enum Answer {
    /// The test is prepared; the port to send to, or the MAC address.
    Ready { port: u16, mac: Option<[u8; 6]> },
    /// The ping-pong is over: number of messages sent back, and processor time.
    Echoed { cpu_s: f64, messages: u64 },
    /// The counting is over: what arrived, and processor time.
    Counted { cpu_s: f64, counted: Counted },
    /// The receiver is ready for a burst.
    Go,
    /// What was taken of a burst: payload, packets, payload of the first packet, and the time from the first
    /// packet to the last.
    Took { bytes: u64, packets: u64, first_bytes: u64, seconds: f64 },
    /// The bursts are over; processor time.
    Drained { cpu_s: f64 },
    /// The streams are over: payload that each brought in the time that counts.
    Streamed { received_bytes: Vec<u64>, receiver: Side },
    /// The test cannot be made, or it broke off.
    Refused { reason: String },
}

/// What the receiving side of a throughput test counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Counted {
    pub payload_bytes: u64,
    pub frames: u64,
    /// Payload of a full frame, if the receiver knows it; 0: all frames are alike.
    #[serde(default)]
    pub full_payload_bytes: u64,
    pub wire_bits: u64,
    pub seconds: f64,
    pub window_unix_s: (f64, f64),
    pub received_frames: u64,
    pub ring_drops: u64,
    pub moved_bytes: u64,
}

/// One end of the connection.
pub(super) struct Control {
    stream: BufReader<TcpStream>,
    peer: SocketAddr,
}

impl Control {
    /// Waits for the other peer's connection, for at most `limit`.
    pub fn accept(listen: SocketAddr, limit: Duration) -> Result<Self, RawError> {
        let fail = |doing| move |source| RawError::Control { address: listen, doing, source };
        let listener = TcpListener::bind(listen).map_err(fail("listen"))?;
        listener.set_nonblocking(true).map_err(fail("listen"))?;
        if !wait_readable(&listener, limit).map_err(fail("wait"))? {
            return Err(fail("wait for the other peer")(io::ErrorKind::TimedOut.into()));
        }
        let (stream, peer) = listener.accept().map_err(fail("accept"))?;
        Self::new(stream, peer)
    }

    /// Connects to the other peer, again and again until it listens or `limit` has passed.
    pub fn connect(server: SocketAddr, limit: Duration) -> Result<Self, RawError> {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(10));
            match TcpStream::connect_timeout(&server, left) {
                Ok(stream) => return Self::new(stream, server),
                Err(source) if Instant::now() >= deadline => {
                    return Err(RawError::Control { address: server, doing: "connect", source });
                }
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn new(stream: TcpStream, peer: SocketAddr) -> Result<Self, RawError> {
        let prepared = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_nodelay(true))
            .and_then(|()| stream.set_write_timeout(Some(CALL_LIMIT)));
        prepared.map_err(|source| RawError::Control { address: peer, doing: "prepare", source })?;
        Ok(Self { stream: BufReader::new(stream), peer })
    }

    pub fn send<T: Serialize>(&mut self, message: &T) -> Result<(), RawError> {
        let line = serde_json::to_string(message).map_err(io::Error::other);
        let sent = line.and_then(|line| self.stream.get_mut().write_all((line + "\n").as_bytes()));
        sent.map_err(|source| self.error("send", source))
    }

    /// The other peer's next message; an error if it does not come within `limit`, or the connection ends.
    pub fn receive<T: DeserializeOwned>(&mut self, limit: Duration) -> Result<T, RawError> {
        self.receive_or_end(limit)?.ok_or_else(|| self.error("receive", io::ErrorKind::UnexpectedEof.into()))
    }

    /// Like [`Self::receive`], but `None` if the other peer has closed the connection after its last message.
    pub fn receive_or_end<T: DeserializeOwned>(&mut self, limit: Duration) -> Result<Option<T>, RawError> {
        self.read_line(limit).map_err(|source| self.error("receive", source))
    }

    fn read_line<T: DeserializeOwned>(&mut self, limit: Duration) -> io::Result<Option<T>> {
        // A time-out of zero would mean that there is none.
        self.stream.get_ref().set_read_timeout(Some(limit.max(Duration::from_millis(1))))?;
        let mut line = String::new();
        let count = self.stream.by_ref().take(LINE_BYTES).read_line(&mut line)?;
        if count == 0 {
            return Ok(None);
        }
        serde_json::from_str(&line).map(Some).map_err(io::Error::other)
    }

    /// Whether a message of the other peer has arrived, or it has closed the connection. Never waits.
    pub fn is_pending(&self) -> bool {
        !self.stream.buffer().is_empty()
            || wait_readable(self.stream.get_ref(), Duration::ZERO).unwrap_or(true)
    }

    fn error(&self, doing: &'static str, source: io::Error) -> RawError {
        RawError::Control { address: self.peer, doing, source }
    }
}

/// Waits until something can be read or accepted; false if `limit` passed before.
pub(super) fn wait_readable(descriptor: &impl AsFd, limit: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let mut descriptors = [PollFd::new(descriptor.as_fd(), PollFlags::POLLIN)];
        match poll(&mut descriptors, timeout) {
            Ok(0) if left.is_zero() => return Ok(false),
            // The time-out of poll is in whole milliseconds, so that less than one may be left.
            Ok(0) | Err(nix::errno::Errno::EINTR) => {}
            Ok(_) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        }
    }
}
