//! Generic netlink (include/uapi/linux/genetlink.h), as much of it as a family needs whose attributes are
//! numbers. The messages themselves are `netlink-packet-core`'s. `netlink-packet-generic` would add the four
//! bytes of a header, and a parser that rejects a family which has an attribute unknown to it.

use crate::conversation::Conversation;
use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NLM_F_ACK, NLM_F_DUMP, NetlinkDeserializable,
    NetlinkHeader, NetlinkPayload, NetlinkSerializable, Nla, NlasIterator, Parseable,
};
use netlink_sys::protocols::NETLINK_GENERIC;
use std::io;

/// Number of the family that lists all others (`GENL_ID_CTRL`).
const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// Bytes of `genlmsghdr`: command, version, two reserved.
const HEAD: usize = 4;

/// The attributes of a message.
#[derive(Clone, Debug, Default)]
pub struct Attributes(Vec<DefaultNla>);

impl Attributes {
    fn with(mut self, kind: u16, value: &[u8]) -> Self {
        self.0.push(DefaultNla::new(kind, value.to_vec()));
        self
    }

    /// Adds an attribute of 32 bits.
    pub fn word(self, kind: u16, value: u32) -> Self {
        self.with(kind, &value.to_ne_bytes())
    }

    /// Adds an attribute of 64 bits.
    pub fn long(self, kind: u16, value: u64) -> Self {
        self.with(kind, &value.to_ne_bytes())
    }

    /// Adds an attribute that holds other attributes.
    pub fn nest(self, kind: u16, others: &Attributes) -> Self {
        let mut bytes = vec![0; others.0.as_slice().buffer_len()];
        others.0.as_slice().emit(&mut bytes);
        self.with(kind | NLA_F_NESTED, &bytes)
    }

    /// The number in an attribute of 8, 16, 32 or 64 bits.
    pub fn number(&self, wanted: u16) -> Option<u64> {
        let attribute = self.0.iter().find(|attribute| attribute.kind() == wanted)?;
        let mut value = vec![0; attribute.value_len()];
        attribute.emit_value(&mut value);
        match value[..] {
            [a] => Some(a.into()),
            [a, b] => Some(u16::from_ne_bytes([a, b]).into()),
            [a, b, c, d] => Some(u32::from_ne_bytes([a, b, c, d]).into()),
            _ => Some(u64::from_ne_bytes(value.try_into().ok()?)),
        }
    }
}

/// A message to or from a family.
#[derive(Debug)]
struct Message {
    family: u16,
    command: u8,
    attributes: Attributes,
}

impl NetlinkSerializable for Message {
    fn message_type(&self) -> u16 {
        self.family
    }

    fn buffer_len(&self) -> usize {
        HEAD + self.attributes.0.as_slice().buffer_len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..HEAD].copy_from_slice(&[self.command, 1, 0, 0]);
        self.attributes.0.as_slice().emit(&mut buffer[HEAD..]);
    }
}

impl NetlinkDeserializable for Message {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        let (head, rest) = payload.split_at_checked(HEAD).ok_or("a generic message without its header")?;
        let attributes = NlasIterator::new(rest).map(|attribute| DefaultNla::parse(&attribute?));
        let attributes = Attributes(attributes.collect::<Result<_, _>>()?);
        Ok(Self { family: header.message_type, command: head[0], attributes })
    }
}

impl From<Message> for NetlinkPayload<Message> {
    fn from(message: Message) -> Self {
        NetlinkPayload::InnerMessage(message)
    }
}

/// A socket that talks with one family.
pub struct Generic {
    conversation: Conversation,
    family: u16,
}

impl Generic {
    /// Opens a socket in the calling thread's network namespace. `None`: the kernel does not have the family.
    pub fn open(family: &str) -> io::Result<Option<Self>> {
        let mut generic = Self { conversation: Conversation::open(NETLINK_GENERIC)?, family: CONTROLLER };
        let name = Attributes::default().with(FAMILY_NAME, format!("{family}\0").as_bytes());
        let answers = match generic.transact(GET_FAMILY, NLM_F_ACK, name) {
            Ok(answers) => answers,
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(id) = answers.iter().find_map(|answer| answer.number(FAMILY_ID)) else { return Ok(None) };
        generic.family = id as u16;
        Ok(Some(generic))
    }

    /// Requests one object.
    pub fn get(&mut self, command: u8, attributes: Attributes) -> io::Result<Option<Attributes>> {
        Ok(self.transact(command, NLM_F_ACK, attributes)?.pop())
    }

    /// Requests all objects that match the attributes.
    pub fn dump(&mut self, command: u8, attributes: Attributes) -> io::Result<Vec<Attributes>> {
        self.transact(command, NLM_F_DUMP, attributes)
    }

    /// Requests a change.
    pub fn change(&mut self, command: u8, attributes: Attributes) -> io::Result<()> {
        self.transact(command, NLM_F_ACK, attributes).map(|_| ())
    }

    fn transact(&mut self, command: u8, flags: u16, attributes: Attributes) -> io::Result<Vec<Attributes>> {
        let message = Message { family: self.family, command, attributes };
        let answers = self.conversation.transact(message, flags)?;
        Ok(answers.into_iter().map(|answer| answer.attributes).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_laid_out_as_the_kernel_reads_them() {
        let attributes = Attributes::default().with(2, b"ab\0").word(5, 7).long(6, 1 << 40);
        assert_eq!((attributes.number(5), attributes.number(6)), (Some(7), Some(1 << 40)));
        assert_eq!((attributes.number(9), attributes.number(2)), (None, None));
        let message = Message { family: 30, command: 3, attributes };
        let mut bytes = vec![0xff; message.buffer_len()];
        message.serialize(&mut bytes);
        assert_eq!(bytes[..12], [3, 1, 0, 0, 7, 0, 2, 0, b'a', b'b', 0, 0]);
        let again = Message::deserialize(&NetlinkHeader::default(), &bytes).unwrap();
        assert_eq!((again.command, again.attributes.number(5)), (3, Some(7)));
    }

    #[test]
    fn a_message_that_ends_early_is_an_error() {
        for bad in [&[1_u8, 2, 3][..], &[1, 1, 0, 0, 0, 0, 0, 0], &[1, 1, 0, 0, 9, 0, 1, 0, 1]] {
            assert!(Message::deserialize(&NetlinkHeader::default(), bad).is_err(), "{bad:?}");
        }
    }

    /// The controller lists itself too, with the number that include/uapi/linux/genetlink.h gives it.
    #[test]
    fn families_are_found_by_name() {
        assert_eq!(Generic::open("nlctrl").unwrap().map(|found| found.family), Some(CONTROLLER));
        assert!(Generic::open("no_such_family").unwrap().is_none());
    }
}
