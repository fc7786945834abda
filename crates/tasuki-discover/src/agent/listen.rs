//! Listening on a NIC, and sending hellos by it.

use crate::{Book, Heard, LLDP_GROUP};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use tasuki_sys::packet::{PacketError, PacketKind, PacketRing, PacketSocket, RingSize};
use tasuki_wire::CABLE_ETHERTYPE;

/// Stands for frames of every ethertype (`ETH_P_ALL`, include/uapi/linux/if_ether.h). Such a socket hears
/// also what a bridge or bond takes from the NIC.
const ALL_ETHERTYPES: u16 = 3;
/// Slots of a ring: as many full frames as a Gigabit line delivers in 6 ms. Frames that find no room are
/// lost; hellos come again, and what is measured meanwhile counts for nothing.
const SLOTS: u32 = 512;
/// How long a listener waits for frames before it looks whether it is to end.
const POLL_TIME: Duration = Duration::from_millis(100);

/// A NIC on which a thread listens.
pub struct Listener {
    /// The socket for sending, which receives nothing.
    socket: PacketSocket,
    book: Arc<Mutex<Book>>,
    missed: Arc<AtomicU64>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub fn open(name: &str, run: u64) -> Result<Self, PacketError> {
        let hearing = PacketSocket::open(name, ALL_ETHERTYPES)?;
        hearing.join_group(LLDP_GROUP)?;
        let ring = hearing.into_ring(RingSize { slots: SLOTS })?;
        let socket = PacketSocket::open(name, CABLE_ETHERTYPE)?;
        socket.bind_to_send()?;
        let book = Arc::new(Mutex::new(Book::new(run)));
        let end = Arc::new(AtomicBool::new(false));
        let missed = Arc::new(AtomicU64::new(0));
        let (its_book, its_missed, its_end) = (Arc::clone(&book), Arc::clone(&missed), Arc::clone(&end));
        let thread = Some(thread::spawn(move || listen(ring, &its_book, &its_missed, &its_end)));
        Ok(Self { socket, book, missed, end, thread })
    }

    /// What was heard so far. Frames that were missed are those since this was asked before.
    pub fn heard(&self) -> Heard {
        let missed = self.missed.swap(0, Ordering::Relaxed);
        Heard { missed, ..self.book.lock().unwrap_or_else(PoisonError::into_inner).heard().clone() }
    }

    /// The socket for sending.
    pub fn socket(&self) -> &PacketSocket {
        &self.socket
    }

    /// Sends a hello to everybody. If the queue is full or the cable is down it is lost; hellos come again.
    pub fn send(&self, mac: [u8; 6], hello: &[u8]) {
        let _ = self.socket.send(&to_everybody(mac, hello));
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

/// A probe of cables as a frame to everybody.
pub fn to_everybody(mac: [u8; 6], probe: &[u8]) -> Vec<u8> {
    [&[0xff; 6], &mac[..], &CABLE_ETHERTYPE.to_be_bytes(), probe].concat()
}

fn listen(mut ring: PacketRing, book: &Mutex<Book>, missed: &AtomicU64, end: &AtomicBool) {
    while !end.load(Ordering::Relaxed) {
        if ring.wait(POLL_TIME).is_err() {
            // The interface is gone or down; it may come back.
            thread::sleep(POLL_TIME);
        }
        // As many frames as the ring holds, so that a NIC that is never silent cannot keep the end from being
        // seen.
        for _ in 0..ring.slots() {
            let Some(frame) = ring.next_frame() else { break };
            let is_own = matches!(frame.kind(), PacketKind::Other(_));
            if !is_own && frame.vlan().is_none() {
                let arrived = frame.arrived();
                book.lock().unwrap_or_else(PoisonError::into_inner).take_at(&frame, arrived);
            }
        }
        if let Ok(statistics) = ring.socket().statistics() {
            missed.fetch_add(u64::from(statistics.drops), Ordering::Relaxed);
        }
    }
}
