//! Frames in shared memory: both ends are one program of one version on one host, so the form is plain and fixed.
//!
//! A record is a head of 64 bytes and the payload. The first record that an endpoint puts into another's segment is its
//! introduction: its own address, and the half of the addressee's secret that proves that it was given the address.

use tasuki_msg::{Data, Epoch, Frame, Mark, MsgSeq, Queue, Start};

use crate::address::Address;

/// Bytes in front of the payload.
pub(crate) const HEAD: usize = 64;

/// Size of an introduction.
pub(crate) const INTRODUCTION: usize = 1 + 8 + Address::LEN;

const INTRODUCE: u8 = 0x7f;

const TAGGED: u8 = 1;
const DATA: u8 = 2;
const KEY: u8 = 4;
const CHARGED: u8 = 8;
const ACK: u8 = 16;
const SERVICE: u8 = 32;

/// Who writes into this ring.
pub(crate) fn introduce(me: &Address, to: &Address, into: &mut [u8]) {
    into[0] = INTRODUCE;
    into[1..9].copy_from_slice(&proof(to));
    into[9..INTRODUCTION].copy_from_slice(&me.to_bytes());
}

/// Reads an introduction to `me`; `None` if it is none, or comes from someone who was not given the address.
pub(crate) fn introduced(me: &Address, record: &[u8]) -> Option<Address> {
    let valid = record.len() == INTRODUCTION && record[0] == INTRODUCE && record[1..9] == proof(me);
    if valid { Address::from_bytes(&record[9..]).ok() } else { None }
}

fn proof(address: &Address) -> [u8; 8] {
    let mut proof = [0; 8];
    proof.copy_from_slice(&address.secret[8..]);
    proof
}

/// Writes a frame's head into the first [`HEAD`] bytes of `into`.
pub(crate) fn write(frame: &Frame, into: &mut [u8]) {
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

fn start_flags(start: &Start) -> u8 {
    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
    bit(start.queue == Queue::Tagged, TAGGED)
        | bit(start.data.is_some(), DATA)
        | bit(start.remote_key.is_some(), KEY)
        | bit(start.charged, CHARGED)
        | bit(start.ack, ACK)
        | bit(start.queue == Queue::Service, SERVICE)
}

/// Reads a record: the frame and its payload. `None` if it is no frame.
pub(crate) fn read(record: &[u8]) -> Option<(Frame, &[u8])> {
    let (head, payload) = record.split_at_checked(HEAD)?;
    let field = |index: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&head[8 + 8 * index..16 + 8 * index]);
        u64::from_le_bytes(bytes)
    };
    let (flags, len) = (head[1], payload.len() as u64);
    let optional = |bit, value| if flags & bit != 0 { Some(value) } else { None };
    let (seq, epoch) = (MsgSeq(field(0)), Epoch(field(0)));
    let mark = |at: usize| Mark { frames: field(at), bytes: field(at + 1) };
    let frame = match head[0] {
        0 => Frame::Start(Start {
            seq,
            queue: match (flags & SERVICE != 0, flags & TAGGED != 0) {
                (true, _) => Queue::Service,
                (false, true) => Queue::Tagged,
                (false, false) => Queue::Msg,
            },
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
    Some((frame, payload))
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
        let frames = [
            Frame::Start(start),
            Frame::Start(Start {
                queue: Queue::Msg,
                data: None,
                remote_key: Some(7),
                charged: false,
                ack: true,
                ..start
            }),
            Frame::Start(Start { queue: Queue::Service, ..start }),
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
            let mut record = vec![0xee; HEAD + frame.payload_len() as usize];
            write(&frame, &mut record);
            assert_eq!(
                read(&record).map(|(frame, payload)| (frame, payload.len() as u64)),
                Some((frame, frame.payload_len()))
            );
        }
        assert_eq!(read(&[0; HEAD - 1]), None);
        assert_eq!(read(&[11; HEAD]), None);
    }
}
