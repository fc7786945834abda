//! The sending side of the throughput test.

use super::{NAP, udp_wire};
use crate::{
    ethernet::wire_bytes,
    raw::{
        channel::is_queue_full,
        frames::{FrameLink, OVERHEAD, Part},
        sockets::is_nothing,
    },
};
use nix::{
    errno::Errno,
    sys::socket::{setsockopt, sockopt::UdpGsoSegment},
};
use std::{
    io::{self, Read, Write},
    net::{TcpStream, UdpSocket},
    thread,
    time::{Duration, Instant},
};

/// How far a paced sender may run ahead of its rate before it sleeps. Shorter sleeps cost more processor time
/// than they save.
const AHEAD: Duration = Duration::from_micros(200);
/// A paced sender hands over at most as many frames at once as take this long on the line, because shapers'
/// queues are short.
pub(crate) const BATCH: Duration = Duration::from_millis(1);
/// The most datagrams that the kernel cuts from one: `UDP_MAX_SEGMENTS` of older kernels
/// (include/linux/udp.h).
const SEGMENTS_MAX: usize = 64;
/// Largest payload of a UDP datagram over IPv4.
const DATAGRAM_BYTES_MAX: usize = 65_507;

/// Holds a sender to a rate on the line.
pub(crate) struct Pacer {
    bits_per_second: Option<u64>,
    start: Instant,
    sent_bits: f64,
}

impl Pacer {
    pub fn new(bits_per_second: Option<u64>) -> Self {
        Self { bits_per_second, start: Instant::now(), sent_bits: 0.0 }
    }

    /// Number of frames that take `time` at this rate: at least one, and any number if there is no rate.
    pub fn frames_within(&self, time: Duration, wire_bytes: u64) -> usize {
        let Some(rate) = self.bits_per_second else { return usize::MAX };
        let bits = rate as f64 * time.as_secs_f64();
        ((bits / (8.0 * wire_bytes as f64)) as usize).max(1)
    }

    /// Counts a frame as sent; sleeps if the sender is ahead of its rate.
    pub fn sent(&mut self, wire_bytes: u64) {
        let Some(rate) = self.bits_per_second else { return };
        self.sent_bits += 8.0 * wire_bytes as f64;
        // Reading the clock for each frame takes a small part of the time of sending one.
        let due = Duration::from_secs_f64(self.sent_bits / rate as f64);
        let ahead = due.saturating_sub(self.start.elapsed());
        if ahead > AHEAD {
            thread::sleep(ahead);
        }
    }
}

/// Sends as much as the connection takes.
pub(crate) fn send_tcp(mut stream: TcpStream, duration: Duration) -> io::Result<()> {
    let data = vec![0x5A; 128 * 1024];
    let start = Instant::now();
    while start.elapsed() < duration {
        match stream.write(&data) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    // Wait until the receiver closes, because the socket must not close while data is on its way.
    match stream.read(&mut [0]) {
        Err(error) if !is_nothing(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Sends datagrams that fill frames; returns their number. If possible, the kernel cuts them from longer ones
/// (UDP_SEGMENT), which takes much less time than a call for each.
pub(crate) fn send_udp(
    socket: &UdpSocket,
    payload: usize,
    duration: Duration,
    mut pacer: Pacer,
) -> io::Result<u64> {
    let wire = udp_wire(payload);
    let mut batch = segment_batch(socket, payload, pacer.frames_within(BATCH, wire));
    let data = vec![0x5A; batch * payload];
    let (start, mut sent) = (Instant::now(), 0);
    while start.elapsed() < duration {
        match socket.send(&data[..batch * payload]) {
            Ok(_) => {
                sent += batch as u64;
                pacer.sent(batch as u64 * wire);
            }
            Err(error) if is_nothing(&error) || is_queue_full(&error) => thread::yield_now(),
            // Before Linux 6.11 the kernel cuts no datagrams for an interface without checksum offload, so
            // that they are sent one by one.
            Err(error) if batch > 1 && error.raw_os_error() == Some(Errno::EIO as i32) => batch = 1,
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}

/// Asks the kernel to cut what is sent into datagrams; returns the number of them to hand over at once, at
/// most `most`.
pub(crate) fn segment_batch(socket: &UdpSocket, payload: usize, most: usize) -> usize {
    let fit = (DATAGRAM_BYTES_MAX / payload.max(1)).min(SEGMENTS_MAX).min(most).max(1);
    let size = i32::try_from(payload).unwrap_or(0);
    if fit > 1 && setsockopt(socket, UdpGsoSegment, &size).is_ok() { fit } else { 1 }
}

/// Sends full frames; returns their number.
pub(crate) fn send_frames(link: &mut FrameLink, duration: Duration, mut pacer: Pacer) -> io::Result<u64> {
    let data = vec![0x5A; link.payload_bytes()];
    let length = u16::try_from(data.len()).map_err(io::Error::other)?;
    let part = Part { session: link.session(), message: 1, index: 0, count: 1, length };
    let wire = wire_bytes((OVERHEAD + data.len()) as u64);
    let (start, mut sent) = (Instant::now(), 0);
    // The first call writes the whole frame; later ones send the same frame again.
    let mut went = link.send_part(part, &data)?;
    loop {
        if went {
            sent += 1;
            pacer.sent(wire);
        }
        if start.elapsed() >= duration {
            return Ok(sent);
        }
        went = link.send_again(OVERHEAD + data.len(), NAP)?;
    }
}
