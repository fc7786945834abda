//! Both sides of the throughput test: send as fast as can be, count what arrives.

use super::{
    Protocol, Throughput,
    channel::is_queue_full,
    control::{Control, Counted, wait_readable},
    frames::{FrameLink, OVERHEAD, Part},
    sockets::is_nothing,
};
use crate::ethernet::{HEADER_BYTES, IPV4_BYTES, TCP_BYTES, UDP_BYTES, wire_bytes};
use nix::{
    errno::Errno,
    sys::socket::{setsockopt, sockopt::UdpGsoSegment},
};
use std::{
    io::{self, Read, Write},
    net::{TcpStream, UdpSocket},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// After the sender has stopped, a path that is silent for so long is empty: longer than any queue of ours lasts.
const SILENCE: Duration = Duration::from_millis(300);
/// A receiver that hears nothing for so long gives up, even if the other peer's host vanished without a word.
const DEAD: Duration = Duration::from_secs(60);
/// Neither side waits longer in one go.
const NAP: Duration = Duration::from_millis(20);
/// A stream that brings nothing for so long has broken.
const STALL: Duration = Duration::from_secs(5);
/// How far a paced sender runs ahead before it sleeps. Shorter sleeps cost more processor time than they save.
const AHEAD: Duration = Duration::from_micros(200);

/// The time in which arrivals count. It opens with the first arrival after the warm-up that the receiver had to
/// wait for: then nothing is left in its queues that arrived earlier, which would make the rate too high. If it
/// never has to wait, it is the bottleneck; then it opens after twice the warm-up.
pub(super) struct Window {
    warm_up: Duration,
    first: Option<Instant>,
    opened: Option<(Instant, SystemTime)>,
    last: Option<(Instant, SystemTime)>,
    counted: Counted,
}

impl Window {
    pub fn new(warm_up: Duration) -> Self {
        Self { warm_up, first: None, opened: None, last: None, counted: Counted::default() }
    }

    /// So many frames with so much payload, at this moment.
    pub fn arrived(&mut self, now: Instant, waited: bool, payload: u64, frames: u64, wire: u64) {
        self.counted.moved_bytes += payload;
        self.counted.received_frames += frames;
        let age = now - *self.first.get_or_insert(now);
        if self.opened.is_some() {
            self.last = Some((now, SystemTime::now()));
            self.counted.payload_bytes += payload;
            self.counted.frames += frames;
            self.counted.wire_bits += 8 * wire;
        } else if (waited && age >= self.warm_up) || age >= 2 * self.warm_up {
            self.opened = Some((now, SystemTime::now()));
        }
    }

    fn close(mut self) -> Counted {
        if let (Some((opened, begin)), Some((last, end))) = (self.opened, self.last) {
            let unix = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
            self.counted.seconds = (last - opened).as_secs_f64();
            self.counted.window_unix_s = (unix(begin), unix(end));
        }
        self.counted
    }
}

/// A paced sender hands over no more at once than this takes on the line: shapers' queues are short.
pub(super) const BATCH: Duration = Duration::from_millis(1);
/// `UDP_MAX_SEGMENTS` of older kernels (include/linux/udp.h).
const MOST_SEGMENTS: usize = 64;
/// Largest payload of a UDP datagram over IPv4.
const LONGEST_DATAGRAM: usize = 65_507;

/// Holds a sender to a rate on the line.
pub(super) struct Pacer {
    bits_per_second: Option<u64>,
    start: Instant,
    sent_bits: f64,
}

impl Pacer {
    pub fn new(bits_per_second: Option<u64>) -> Self {
        Self { bits_per_second, start: Instant::now(), sent_bits: 0.0 }
    }

    /// Frames that take so long at this rate; at least one, without a rate as many as you like.
    pub fn frames_within(&self, time: Duration, wire_bytes: u64) -> usize {
        let Some(rate) = self.bits_per_second else { return usize::MAX };
        let bits = rate as f64 * time.as_secs_f64();
        ((bits / (8.0 * wire_bytes as f64)) as usize).max(1)
    }

    /// Called after each frame; sleeps if the sender is ahead of its rate.
    pub fn sent(&mut self, wire_bytes: u64) {
        let Some(rate) = self.bits_per_second else { return };
        self.sent_bits += 8.0 * wire_bytes as f64;
        // Reading the clock for each frame is a small part of what sending one costs.
        let due = Duration::from_secs_f64(self.sent_bits / rate as f64);
        let ahead = due.saturating_sub(self.start.elapsed());
        if ahead > AHEAD {
            thread::sleep(ahead);
        }
    }
}

pub(super) fn send_tcp(mut stream: TcpStream, duration: Duration) -> io::Result<()> {
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
    // Until the receiver closes: the socket must not go while data is on its way.
    match stream.read(&mut [0]) {
        Err(error) if !is_nothing(&error) => Err(error),
        _ => Ok(()),
    }
}

/// How the payload of a TCP stream fills frames: the segments' payload and options.
pub(super) struct Segments {
    pub payload: u64,
    pub options: u64,
}

pub(super) fn count_tcp(
    mut stream: TcpStream,
    segments: &Segments,
    mut window: Window,
) -> io::Result<Counted> {
    stream.set_nonblocking(true)?;
    let mut buffer = vec![0; 256 * 1024];
    let wire = wire_bytes(HEADER_BYTES + IPV4_BYTES + TCP_BYTES + segments.options + segments.payload);
    let mut waited = false;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                window.arrived(Instant::now(), waited, count as u64, 0, 0);
                waited = false;
            }
            Err(error) if is_nothing(&error) => {
                waited = true;
                if !wait_readable(&stream, STALL)? {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) => return Err(error),
        }
    }
    let mut counted = window.close();
    counted.frames = counted.payload_bytes.div_ceil(segments.payload.max(1));
    counted.wire_bits = 8 * wire * counted.frames;
    Ok(counted)
}

/// Sends datagrams that fill frames; returns how many. The kernel cuts them from longer ones where it can
/// (UDP_SEGMENT), which costs much less than a call for each.
pub(super) fn send_udp(
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
            // Before Linux 6.11 an interface without checksum offload cannot cut: send one by one.
            Err(error) if batch > 1 && error.raw_os_error() == Some(Errno::EIO as i32) => batch = 1,
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}

/// Asks the kernel to cut what is sent into datagrams; returns how many to give it at once.
pub(super) fn segment_batch(socket: &UdpSocket, payload: usize, most: usize) -> usize {
    let fit = (LONGEST_DATAGRAM / payload.max(1)).min(MOST_SEGMENTS).min(most).max(1);
    let size = i32::try_from(payload).unwrap_or(0);
    if fit > 1 && setsockopt(socket, UdpGsoSegment, &size).is_ok() { fit } else { 1 }
}

pub(super) fn udp_wire(payload: usize) -> u64 {
    wire_bytes(HEADER_BYTES + IPV4_BYTES + UDP_BYTES + payload as u64)
}

pub(super) fn count_udp(socket: &UdpSocket, window: Window, control: &Control) -> io::Result<Counted> {
    socket.set_nonblocking(true)?;
    let mut buffer = vec![0; 64 * 1024];
    count_frames(window, control, |window, waited| match socket.recv(&mut buffer) {
        Ok(count) => {
            window.arrived(Instant::now(), waited, count as u64, 1, udp_wire(count));
            Ok(true)
        }
        Err(error) if is_nothing(&error) => {
            wait_readable(socket, NAP)?;
            Ok(false)
        }
        Err(error) => Err(error),
    })
}

/// Sends full frames; returns how many.
pub(super) fn send_frames(link: &mut FrameLink, duration: Duration, mut pacer: Pacer) -> io::Result<u64> {
    let data = vec![0x5A; link.payload_bytes()];
    let length = u16::try_from(data.len()).map_err(io::Error::other)?;
    let part = Part { session: link.session(), message: 1, index: 0, count: 1, length };
    let wire = wire_bytes((OVERHEAD + data.len()) as u64);
    let (start, mut sent) = (Instant::now(), 0);
    // The first one writes the whole frame, which then stays as it is.
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

pub(super) fn receive_frames(link: &mut FrameLink, window: Window, control: &Control) -> io::Result<Counted> {
    link.drops();
    let mut counted = count_frames(window, control, |window, waited| {
        let arrived = link.next(|_, payload, length| {
            window.arrived(Instant::now(), waited, payload.len() as u64, 1, wire_bytes(length as u64));
        });
        if !arrived {
            link.wait(NAP)?;
        }
        Ok(arrived)
    })?;
    counted.ring_drops = link.drops();
    Ok(counted)
}

/// Takes arrivals until the sender has stopped and the path is empty. `step` takes one if there is one, telling
/// the window whether the receiver had waited for it; otherwise it waits a little and returns false.
fn count_frames(
    mut window: Window,
    control: &Control,
    mut step: impl FnMut(&mut Window, bool) -> io::Result<bool>,
) -> io::Result<Counted> {
    let mut waited = false;
    let mut quiet_since: Option<Instant> = None;
    loop {
        if step(&mut window, waited)? {
            (waited, quiet_since) = (false, None);
            continue;
        }
        waited = true;
        let quiet = quiet_since.get_or_insert_with(Instant::now).elapsed();
        if (quiet >= SILENCE && control.is_pending()) || quiet >= DEAD {
            return Ok(window.close());
        }
    }
}

/// Puts both sides' figures together.
pub(super) fn result(
    protocol: Protocol,
    counted: &Counted,
    sent_frames: u64,
    cpu_s: f64,
    line_bits_per_second: Option<u64>,
) -> Throughput {
    let mut result = Throughput {
        protocol,
        payload_bytes: counted.payload_bytes,
        frames: counted.frames,
        wire_bits: counted.wire_bits,
        seconds: counted.seconds,
        line_fraction: None,
        window_unix_s: counted.window_unix_s,
        sent_frames,
        received_frames: counted.received_frames,
        ring_drops: counted.ring_drops,
        cpu_s,
        moved_bytes: counted.moved_bytes,
    };
    result.line_fraction =
        line_bits_per_second.filter(|rate| *rate > 0).map(|rate| result.wire_bits_per_second() / rate as f64);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Arrivals of a full frame each, at milliseconds since the first; true: the receiver had waited.
    fn window(arrivals: &[(u32, bool)]) -> Counted {
        let start = Instant::now();
        let mut window = Window::new(10 * MS);
        for (at, waited) in arrivals {
            window.arrived(start + *at * MS, *waited, 1500, 1, wire_bytes(1514));
        }
        window.close()
    }

    #[test]
    fn counts_after_the_warm_up_from_the_first_arrival_that_was_waited_for() {
        // The one at 12 opens the window and is not counted: it ends the gap before it.
        let counted = window(&[(0, true), (5, true), (11, false), (12, true), (13, false), (14, true)]);
        assert_eq!((counted.frames, counted.payload_bytes), (2, 3000));
        assert_eq!(counted.wire_bits, 2 * 8 * 1538);
        assert!((counted.seconds - 0.002).abs() < 1e-9);
        assert_eq!((counted.received_frames, counted.moved_bytes), (6, 9000));
    }

    #[test]
    fn a_receiver_that_never_waits_counts_after_twice_the_warm_up() {
        let counted = window(&[(0, true), (11, false), (19, false), (20, false), (25, false)]);
        assert_eq!(counted.frames, 1);
        assert!((counted.seconds - 0.005).abs() < 1e-9);
    }

    #[test]
    fn nothing_gives_zero_not_nonsense() {
        for arrivals in [&[][..], &[(0, true)][..], &[(0, true), (12, true)][..]] {
            let result = result(Protocol::Udp, &window(arrivals), 5, 0.0, Some(1_000_000));
            assert_eq!((result.payload_bytes_per_second(), result.line_fraction), (0.0, Some(0.0)));
        }
    }

    // 81 274 frames of 1514 bytes fill one second of 1 Gbit/s.
    #[test]
    fn a_full_line_is_a_fraction_of_one() {
        let counted = Counted { wire_bits: 81_274 * 8 * 1538, seconds: 1.0, ..Counted::default() };
        let result = result(Protocol::PacketRing, &counted, 0, 0.0, Some(1_000_000_000));
        let fraction = result.line_fraction.unwrap_or(0.0);
        assert!((fraction - 1.0).abs() < 1e-4, "{fraction}");
    }
}
