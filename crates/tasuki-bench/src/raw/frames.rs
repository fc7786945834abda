//! Messages in frames of [`ETHERTYPE`]: each is cut into as many frames as it needs, and put together again
//! whatever their order.
//!
//! The Ethernet header of each frame is followed by 16 bytes in network order: session (4), message (4),
//! index of the part (2), number of parts (2), payload bytes (2; NICs pad short frames), zero (2).

use super::{channel::Channel, channel::is_queue_full, protocol::ETHERTYPE, sockets::is_nothing, spin::Spin};
use std::{io, thread, time::Duration};
use tasuki_sys::packet::{PacketError, PacketKind, PacketRing, PacketSocket, RingSize};

/// Bytes of the Ethernet header.
const ETHERNET: usize = 14;
/// Bytes of the header that follows it.
const PART_HEADER: usize = 16;
/// Bytes of a frame before the payload.
pub(super) const OVERHEAD: usize = ETHERNET + PART_HEADER;
/// The largest number of parts of a message; it bounds the memory that a stray frame can take.
const PARTS_MAX: usize = 32 * 1024;
/// A frame that a full queue has not taken after this long counts as lost.
const QUEUE_LIMIT: Duration = Duration::from_millis(10);

/// The 16 bytes after the Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub session: u32,
    pub message: u32,
    pub index: u16,
    pub count: u16,
    pub length: u16,
}

impl Part {
    /// Splits a received frame into header and payload; `None` if it is no part of a message.
    pub fn parse(frame: &[u8]) -> Option<(Self, &[u8])> {
        let (header, rest) = frame.get(ETHERNET..)?.split_at_checked(PART_HEADER)?;
        let short = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let long = |at: usize| u32::from(short(at)) << 16 | u32::from(short(at + 2));
        let part =
            Self { session: long(0), message: long(4), index: short(8), count: short(10), length: short(12) };
        let payload = rest.get(..usize::from(part.length))?;
        (part.index < part.count).then_some((part, payload))
    }

    fn write(&self, header: &mut [u8]) {
        header[0..4].copy_from_slice(&self.session.to_be_bytes());
        header[4..8].copy_from_slice(&self.message.to_be_bytes());
        header[8..10].copy_from_slice(&self.index.to_be_bytes());
        header[10..12].copy_from_slice(&self.count.to_be_bytes());
        header[12..14].copy_from_slice(&self.length.to_be_bytes());
        header[14..16].fill(0);
    }
}

/// A packet ring, and the peer that its frames go to.
pub(super) struct FrameLink {
    ring: PacketRing,
    session: u32,
    /// The frame that is sent: its Ethernet header stays, the rest is written anew.
    frame: Vec<u8>,
}

impl FrameLink {
    /// Opens a ring of `slots` frames. [`FrameLink::set_peer`] must be called before anything is sent.
    pub fn open(interface: &str, slots: u32, session: u32) -> Result<Self, PacketError> {
        let socket = PacketSocket::open(interface, ETHERTYPE)?;
        socket.set_qdisc_bypass(true)?;
        let ring = socket.into_ring(RingSize { slots })?;
        let facts = ring.socket().interface();
        let mut frame = vec![0; ETHERNET + facts.mtu as usize];
        frame[6..12].copy_from_slice(&facts.mac);
        frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
        Ok(Self { ring, session, frame })
    }

    /// Asks for a send buffer of this many bytes.
    pub fn grow_send_buffer(&self, bytes: u32) {
        self.ring.socket().set_send_buffer(bytes);
    }

    pub fn mac(&self) -> [u8; 6] {
        self.ring.socket().interface().mac
    }

    pub fn set_peer(&mut self, mac: [u8; 6]) {
        self.frame[..6].copy_from_slice(&mac);
    }

    /// Payload bytes of a full frame.
    pub fn payload_bytes(&self) -> usize {
        self.frame.len().saturating_sub(OVERHEAD).min(usize::from(u16::MAX))
    }

    /// Sends one part; false if the queue stayed full, so that the frame is lost.
    pub fn send_part(&mut self, part: Part, payload: &[u8]) -> io::Result<bool> {
        let end = OVERHEAD + payload.len();
        let room = self.frame.get_mut(ETHERNET..end).ok_or(io::ErrorKind::InvalidInput)?;
        part.write(room);
        room[PART_HEADER..].copy_from_slice(payload);
        self.send_spinning(end)
    }

    /// Sends the first `end` bytes of the frame buffer once more; false if they have not been sent. Sleeps
    /// for at most `limit` if the socket has no room.
    pub fn send_again(&self, end: usize, limit: Duration) -> io::Result<bool> {
        match self.ring.socket().send(&self.frame[..end]) {
            Ok(_) => Ok(true),
            Err(error) if is_nothing(&error) => self.ring.socket().wait_writable(limit).map(|_| false),
            Err(error) if is_queue_full(&error) => {
                thread::yield_now();
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn send_spinning(&self, end: usize) -> io::Result<bool> {
        let mut spin = Spin::default();
        loop {
            match self.ring.socket().send(&self.frame[..end]) {
                Ok(_) => return Ok(true),
                Err(error) if is_nothing(&error) || is_queue_full(&error) => {
                    if spin.idle().is_some_and(|waited| waited > QUEUE_LIMIT) {
                        return Ok(false);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the next frame; false if there is none. If it is one of this session for this host, `take` gets
    /// it, with its length on arrival.
    pub fn next(&mut self, take: impl FnOnce(Part, &[u8], usize)) -> bool {
        let Some(frame) = self.ring.next_frame() else { return false };
        if frame.kind() == PacketKind::Host && frame.vlan().is_none() {
            match Part::parse(&frame) {
                Some((part, payload)) if part.session == self.session => take(part, payload, frame.length()),
                _ => {}
            }
        }
        true
    }

    pub fn wait(&self, limit: Duration) -> io::Result<bool> {
        self.ring.wait(limit)
    }

    /// Number of frames since the last call that did not fit into the ring.
    pub fn drops(&self) -> u64 {
        self.ring.socket().statistics().map(|counters| counters.drops.into()).unwrap_or(0)
    }

    pub fn session(&self) -> u32 {
        self.session
    }
}

/// Messages over a [`FrameLink`].
pub(super) struct FrameChannel {
    link: FrameLink,
    assembly: Assembly,
}

impl FrameChannel {
    pub fn new(link: FrameLink) -> Self {
        Self { link, assembly: Assembly::default() }
    }
}

impl Channel for FrameChannel {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let room = self.link.payload_bytes().max(1);
        let count = message.len().div_ceil(room);
        let number = message.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        let total = u16::try_from(count).map_err(io::Error::other)?;
        for (index, payload) in message.chunks(room).enumerate() {
            // Both numbers fit, as a part is never larger than an MTU and an index never larger than the
            // number of parts.
            let (index, length) = (index as u16, payload.len() as u16);
            let part = Part { session: self.link.session(), message: number, index, count: total, length };
            self.link.send_part(part, payload)?;
        }
        Ok(())
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<bool> {
        let room = self.link.payload_bytes();
        let assembly = &mut self.assembly;
        let mut whole = false;
        // Takes frames until none is waiting or a message is whole.
        while !whole && self.link.next(|part, payload, _| whole = assembly.add(part, payload, room, message))
        {
        }
        Ok(whole)
    }

    fn is_lossy(&self) -> bool {
        true
    }
}

/// The parts of the newest message seen.
#[derive(Default)]
struct Assembly {
    message: u32,
    seen: Vec<bool>,
    missing: usize,
}

impl Assembly {
    /// Adds a part; true if it makes the message whole. Parts of older messages and parts that do not fit are
    /// dropped.
    fn add(&mut self, part: Part, payload: &[u8], room: usize, message: &mut [u8]) -> bool {
        let newer = part.message.wrapping_sub(self.message).cast_signed();
        if newer < 0 || usize::from(part.count) > PARTS_MAX {
            return false;
        }
        // The number of a message that is whole comes again if the message was sent again, because the answer
        // was lost.
        if newer > 0 || self.missing == 0 {
            self.message = part.message;
            self.seen.clear();
            self.seen.resize(part.count.into(), false);
            self.missing = part.count.into();
        }
        let start = usize::from(part.index) * room;
        let place = message.get_mut(start..start + payload.len());
        let (Some(place), Some(seen)) = (place, self.seen.get_mut(usize::from(part.index))) else {
            return false;
        };
        if *seen {
            return false;
        }
        *seen = true;
        place.copy_from_slice(payload);
        self.missing -= 1;
        self.missing == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(message: u32, index: u16, count: u16, length: u16) -> Part {
        Part { session: 9, message, index, count, length }
    }

    #[test]
    fn parts_survive_padding_and_refuse_nonsense() {
        let sent = part(7, 1, 3, 2);
        let mut frame = vec![0; 60];
        sent.write(&mut frame[ETHERNET..]);
        frame[OVERHEAD..OVERHEAD + 2].copy_from_slice(&[0xAB, 0xCD]);
        assert_eq!(Part::parse(&frame), Some((sent, &[0xAB, 0xCD][..])));
        assert_eq!(Part::parse(&frame[..29]), None, "too short for a header");
        assert_eq!(Part::parse(&frame[..31]), None, "says more than there is");
        part(7, 3, 3, 2).write(&mut frame[ETHERNET..]);
        assert_eq!(Part::parse(&frame), None, "index beyond the count");
    }

    #[test]
    fn messages_come_together_in_any_order() {
        let mut assembly = Assembly::default();
        let mut buffer = [0; 5];
        assert!(!assembly.add(part(1, 2, 3, 1), &[5], 2, &mut buffer));
        assert!(!assembly.add(part(1, 0, 3, 2), &[1, 2], 2, &mut buffer));
        assert!(!assembly.add(part(1, 0, 3, 2), &[9, 9], 2, &mut buffer), "a duplicate");
        assert!(!assembly.add(part(0, 1, 3, 2), &[8, 8], 2, &mut buffer), "of an older message");
        assert!(assembly.add(part(1, 1, 3, 2), &[3, 4], 2, &mut buffer));
        assert_eq!(buffer, [1, 2, 3, 4, 5]);
        // The message is sent again, and becomes whole once more.
        assert!(!assembly.add(part(1, 0, 3, 2), &[1, 2], 2, &mut buffer));
        assert!(!assembly.add(part(1, 1, 3, 2), &[3, 4], 2, &mut buffer));
        assert!(assembly.add(part(1, 2, 3, 1), &[5], 2, &mut buffer));
    }

    #[test]
    fn stray_parts_write_nowhere() {
        let mut assembly = Assembly::default();
        let mut buffer = [0; 4];
        assert!(!assembly.add(part(1, 7, 9, 2), &[1, 1], 2, &mut buffer), "beyond the buffer");
        assert!(!assembly.add(part(2, 0, 65535, 2), &[1, 1], 2, &mut buffer), "too many parts");
        assert_eq!(buffer, [0; 4]);
    }
}
