//! Parsing packets: a packet is checked as a whole before any of its frames is handed out.

use tasuki_tuning::packets;

use crate::auth::PacketKey;
use crate::cursor::Reader;
use crate::drop_reason::DropReason;
use crate::frame::Frame;
use crate::header::{FLAG_TAG, Header, RawHeader, checksum};
use crate::ids::Path;
use crate::limits::{HEADER_LEN, TAG_LEN};

/// A packet that is well-formed from its first byte to its last.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: Header,
    length: u16,
    /// The first frames, kept from the check.
    first: [Frame<'a>; packets::FRAMES_KEPT],
    count: usize,
    /// The frames behind them.
    rest: &'a [u8],
}

/// A well-formed packet with a tag that is not verified yet, so that nothing of it may be believed.
#[derive(Clone, Copy, Debug)]
pub struct Tagged<'a> {
    packet: Packet<'a>,
    untagged: &'a [u8],
    tag: &'a [u8; TAG_LEN],
}

impl<'a> Tagged<'a> {
    /// Checks what came as one Ethernet payload or UDP datagram at a receiver that has a key. Fails for the
    /// reasons of [`Packet::parse`], and as [`DropReason::Tag`] for a packet without a tag.
    pub fn parse(datagram: &'a [u8]) -> Result<Tagged<'a>, DropReason> {
        let (raw, packet) = checked(datagram)?;
        //= docs/reference/wire.md#who-may-speak
        //# A receiver that has a key must drop a packet without a tag
        if raw.flags & FLAG_TAG == 0 {
            return Err(DropReason::Tag);
        }
        let (untagged, tag) = packet.split_last_chunk().ok_or(DropReason::Tag)?;
        let frames = untagged.get(HEADER_LEN..).ok_or(DropReason::Tag)?;
        Ok(Tagged { packet: Packet::of(&raw, frames)?, untagged, tag })
    }

    /// The packet, of which nothing may be believed but what it takes to find the key.
    pub fn unverified(&self) -> &Packet<'a> {
        &self.packet
    }

    /// The packet, if its tag was made with this key.
    pub fn verify(&self, key: &PacketKey) -> Result<&Packet<'a>, DropReason> {
        if key.verify(self.untagged, self.tag) { Ok(&self.packet) } else { Err(DropReason::Tag) }
    }
}

/// The header and the bytes of a packet whose length and checksum are right, and whose flags are known.
fn checked(datagram: &[u8]) -> Result<(RawHeader, &[u8]), DropReason> {
    let raw = RawHeader::read(datagram)?;
    //= docs/reference/wire.md#carriage
    //# a receiver must ignore the bytes after the packet's own length.
    let packet = datagram.get(..usize::from(raw.length)).ok_or(DropReason::Length)?;
    if packet.len() < HEADER_LEN {
        return Err(DropReason::Length);
    }
    if checksum(packet) != raw.checksum {
        return Err(DropReason::Checksum);
    }
    if raw.flags & !FLAG_TAG != 0 {
        return Err(DropReason::Flags);
    }
    Ok((raw, packet))
}

impl<'a> Packet<'a> {
    /// Checks what came as one Ethernet payload or UDP datagram at a receiver without a key. Everything else
    /// that a receiver tests needs its state: [`Header::check_destination`], [`crate::Greeting::check`], the
    /// peer's name and the packet number.
    //= docs/reference/wire.md#malformed-input
    //# The reasons up to `handshake` need nothing but the packet.
    pub fn parse(datagram: &'a [u8]) -> Result<Packet<'a>, DropReason> {
        let (raw, packet) = checked(datagram)?;
        //= docs/reference/wire.md#who-may-speak
        //# a receiver that has
        //# no key must drop a packet with a tag.
        if raw.flags & FLAG_TAG != 0 {
            return Err(DropReason::Tag);
        }
        Packet::of(&raw, &packet[HEADER_LEN..])
    }

    /// The packet with this header and these frames, if they are well-formed.
    fn of(raw: &RawHeader, frames: &'a [u8]) -> Result<Packet<'a>, DropReason> {
        let path = Path::from_byte(raw.path).ok_or(DropReason::Path)?;
        let (number, endpoint, peer, token) = (raw.number, raw.endpoint, raw.peer, raw.token);
        let header = Header { path, number, endpoint, peer, token };
        let first = [Frame::Padding(0); packets::FRAMES_KEPT];
        let mut packet = Packet { header, length: raw.length, first, count: 0, rest: &[] };
        packet.judge(frames)?;
        Ok(packet)
    }

    /// The header of the packet.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Length of the packet, bytes, without the padding that a NIC has added.
    pub fn length(&self) -> u16 {
        self.length
    }

    /// The frames, in the order in which they are in the packet.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'a>> + use<'_, 'a> {
        self.first[..self.count].iter().copied().chain(Frames { reader: Reader::new(self.rest) })
    }

    /// Parses all frames, keeps the first ones, and checks that they may be in one packet.
    fn judge(&mut self, frames: &'a [u8]) -> Result<(), DropReason> {
        if frames.is_empty() {
            return Err(DropReason::Empty);
        }
        let mut reader = Reader::new(frames);
        let (mut read, mut hello_first, mut hello_later) = (0, false, false);
        while !reader.is_empty() {
            let frame = Frame::read(&mut reader)?;
            let hello = matches!(frame, Frame::Hello(_));
            hello_first |= hello && read == 0;
            hello_later |= hello && read > 0;
            if let Some(place) = self.first.get_mut(read) {
                *place = frame;
                (self.count, self.rest) = (read + 1, reader.rest());
            }
            read += 1;
        }
        //= docs/reference/wire.md#greeting
        //# A packet whose `peer` is 0 begins with a hello, and a hello is
        //# nowhere else.
        if hello_first != (self.header.peer == 0) || hello_later {
            return Err(DropReason::Handshake);
        }
        Ok(())
    }
}

/// Parses frames again that have been checked.
struct Frames<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        if self.reader.is_empty() {
            return None;
        }
        Frame::read(&mut self.reader).ok()
    }
}
