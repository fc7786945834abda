//! The format of frames in shared memory. Both ends run the same version on the same host, so the format is
//! plain and fixed.
//!
//! A record is a head and the payload. The head of a whole message is short, so that up to 32 bytes of
//! payload cross in one cache line; every other frame has a head of 64 bytes. `control.rs` has
//! the records that are no frames.

use tasuki_msg::{Data, Epoch, Frame, Mark, MsgSeq, Queue, Start};
use tasuki_ring::SHORT as CACHE_LINE;

/// Size of the longest head, bytes.
pub(super) const HEAD: usize = 64;

/// Size of the head of a whole message, bytes: kind, flags and sequence number in one word, then the tag.
const SHORT: usize = 16;
/// Size of the head of a whole message with remote completion data, bytes.
const SHORT_WITH_DATA: usize = 24;
/// Most payload of a message that crosses in one cache line, bytes, whichever of the two short heads it has.
pub(super) const INLINE_PAYLOAD: usize = CACHE_LINE - SHORT_WITH_DATA;

/// Kind of a whole message. (Frames with a long head have the kinds from 0 to 10.)
const WHOLE: u8 = 11;
/// Largest sequence number that fits into a short head, which has 48 bits for it.
const SHORT_SEQ: u64 = (1 << 48) - 1;

const TAGGED: u8 = 1;
const DATA: u8 = 2;
const KEY: u8 = 4;
const CHARGED: u8 = 8;
const ACK: u8 = 16;
const INTERNAL: u8 = 32;

/// Size of the head in front of a frame's payload, bytes.
pub(super) fn head(frame: &Frame) -> usize {
    if let Frame::Start(start) = frame { start_head(start) } else { HEAD }
}

/// Size of the head of a message's first frame, bytes.
pub(super) fn start_head(start: &Start) -> usize {
    if is_short(start) { short_head(start.data.is_some()) } else { HEAD }
}

#[inline(always)]
fn is_short(start: &Start) -> bool {
    start.inline == start.len
        && start.early == start.len
        && start.charged
        && !start.ack
        && start.remote_key.is_none()
        && start.seq.0 <= SHORT_SEQ
}

#[inline(always)]
fn short_head(data: bool) -> usize {
    if data { SHORT_WITH_DATA } else { SHORT }
}

/// Writes a frame's head, which has [`head`] bytes.
pub(super) fn write(frame: &Frame, into: &mut [u8]) {
    if let Frame::Start(start) = frame { write_start(start, into) } else { write_long(frame, into) }
}

/// Writes the head of a message's first frame, which has [`start_head`] bytes.
pub(super) fn write_start(start: &Start, into: &mut [u8]) {
    if is_short(start) { write_whole(start, into) } else { write_long(&Frame::Start(*start), into) }
}

/// Size of the head of a message that fits into one cache line, bytes; `None`: its head is a long one.
#[inline(always)]
pub(super) fn line_head(start: &Start) -> Option<usize> {
    (is_short(start) && start.len <= INLINE_PAYLOAD as u64).then(|| short_head(start.data.is_some()))
}

/// Reads a whole message from a record of one cache line, `len` bytes long, of which `word` gives the words.
/// Gives the size of the head too. `None`: the record is something else.
#[inline(always)]
pub(super) fn read_line(word: impl Fn(usize) -> u64, len: usize) -> Option<(Start, usize)> {
    let first = word(0);
    let data = ((first >> 8) as u8 & DATA != 0).then(|| word(2));
    let head = short_head(data.is_some());
    if first as u8 != WHOLE || len < head {
        return None;
    }
    Some((whole(first, word(1), data, (len - head) as u64), head))
}

/// Writes the short head of a whole message.
#[inline(always)]
pub(super) fn write_whole(start: &Start, into: &mut [u8]) {
    let first = u64::from(WHOLE) | u64::from(start_flags(start)) << 8 | start.seq.0 << 16;
    into[..8].copy_from_slice(&first.to_le_bytes());
    into[8..SHORT].copy_from_slice(&start.tag.to_le_bytes());
    if let Some(data) = start.data {
        into[SHORT..SHORT_WITH_DATA].copy_from_slice(&data.to_le_bytes());
    }
}

fn read_short(head: &[u8], len: usize) -> Option<(Frame, usize)> {
    let first = word(head, 0)?;
    let flags = (first >> 8) as u8;
    let data = if flags & DATA != 0 { Some(word(head, 2)?) } else { None };
    let (tag, size) = (word(head, 1)?, short_head(data.is_some()));
    Some((Frame::Start(whole(first, tag, data, (len - size) as u64)), size))
}

/// The message that a short head describes, of which `first` is the first word.
#[inline(always)]
fn whole(first: u64, tag: u64, data: Option<u64>, len: u64) -> Start {
    Start {
        seq: MsgSeq(first >> 16),
        queue: queue((first >> 8) as u8),
        tag,
        data,
        len,
        early: len,
        inline: len,
        charged: true,
        ack: false,
        remote_key: None,
    }
}

/// The little-endian word at `index` of a record; `None` if the record is too short.
#[inline(always)]
pub(super) fn word(record: &[u8], index: usize) -> Option<u64> {
    let bytes = record.get(8 * index..8 * index + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

#[inline(always)]
fn queue(flags: u8) -> Queue {
    match (flags & INTERNAL != 0, flags & TAGGED != 0) {
        (true, _) => Queue::Internal,
        (false, true) => Queue::Tagged,
        (false, false) => Queue::Msg,
    }
}

fn write_long(frame: &Frame, into: &mut [u8]) {
    let mut fields = [0u64; 7];
    let (kind, flags) = match frame {
        Frame::Start(start) => {
            fields = [
                start.seq.0,
                start.tag,
                start.data.unwrap_or(0),
                start.len,
                start.early,
                start.remote_key.unwrap_or(0),
                0,
            ];
            (0, start_flags(start))
        }
        Frame::Data(data) => {
            fields[..3].copy_from_slice(&[data.seq.0, data.offset, data.early]);
            (1, 0)
        }
        Frame::Grant { seq, upto } => plain(&mut fields, 2, [seq.0, *upto, 0]),
        Frame::Done { seq } => plain(&mut fields, 3, [seq.0, 0, 0]),
        Frame::Credit { total } => plain(&mut fields, 4, [*total, 0, 0]),
        Frame::Recall { keep } => plain(&mut fields, 5, [*keep, 0, 0]),
        Frame::Return { total } => plain(&mut fields, 6, [*total, 0, 0]),
        Frame::Quiesce { epoch, mark } => plain(&mut fields, 7, [epoch.0, mark.frames, mark.bytes]),
        Frame::Quiesced { epoch, mark } => plain(&mut fields, 8, [epoch.0, mark.frames, mark.bytes]),
        Frame::Resume { epoch } => plain(&mut fields, 9, [epoch.0, 0, 0]),
        Frame::Bye { mark } => plain(&mut fields, 10, [mark.frames, mark.bytes, 0]),
    };
    into[..8].copy_from_slice(&[kind, flags, 0, 0, 0, 0, 0, 0]);
    for (place, field) in into[8..HEAD].chunks_exact_mut(8).zip(fields) {
        place.copy_from_slice(&field.to_le_bytes());
    }
}

fn plain(fields: &mut [u64; 7], kind: u8, values: [u64; 3]) -> (u8, u8) {
    fields[..3].copy_from_slice(&values);
    (kind, 0)
}

#[inline(always)]
fn start_flags(start: &Start) -> u8 {
    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
    bit(start.queue == Queue::Tagged, TAGGED)
        | bit(start.data.is_some(), DATA)
        | bit(start.remote_key.is_some(), KEY)
        | bit(start.charged, CHARGED)
        | bit(start.ack, ACK)
        | bit(start.queue == Queue::Internal, INTERNAL)
}

/// Reads a record of `record_len` bytes, of which `head` are the first, [`HEAD`] of them if there are so
/// many: the frame and the size of its head. `None` if the record is no frame.
pub(super) fn read(head: &[u8], record_len: usize) -> Option<(Frame, usize)> {
    if head.first() == Some(&WHOLE) {
        return read_short(head, record_len);
    }
    let head = head.get(..HEAD)?;
    let field = |index: usize| word(head, 1 + index).unwrap_or(0);
    let (flags, len) = (head[1], record_len.checked_sub(HEAD)? as u64);
    let optional = |bit, value| if flags & bit != 0 { Some(value) } else { None };
    let (seq, epoch) = (MsgSeq(field(0)), Epoch(field(0)));
    let mark = |at: usize| Mark { frames: field(at), bytes: field(at + 1) };
    let frame = match head[0] {
        0 => Frame::Start(Start {
            seq,
            queue: queue(flags),
            tag: field(1),
            data: optional(DATA, field(2)),
            len: field(3),
            early: field(4),
            inline: len,
            charged: flags & CHARGED != 0,
            ack: flags & ACK != 0,
            remote_key: optional(KEY, field(5)),
        }),
        1 => Frame::Data(Data { seq, offset: field(1), len, early: field(2) }),
        2 => Frame::Grant { seq, upto: field(1) },
        3 => Frame::Done { seq },
        4 => Frame::Credit { total: field(0) },
        5 => Frame::Recall { keep: field(0) },
        6 => Frame::Return { total: field(0) },
        7 => Frame::Quiesce { epoch, mark: mark(1) },
        8 => Frame::Quiesced { epoch, mark: mark(1) },
        9 => Frame::Resume { epoch },
        10 => Frame::Bye { mark: mark(0) },
        _ => return None,
    };
    Some((frame, HEAD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_comes_back() {
        let start = Start {
            seq: MsgSeq(1),
            queue: Queue::Tagged,
            tag: 2,
            data: Some(3),
            len: 100,
            early: 50,
            inline: 4,
            charged: true,
            ack: false,
            remote_key: None,
        };
        let mark = Mark { frames: 8, bytes: 9 };
        let whole = Start { len: 4, early: 4, ..start };
        let frames = [
            Frame::Start(start),
            Frame::Start(whole),
            Frame::Start(Start { data: None, seq: MsgSeq(SHORT_SEQ), ..whole }),
            Frame::Start(Start { seq: MsgSeq(SHORT_SEQ + 1), ..whole }),
            Frame::Start(Start { queue: Queue::Internal, ack: true, ..whole }),
            Frame::Start(Start { queue: Queue::Msg, remote_key: Some(1), ..whole }),
            Frame::Start(Start { len: 0, early: 0, inline: 0, ..whole }),
            Frame::Start(Start {
                queue: Queue::Msg,
                data: None,
                remote_key: Some(7),
                charged: false,
                ack: true,
                ..start
            }),
            Frame::Start(Start { queue: Queue::Internal, ..start }),
            Frame::Data(Data { seq: MsgSeq(5), offset: 6, len: 4, early: 7 }),
            Frame::Grant { seq: MsgSeq(1), upto: 2 },
            Frame::Done { seq: MsgSeq(3) },
            Frame::Credit { total: 4 },
            Frame::Recall { keep: 5 },
            Frame::Return { total: 6 },
            Frame::Quiesce { epoch: Epoch(1), mark },
            Frame::Quiesced { epoch: Epoch(2), mark },
            Frame::Resume { epoch: Epoch(3) },
            Frame::Bye { mark },
        ];
        for frame in frames {
            let mut record = vec![0xee; head(&frame) + frame.payload_len() as usize];
            write(&frame, &mut record);
            let first = &record[..record.len().min(HEAD)];
            assert_eq!(read(first, record.len()), Some((frame, head(&frame))));
        }
        let read = |record: &[u8]| super::read(record, record.len());
        assert_eq!(read(&[0; HEAD - 1]), None);
        assert_eq!(read(&[12; HEAD]), None);
        assert_eq!(read(&[WHOLE; SHORT - 1]), None);
        assert_eq!(read(&[WHOLE | DATA; SHORT_WITH_DATA - 1]), None, "flags say that there is data");
        assert_eq!(read(&[]), None);
    }
}
