//! Frames of the message layer. Each is delivered once, in whatever packets it travels.

use crate::cursor::{Reader, Writer, var_len};
use crate::drop_reason::DropReason;
use crate::emit_error::EmitError;
use crate::limits::MAX_PACKET_LEN;

const TAGGED: u8 = 1 << 0;
const DATA: u8 = 1 << 1;
const KEY: u8 = 1 << 2;
const CHARGED: u8 = 1 << 3;
const ACK: u8 = 1 << 4;
const INTERNAL: u8 = 1 << 5;
const KNOWN: u8 = TAGGED | DATA | KEY | CHARGED | ACK | INTERNAL;

/// The beginning of a message. On the wire it is an eager frame if the payload is the whole message, a
/// request otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start<'a> {
    /// Position in the order of delivery; a start covers one.
    pub position: u64,
    /// Sequence number among the messages from the sender to the addressee.
    pub seq: u64,
    /// The tag if the message is for a queue with tags, `None` for the untagged queue.
    pub tag: Option<u64>,
    /// The message is for the queue between engines, and has a tag.
    pub internal: bool,
    /// Remote completion data.
    pub data: Option<u64>,
    /// Where the addressee can reach the sender's memory; opaque.
    pub remote_key: Option<u64>,
    /// The sender has spent credit for it.
    pub charged: bool,
    /// The sender waits for `Done`.
    pub ack: bool,
    /// Length of the whole message, bytes.
    pub len: u64,
    /// Bytes that are sent without a grant.
    pub early: u64,
    /// The first of those bytes, which are the payload of this frame.
    pub payload: &'a [u8],
}

impl<'a> Start<'a> {
    /// Most bytes that such a frame takes besides its payload: type, flags, three optional fields, and every
    /// `var` at nine bytes but the payload's length at three.
    pub const HEAD_MAX: usize = 1 + 1 + 9 + 9 + 3 * 8 + 9 + 9 + 3;

    pub(crate) fn read(reader: &mut Reader<'a>, eager: bool) -> Result<Start<'a>, DropReason> {
        let flags = reader.u8()?;
        if flags & !KNOWN != 0 || !has_tag_for_internal(flags & TAGGED != 0, flags & INTERNAL != 0) {
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
        let (charged, ack, internal) = (flags & CHARGED != 0, flags & ACK != 0, flags & INTERNAL != 0);
        Ok(Start { position, seq, tag, internal, data, remote_key, charged, ack, len, early, payload })
    }

    /// Writes the frame without its payload, which will have `inline` bytes.
    pub(crate) fn write_head(&self, writer: &mut Writer<'_>, inline: u64) -> Result<(), EmitError> {
        if !sizes_agree(self.len, self.early, inline)
            || !has_tag_for_internal(self.tag.is_some(), self.internal)
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
            | bit(self.internal, INTERNAL));
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

//= docs/reference/wire.md#start
//# Bit 5 must not be set without bit 0.
fn has_tag_for_internal(tag: bool, internal: bool) -> bool {
    tag || !internal
}

//= docs/reference/wire.md#start
//# inline <= early <= len.
fn sizes_agree(len: u64, early: u64, inline: u64) -> bool {
    inline <= early && early <= len
}

//= docs/reference/wire.md#start
//# In an eager frame the three are the
//# same, given once; a request in which they are the same must not be sent.
fn is_eager(len: u64, early: u64, inline: u64) -> bool {
    len == early && early == inline
}

/// Payload of a message whose start is in another frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// Position of the first byte in the order of delivery; the frame covers one position per byte.
    pub position: u64,
    /// The message's sequence number.
    pub seq: u64,
    /// Offset of the first byte in the message.
    pub offset: u64,
    /// Size of the message's early part if the bytes belong to it, 0 if they were granted.
    pub early: u64,
    /// The bytes, at least one.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    /// Most bytes that such a frame takes besides its payload: type, and every `var` at nine bytes but the
    /// payload's length at three.
    pub const HEAD_MAX: usize = 1 + 4 * 9 + 3;

    /// Most bytes of payload in such a frame if it may take `room` bytes in all; 0 if it does not fit.
    /// `self.payload` does not matter.
    pub fn fit(&self, room: usize) -> usize {
        let vars = [self.position, self.seq, self.offset, self.early];
        let head = 1 + vars.into_iter().map(var_len).sum::<usize>();
        let room = room.min(MAX_PACKET_LEN);
        let Some(mut len) = room.checked_sub(head) else { return 0 };
        // The encoding of the length shrinks with the length, so this takes two or three steps.
        while len > 0 && head + var_len(len as u64) + len > room {
            len -= 1;
        }
        len
    }

    //= docs/reference/wire.md#data
    //# `len` bytes, at least 1, which begin `offset` bytes into message `seq`; offset + len is at most
    //# 2^64 - 1.
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

    /// Writes the frame without its payload, which will have `len` bytes.
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
    /// Number of frames that the message layer counts.
    pub frames: u64,
    /// Payload bytes in data frames.
    pub bytes: u64,
}

/// What message layers tell each other besides messages. Only the message layer knows the meaning.
//= docs/reference/wire.md#control
//# Grants, credits and returns are running totals, of which the largest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Allows the bytes of message `seq` before `upto` to be sent.
    Grant {
        /// The message, in the sequence of the addressee.
        seq: u64,
        /// Running total, bytes.
        upto: u64,
    },
    /// Tells that the sender of message `seq` may forget it.
    Done {
        /// The message, in the sequence of the addressee.
        seq: u64,
    },
    /// Tells the credit given to the addressee so far.
    Credit {
        /// Running total, bytes.
        total: u64,
    },
    /// Asks the addressee to return credit.
    Recall {
        /// Bytes that it may keep.
        keep: u64,
    },
    /// Tells the credit returned unspent so far.
    Return {
        /// Running total, bytes.
        total: u64,
    },
    /// Asks the addressee for silence.
    Quiesce {
        /// Number of the request.
        epoch: u64,
        /// All that the sender has sent.
        mark: Mark,
    },
    /// Answers a request for silence.
    Quiesced {
        /// Number of the request.
        epoch: u64,
        /// All that the sender has sent.
        mark: Mark,
    },
    /// Ends a request for silence.
    Resume {
        /// Number of the request.
        epoch: u64,
    },
    /// Says goodbye.
    Bye {
        /// All that the sender has sent.
        mark: Mark,
    },
}

impl Control {
    /// The type, and the fields behind the position.
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

    /// Reads the position and the content of a frame of type `kind`.
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

/// Reads the position of a frame that covers one position.
//= docs/reference/wire.md#position
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
