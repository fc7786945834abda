//! Listening on a NIC: it counts probes by sender and run, and answers pings.

use super::Place;
use crate::protocol::{Arrivals, Heard, Tally};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tasuki_sys::packet::{PacketError, PacketKind, PacketRing, PacketSocket, RingSize};
use tasuki_wire::{CABLE_ETHERTYPE, CableKind, CableNic, CableProbe, DropReason};

/// Length of an Ethernet header, bytes.
pub const ETHERNET: usize = 14;
/// Slots of a ring: enough for the most that arrives within a tenth of a second.
const SLOTS: u32 = 1024;
/// How long a listener waits for frames before it looks whether it is to end.
const POLL_TIME: Duration = Duration::from_millis(100);
/// Number of runs whose counts are kept.
const RUNS_MAX: usize = 64;

#[derive(Default)]
struct Counted {
    name: String,
    is_ours: bool,
    seen: Vec<u64>,
    frames: u64,
    again: u64,
    first: Duration,
    last: Duration,
}

impl Counted {
    fn add(&mut self, number: u32, at: Duration) {
        // A number that a stranger sends must not cost memory without bound.
        let number = number as usize % (1 << 20);
        if self.seen.len() <= number / 64 {
            self.seen.resize(number / 64 + 1, 0);
        }
        let bit = 1 << (number % 64);
        if self.seen[number / 64] & bit != 0 {
            self.again += 1;
            return;
        }
        self.seen[number / 64] |= bit;
        if self.frames == 0 {
            self.first = at;
        }
        (self.frames, self.last) = (self.frames + 1, at);
    }
}

/// Counts of what came in on a NIC.
#[derive(Default)]
pub struct Book {
    counts: BTreeMap<(u64, CableNic), Counted>,
    /// Answers to pings: run, number, the NIC that answered, time.
    pub pongs: Vec<(u64, u32, CableNic, Instant)>,
    damaged: u64,
    missed: u64,
}

/// A NIC on which a thread listens.
pub struct Listener {
    index: usize,
    name: String,
    mac: [u8; 6],
    /// The socket for sending, which receives nothing.
    socket: PacketSocket,
    book: Arc<Mutex<Book>>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

fn locked(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Listener {
    pub fn open(place: &Place, index: usize, name: &str) -> Result<Self, PacketError> {
        let ring = PacketSocket::open(name, CABLE_ETHERTYPE)?.into_ring(RingSize { slots: SLOTS })?;
        let socket = PacketSocket::open(name, CABLE_ETHERTYPE)?;
        socket.bind_to_send()?;
        let interface = socket.interface();
        let (book, end) = (Arc::default(), Arc::default());
        let ear = Ear {
            ring,
            book: Arc::clone(&book),
            end: Arc::clone(&end),
            voice: Voice {
                fingerprint: place.fingerprint,
                own: CableNic { host: place.host.0 as u16 + 1, nic: index as u16 + 1 },
                names: (place.host_name().to_owned(), name.to_owned()),
            },
        };
        let thread = Some(thread::spawn(move || ear.listen()));
        let name = name.to_owned();
        Ok(Self { index, name, mac: interface.mac, socket, book, end, thread })
    }

    pub fn index(&self) -> usize {
        self.index
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn socket(&self) -> &PacketSocket {
        &self.socket
    }

    /// The Ethernet header of a broadcast frame.
    pub fn header(&self) -> Vec<u8> {
        header([0xff; 6], self.mac)
    }

    pub fn book(&self) -> MutexGuard<'_, Book> {
        locked(&self.book)
    }

    /// What came in during a run.
    pub fn tally(&self, run: u64) -> Tally {
        let mut book = self.book();
        let heard = book.counts.range((run, CableNic::default())..).take_while(|((of, _), _)| *of == run);
        let heard = heard.map(|((_, sender), counted)| Heard {
            sender: (sender.host, sender.nic),
            name: counted.name.clone(),
            is_ours: counted.is_ours,
            arrivals: Arrivals {
                frames: counted.frames,
                again: counted.again,
                seconds: counted.last.saturating_sub(counted.first).as_secs_f64(),
            },
        });
        let heard = heard.collect();
        let (damaged, missed) = (std::mem::take(&mut book.damaged), std::mem::take(&mut book.missed));
        Tally { nic: self.index, heard, damaged, missed }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn header(to: [u8; 6], from: [u8; 6]) -> Vec<u8> {
    [&to[..], &from[..], &CABLE_ETHERTYPE.to_be_bytes()].concat()
}

/// The state of a listener's thread.
struct Ear {
    ring: PacketRing,
    book: Arc<Mutex<Book>>,
    end: Arc<AtomicBool>,
    voice: Voice,
}

/// The part of a listener that answers pings.
struct Voice {
    fingerprint: u32,
    own: CableNic,
    names: (String, String),
}

impl Ear {
    fn listen(mut self) {
        let mut answers = Vec::new();
        while !self.end.load(Ordering::Relaxed) {
            if self.ring.wait(POLL_TIME).is_err() {
                // The NIC may be down at this moment.
                thread::sleep(POLL_TIME);
            }
            if !self.take(&mut answers) {
                // The socket is ready without a frame because an error is pending, as when the NIC goes down.
                thread::sleep(Duration::from_millis(1));
            }
            for answer in answers.drain(..) {
                let _ = self.ring.socket().send(&answer);
            }
            if let Ok(statistics) = self.ring.socket().statistics() {
                locked(&self.book).missed += u64::from(statistics.drops);
            }
        }
    }

    /// Handles the frames that have arrived. Returns whether there were any.
    fn take(&mut self, answers: &mut Vec<Vec<u8>>) -> bool {
        let mac = self.ring.socket().interface().mac;
        let mut book = locked(&self.book);
        let mut any = false;
        for _ in 0..SLOTS {
            let Some(frame) = self.ring.next_frame() else { break };
            any = true;
            if !matches!(frame.kind(), PacketKind::Host | PacketKind::Broadcast) {
                continue;
            }
            let (Some(payload), Some(from)) = (frame.get(ETHERNET..), frame.get(6..12)) else { continue };
            let probe = match CableProbe::parse(payload) {
                Ok(probe) => probe,
                Err(DropReason::Short | DropReason::Version | DropReason::FrameType) => continue,
                Err(_) => {
                    book.damaged += 1;
                    continue;
                }
            };
            match probe.kind {
                CableKind::Ping => {
                    let mut from_mac = [0; 6];
                    from_mac.copy_from_slice(from);
                    answers.extend(self.voice.pong(&probe, from_mac, mac));
                }
                CableKind::Pong => book.pongs.push((probe.run, probe.number, probe.sender, Instant::now())),
                // It says nothing of this cluster: another program is looking for cables.
                CableKind::Discovery => {}
                CableKind::Hello | CableKind::Filler => {
                    if book.counts.len() > RUNS_MAX * 64 {
                        book.counts.pop_first();
                    }
                    let counted = book.counts.entry((probe.run, probe.sender)).or_default();
                    if counted.frames == 0 {
                        counted.name = format!("{}:{}", probe.host_name, probe.nic_name);
                        counted.is_ours = probe.cluster == self.voice.fingerprint;
                    }
                    counted.add(probe.number, frame.arrived());
                }
            }
        }
        any
    }
}

impl Voice {
    fn pong(&self, ping: &CableProbe<'_>, to: [u8; 6], mac: [u8; 6]) -> Option<Vec<u8>> {
        let pong = CableProbe {
            kind: CableKind::Pong,
            cluster: self.fingerprint,
            sender: self.own,
            host_name: &self.names.0,
            nic_name: &self.names.1,
            ..*ping
        };
        let mut bytes = Vec::new();
        pong.emit(&mut bytes)?;
        Some([header(to, mac), bytes].concat())
    }
}
