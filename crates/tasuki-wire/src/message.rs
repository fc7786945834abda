//! Frames of the message layer: each is delivered once, whatever packets it travels in.

use crate::cursor::{Reader, Writer, var_len};
use crate::drop_reason::DropReason;
use crate::emit_error::EmitError;
use crate::limits::MAX_PACKET_LEN;

const TAGGED: u8 = 1 << 0;
const DATA: u8 = 1 << 1;
const KEY: u8 = 1 << 2;
const CHARGED: u8 = 1 << 3;
const ACK: u8 = 1 << 4;
const SERVICE: u8 = 1 << 5;
const KNOWN: u8 = TAGGED | DATA | KEY | CHARGED | ACK | SERVICE;

/// A message begins. On the wire an eager frame if the payload is all of it, a request otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start<'a> {
    /// Position in the order of delivery; a start covers one.
    pub position: u64,
    /// Place in the sequence of messages from the sender to the addressee.
    pub seq: u64,
    /// The tag if it is for the tagged or the service queue, `None` for the untagged one.
    pub tag: Option<u64>,
    /// It is for the service queue, and has a tag.
    pub service: bool,
    /// Remote completion data.
    pub data: Option<u64>,
    /// Where the addressee can reach the sender's memory; opaque.
    pub remote_key: Option<u64>,
    /// The sender has spent credit for it.
    pub charged: bool,
    /// The sender waits for done.
    pub ack: bool,
    /// Length of the whole message, bytes.
    pub len: u64,
    /// Bytes that are sent without asking.
    pub early: u64,
    /// The first of those: the payload of this frame.
    pub payload: &'a [u8],
}

impl<'a> Start<'a> {
    /// Bytes that such a frame takes at most besides its payload: type, flags, three optional fields, and every
    /// `var` at nine bytes but the payload's length at three.
    pub const HEAD_MAX: usize = 1 + 1 + 9 + 9 + 3 * 8 + 9 + 9 + 3;

    pub(crate) fn read(reader: &mut Reader<'a>, eager: bool) -> Result<Start<'a>, DropReason> {
        let flags = reader.u8()?;
        if flags & !KNOWN != 0 || !has_tag_for_service(flags & TAGGED != 0, flags & SERVICE != 0) {
            return Err(DropReason::Start);
        }
        let position = read_position(reader)?;
        let seq = reader.var()?;
        let mut optional = |bit| if flags & bit != 0 { reader.u64().map(Some) } else { Ok(None) };
        let (tag, data, remote_key) = (optional(TAGGED)?, optional(DATA)?, optional(KEY)?);
        let len = reader.var()?;
        let (early, inline) = if eager { (len, len) } else { (reader.var()?, reader.var()?) };
        if !sizes_agree(len, early, inline) || (!eager && is_eager(len, early, inline)) {
            return Err(DropReason::Start);
        }
        let payload = reader.bytes_u64(inline)?;
        let (charged, ack, service) = (flags & CHARGED != 0, flags & ACK != 0, flags & SERVICE != 0);
        Ok(Start { position, seq, tag, service, data, remote_key, charged, ack, len, early, payload })
    }

    /// All but the payload, of which there will be `inline` bytes.
    pub(crate) fn write_head(&self, writer: &mut Writer<'_>, inline: u64) -> Result<(), EmitError> {
        if !sizes_agree(self.len, self.early, inline)
            || !has_tag_for_service(self.tag.is_some(), self.service)
        {
            return Err(EmitError::Start);
        }
        let eager = is_eager(self.len, self.early, inline);
        writer.u8(if eager { crate::frame::kind::EAGER } else { crate::frame::kind::REQUEST });
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        writer.u8(bit(self.tag.is_some(), TAGGED)
            | bit(self.data.is_some(), DATA)
            | bit(self.remote_key.is_some(), KEY)
            | bit(self.charged, CHARGED)
            | bit(self.ack, ACK)
            | bit(self.service, SERVICE));
        write_position(writer, self.position, 1)?;
        writer.var(self.seq);
        for field in [self.tag, self.data, self.remote_key].into_iter().flatten() {
            writer.u64(field);
        }
        writer.var(self.len);
        if !eager {
            writer.var(self.early);
            writer.var(inline);
        }
        Ok(())
    }
}

//= docs/wire.md#start
//# Bit 5 must not be set without bit 0.
fn has_tag_for_service(tag: bool, service: bool) -> bool {
    tag || !service
}

//= docs/wire.md#start
//# inline <= early <= len.
fn sizes_agree(len: u64, early: u64, inline: u64) -> bool {
    inline <= early && early <= len
}

//= docs/wire.md#start
//# In an eager frame the three are the
//# same, given once; a request in which they are the same must not be sent.
fn is_eager(len: u64, early: u64, inline: u64) -> bool {
    len == early && early == inline
}

/// Payload of a message that has its start in another frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// Position of the first byte in the order of delivery; the frame covers as many as it has bytes.
    pub position: u64,
    /// The message.
    pub seq: u64,
    /// Place of the first byte in the message.
    pub offset: u64,
    /// Size of the message's early part if the bytes belong to it, 0 if they were granted.
    pub early: u64,
    /// The bytes, at least one.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    /// Bytes that such a frame takes at most besides its payload: type, and every `var` at nine bytes but the
    /// payload's length at three.
    pub const HEAD_MAX: usize = 1 + 4 * 9 + 3;

    /// Bytes of payload that such a frame can carry if it may take `room` bytes in all; 0 if it does not fit.
    /// `self.payload` does not matter.
    pub fn fit(&self, room: usize) -> usize {
        let vars = [self.position, self.seq, self.offset, self.early];
        let head = 1 + vars.into_iter().map(var_len).sum::<usize>();
        let room = room.min(MAX_PACKET_LEN);
        let Some(mut len) = room.checked_sub(head) else { return 0 };
        // The length's own size shrinks with the length: two or three steps.
        while len > 0 && head + var_len(len as u64) + len > room {
            len -= 1;
        }
        len
    }

    //= docs/wire.md#data
    //# `len` bytes, at least 1, which begin `offset` bytes into message `seq`; offset + len is at most 2^64 - 1.
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Data<'a>, DropReason> {
        let (position, seq, offset, early) = (reader.var()?, reader.var()?, reader.var()?, reader.var()?);
        let len = reader.var()?;
        if len == 0 || offset.checked_add(len).is_none() {
            return Err(DropReason::Data);
        }
        if position.checked_add(len).is_none() {
            return Err(DropReason::Position);
        }
        Ok(Data { position, seq, offset, early, payload: reader.bytes_u64(len)? })
    }

    /// All but the payload, of which there will be `len` bytes.
    pub(crate) fn write_head(&self, writer: &mut Writer<'_>, len: u64) -> Result<(), EmitError> {
        if len == 0 || self.offset.checked_add(len).is_none() {
            return Err(EmitError::Data);
        }
        writer.u8(crate::frame::kind::DATA);
        write_position(writer, self.position, len)?;
        writer.var(self.seq);
        writer.var(self.offset);
        writer.var(self.early);
        writer.var(len);
        Ok(())
    }
}

/// Totals of what the sender has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Frames that the message layer counts.
    pub frames: u64,
    /// Payload bytes in data frames.
    pub bytes: u64,
}

/// What the message layers tell each other besides messages. Their meaning is the message layer's.
//= docs/wire.md#control
//# Grants, credits and returns are running totals, of which the largest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Bytes up to `upto` of message `seq` may come.
    Grant {
        /// The message, in the sequence of the addressee.
        seq: u64,
        /// Running total, bytes.
        upto: u64,
    },
    /// Message `seq` may be forgotten by its sender.
    Done {
        /// The message, in the sequence of the addressee.
        seq: u64,
    },
    /// Credit given to the addressee.
    Credit {
        /// Running total, bytes.
        total: u64,
    },
    /// The addressee is asked to return credit.
    Recall {
        /// Bytes that it may keep.
        keep: u64,
    },
    /// Credit returned unspent.
    Return {
        /// Running total, bytes.
        total: u64,
    },
    /// The addressee is asked to fall silent.
    Quiesce {
        /// Number of the request.
        epoch: u64,
        /// All that the sender has sent.
        mark: Mark,
    },
    /// The answer to quiesce.
    Quiesced {
        /// Number of the request.
        epoch: u64,
        /// All that the sender has sent.
        mark: Mark,
    },
    /// The request is over.
    Resume {
        /// Number of the request.
        epoch: u64,
    },
    /// The sender leaves.
    Bye {
        /// All that the sender has sent.
        mark: Mark,
    },
}

impl Control {
    /// Type, and the fields behind the position.
    fn fields(&self) -> (u8, [Option<u64>; 3]) {
        use crate::frame::kind;
        match *self {
            Control::Grant { seq, upto } => (kind::GRANT, [Some(seq), Some(upto), None]),
            Control::Done { seq } => (kind::DONE, [Some(seq), None, None]),
            Control::Credit { total } => (kind::CREDIT, [Some(total), None, None]),
            Control::Recall { keep } => (kind::RECALL, [Some(keep), None, None]),
            Control::Return { total } => (kind::RETURN, [Some(total), None, None]),
            Control::Quiesce { epoch, mark } => {
                (kind::QUIESCE, [Some(epoch), Some(mark.frames), Some(mark.bytes)])
            }
            Control::Quiesced { epoch, mark } => {
                (kind::QUIESCED, [Some(epoch), Some(mark.frames), Some(mark.bytes)])
            }
            Control::Resume { epoch } => (kind::RESUME, [Some(epoch), None, None]),
            Control::Bye { mark } => (kind::BYE, [Some(mark.frames), Some(mark.bytes), None]),
        }
    }

    /// Position and content of a frame of type `kind`.
    pub(crate) fn read(reader: &mut Reader<'_>, kind: u8) -> Result<(u64, Control), DropReason> {
        use crate::frame::kind;
        let position = read_position(reader)?;
        let mut var = || reader.var();
        let control = match kind {
            kind::GRANT => Control::Grant { seq: var()?, upto: var()? },
            kind::DONE => Control::Done { seq: var()? },
            kind::CREDIT => Control::Credit { total: var()? },
            kind::RECALL => Control::Recall { keep: var()? },
            kind::RETURN => Control::Return { total: var()? },
            kind::QUIESCE => Control::Quiesce { epoch: var()?, mark: Mark { frames: var()?, bytes: var()? } },
            kind::QUIESCED => {
                Control::Quiesced { epoch: var()?, mark: Mark { frames: var()?, bytes: var()? } }
            }
            kind::RESUME => Control::Resume { epoch: var()? },
            kind::BYE => Control::Bye { mark: Mark { frames: var()?, bytes: var()? } },
            _ => return Err(DropReason::FrameType),
        };
        Ok((position, control))
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>, position: u64) -> Result<(), EmitError> {
        let (kind, fields) = self.fields();
        writer.u8(kind);
        write_position(writer, position, 1)?;
        fields.into_iter().flatten().for_each(|field| writer.var(field));
        Ok(())
    }
}

/// The position of a frame that covers one.
//= docs/wire.md#position
//# The end of what a frame covers
//# is at most 2^64 - 1.
fn read_position(reader: &mut Reader<'_>) -> Result<u64, DropReason> {
    let position = reader.var()?;
    if position == u64::MAX { Err(DropReason::Position) } else { Ok(position) }
}

fn write_position(writer: &mut Writer<'_>, position: u64, covered: u64) -> Result<(), EmitError> {
    position.checked_add(covered).ok_or(EmitError::Position)?;
    writer.var(position);
    Ok(())
}
