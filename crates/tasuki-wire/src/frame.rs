//! The frames of a packet.

use crate::ack::Ack;
use crate::cursor::{Reader, Writer};
use crate::drop_reason::DropReason;
use crate::emit_error::EmitError;
use crate::greeting::Greeting;
use crate::ids::{Path, RefuseReason};
use crate::message::{Control, Data, Start};
use crate::rails::Rails;

/// The types of frames, which are their first bytes: the table in `docs/reference/wire.md`, section "Frames".
pub(crate) mod kind {
    pub const PADDING: u8 = 0x00;
    pub const PING: u8 = 0x01;
    pub const ACK: u8 = 0x02;
    pub const HELLO: u8 = 0x03;
    pub const WELCOME: u8 = 0x04;
    pub const REFUSE: u8 = 0x05;
    pub const RAILS: u8 = 0x06;
    pub const PROBE: u8 = 0x07;
    pub const PROBE_REPLY: u8 = 0x08;
    pub const EAGER: u8 = 0x10;
    pub const REQUEST: u8 = 0x11;
    pub const DATA: u8 = 0x12;
    pub const GRANT: u8 = 0x13;
    pub const DONE: u8 = 0x14;
    pub const CREDIT: u8 = 0x15;
    pub const RECALL: u8 = 0x16;
    pub const RETURN: u8 = 0x17;
    pub const QUIESCE: u8 = 0x18;
    pub const QUIESCED: u8 = 0x19;
    pub const RESUME: u8 = 0x1a;
    pub const BYE: u8 = 0x1b;
}

/// A frame. Its payload and lists are borrowed: from the packet if it was parsed, from the caller if it is to
/// be emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Padding of this many bytes; the parser returns consecutive padding frames as one.
    Padding(usize),
    /// Asks for an acknowledgement.
    Ping,
    /// Packets that have arrived.
    Ack(Ack<'a>),
    /// Opens a connection.
    Hello(Greeting<'a>),
    /// Answers a hello.
    Welcome(Greeting<'a>),
    /// Refuses a hello.
    Refuse {
        /// Incarnation of the endpoint that said hello.
        incarnation: u64,
        /// The reason.
        reason: RefuseReason,
    },
    /// The sender's rails have changed.
    Rails(Rails<'a>),
    /// Asks for a reply.
    Probe {
        /// Chosen by the asking side.
        nonce: u64,
    },
    /// Answers a probe.
    ProbeReply {
        /// The nonce of the probe.
        nonce: u64,
        /// The path on which the probe came.
        path: Path,
        /// Length of the packet in which the probe came, bytes.
        length: u16,
    },
    /// The beginning of a message.
    Start(Start<'a>),
    /// More bytes of a message.
    Data(Data<'a>),
    /// Control frames of the message layer: grants, credit, silence, goodbye.
    Control {
        /// Position in the order of delivery; it covers one.
        position: u64,
        /// The content.
        control: Control,
    },
}

impl<'a> Frame<'a> {
    /// Whether the receiver must acknowledge the packet that the frame comes in.
    //= docs/reference/wire.md#frames
    //# Every frame but padding and ack asks to be acknowledged.
    pub fn asks_for_ack(&self) -> bool {
        !matches!(self, Frame::Padding(_) | Frame::Ack(_))
    }

    /// The first position that the frame covers, and their number, if the frame is to be delivered once.
    //= docs/reference/wire.md#position
    //# a data frame
    //# covers as many positions as it has bytes of payload, each other frame covers one.
    pub fn positions(&self) -> Option<(u64, u64)> {
        match self {
            Frame::Start(start) => Some((start.position, 1)),
            Frame::Data(data) => Some((data.position, data.payload.len() as u64)),
            Frame::Control { position, .. } => Some((*position, 1)),
            _ => None,
        }
    }

    /// Number of bytes that the frame takes in a packet; an error if it cannot be sent at all.
    pub fn encoded_len(&self) -> Result<usize, EmitError> {
        let len = self.payload().len();
        let mut writer = Writer::measure();
        self.write_head(&mut writer, len)?;
        Ok(writer.len().saturating_add(len))
    }

    pub(crate) fn payload(&self) -> &'a [u8] {
        match self {
            Frame::Start(start) => start.payload,
            Frame::Data(data) => data.payload,
            _ => &[],
        }
    }

    /// Reads the frame in front.
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Frame<'a>, DropReason> {
        Ok(match reader.u8()? {
            kind::PADDING => Frame::Padding(1 + skip_padding(reader)?),
            kind::PING => Frame::Ping,
            kind::ACK => Frame::Ack(Ack::read(reader)?),
            kind::HELLO => Frame::Hello(Greeting::read(reader)?),
            kind::WELCOME => Frame::Welcome(Greeting::read(reader)?),
            kind::REFUSE => {
                Frame::Refuse { incarnation: reader.u64()?, reason: RefuseReason::from_byte(reader.u8()?)? }
            }
            kind::RAILS => Frame::Rails(Rails::read(reader)?),
            kind::PROBE => Frame::Probe { nonce: reader.u64()? },
            kind::PROBE_REPLY => Frame::ProbeReply {
                nonce: reader.u64()?,
                path: Path::from_byte(reader.u8()?).ok_or(DropReason::Greeting)?,
                length: reader.u16()?,
            },
            kind::EAGER => Frame::Start(Start::read(reader, true)?),
            kind::REQUEST => Frame::Start(Start::read(reader, false)?),
            kind::DATA => Frame::Data(Data::read(reader)?),
            kind @ kind::GRANT..=kind::BYE => {
                let (position, control) = Control::read(reader, kind)?;
                Frame::Control { position, control }
            }
            _ => return Err(DropReason::FrameType),
        })
    }

    /// Writes the frame without its payload, which will have `len` bytes.
    pub(crate) fn write_head(&self, writer: &mut Writer<'_>, len: usize) -> Result<(), EmitError> {
        match self {
            Frame::Padding(count) => writer.zeros(*count),
            Frame::Ping => writer.u8(kind::PING),
            Frame::Ack(ack) => {
                writer.u8(kind::ACK);
                ack.write(writer)?;
            }
            Frame::Hello(greeting) | Frame::Welcome(greeting) => {
                writer.u8(if matches!(self, Frame::Hello(_)) { kind::HELLO } else { kind::WELCOME });
                greeting.write(writer)?;
            }
            Frame::Refuse { incarnation, reason } => {
                writer.u8(kind::REFUSE);
                writer.u64(*incarnation);
                writer.u8(reason.to_byte());
            }
            Frame::Rails(rails) => {
                writer.u8(kind::RAILS);
                rails.write(writer)?;
            }
            Frame::Probe { nonce } => {
                writer.u8(kind::PROBE);
                writer.u64(*nonce);
            }
            Frame::ProbeReply { nonce, path, length } => {
                writer.u8(kind::PROBE_REPLY);
                writer.u64(*nonce);
                writer.u8(path.to_byte()?);
                writer.u16(*length);
            }
            Frame::Start(start) => start.write_head(writer, len as u64)?,
            Frame::Data(data) => data.write_head(writer, len as u64)?,
            Frame::Control { position, control } => control.write(writer, *position)?,
        }
        Ok(())
    }
}

fn skip_padding(reader: &mut Reader<'_>) -> Result<usize, DropReason> {
    let zeros = reader.rest().iter().take_while(|byte| **byte == kind::PADDING).count();
    reader.bytes(zeros)?;
    Ok(zeros)
}
