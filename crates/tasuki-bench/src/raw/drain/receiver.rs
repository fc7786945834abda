//! The receiving side of the bursts.

use super::{BURST_LIMIT, EMPTY_AFTER};
use crate::raw::{
    ETHERTYPE, Protocol, RawError,
    control::{Answer, Control, Request},
    frames::{FrameLink, OVERHEAD},
    server::ECHO_SLOTS,
    sockets::{self, is_nothing},
    spin::cpu_seconds,
    throughput::BATCH,
};
use std::{
    hint, io,
    net::UdpSocket,
    thread,
    time::{Duration, Instant},
};
use tasuki_rate::Slow;
use tasuki_sys::packet::PacketSocket;

/// A held receiver begins this long after the end of the burst, so that packets that are still on the way
/// arrive.
const SETTLE: Duration = Duration::from_millis(10);
/// The control connection is checked once per this many polls.
const CONTROL_CHECK_EVERY: u32 = 64;
/// Rate of a receiver that is not slowed, bit/s: more than memory can.
const UNBOUNDED_BPS: u64 = 1_000_000_000_000;

/// Number of frames of a ring that hold `buffer_bytes` of payload together.
pub(crate) fn slots(interface: &str, buffer_bytes: u64) -> Result<u32, RawError> {
    let mtu = PacketSocket::open(interface, ETHERTYPE)?.interface().mtu;
    let payload = u64::from(mtu).saturating_sub(OVERHEAD as u64 - 14).max(1);
    Ok(u32::try_from(buffer_bytes / payload).unwrap_or(ECHO_SLOTS).max(2))
}

/// Where packets are taken from.
pub(crate) enum Source<'a> {
    Socket { socket: &'a UdpSocket, buffer: Vec<u8> },
    Ring(&'a mut FrameLink),
}

impl<'a> Source<'a> {
    pub fn socket(socket: &'a UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self::Socket { socket, buffer: vec![0; 64 * 1024] })
    }

    /// Hands the length of the next packet's payload to `take`; a frame leaves its ring after that. False: no
    /// packet is there.
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

/// Takes bursts until the other peer says stop.
pub(crate) fn serve(
    protocol: Protocol,
    source: &mut Source<'_>,
    slow: Slow,
    control: &mut Control,
) -> Result<Answer, RawError> {
    let cpu = cpu_seconds();
    loop {
        match control.receive(BURST_LIMIT)? {
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

/// The receiver of one burst.
struct Taker {
    slow: Slow,
    start: Instant,
    /// Time at which everything taken so far has been drained, ns after the start. A slowed receiver is
    /// behind, so that this may be later than now.
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
        let (mut quiet_since, mut idle, mut polls) = (None, false, 0u32);
        while sent.is_none_or(|sent| self.packets < sent) {
            let took = source.next(|bytes| self.take(bytes, idle));
            let took = took.map_err(sockets::error(protocol, "receive"))?;
            polls = polls.wrapping_add(1);
            idle = !took;
            if took {
                quiet_since = None;
            }
            if (idle || polls.is_multiple_of(CONTROL_CHECK_EVERY)) && sent.is_none() && control.is_pending() {
                sent = Some(hear_sent(control)?);
            }
            if took {
                continue;
            }
            let quiet = quiet_since.get_or_insert_with(Instant::now).elapsed();
            if quiet >= BURST_LIMIT || (sent.is_some() && quiet >= EMPTY_AFTER) {
                break;
            }
            if quiet > BATCH { thread::yield_now() } else { hint::spin_loop() }
        }
        let seconds = self.first.map_or(0.0, |first| (self.last - first).as_secs_f64());
        let Self { bytes, packets, first_bytes, .. } = self;
        Ok(Answer::Took { bytes, packets, first_bytes, seconds })
    }

    /// Drains a packet, in as long as the slowed receiver takes; the packet leaves the buffer when this
    /// returns.
    fn take(&mut self, bytes: u64, idle: bool) {
        if self.slow != Slow::No {
            let now = self.start.elapsed().as_nanos() as u64;
            // A receiver that waited for the packet begins with it now. One that did not is late, and begins
            // where the packet before ended.
            let from = if idle || self.first.is_none() { now } else { self.drained_ns };
            self.drained_ns = self.slow.done_at(from, bytes, UNBOUNDED_BPS);
            while (self.start.elapsed().as_nanos() as u64) < self.drained_ns {
                hint::spin_loop();
            }
        }
        self.last = Instant::now();
        if self.first.is_none() {
            // The time of the drain begins when the first packet was due to be gone. A thread that gets its
            // processor later than that catches up, and would seem to have drained faster than it may.
            let due = self.start + Duration::from_nanos(self.drained_ns);
            let first = if self.slow == Slow::No { self.last } else { due };
            (self.first, self.first_bytes) = (Some(first), bytes);
        }
        self.bytes += bytes;
        self.packets += 1;
    }
}

fn hear_sent(control: &mut Control) -> Result<u64, RawError> {
    match control.receive(BURST_LIMIT)? {
        Request::Sent { packets } => Ok(packets),
        _ => Err(RawError::Value("the end of a burst was expected".into())),
    }
}
