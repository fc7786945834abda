//! Bursts to a receiver that empties a buffer without any flow control: no credits, no acknowledgements. The
//! ATM paper measured in this way how fast its hosts receive (section 6.1), and equation (1) of the paper
//! shows in the losses.
//!
//! With frames the buffer is a TPACKET_V2 ring of a known number of frames, so that its size B is exact; a
//! frame leaves the ring when it has been drained. With UDP it is the buffer of the socket. How much payload
//! fits there depends on the kernel's records, so that B is measured by filling it.

mod receiver;

pub(super) use receiver::{Source, serve, slots};

use super::{
    burst::{Burst, Drain, DrainTest},
    client::{ANSWER_LIMIT, Data, finish, prepare, udp_payload, unexpected},
    control::{Answer, Control, Request, Work},
    error::RawError,
    frames::{FrameLink, OVERHEAD, Part},
    protocol::Protocol,
    sockets::{self, is_nothing},
    specification::Measure,
    spin::cpu_seconds,
    throughput::{BATCH, Pacer, segment_batch, udp_wire},
};
use crate::ethernet::wire_bytes;
use nix::errno::Errno;
use std::{
    io,
    net::UdpSocket,
    thread,
    time::{Duration, Instant},
};

pub(super) const NO_PACKETS: &str = "bursts need packets that can be lost: udp or packet-ring, not tcp";
/// Once all of a burst has been sent, a path on which nothing arrives for this long is empty.
const EMPTY_AFTER: Duration = Duration::from_millis(20);
/// Longest wait of either side in a burst, after which it gives up.
const BURST_LIMIT: Duration = Duration::from_secs(20);
/// The largest payload of a burst. (4 GiB are a frame's number of parts and more.)
const BURST_BYTES_MAX: u64 = 1 << 30;

impl DrainTest {
    pub(super) fn check(&self) -> Result<(), RawError> {
        let fail = |text: &str| Err(RawError::Value(text.into()));
        match self {
            _ if matches!(self.protocol, Protocol::Tcp | Protocol::TcpSpin) => fail(NO_PACKETS),
            Self { bursts: 0 | 1_000_001.., .. } => fail("bursts must be 1 to 1000000"),
            Self { bytes: 0, .. } => fail("a burst has at least one byte"),
            _ if self.bytes > BURST_BYTES_MAX || self.buffer_bytes > BURST_BYTES_MAX / 4 => {
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
            // If the connection is gone or the other peer has ended the test already, there is nothing to
            // stop.
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
        // The first burst is held: nothing is taken before its end, so that what is taken then is what the
        // buffer holds.
        let fill = self.buffer_bytes.saturating_mul(2).clamp(1 << 20, BURST_BYTES_MAX);
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
        match control.receive(BURST_LIMIT)? {
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

/// The rate on the line, bit/s, at which payload passes at the rate `send_bps`, if packets have `payload`
/// bytes of it and take `wire` byte times on the line.
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
    // The first call writes the whole frame; later ones send the same frame again.
    let (mut went, mut sent) = (link.send_part(part, &data)?, 0);
    let stalled = Instant::now() + BURST_LIMIT;
    loop {
        if went {
            sent += 1;
            pacer.sent(wire);
        }
        if sent >= count {
            return Ok(());
        }
        went = link.send_again(end, EMPTY_AFTER)?;
        if !went && Instant::now() > stalled {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}
