//! The messages between a program and the broker. Numbers are little-endian.
//!
//! ```text
//! request  0 "TSKR"  4 version  6 wish  8 endpoint  12 zero  16 bytes of the ring (8)
//!          24 NIC (16, padded with zeros)
//! answer   0 "TSKA"  4 version  6 outcome  8 bytes of a slot  12 slots  16 text, to the end
//! ```

/// Version of both messages.
const VERSION: u16 = 1;
const REQUEST_MAGIC: &[u8; 4] = b"TSKR";
const ANSWER_MAGIC: &[u8; 4] = b"TSKA";

/// Bytes of a request.
pub const REQUEST_BYTES: usize = 40;
/// Bytes of a NIC's name at most (the kernel's `IFNAMSIZ` without the final zero).
pub const NAME_MAX: usize = 15;
/// Bytes of an answer's text at most.
pub const TEXT_MAX: usize = 400;
/// Bytes of an answer without its text.
const ANSWER_BYTES: usize = 16;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A lane.
    Lane,
    /// Only an answer whether there would be a lane.
    Word,
}

/// A program's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What the program asks for.
    pub wish: Wish,
    /// The endpoint's id.
    pub endpoint: u32,
    /// Memory that the receive ring may take at most, in bytes.
    pub ring_bytes: u64,
    /// The NIC.
    pub nic: String,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The request is granted. For a lane the socket comes along with the answer.
    Granted,
    /// The user is not a member of the broker's group.
    NotMember,
    /// The NIC is not one for raw lanes.
    Nic,
    /// The user or the host has all the lanes or memory that the broker may give.
    Budget,
    /// Another process on this host has this endpoint id on this NIC, or another user had it a moment ago.
    EndpointTaken,
    /// The request cannot be read: another version, or no request at all.
    Unreadable,
    /// The kernel refused to open the lane.
    Failed,
}

const OUTCOMES: [Outcome; 7] = [
    Outcome::Granted,
    Outcome::NotMember,
    Outcome::Nic,
    Outcome::Budget,
    Outcome::EndpointTaken,
    Outcome::Unreadable,
    Outcome::Failed,
];

/// The broker's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How the request ended.
    pub outcome: Outcome,
    /// Bytes of a slot of the ring.
    pub slot_bytes: u32,
    /// Slots of the ring.
    pub slots: u32,
    /// Why the request was refused, for people.
    pub text: String,
}

/// A message that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The message comes from another version.
    #[error(
        "it speaks version {theirs} of the broker's protocol, this is version {VERSION}: install the same \
         Tasuki for both"
    )]
    Version {
        /// The other version.
        theirs: u16,
    },
    /// The message is none that this version writes.
    #[error("{0}")]
    Content(&'static str),
}

fn word<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    // Callers have checked the length; beyond the end there are zeros.
    bytes.get(at..at + N).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
}

/// Checks the magic number and the version.
fn check_head(bytes: &[u8], magic: &[u8; 4]) -> Result<(), Malformed> {
    if bytes.get(..4) != Some(magic) {
        return Err(Malformed::Content("it does not begin as a message of the broker's protocol does"));
    }
    let theirs = u16::from_le_bytes(word(bytes, 4));
    if theirs == VERSION { Ok(()) } else { Err(Malformed::Version { theirs }) }
}

impl Request {
    /// The request's bytes. A name that is too long is cut; the broker will not find such a NIC.
    pub fn to_bytes(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        let wish: u16 = match self.wish {
            Wish::Lane => 1,
            Wish::Word => 2,
        };
        let name = &self.nic.as_bytes()[..self.nic.len().min(NAME_MAX)];
        bytes[..4].copy_from_slice(REQUEST_MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[6..8].copy_from_slice(&wish.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.endpoint.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.ring_bytes.to_le_bytes());
        bytes[24..24 + name.len()].copy_from_slice(name);
        bytes
    }

    /// Reads a request.
    pub fn from_bytes(bytes: &[u8]) -> Result<Request, Malformed> {
        check_head(bytes, REQUEST_MAGIC)?;
        if bytes.len() != REQUEST_BYTES {
            return Err(Malformed::Content("a request has another length"));
        }
        let wish = match u16::from_le_bytes(word(bytes, 6)) {
            1 => Wish::Lane,
            2 => Wish::Word,
            _ => return Err(Malformed::Content("it wishes for something unknown")),
        };
        let name = &bytes[24..];
        let len = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let nic =
            str::from_utf8(&name[..len]).map_err(|_| Malformed::Content("the NIC's name is no text"))?;
        if len == 0 || len > NAME_MAX || name[len..].iter().any(|byte| *byte != 0) {
            return Err(Malformed::Content("the NIC's name is empty, too long, or not padded with zeros"));
        }
        Ok(Request {
            wish,
            endpoint: u32::from_le_bytes(word(bytes, 8)),
            ring_bytes: u64::from_le_bytes(word(bytes, 16)),
            nic: nic.to_owned(),
        })
    }
}

impl Answer {
    /// A refusal.
    pub fn refusal(outcome: Outcome, text: impl Into<String>) -> Answer {
        Answer { outcome, slot_bytes: 0, slots: 0, text: text.into() }
    }

    /// The answer's bytes. A text that is too long is cut between characters.
    pub fn to_bytes(&self) -> Vec<u8> {
        let outcome = OUTCOMES.iter().position(|known| *known == self.outcome).unwrap_or(0) as u16;
        let cut = (0..=TEXT_MAX.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at));
        let mut bytes = Vec::with_capacity(ANSWER_BYTES + TEXT_MAX);
        bytes.extend_from_slice(ANSWER_MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&outcome.to_le_bytes());
        bytes.extend_from_slice(&self.slot_bytes.to_le_bytes());
        bytes.extend_from_slice(&self.slots.to_le_bytes());
        bytes.extend_from_slice(&self.text.as_bytes()[..cut.unwrap_or(0)]);
        bytes
    }

    /// Reads an answer.
    pub fn from_bytes(bytes: &[u8]) -> Result<Answer, Malformed> {
        check_head(bytes, ANSWER_MAGIC)?;
        let text = bytes.get(ANSWER_BYTES..).ok_or(Malformed::Content("an answer is longer"))?;
        let outcome = OUTCOMES.get(usize::from(u16::from_le_bytes(word(bytes, 6))));
        Ok(Answer {
            outcome: *outcome.ok_or(Malformed::Content("the answer is an unknown one"))?,
            slot_bytes: u32::from_le_bytes(word(bytes, 8)),
            slots: u32::from_le_bytes(word(bytes, 12)),
            text: String::from_utf8_lossy(text).into_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request { wish: Wish::Lane, endpoint: 0x0403_0201, ring_bytes: 1 << 20, nic: "eth1".into() }
    }

    #[test]
    fn a_request_stands_as_its_table_says() {
        let bytes = request().to_bytes();
        assert_eq!(&bytes[..12], b"TSKR\x01\x00\x01\x00\x01\x02\x03\x04");
        assert_eq!(&bytes[16..28], b"\x00\x00\x10\x00\x00\x00\x00\x00eth1");
        assert_eq!(Request::from_bytes(&bytes).unwrap(), request());
    }

    #[test]
    fn what_is_no_request_is_refused_and_never_panics() {
        let good = request().to_bytes();
        for len in 0..good.len() {
            assert!(Request::from_bytes(&good[..len]).is_err(), "{len} bytes");
        }
        let with = |at: usize, byte: u8| {
            let mut bytes = good;
            bytes[at] = byte;
            Request::from_bytes(&bytes)
        };
        assert_eq!(with(4, 9), Err(Malformed::Version { theirs: 9 }));
        assert!(with(6, 3).is_err());
        assert!(with(24, 0).is_err(), "an empty name with something behind it");
        assert!(with(24, 0xff).is_err(), "no UTF-8");
        assert!(with(39, b'x').is_err(), "something behind the name");
        let long = Request { nic: "abcdefghijklmnop".into(), ..request() };
        assert_eq!(Request::from_bytes(&long.to_bytes()).unwrap().nic, "abcdefghijklmno");
    }

    #[test]
    fn answers_come_back_as_they_were_and_long_texts_are_cut_between_letters() {
        for outcome in OUTCOMES {
            let answer = Answer { outcome, slot_bytes: 2048, slots: 64, text: "why".into() };
            assert_eq!(Answer::from_bytes(&answer.to_bytes()).unwrap(), answer);
        }
        let long = Answer::refusal(Outcome::Failed, "襷".repeat(200));
        let text = Answer::from_bytes(&long.to_bytes()).unwrap().text;
        assert_eq!(text, "襷".repeat(TEXT_MAX / 3));
        assert!(Answer::from_bytes(b"TSKA").is_err());
        assert!(Answer::from_bytes(b"TSKA\x01\x00\x63\x00aaaabbbb").is_err());
    }
}
