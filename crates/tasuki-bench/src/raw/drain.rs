//! Bursts to a receiver that has a buffer, empties it, and asks for nothing: no credits, no acknowledgements. So the ATM
//! paper measured how fast its hosts receive (section 6.1), and so its equation (1) can be seen at work.
//!
//! With frames the buffer is a TPACKET_V2 ring of a known number of frames, so B is exact, and a frame leaves it when it has been drained.
//! With UDP it is the socket's, whose size in payload depends on the kernel's records: it is found by filling it.

use super::{
    Measure, Protocol, RawError,
    client::{ANSWER_LIMIT, Data, finish, prepare, udp_payload, unexpected},
    control::{Answer, Control, Request, Work},
    frames::{FrameLink, OVERHEAD, Part},
    server::ECHO_SLOTS,
    sockets::{self, is_nothing},
    spin::cpu_seconds,
    throughput::{BATCH, Pacer, segment_batch, udp_wire},
};
use crate::ethernet::wire_bytes;
use nix::errno::Errno;
use serde::{Deserialize, Serialize};
use std::{
    hint, io,
    net::UdpSocket,
    thread,
    time::{Duration, Instant},
};
use tasuki_rate::Slow;
use tasuki_sys::packet::PacketSocket;

pub(super) const NO_PACKETS: &str = "bursts need packets that can be lost: udp or packet-ring, not tcp";
/// Once all of a burst has been sent, a path that is silent for so long is empty.
const SILENCE: Duration = Duration::from_millis(20);
/// A receiver that hears nothing at all for so long gives up.
const DEAD: Duration = Duration::from_secs(20);
/// A receiver that is told to hold on begins so long after the end of the burst: what is on the way arrives.
const SETTLE: Duration = Duration::from_millis(10);
/// Packets taken between two looks at the control connection.
const LOOK_EVERY: u32 = 64;
/// What a receiver that is not slowed does at most, bit/s: more than memory can.
const UNBOUNDED_BPS: u64 = 1_000_000_000_000;
/// Longest burst: what a message can be (4 GiB are a frame's number of parts and more).
const MOST_BYTES: u64 = 1 << 30;

/// What to send to whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrainTest {
    /// `udp` or `packet-ring`.
    pub protocol: Protocol,
    /// How often.
    pub bursts: u32,
    /// Payload of one burst, bytes; rounded up to whole packets.
    pub bytes: u64,
    /// S: payload sent, bit/s; `None`: as fast as the processor can.
    pub send_bps: Option<u64>,
    /// How the receiver is slowed.
    pub slow: Slow,
    /// The receiver's buffer, bytes: of payload with frames (a ring has a power of two of them: B is
    /// measured), SO_RCVBUF with UDP.
    pub buffer_bytes: u64,
}

/// One burst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// Payload sent, bytes.
    pub sent_bytes: u64,
    /// From before the first packet to after the last, at the sender, seconds.
    pub send_seconds: f64,
    /// Payload taken by the receiver, bytes.
    pub taken_bytes: u64,
    /// Of that the first packet's: no time was counted for it.
    pub first_bytes: u64,
    /// From the first packet taken to the last, at the receiver, seconds.
    pub take_seconds: f64,
}

impl Burst {
    /// R: what the receiver took per second, bit/s; `None` if it took less than two packets.
    pub fn drain_bps(&self) -> Option<f64> {
        let rate = (self.taken_bytes.saturating_sub(self.first_bytes)) as f64 * 8.0 / self.take_seconds;
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }

    /// S: what was sent per second, bit/s.
    pub fn send_bps(&self) -> f64 {
        self.sent_bytes as f64 * 8.0 / self.send_seconds.max(1e-9)
    }

    /// What was lost, bytes.
    pub fn lost_bytes(&self) -> u64 {
        self.sent_bytes.saturating_sub(self.taken_bytes)
    }
}

/// What came of a [`DrainTest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drain {
    /// How.
    pub protocol: Protocol,
    /// How the receiver was slowed.
    pub slow: Slow,
    /// Payload of a packet, bytes.
    pub packet_bytes: u64,
    /// B: payload that the buffer held of a burst of which nothing was taken before its end, bytes.
    pub buffer_bytes: u64,
    /// The bursts.
    pub bursts: Vec<Burst>,
    /// Processor seconds of both peers.
    pub cpu_s: f64,
}

impl DrainTest {
    pub(super) fn check(&self) -> Result<(), RawError> {
        let fail = |text: &str| Err(RawError::Value(text.into()));
        match self {
            _ if matches!(self.protocol, Protocol::Tcp | Protocol::TcpSpin) => fail(NO_PACKETS),
            Self { bursts: 0 | 1_000_001.., .. } => fail("bursts must be 1 to 1000000"),
            Self { bytes: 0, .. } => fail("a burst has at least one byte"),
            _ if self.bytes > MOST_BYTES || self.buffer_bytes > MOST_BYTES / 4 => {
                fail("a burst has at most 1 GiB, a buffer at most 256 MiB")
            }
            Self { send_bps: Some(0), .. } => fail("send_bps must not be 0"),
            _ => Ok(()),
        }
    }

    pub(super) fn run(&self, options: &Measure, control: &mut Control) -> Result<Drain, RawError> {
        let work = Work::Drain { slow: self.slow, buffer_bytes: self.buffer_bytes };
        let mut data = prepare(options, control, self.protocol, work)?;
        let cpu = cpu_seconds();
        let bursts = self.bursts(&mut data, control);
        let answer = match &bursts {
            // Without a connection, or when the other peer has ended the test already, there is nothing to stop.
            Err(RawError::Control { .. } | RawError::Refused(_)) => return bursts,
            _ => finish(control)?,
        };
        let mut drain = bursts?;
        let Answer::Drained { cpu_s } = answer else { return Err(unexpected(answer)) };
        drain.cpu_s = cpu_seconds() - cpu + cpu_s;
        Ok(drain)
    }

    fn bursts(&self, data: &mut Data, control: &mut Control) -> Result<Drain, RawError> {
        let packet_bytes = match data {
            Data::Udp(socket) => {
                let failed = |errno: Errno| sockets::error(self.protocol, "ask for the MTU")(errno.into());
                udp_payload(socket).map_err(failed)? as u64
            }
            Data::Frames(link) => link.payload_bytes() as u64,
            Data::Tcp(_) => return Err(RawError::Value(NO_PACKETS.into())),
        };
        // Nobody takes anything: what is there in the end is what the buffer holds.
        let fill = self.buffer_bytes.saturating_mul(2).clamp(1 << 20, MOST_BYTES);
        let filled = self.burst(data, control, fill.div_ceil(packet_bytes), packet_bytes, true)?;
        let count = self.bytes.div_ceil(packet_bytes);
        let bursts = (0..self.bursts).map(|_| self.burst(data, control, count, packet_bytes, false));
        Ok(Drain {
            protocol: self.protocol,
            slow: self.slow,
            packet_bytes,
            buffer_bytes: filled.taken_bytes,
            bursts: bursts.collect::<Result<_, _>>()?,
            cpu_s: 0.0,
        })
    }

    fn burst(
        &self,
        data: &mut Data,
        control: &mut Control,
        packets: u64,
        packet_bytes: u64,
        held: bool,
    ) -> Result<Burst, RawError> {
        control.send(&Request::Burst { held })?;
        match control.receive(ANSWER_LIMIT)? {
            Answer::Go => {}
            other => return Err(unexpected(other)),
        }
        let start = Instant::now();
        let sent = match data {
            Data::Udp(socket) => send_datagrams(socket, packet_bytes as usize, packets, self.send_bps),
            Data::Frames(link) => send_frames(link, packets, self.send_bps),
            Data::Tcp(_) => return Err(RawError::Value(NO_PACKETS.into())),
        };
        let send_seconds = start.elapsed().as_secs_f64();
        sent.map_err(sockets::error(self.protocol, "send"))?;
        control.send(&Request::Sent { packets })?;
        match control.receive(DEAD)? {
            Answer::Took { bytes, first_bytes, seconds, .. } => Ok(Burst {
                sent_bytes: packets * packet_bytes,
                send_seconds,
                taken_bytes: bytes,
                first_bytes,
                take_seconds: seconds,
            }),
            other => Err(unexpected(other)),
        }
    }
}

/// The rate on the line at which so much payload per second passes.
fn line_rate(send_bps: Option<u64>, payload: u64, wire: u64) -> Option<u64> {
    let rate = |bps: u64| u128::from(bps) * u128::from(wire) / u128::from(payload.max(1));
    send_bps.map(|bps| u64::try_from(rate(bps)).unwrap_or(u64::MAX))
}

fn send_datagrams(socket: &UdpSocket, payload: usize, count: u64, send_bps: Option<u64>) -> io::Result<()> {
    let wire = udp_wire(payload);
    let mut pacer = Pacer::new(line_rate(send_bps, payload as u64, wire));
    let mut batch = segment_batch(socket, payload, pacer.frames_within(BATCH, wire)) as u64;
    let data = vec![0x5A; batch as usize * payload];
    let mut sent = 0;
    while sent < count {
        let now = batch.min(count - sent);
        match socket.send(&data[..now as usize * payload]) {
            Ok(_) => {
                sent += now;
                pacer.sent(now * wire);
            }
            Err(error) if is_nothing(&error) || super::channel::is_queue_full(&error) => thread::yield_now(),
            Err(error) if batch > 1 && error.raw_os_error() == Some(Errno::EIO as i32) => batch = 1,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn send_frames(link: &mut FrameLink, count: u64, send_bps: Option<u64>) -> io::Result<()> {
    let data = vec![0x5A; link.payload_bytes()];
    let length = u16::try_from(data.len()).map_err(io::Error::other)?;
    let part = Part { session: link.session(), message: 1, index: 0, count: 1, length };
    let end = OVERHEAD + data.len();
    let wire = wire_bytes(end as u64);
    let mut pacer = Pacer::new(line_rate(send_bps, data.len() as u64, wire));
    // The first one writes the whole frame, which then stays as it is.
    let (mut went, mut sent) = (link.send_part(part, &data)?, 0);
    let stalled = Instant::now() + DEAD;
    loop {
        if went {
            sent += 1;
            pacer.sent(wire);
        }
        if sent >= count {
            return Ok(());
        }
        went = link.send_again(end, SILENCE)?;
        if !went && Instant::now() > stalled {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// A ring whose frames hold so much payload together.
pub(super) fn slots(interface: &str, buffer_bytes: u64) -> Result<u32, RawError> {
    let mtu = PacketSocket::open(interface, super::ETHERTYPE)?.interface().mtu;
    let payload = u64::from(mtu).saturating_sub(OVERHEAD as u64 - 14).max(1);
    Ok(u32::try_from(buffer_bytes / payload).unwrap_or(ECHO_SLOTS).max(2))
}

/// Where packets are taken from.
pub(super) enum Source<'a> {
    Socket { socket: &'a UdpSocket, buffer: Vec<u8> },
    Ring(&'a mut FrameLink),
}

impl<'a> Source<'a> {
    pub fn socket(socket: &'a UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self::Socket { socket, buffer: vec![0; 64 * 1024] })
    }

    /// Hands the length of the next packet's payload to `take`, before a frame leaves its ring. False: nothing is there.
    fn next(&mut self, take: impl FnOnce(u64)) -> io::Result<bool> {
        match self {
            Self::Ring(link) => Ok(link.next(|_, payload, _| take(payload.len() as u64))),
            Self::Socket { socket, buffer } => match socket.recv(buffer) {
                Ok(count) => {
                    take(count as u64);
                    Ok(true)
                }
                Err(error) if is_nothing(&error) => Ok(false),
                Err(error) => Err(error),
            },
        }
    }
}

/// Takes bursts until the other peer says that it is enough.
pub(super) fn serve(
    protocol: Protocol,
    source: &mut Source<'_>,
    slow: Slow,
    control: &mut Control,
) -> Result<Answer, RawError> {
    let cpu = cpu_seconds();
    loop {
        match control.receive(DEAD)? {
            Request::Burst { held } => {
                control.send(&Answer::Go)?;
                let took = Taker::new(slow).burst(protocol, source, held, control)?;
                control.send(&took)?;
            }
            Request::Stop => return Ok(Answer::Drained { cpu_s: cpu_seconds() - cpu }),
            _ => return Err(RawError::Value("a burst, or the end, was expected".into())),
        }
    }
}

/// Takes one burst.
struct Taker {
    slow: Slow,
    start: Instant,
    /// When what was taken so far has been drained, ns after the start: later than now if it is slow.
    drained_ns: u64,
    first: Option<Instant>,
    last: Instant,
    bytes: u64,
    first_bytes: u64,
    packets: u64,
}

impl Taker {
    fn new(slow: Slow) -> Self {
        let start = Instant::now();
        let (first, last) = (None, start);
        Self { slow, start, drained_ns: 0, first, last, bytes: 0, first_bytes: 0, packets: 0 }
    }

    fn burst(
        mut self,
        protocol: Protocol,
        source: &mut Source<'_>,
        held: bool,
        control: &mut Control,
    ) -> Result<Answer, RawError> {
        let mut sent = None;
        if held {
            sent = Some(hear_sent(control)?);
            thread::sleep(SETTLE);
            self.slow = Slow::No;
        }
        let (mut quiet_since, mut idle, mut looks) = (None, false, 0u32);
        while sent.is_none_or(|sent| self.packets < sent) {
            let took = source.next(|bytes| self.take(bytes, idle));
            let took = took.map_err(sockets::error(protocol, "receive"))?;
            looks = looks.wrapping_add(1);
            idle = !took;
            if took {
                quiet_since = None;
            }
            if (idle || looks.is_multiple_of(LOOK_EVERY)) && sent.is_none() && control.is_pending() {
                sent = Some(hear_sent(control)?);
            }
            if took {
                continue;
            }
            let quiet = quiet_since.get_or_insert_with(Instant::now).elapsed();
            if quiet >= DEAD || (sent.is_some() && quiet >= SILENCE) {
                break;
            }
            if quiet > BATCH { thread::yield_now() } else { hint::spin_loop() }
        }
        let seconds = self.first.map_or(0.0, |first| (self.last - first).as_secs_f64());
        let Self { bytes, packets, first_bytes, .. } = self;
        Ok(Answer::Took { bytes, packets, first_bytes, seconds })
    }

    /// A packet leaves the buffer: when this returns it has been drained.
    fn take(&mut self, bytes: u64, idle: bool) {
        if self.slow != Slow::No {
            let now = self.start.elapsed().as_nanos() as u64;
            // Who waited begins now; who did not has been late, and catches up.
            let from = if idle || self.first.is_none() { now } else { self.drained_ns };
            self.drained_ns = self.slow.done_at(from, bytes, UNBOUNDED_BPS);
            while (self.start.elapsed().as_nanos() as u64) < self.drained_ns {
                hint::spin_loop();
            }
        }
        self.last = Instant::now();
        if self.first.is_none() {
            // The drain is measured from when the first packet was to be gone. A thread that gets its processor later than
            // that catches up, and would seem to have drained faster than it may.
            let due = self.start + Duration::from_nanos(self.drained_ns);
            let first = if self.slow == Slow::No { self.last } else { due };
            (self.first, self.first_bytes) = (Some(first), bytes);
        }
        self.bytes += bytes;
        self.packets += 1;
    }
}

fn hear_sent(control: &mut Control) -> Result<u64, RawError> {
    match control.receive(DEAD)? {
        Request::Sent { packets } => Ok(packets),
        _ => Err(RawError::Value("the end of a burst was expected".into())),
    }
}
