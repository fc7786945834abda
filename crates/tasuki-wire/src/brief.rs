//! Fast parsing of the most frequent packets: an acknowledgement, the start of a message or a piece of a long
//! one, or an acknowledgement with one of these behind it.

use crate::ack::Ack;
use crate::cursor::Reader;
use crate::frame::kind;
use crate::header::{Header, RawHeader, checksum};
use crate::ids::Path;
use crate::limits::HEADER_LEN;
use crate::message::{Data, Start};

/// A well-formed packet with only an acknowledgement, a start, or a piece of data, or with an acknowledgement
/// and one of the two others behind it. [`crate::Packet`] gives the same of it, frame by frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief<'a> {
    /// The header of the packet; `peer` is not 0.
    pub header: Header,
    /// Bytes of the packet.
    pub length: u16,
    /// The first frame, if it is an acknowledgement.
    pub ack: Option<Ack<'a>>,
    /// The last frame, if it is a start.
    pub start: Option<Start<'a>>,
    /// The last frame, if it is data.
    pub data: Option<Data<'a>>,
}

impl<'a> Brief<'a> {
    /// `None` if it is a packet of another kind, or not well-formed; [`crate::Packet::parse`] tells.
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
        // The checksum is tested last, because it takes longest of all tests.
        if !reader.is_empty() || checksum(packet) != raw.checksum {
            return None;
        }
        let path = Path::from_byte(raw.path)?;
        let (number, endpoint, peer, token) = (raw.number, raw.endpoint, raw.peer, raw.token);
        let header = Header { path, number, endpoint, peer, token };
        Some(Brief { header, length: raw.length, ack, start, data })
    }
}
