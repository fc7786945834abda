//! Emitting packets: frames are written one behind the other into the caller's buffer, and the header at the
//! end.

use crate::auth::PacketKey;
use crate::cursor::Writer;
use crate::emit_error::EmitError;
use crate::frame::Frame;
use crate::header::{CHECKSUM_OFFSET, FLAG_TAG, FLAGS_OFFSET, Header, checksum};
use crate::limits::{HEADER_LEN, MAX_PACKET_LEN, TAG_LEN};

/// A packet under construction, in a buffer of the caller whose size is the largest packet of the rail.
///
/// ```
/// use tasuki_wire::{Control, Frame, Header, Lane, Packet, PacketBuilder, Path};
///
/// let header = Header {
///     path: Path { rail: 2, lane: Lane::Udp }, number: 7, endpoint: 1, peer: 5, token: 0x1234,
/// };
/// let mut buffer = [0; 1472];
/// let mut builder = PacketBuilder::new(&mut buffer, header)?;
/// builder.push(&Frame::Control { position: 40, control: Control::Done { seq: 3 } })?;
/// let length = builder.finish()?;
///
/// let packet = Packet::parse(&buffer[..length]).unwrap();
/// assert_eq!(packet.header(), &header);
/// assert_eq!(packet.frames().count(), 1);
/// # Ok::<(), tasuki_wire::EmitError>(())
/// ```
#[derive(Debug)]
pub struct PacketBuilder<'a> {
    buffer: &'a mut [u8],
    header: Header,
    len: usize,
    /// Bytes that are kept free for the tag: [`TAG_LEN`], or 0 if the packet gets none.
    tail: usize,
}

impl<'a> PacketBuilder<'a> {
    /// Begins a packet. Fails if the header cannot be sent or the buffer cannot hold it.
    pub fn new(buffer: &'a mut [u8], header: Header) -> Result<PacketBuilder<'a>, EmitError> {
        let size = buffer.len().min(MAX_PACKET_LEN);
        let buffer = &mut buffer[..size];
        if buffer.len() < HEADER_LEN {
            return Err(EmitError::Buffer);
        }
        header.check()?;
        Ok(PacketBuilder { buffer, header, len: HEADER_LEN, tail: 0 })
    }

    /// Keeps room for a tag: the packet is to be completed by [`PacketBuilder::finish_tagged`]. Fails if the
    /// buffer cannot hold header and tag.
    pub fn with_tag(mut self) -> Result<PacketBuilder<'a>, EmitError> {
        if self.buffer.len() < self.len + TAG_LEN {
            return Err(EmitError::Buffer);
        }
        self.tail = TAG_LEN;
        Ok(self)
    }

    /// Bytes that are left for frames.
    pub fn room(&self) -> usize {
        self.buffer.len() - self.len - self.tail
    }

    /// Bytes of the packet so far, header and tag included.
    pub fn len(&self) -> usize {
        self.len + self.tail
    }

    /// Whether the packet has no frame yet.
    pub fn is_empty(&self) -> bool {
        self.len == HEADER_LEN
    }

    /// Adds a frame and copies its payload.
    pub fn push(&mut self, frame: &Frame<'_>) -> Result<(), EmitError> {
        let payload = frame.payload();
        self.reserve(frame, payload.len())?.copy_from_slice(payload);
        Ok(())
    }

    /// Adds a start or data frame and returns the place of its `len` bytes of payload, which the caller must
    /// fill before `finish`: so payload that lies in several pieces is copied only once. `frame`'s own
    /// payload does not matter. For other frames `len` must be 0, and the place is empty.
    pub fn reserve(&mut self, frame: &Frame<'_>, len: usize) -> Result<&mut [u8], EmitError> {
        self.check_place(frame)?;
        let len = if matches!(frame, Frame::Start(_) | Frame::Data(_)) { len } else { 0 };
        let room = self.room();
        let place = &mut self.buffer[self.len..];
        let mut writer = Writer::new(place);
        // The writer only counts what does not fit. What is written beyond `self.len` is not part of the
        // packet before that has grown.
        frame.write_head(&mut writer, len)?;
        let head = writer.len();
        let need = head.saturating_add(len);
        if need > room {
            return Err(EmitError::Full { need, room });
        }
        self.len += need;
        Ok(&mut place[head..need])
    }

    /// Fills the packet up with padding to `len` bytes, header and tag included; has no effect if it is
    /// that long already.
    pub fn pad_to(&mut self, len: usize) -> Result<(), EmitError> {
        match len.saturating_sub(self.len()) {
            0 => Ok(()),
            missing => self.push(&Frame::Padding(missing)),
        }
    }

    /// Completes the packet, whose tag is made with this key, and returns its length, bytes.
    pub fn finish_tagged(self, key: &PacketKey) -> Result<usize, EmitError> {
        self.complete(Some(key))
    }

    /// Completes the packet, without a tag, and returns its length, bytes.
    pub fn finish(self) -> Result<usize, EmitError> {
        self.complete(None)
    }

    #[inline(always)]
    fn complete(self, key: Option<&PacketKey>) -> Result<usize, EmitError> {
        if self.is_empty() {
            return Err(EmitError::Empty);
        }
        let len = self.len + if key.is_some() { TAG_LEN } else { 0 };
        let packet = self.buffer.get_mut(..len).ok_or(EmitError::Buffer)?;
        let head = packet.first_chunk_mut().ok_or(EmitError::Buffer)?;
        // The length fits into a u16, because `new` has bounded the buffer by MAX_PACKET_LEN.
        self.header.write(head, len as u16)?;
        if let Some(key) = key {
            packet[FLAGS_OFFSET] |= FLAG_TAG;
            let (untagged, tag) = packet.split_at_mut(self.len);
            tag.copy_from_slice(&key.tag(untagged));
        }
        let sum = checksum(packet).to_le_bytes();
        packet[CHECKSUM_OFFSET..HEADER_LEN].copy_from_slice(&sum);
        Ok(len)
    }

    //= docs/reference/wire.md#greeting
    //# A packet whose `peer` is 0 begins with a hello, and a hello is
    //# nowhere else.
    fn check_place(&self, frame: &Frame<'_>) -> Result<(), EmitError> {
        let hello = matches!(frame, Frame::Hello(_));
        let wanted = self.is_empty() && self.header.peer == 0;
        if hello == wanted { Ok(()) } else { Err(EmitError::Handshake) }
    }
}
