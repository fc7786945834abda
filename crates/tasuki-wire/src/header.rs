//! The header of a packet.

use crate::cursor::{Reader, Writer};
use crate::drop_reason::DropReason;
use crate::emit_error::EmitError;
use crate::ids::{Path, Secret};
use crate::limits::{HEADER_LEN, MAX_PACKET_NUMBER};

/// First byte of every packet.
pub const MAGIC: u8 = 0x54;
/// Version of the format.
pub const VERSION: u8 = 1;
/// Offset of the addressee's endpoint id in a packet, bytes: for socket filters, which look at nothing else.
pub const ENDPOINT_OFFSET: usize = 12;
/// Offset of the flags in a packet, bytes.
pub(crate) const FLAGS_OFFSET: usize = 2;
/// Offset of the checksum in a packet, bytes.
pub(crate) const CHECKSUM_OFFSET: usize = 28;
/// Flag: the packet ends in a tag.
pub(crate) const FLAG_TAG: u8 = 1 << 0;

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Rail and lane on which it is sent.
    pub path: Path,
    /// Packet number on that path, at most [`MAX_PACKET_NUMBER`].
    pub number: u64,
    /// Endpoint id of the addressee.
    pub endpoint: u32,
    /// The addressee's name for the connection, from its greeting; 0 if there was none yet.
    pub peer: u32,
    /// [`Secret::token`] of the addressee's secret.
    pub token: u64,
}

/// The fields of the header that are checked first, and those that are checked later.
pub(crate) struct RawHeader {
    pub flags: u8,
    pub path: u8,
    pub length: u16,
    pub number: u64,
    pub endpoint: u32,
    pub peer: u32,
    pub token: u64,
    pub checksum: u32,
}

impl RawHeader {
    /// Fails as `Short`, `Magic` or `Version`; of another version nothing else is known.
    pub(crate) fn read(datagram: &[u8]) -> Result<RawHeader, DropReason> {
        let head: &[u8; HEADER_LEN] = datagram.first_chunk().ok_or(DropReason::Short)?;
        if head[0] != MAGIC {
            return Err(DropReason::Magic);
        }
        if head[1] != VERSION {
            return Err(DropReason::Version);
        }
        let mut reader = Reader::new(&head[2..]);
        Ok(RawHeader {
            flags: reader.u8()?,
            path: reader.u8()?,
            length: reader.u16()?,
            number: reader.u48()?,
            endpoint: reader.u32()?,
            peer: reader.u32()?,
            token: reader.u64()?,
            checksum: reader.u32()?,
        })
    }
}

impl Header {
    /// Checks that the packet is for this endpoint, from a sender that was given its address.
    //= docs/reference/wire.md#who-may-speak
    //# So whoever was not given the address cannot make it accept anything.
    pub fn check_destination(&self, endpoint: u32, secret: &Secret) -> Result<(), DropReason> {
        if self.endpoint != endpoint {
            return Err(DropReason::Endpoint);
        }
        if self.token != secret.token() {
            return Err(DropReason::Token);
        }
        Ok(())
    }

    /// Checks that the header can be sent.
    pub(crate) fn check(&self) -> Result<(), EmitError> {
        if self.number > MAX_PACKET_NUMBER {
            return Err(EmitError::PacketNumber);
        }
        self.path.to_byte().map(|_| ())
    }

    /// Writes the header with the checksum 0.
    pub(crate) fn write(&self, into: &mut [u8; HEADER_LEN], length: u16) -> Result<(), EmitError> {
        self.check()?;
        let mut writer = Writer::new(into);
        writer.u8(MAGIC);
        writer.u8(VERSION);
        writer.u8(0);
        writer.u8(self.path.to_byte()?);
        writer.u16(length);
        writer.u48(self.number);
        writer.u32(self.endpoint);
        writer.u32(self.peer);
        writer.u64(self.token);
        writer.u32(0);
        Ok(())
    }
}

/// The checksum of a packet, computed as if its checksum field were 0. `packet` has at least a header.
//= docs/reference/wire.md#checksum
//# The checksum is the CRC32C (polynomial 0x1EDC6F41, reflected, initial value and final exclusive-or
//# 0xFFFFFFFF) of all bytes of the packet except the four of the checksum itself.
pub(crate) fn checksum(packet: &[u8]) -> u32 {
    crate::crc::of(&packet[..CHECKSUM_OFFSET], &packet[HEADER_LEN..])
}
