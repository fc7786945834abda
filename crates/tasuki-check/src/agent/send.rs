//! Sending probes: hellos, pings, and fillers at a given pace.

use super::{Place, listen::Listener};
use crate::protocol::{Pinged, Sent};
use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};
use tasuki_cluster::AROUND_FRAME;
use tasuki_wire::{CABLE_HEAD_LEN, CableHello, CableKind, CableNic, CableProbe};

/// Shortest payload of a frame, bytes.
const FRAME_MIN: usize = 46;
/// Time between two hellos.
const HELLO_GAP: Duration = Duration::from_millis(40);
/// Time between two pings.
const PING_GAP: Duration = Duration::from_millis(2);
/// How long after the last ping answers are awaited.
const PONG_LIMIT: Duration = Duration::from_millis(60);
/// Most frames that are sent at once when the sender was late.
const BURST: u32 = 24;

fn probe<'a>(
    place: &'a Place,
    listener: &'a Listener,
    kind: CableKind,
    run: u64,
    body: &'a [u8],
) -> CableProbe<'a> {
    CableProbe {
        kind,
        number: 0,
        run,
        cluster: place.fingerprint,
        sender: CableNic { host: place.host.0 as u16 + 1, nic: listener.index() as u16 + 1 },
        host_name: place.host_name(),
        nic_name: listener.name(),
        body,
    }
}

fn frame(listener: &Listener, probe: &CableProbe<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Names of a cluster always fit, so this does not fail.
    let _ = probe.emit(&mut bytes);
    [listener.header(), bytes].concat()
}

/// Sends hellos on all NICs.
pub fn greet(place: &Place, listeners: &[Listener], run: u64, ms: u64) {
    let body = CableHello::default().emit(64);
    let begun = Instant::now();
    for number in 0.. {
        for listener in listeners {
            let hello = CableProbe { number, ..probe(place, listener, CableKind::Hello, run, &body) };
            // A NIC without carrier refuses frames; that is reported elsewhere.
            let _ = listener.socket().send(&frame(listener, &hello));
        }
        if begun.elapsed() + HELLO_GAP > Duration::from_millis(ms) {
            break;
        }
        thread::sleep(HELLO_GAP);
    }
}

/// Sends pings on all NICs, one after the other, and waits for the answers.
pub fn ping(place: &Place, listeners: &[Listener], run: u64, count: u32) -> Vec<Pinged> {
    let mut sent = BTreeMap::new();
    for number in 0..count {
        for listener in listeners {
            let ping = CableProbe { number, ..probe(place, listener, CableKind::Ping, run, &[]) };
            let frame = frame(listener, &ping);
            sent.insert((listener.index(), number), Instant::now());
            let _ = listener.socket().send(&frame);
        }
        thread::sleep(PING_GAP);
    }
    thread::sleep(PONG_LIMIT);
    let mut times: BTreeMap<(usize, CableNic), Vec<f64>> = BTreeMap::new();
    for listener in listeners {
        for (of, number, peer, at) in std::mem::take(&mut listener.book().pongs) {
            let Some(sent) = sent.get(&(listener.index(), number)).filter(|_| of == run) else { continue };
            let time = at.saturating_duration_since(*sent).as_secs_f64() * 1e6;
            times.entry((listener.index(), peer)).or_default().push(time);
        }
    }
    let pinged = |((nic, peer), mut times): ((usize, CableNic), Vec<f64>)| {
        times.sort_by(f64::total_cmp);
        Pinged { nic, peer: (peer.host, peer.nic), times }
    };
    times.into_iter().map(pinged).collect()
}

/// Fillers to be sent.
#[derive(Clone, Copy)]
pub struct Filling {
    pub run: u64,
    pub frames: u32,
    pub bytes: usize,
    pub bits_per_second: u64,
}

/// Sends fillers on these NICs, all at the same time.
pub fn fill(place: &Place, listeners: &[&Listener], filling: Filling) -> Vec<Sent> {
    thread::scope(|scope| {
        let mut sending = Vec::new();
        for &listener in listeners {
            sending.push(scope.spawn(move || fill_one(place, listener, filling)));
        }
        sending.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

fn fill_one(place: &Place, listener: &Listener, filling: Filling) -> Sent {
    let room = filling.bytes.saturating_sub(CABLE_HEAD_LEN + place.host_name().len() + listener.name().len());
    let body: Vec<u8> = (0..room).map(|at| (at * 31 % 251) as u8).collect();
    let wire_bits = (filling.bytes.max(FRAME_MIN) + AROUND_FRAME as usize) as f64 * 8.0;
    let gap = wire_bits / filling.bits_per_second.max(1) as f64;
    let mut sent = Sent { nic: listener.index(), ..Sent::default() };
    let begun = Instant::now();
    // Seconds for which frames have been sent, which is less than the time that has passed by the frames that
    // are due.
    let (paced, mut since) = (begun, 0.0);
    let mut number = 0;
    while number < filling.frames {
        // The frames that a sleep was too long for are sent at once, but never more than the queues on the
        // way hold.
        let late = (paced.elapsed().as_secs_f64() - since) / gap;
        if late > f64::from(BURST) {
            since += (late - f64::from(BURST)) * gap;
        }
        let burst = (late as u32 + 1).min(BURST).min(filling.frames - number);
        since += f64::from(burst) * gap;
        for _ in 0..burst {
            let filler =
                CableProbe { number, ..probe(place, listener, CableKind::Filler, filling.run, &body) };
            if !push(listener, &frame(listener, &filler), &mut sent) {
                return sent;
            }
            number += 1;
        }
        let ahead = since - paced.elapsed().as_secs_f64();
        if ahead > 0.0 {
            thread::sleep(Duration::from_secs_f64(ahead.max(200e-6)));
        }
    }
    sent.seconds = begun.elapsed().as_secs_f64();
    sent
}

/// Sends a frame. Returns false if the NIC takes no more.
fn push(listener: &Listener, frame: &[u8], sent: &mut Sent) -> bool {
    let begun = Instant::now();
    for attempt in 0..50 {
        match listener.socket().send(frame) {
            Ok(_) => {
                sent.frames += 1;
                if attempt > 0 {
                    sent.held += begun.elapsed().as_secs_f64();
                }
                return true;
            }
            // The NIC's queue is full.
            Err(error) if matches!(error.raw_os_error(), Some(105 | 11)) => {
                thread::sleep(Duration::from_millis(1));
                sent.problem = Some(error.to_string());
            }
            Err(error) => {
                sent.problem = Some(error.to_string());
                return false;
            }
        }
    }
    false
}
