//! The receiving side of the throughput test.

use super::{NAP, udp_wire};
use crate::{
    ethernet::{HEADER_BYTES, IPV4_BYTES, TCP_BYTES, wire_bytes},
    raw::{
        control::{Control, Counted, wait_readable},
        frames::FrameLink,
        sockets::is_nothing,
    },
};
use std::{
    io::{self, Read},
    net::{TcpStream, UdpSocket},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// After the sender has stopped, a path on which nothing arrives for this long is empty: no queue holds
/// frames longer.
const EMPTY_AFTER: Duration = Duration::from_millis(300);
/// A receiver of frames gives up if nothing arrives for this long, even if the other peer's host vanished
/// silently.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// A TCP stream that brings nothing for this long has broken.
const STALL: Duration = Duration::from_secs(5);

/// The time in which arrivals count. It opens with the first arrival after the warm-up that the receiver had
/// to wait for, because then its queues hold no earlier frames, which would make the rate too high. A
/// receiver that never has to wait is the bottleneck itself; then the window opens after twice the warm-up.
pub(crate) struct Window {
    warm_up: Duration,
    /// Time of the first arrival.
    first: Option<Instant>,
    /// Time of the arrival that opened the window.
    opened: Option<(Instant, SystemTime)>,
    /// Time of the last arrival that counts.
    last: Option<(Instant, SystemTime)>,
    counted: Counted,
}

impl Window {
    pub fn new(warm_up: Duration) -> Self {
        Self { warm_up, first: None, opened: None, last: None, counted: Counted::default() }
    }

    /// Counts arrivals: `frames` frames with `payload` bytes that took `wire` byte times on the line.
    /// `waited` says whether the receiver had to wait for them.
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

    /// The counts of the whole window.
    pub(super) fn close(mut self) -> Counted {
        if let (Some((opened, begin)), Some((last, end))) = (self.opened, self.last) {
            let unix = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
            self.counted.seconds = (last - opened).as_secs_f64();
            self.counted.window_unix_s = (unix(begin), unix(end));
        }
        self.counted
    }
}

/// How the payload of a TCP stream fills frames: bytes of payload and of options in a full segment.
pub(crate) struct Segments {
    pub payload: u64,
    pub options: u64,
}

/// Counts the payload of a connection until the sender closes it.
pub(crate) fn count_tcp(
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
    counted.full_payload_bytes = segments.payload.max(1);
    counted.frames = counted.payload_bytes.div_ceil(counted.full_payload_bytes);
    counted.wire_bits = 8 * wire * counted.frames;
    Ok(counted)
}

/// Counts datagrams.
pub(crate) fn count_udp(socket: &UdpSocket, window: Window, control: &Control) -> io::Result<Counted> {
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

/// Counts frames, and those that its ring had no room for.
pub(crate) fn receive_frames(link: &mut FrameLink, window: Window, control: &Control) -> io::Result<Counted> {
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

/// Takes arrivals until the sender has stopped and the path is empty. `step` takes one arrival, telling the
/// window whether the receiver had waited for it, or waits for a short time and returns false.
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
        if (quiet >= EMPTY_AFTER && control.is_pending()) || quiet >= SILENCE_LIMIT {
            return Ok(window.close());
        }
    }
}
