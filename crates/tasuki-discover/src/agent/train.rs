//! Sending frames by which a cable is measured: a few of growing size, then a train of equal ones at a pace.

use super::listen::{Listener, to_everybody};
use crate::{
    book::{Measuring, Part},
    protocol::{Sent, Train},
};
use std::{
    io, thread,
    time::{Duration, Instant},
};
use tasuki_cluster::AROUND_FRAME;
use tasuki_wire::{CableKind, CableNic, CableProbe};

/// How often a size is tried.
const AGAIN: usize = 3;
/// Most frames that are sent at once when the sender was late.
const BURST: u32 = 24;
/// Least time for which a sender sleeps, seconds: shorter sleeps take longer than they are asked for.
const LEAST_SLEEP: f64 = 200e-6;
/// Longest time in which frames that count are sent. A cable that pushes back is as slow as it is.
const LONGEST: Duration = Duration::from_millis(250);
/// The error of a full transmit queue.
const NO_ROOM: i32 = nix::errno::Errno::ENOBUFS as i32;
/// How long a full queue may take nothing.
const FULL: Duration = Duration::from_millis(50);

/// The NIC that sends, as its frames name it.
pub struct Sender<'a> {
    pub run: u64,
    pub nic: CableNic,
    pub host_name: &'a str,
    pub nic_name: &'a str,
    pub mac: [u8; 6],
}

impl Sender<'_> {
    /// Sends all frames of a train.
    pub fn send(&self, listener: &Listener, train: &Train) -> Sent {
        for &size in &train.sizes {
            let frame = self.frame(train.trial, Part::Size, size);
            // A size that the NIC itself refuses does not come, which the other end tells.
            (0..AGAIN).for_each(|_| _ = listener.socket().send(&frame));
        }
        let fill = self.frame(train.trial, Part::Fill, train.bytes);
        let count = self.frame(train.trial, Part::Count, train.bytes);
        let gap = f64::from((train.bytes + AROUND_FRAME) * 8) / train.bits_per_second.max(1) as f64;
        let mut pace = Pacing { gap, begun: Instant::now(), since: 0.0 };
        for _ in 0..train.fill {
            match push(listener, &fill) {
                // A cable that pushes back has full queues already.
                Ok(waited) if waited.is_zero() => pace.next(),
                Ok(_) => break,
                Err(_) => return Sent::default(),
            }
        }
        let (mut sent, mut waited) = (Sent::default(), Duration::ZERO);
        let counting = Instant::now();
        while sent.frames < train.count && counting.elapsed() < LONGEST {
            match push(listener, &count) {
                Ok(time) => waited += time,
                Err(_) => break,
            }
            sent.frames += 1;
            pace.next();
        }
        sent.ns = counting.elapsed().as_nanos() as u64;
        sent.waited_ns = waited.as_nanos() as u64;
        sent
    }

    fn frame(&self, trial: u32, part: Part, bytes: u32) -> Vec<u8> {
        let mut probe = Vec::new();
        let Self { run, nic, host_name, nic_name, mac } = *self;
        let body = Measuring { trial, part }.body();
        let kind = CableKind::Filler;
        let filler =
            CableProbe { kind, number: 0, run, cluster: 0, sender: nic, host_name, nic_name, body: &body };
        // Names that were told before fit.
        let _ = filler.emit(&mut probe);
        probe.resize(probe.len().max(bytes as usize), 0);
        to_everybody(mac, &probe)
    }
}

/// The pace at which frames are sent.
struct Pacing {
    /// Time of a frame, seconds.
    gap: f64,
    begun: Instant,
    /// When the next frame is due, seconds after the beginning.
    since: f64,
}

impl Pacing {
    /// Waits until the next frame is due. A sender that is late catches up with a few frames, not with all.
    fn next(&mut self) {
        self.since += self.gap;
        let ahead = self.since - self.begun.elapsed().as_secs_f64();
        if ahead > LEAST_SLEEP {
            thread::sleep(Duration::from_secs_f64(ahead));
        }
        self.since -= (ahead + f64::from(BURST) * self.gap).min(0.0);
    }
}

/// Sends a frame when there is room for it. Gives the time that it waited for room.
fn push(listener: &Listener, frame: &[u8]) -> io::Result<Duration> {
    let mut begun = None;
    loop {
        let Err(error) = listener.socket().send(frame) else {
            return Ok(begun.map_or(Duration::ZERO, |begun: Instant| begun.elapsed()));
        };
        if begun.get_or_insert_with(Instant::now).elapsed() >= FULL {
            return Err(error);
        }
        if error.raw_os_error() == Some(NO_ROOM) {
            thread::sleep(Duration::from_micros(100));
        } else if error.kind() == io::ErrorKind::WouldBlock {
            let _ = listener.socket().wait_writable(FULL);
        } else {
            return Err(error);
        }
    }
}
