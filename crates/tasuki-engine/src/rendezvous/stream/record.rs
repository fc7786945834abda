//! Records of a stream: a head that says what follows, and that many bytes. Their format is in
//! `docs/reference/wire.md`, "Streams".

use tasuki_msg::{Data, MsgSeq, Queue, Start};
use tasuki_tuning::streams;

/// Length of a head, bytes.
pub(super) const HEAD: usize = 32;

/// The first record of bytes that were asked for has so many of them, so that the rest of a long message goes
/// behind two heads and these. The kernel puts what one call sends behind each other, most often from the
/// beginning of a page on; long buffers of programs begin 16 bytes behind the beginning of a page, as the C
/// library maps them; and the instruction by which the kernel copies takes five times as long, on AMD's Zen
/// 5, if the destination's address is beyond the source's by less than 32 bytes in the lowest twelve bits of
/// both. Behind a head alone that is so for the sender of every message, and without one for every receiver.
pub(super) const PULLED_FIRST: u64 = 64;

/// Length of the completion data behind the head of a start, bytes.
pub(super) const START_MORE: usize = 8;

/// Kinds of records.
const DATA: u8 = 1;
const PULLED: u8 = 2;
const START: u8 = 3;

/// Flags of a start: its queue, and what else the frame says.
const QUEUE: u8 = 3;
const HAS_DATA: u8 = 4;
const CHARGED: u8 = 8;
const ACK: u8 = 16;

/// What the bytes of a record are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A piece of a message, as a Data frame has it.
    Data(Data),
    /// So many bytes of what was asked for first and has not come.
    Pulled(u64),
    /// The first frame of a message that goes whole without a grant. Eight bytes of completion data come
    /// before its payload.
    Start(Start),
}

/// A head as it travels, with what belongs to a start.
#[derive(Clone, Copy)]
pub(super) struct Written {
    bytes: [u8; HEAD + START_MORE],
    len: usize,
}

impl Written {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Head {
    /// Bytes that follow the head.
    pub fn len(&self) -> u64 {
        match self {
            Head::Data(data) => data.len,
            Head::Pulled(len) => *len,
            Head::Start(start) => START_MORE as u64 + start.inline,
        }
    }

    /// The head as it travels: kind, flags, two bytes of zero, `u32` length, and three `u64`, little-endian.
    /// No record has 4 GiB.
    pub fn write(&self) -> Written {
        let (kind, flags, fields) = match self {
            Head::Data(data) => (DATA, 0, [data.seq.0, data.offset, data.early]),
            Head::Pulled(_) => (PULLED, 0, [0; 3]),
            Head::Start(start) => (START, flags_of(start), [start.seq.0, start.tag, start.early]),
        };
        let mut bytes = [0; HEAD + START_MORE];
        (bytes[0], bytes[1]) = (kind, flags);
        bytes[4..8].copy_from_slice(&(self.len() as u32).to_le_bytes());
        for (place, field) in bytes[8..HEAD].chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        let Head::Start(start) = self else { return Written { bytes, len: HEAD } };
        bytes[HEAD..].copy_from_slice(&start.data.unwrap_or(0).to_le_bytes());
        Written { bytes, len: HEAD + START_MORE }
    }

    /// Reads a head; `None` if the bytes are none. The completion data of a start are not read yet: it has
    /// some if `data` is `Some`.
    pub fn read(bytes: &[u8; HEAD]) -> Option<Head> {
        let [kind, flags, 0, 0, rest @ ..] = bytes else { return None };
        let (len, rest) = rest.split_first_chunk()?;
        let len = u64::from(u32::from_le_bytes(*len));
        let field = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| rest[8 * at + byte]));
        match (*kind, *flags) {
            _ if len == 0 => None,
            (DATA, 0) => {
                Some(Head::Data(Data { seq: MsgSeq(field(0)), offset: field(1), len, early: field(2) }))
            }
            (PULLED, 0) => Some(Head::Pulled(len)),
            (START, flags) => {
                let inline = len.checked_sub(START_MORE as u64).filter(|len| *len <= streams::STARTS_MAX)?;
                start_of(flags, [field(0), field(1), field(2)], inline).map(Head::Start)
            }
            _ => None,
        }
    }
}

fn flags_of(start: &Start) -> u8 {
    let queue = match start.queue {
        Queue::Msg => 0,
        Queue::Tagged => 1,
        Queue::Internal => 2,
    };
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    queue | flag(start.data.is_some(), HAS_DATA) | flag(start.charged, CHARGED) | flag(start.ack, ACK)
}

/// A start of a message that goes whole, by flags, sequence number, tag and length.
fn start_of(flags: u8, [seq, tag, len]: [u64; 3], inline: u64) -> Option<Start> {
    if flags & !(QUEUE | HAS_DATA | CHARGED | ACK) != 0 {
        return None;
    }
    Some(Start {
        seq: MsgSeq(seq),
        queue: match flags & QUEUE {
            0 => Queue::Msg,
            1 => Queue::Tagged,
            2 => Queue::Internal,
            _ => return None,
        },
        tag,
        data: (flags & HAS_DATA != 0).then_some(0),
        len,
        early: len,
        inline,
        charged: flags & CHARGED != 0,
        ack: flags & ACK != 0,
        remote_key: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_survive_the_wire_and_nonsense_is_refused() {
        let data = Data { seq: MsgSeq(u64::MAX), offset: 3, len: u64::from(u32::MAX), early: 1 << 40 };
        for head in [Head::Data(data), Head::Pulled(1)] {
            assert_eq!(Head::read(head.write().bytes().try_into().unwrap()), Some(head));
        }
        let good: [u8; HEAD] = Head::Pulled(7).write().bytes().try_into().unwrap();
        for (at, byte) in [(0, 0), (0, 4), (1, 1), (2, 1), (4, 0)] {
            let mut bad = good;
            bad[at] = byte;
            assert_eq!(Head::read(&bad), None, "byte {at}");
        }
    }

    #[test]
    fn starts_survive_the_wire() {
        for (bits, queue) in (0..8).zip([Queue::Msg, Queue::Tagged, Queue::Internal].into_iter().cycle()) {
            let start = Start {
                seq: MsgSeq(7),
                queue,
                tag: u64::MAX - 1,
                data: (bits & 1 != 0).then_some(0x0102_0304_0506_0708),
                len: 70_000,
                early: 70_000,
                inline: 1_400,
                charged: bits & 2 != 0,
                ack: bits & 4 != 0,
                remote_key: None,
            };
            let written = Head::Start(start).write();
            let (head, more) = written.bytes().split_first_chunk().unwrap();
            let Some(Head::Start(read)) = Head::read(head) else { panic!("no start") };
            let value = u64::from_le_bytes(more.try_into().unwrap());
            assert_eq!(Start { data: read.data.map(|_| value), ..read }, start);
        }
        let start = Head::read(
            &[3, 3, 0, 0, 9, 0, 0, 0]
                .iter()
                .chain(&[0; 24])
                .copied()
                .collect::<Vec<u8>>()
                .try_into()
                .unwrap(),
        );
        assert_eq!(start, None, "there is no fourth queue");
        let mut start: [u8; HEAD] =
            [3, 0].iter().chain(&[0; 30]).copied().collect::<Vec<u8>>().try_into().unwrap();
        for (len, is_one) in [(streams::STARTS_MAX, true), (streams::STARTS_MAX + 1, false)] {
            start[4..8].copy_from_slice(&(len as u32 + START_MORE as u32).to_le_bytes());
            assert_eq!(
                Head::read(&start).is_some(),
                is_one,
                "{len} bytes, all of which are waited for at once"
            );
        }
    }
}
