//! The partner of the program under test: it answers, and sends the stream.

use tasuki_random::Random;

use super::{LoadError, Partner, STREAM_PORT, nic::Nic, while_doing};
use crate::raw::pin;
use std::{
    io::{self, ErrorKind},
    net::{SocketAddr, UdpSocket},
};
use tasuki_sys::clock::monotonic_ns;

/// Bytes of a question, of an answer, and of a packet of the stream.
pub(super) const BYTES: usize = 16;
/// A stream that is late by more than this, because its sender did not run, goes on without catching up;
/// otherwise a burst would follow. Nanoseconds.
const LATE_NS: f64 = 1e6;

/// What the partner is asked for. It answers every question with the question itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// An answer.
    Answer,
    /// A stream of this rate from now on.
    Rate,
    /// Interrupts of the asking host's NIC this many microseconds apart from now on.
    Delay,
    /// To end.
    End,
}

/// A question, and its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Question {
    pub kind: Ask,
    /// Packets per second for [`Ask::Rate`], microseconds for [`Ask::Delay`].
    pub rate: f64,
    pub sequence: u32,
}

impl Question {
    pub fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[0] = self.kind as u8;
        bytes[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[8..].copy_from_slice(&self.rate.to_be_bytes());
        bytes
    }

    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let kind = [Ask::Answer, Ask::Rate, Ask::Delay, Ask::End]
            .into_iter()
            .find(|kind| *kind as u8 == bytes[0])?;
        let sequence = u32::from_be_bytes(bytes[4..8].try_into().ok()?);
        let rate = f64::from_be_bytes(bytes[8..].try_into().ok()?);
        Some(Self { kind, rate: if rate > 0.0 { rate } else { 0.0 }, sequence })
    }
}

/// The stream of packets.
struct Stream {
    to: Option<SocketAddr>,
    rate: f64,
    next_ns: f64,
    random: Random,
}

impl Stream {
    fn change(&mut self, rate: f64, to: SocketAddr, now_ns: f64) {
        self.rate = rate;
        self.to = Some(SocketAddr::new(to.ip(), STREAM_PORT));
        self.next_ns = now_ns + self.gap_ns();
    }

    fn gap_ns(&mut self) -> f64 {
        if self.rate > 0.0 { self.random.exponential(1e9 / self.rate) } else { f64::INFINITY }
    }

    /// The address for a packet, if one is due.
    fn due(&mut self, now_ns: f64) -> Option<SocketAddr> {
        if now_ns < self.next_ns {
            return None;
        }
        if now_ns > self.next_ns + LATE_NS {
            self.next_ns = now_ns;
        }
        self.next_ns += self.gap_ns();
        self.to
    }
}

/// Answers until it is told to end, or its time is up.
pub(super) fn run(options: &Partner) -> Result<(), LoadError> {
    pin(options.cpu).map_err(while_doing("stay on a processor"))?;
    let socket = UdpSocket::bind(options.listen).map_err(while_doing("bind"))?;
    socket.set_nonblocking(true).map_err(while_doing("make a socket never wait"))?;
    let random = Random::new(options.seed);
    let mut stream = Stream { to: None, rate: 0.0, next_ns: f64::INFINITY, random };
    let mut nic = Nic::default();
    let end = monotonic_ns() as f64 + options.limit_s * 1e9;
    loop {
        let now = monotonic_ns() as f64;
        if now > end || answer(&socket, &mut stream, &mut nic, now)? {
            return Ok(());
        }
        if let Some(to) = stream.due(now) {
            nic.receive([0; BYTES], to);
        }
        nic.turn(now, &socket);
    }
}

/// Answers a question, if there is one; true if it was the last.
fn answer(socket: &UdpSocket, stream: &mut Stream, nic: &mut Nic, now_ns: f64) -> Result<bool, LoadError> {
    let mut bytes = [0; BYTES];
    let (count, from) = match socket.recv_from(&mut bytes) {
        Ok(received) => received,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(false);
        }
        Err(error) => return Err(while_doing("wait for a question")(error)),
    };
    let Some(question) = Question::parse(&bytes[..count]) else { return Ok(false) };
    match question.kind {
        Ask::Rate => stream.change(question.rate, from, now_ns),
        Ask::Delay => nic.set_us(question.rate),
        Ask::Answer | Ask::End => {}
    }
    nic.receive(bytes, from);
    if question.kind == Ask::End {
        // The last answer goes out without delay.
        nic.set_us(0.0);
        nic.turn(now_ns, socket);
    }
    Ok(question.kind == Ask::End)
}

/// Tells the partner that a socket is connected to how far apart the interrupts of the asking host's NIC must
/// be. If the message is lost, the next change makes up for it.
pub fn set_delay(socket: &UdpSocket, us: u32) -> io::Result<()> {
    let question = Question { kind: Ask::Delay, rate: f64::from(us), sequence: 0 };
    match socket.send(&question.bytes()) {
        // A refused connection means that the partner does not run yet, or has ended.
        Err(error) if error.kind() != ErrorKind::ConnectionRefused => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_come_through_and_nonsense_is_none() {
        for kind in [Ask::Answer, Ask::Rate, Ask::Delay, Ask::End] {
            let question = Question { kind, rate: 12.5, sequence: 7 };
            assert_eq!(Question::parse(&question.bytes()), Some(question));
        }
        assert_eq!(Question::parse(&[9; BYTES]), None);
        assert_eq!(Question::parse(&[0; 3]), None);
        let nonsense = Question { kind: Ask::Rate, rate: f64::NAN, sequence: 1 };
        assert_eq!(Question::parse(&nonsense.bytes()).map(|it| it.rate), Some(0.0));
    }

    // A second of a Poisson process of rate 10,000: 10,000 +- 100.
    #[test]
    fn the_stream_has_its_rate_and_does_not_catch_up_a_long_absence() {
        let mut stream = Stream { to: None, rate: 0.0, next_ns: f64::INFINITY, random: Random::new(1) };
        let to = SocketAddr::from(([10, 0, 0, 1], 5));
        stream.change(10_000.0, to, 0.0);
        let sent = (0..1_000_000).filter(|us| stream.due(f64::from(*us) * 1e3).is_some()).count();
        assert!((9_500..10_500).contains(&sent), "{sent}");
        let after = (0..100).filter(|_| stream.due(5e9).is_some()).count();
        assert!(after < 3, "{after}");
    }
}
