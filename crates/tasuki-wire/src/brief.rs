//! Parsing of what most packets are: an acknowledgement, a message that begins or a piece of a long one, or one of these behind the first.

use crate::ack::Ack;
use crate::cursor::Reader;
use crate::frame::kind;
use crate::header::{Header, RawHeader, checksum};
use crate::ids::Path;
use crate::limits::HEADER_LEN;
use crate::message::{Data, Start};

/// A well-formed packet with nothing but an acknowledgement, a start, a piece of data, or one of the two behind the first. [`crate::Packet`]
/// says the same of it, frame by frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief<'a> {
    /// What the packet says about itself; `peer` is not 0.
    pub header: Header,
    /// Bytes of the packet.
    pub length: u16,
    /// The first frame, if it is one.
    pub ack: Option<Ack<'a>>,
    /// The last frame, if it is one.
    pub start: Option<Start<'a>>,
    /// The last frame, if it is one.
    pub data: Option<Data<'a>>,
}

impl<'a> Brief<'a> {
    /// `None`: it is another packet, or none. [`crate::Packet::parse`] knows.
    pub fn parse(datagram: &'a [u8]) -> Option<Brief<'a>> {
        let raw = RawHeader::read(datagram).ok()?;
        let packet = datagram.get(..usize::from(raw.length))?;
        let mut reader = Reader::new(packet.get(HEADER_LEN..)?);
        if raw.peer == 0 || raw.flags != 0 {
            return None;
        }
        let mut next = Some(reader.u8().ok()?);
        let (mut ack, mut start, mut data) = (None, None, None);
        if next == Some(kind::ACK) {
            ack = Some(Ack::read(&mut reader).ok()?);
            next = if reader.is_empty() { None } else { reader.u8().ok() };
        }
        match next {
            Some(kind @ (kind::EAGER | kind::REQUEST)) => {
                start = Some(Start::read(&mut reader, kind == kind::EAGER).ok()?);
            }
            Some(kind::DATA) => data = Some(Data::read(&mut reader).ok()?),
            Some(_) => return None,
            None => {}
        }
        // Last, because it takes longest where there is more to come.
        if !reader.is_empty() || checksum(packet) != raw.checksum {
            return None;
        }
        let path = Path::from_byte(raw.path)?;
        let (number, endpoint, peer, token) = (raw.number, raw.endpoint, raw.peer, raw.token);
        let header = Header { path, number, endpoint, peer, token };
        Some(Brief { header, length: raw.length, ack, start, data })
    }
}
