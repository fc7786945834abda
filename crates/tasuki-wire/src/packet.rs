//! Parsing: a packet is judged as a whole before any of its frames is handed out.

use crate::cursor::Reader;
use crate::drop_reason::DropReason;
use crate::frame::Frame;
use crate::header::{FLAG_TAG, Header, RawHeader, checksum};
use crate::ids::Path;
use crate::limits::HEADER_LEN;

/// A packet that is well-formed from its first byte to its last.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: Header,
    length: u16,
    frames: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Judges what came as one Ethernet payload or UDP datagram. Everything else that a receiver tests needs its
    /// state: [`Header::check_destination`], [`crate::Greeting::check`], the peer's name and the packet number.
    //= docs/wire.md#malformed-input
    //# The reasons up to `handshake` need nothing but the packet.
    pub fn parse(datagram: &'a [u8]) -> Result<Packet<'a>, DropReason> {
        let raw = RawHeader::read(datagram)?;
        //= docs/wire.md#carriage
        //# a receiver must ignore the bytes after the packet's own length.
        let packet = datagram.get(..usize::from(raw.length)).ok_or(DropReason::Length)?;
        let frames = packet.get(HEADER_LEN..).ok_or(DropReason::Length)?;
        if checksum(packet) != raw.checksum {
            return Err(DropReason::Checksum);
        }
        if raw.flags & !FLAG_TAG != 0 {
            return Err(DropReason::Flags);
        }
        //= docs/wire.md#who-may-speak
        //# a receiver that has
        //# no key must drop a packet with a tag.
        if raw.flags & FLAG_TAG != 0 {
            return Err(DropReason::Tag);
        }
        let path = Path::from_byte(raw.path).ok_or(DropReason::Path)?;
        judge_frames(frames, raw.peer)?;
        let (number, endpoint, peer, token) = (raw.number, raw.endpoint, raw.peer, raw.token);
        Ok(Packet { header: Header { path, number, endpoint, peer, token }, length: raw.length, frames })
    }

    /// What the packet says about itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Size of the packet, bytes: without the padding that a NIC has added.
    pub fn length(&self) -> u16 {
        self.length
    }

    /// The frames, in the order in which they stand.
    pub fn frames(&self) -> Frames<'a> {
        Frames { reader: Reader::new(self.frames) }
    }
}

/// The frames of a packet.
#[derive(Clone)]
pub struct Frames<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        if self.reader.is_empty() {
            return None;
        }
        // `Packet::parse` has read the same bytes without an error.
        Frame::read(&mut self.reader).ok()
    }
}

fn judge_frames(frames: &[u8], peer: u32) -> Result<(), DropReason> {
    if frames.is_empty() {
        return Err(DropReason::Empty);
    }
    let mut reader = Reader::new(frames);
    let mut hello_first = false;
    let mut hello_later = false;
    let mut first = true;
    while !reader.is_empty() {
        let hello = matches!(Frame::read(&mut reader)?, Frame::Hello(_));
        hello_first |= hello && first;
        hello_later |= hello && !first;
        first = false;
    }
    //= docs/wire.md#greeting
    //# A packet whose `peer` is 0 begins with a hello, and a hello is
    //# nowhere else.
    if hello_first != (peer == 0) || hello_later {
        return Err(DropReason::Handshake);
    }
    Ok(())
}
