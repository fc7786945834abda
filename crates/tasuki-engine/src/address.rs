//! The name of an endpoint, small enough for every MPI's buffers.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use tasuki_wire::{JobKey, Party, Secret};

/// What others must know to reach an endpoint: where its host is, which of the host's endpoints it is, which
/// incarnation, and the secret by which it accepts packets. Everything else follows by handshake.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    /// Identity address of the host, one per host whatever its NICs; IPv4 as `::ffff:a.b.c.d`.
    pub identity: Ipv6Addr,
    /// UDP port, the same on the identity address and on the address of every NIC.
    pub port: u16,
    /// Number of the endpoint on its host.
    pub endpoint: u32,
    /// Drawn anew by every endpoint that opens.
    pub incarnation: u64,
    /// A process that knows it may send to the endpoint.
    pub secret: [u8; 16],
}

/// Why bytes or text are no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Too few or too many bytes.
    #[error("an endpoint's address has {len} bytes, not {0}", len = Address::LEN)]
    Length(usize),
    /// The first byte is not that of an address.
    #[error("not an address of an endpoint of Tasuki")]
    Foreign,
    /// The peer runs another version.
    #[error(
        "the process on host {host} runs a Tasuki that speaks version {theirs} of the wire format, \
         this one speaks version {}: install the same Tasuki on all hosts",
        tasuki_wire::VERSION
    )]
    Version {
        /// The peer's host: its identity address, which every version has in the same place.
        host: IpAddr,
        /// The version of its wire format.
        theirs: u8,
    },
    /// A character that is no hexadecimal digit.
    #[error("an address as text is {digits} hexadecimal digits", digits = 2 * Address::LEN)]
    Digit,
}

/// What addresses begin with. The version follows: addresses and packets are of the same, so that hosts which
/// do not understand each other learn it before the first packet.
const MAGIC: u8 = 0x54;

/// Bit of the incarnation: the endpoint has a key.
//= docs/reference/wire.md#who-may-speak
//# bit 0 of its incarnation is 1, and 0 if it has none.
const KEYED: u64 = 1;

impl Address {
    /// Size as bytes. Some MPIs keep addresses in buffers of 64.
    pub const LEN: usize = 48;

    /// The identity as it is usually written: IPv4 where it is one.
    pub fn host(&self) -> IpAddr {
        self.identity.to_canonical()
    }

    /// The address as bytes, to be handed to others. They contain the secret.
    pub fn to_bytes(&self) -> [u8; Address::LEN] {
        let mut bytes = [0; Address::LEN];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        put(&[MAGIC, tasuki_wire::VERSION]);
        put(&self.port.to_le_bytes());
        put(&self.endpoint.to_le_bytes());
        put(&self.incarnation.to_le_bytes());
        put(&self.identity.octets());
        put(&self.secret);
        bytes
    }

    /// The address of an endpoint with this key, or without one, that is otherwise like `self`: it says so,
    /// and proves the key.
    pub(crate) fn with_key(self, key: Option<&JobKey>) -> Address {
        let Some(key) = key else { return Address { incarnation: self.incarnation & !KEYED, ..self } };
        let keyed = Address { incarnation: self.incarnation | KEYED, ..self };
        let mut secret = self.secret;
        secret[8..].copy_from_slice(&keyed.key_proof(key).to_le_bytes());
        Address { secret, ..keyed }
    }

    /// Whether an endpoint with this key, or without one, can exchange packets with this endpoint; why not,
    /// if it cannot.
    pub(crate) fn check_key(&self, own: Option<&JobKey>) -> Result<(), &'static str> {
        match (own, self.incarnation & KEYED != 0) {
            (None, false) => Ok(()),
            (None, true) => {
                Err("its packets are authenticated, and this process has no key (TASUKI_JOB_KEY)")
            }
            (Some(_), false) => {
                Err("this process authenticates its packets, and the peer has no key (TASUKI_JOB_KEY)")
            }
            (Some(own), true) if self.key_proof(own) == Secret(self.secret).proof() => Ok(()),
            (Some(_), true) => Err("it has another key (TASUKI_JOB_KEY): it belongs to another job"),
        }
    }

    fn key_proof(&self, key: &JobKey) -> u64 {
        let party = Party { endpoint: self.endpoint, incarnation: self.incarnation };
        key.address_proof(party, Secret(self.secret).token())
    }

    /// Reads what [`Address::to_bytes`] gave. Bytes behind it, as in a buffer of fixed size, must have been
    /// cut off.
    pub fn from_bytes(bytes: &[u8]) -> Result<Address, AddressError> {
        let bytes: &[u8; Address::LEN] = bytes.try_into().map_err(|_| AddressError::Length(bytes.len()))?;
        fn field<const N: usize>(bytes: &[u8; Address::LEN], at: usize) -> [u8; N] {
            let mut field = [0; N];
            field.copy_from_slice(&bytes[at..at + N]);
            field
        }
        if bytes[0] != MAGIC {
            return Err(AddressError::Foreign);
        }
        if bytes[1] != tasuki_wire::VERSION {
            let host = Ipv6Addr::from(field::<16>(bytes, 16)).to_canonical();
            return Err(AddressError::Version { host, theirs: bytes[1] });
        }
        Ok(Address {
            port: u16::from_le_bytes(field(bytes, 2)),
            endpoint: u32::from_le_bytes(field(bytes, 4)),
            incarnation: u64::from_le_bytes(field(bytes, 8)),
            identity: Ipv6Addr::from(field::<16>(bytes, 16)),
            secret: field(bytes, 32),
        })
    }
}

/// Hexadecimal digits of all bytes: for files and command lines of one's own, for it contains the secret.
impl fmt::LowerHex for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// For people and logs: without the secret.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host() {
            IpAddr::V4(host) => write!(f, "{host}:{}", self.port),
            IpAddr::V6(host) => write!(f, "[{host}]:{}", self.port),
        }?;
        write!(f, "/{:08x}", self.endpoint)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self}, incarnation {:016x})", self.incarnation)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        if !text.is_ascii() || text.len() != 2 * Address::LEN {
            return Err(AddressError::Digit);
        }
        let mut bytes = [0; Address::LEN];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| AddressError::Digit)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| AddressError::Digit)?;
        }
        Address::from_bytes(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_whether_its_endpoint_has_the_same_key() {
        let plain = Address {
            identity: Ipv6Addr::LOCALHOST,
            port: 1,
            endpoint: 2,
            incarnation: 0x1234_5677,
            secret: [9; 16],
        };
        let (a, b) = (JobKey([1; 16]), JobKey([2; 16]));
        let keys = [None, Some(&a), Some(&b)];
        for own in keys {
            for theirs in keys {
                let agree = plain.with_key(theirs).check_key(own).is_ok();
                assert_eq!(agree, own == theirs, "{own:?} {theirs:?}");
            }
        }
        // What ends the address in another place does not prove the key.
        let moved = Address { endpoint: 3, ..plain.with_key(Some(&a)) };
        assert!(moved.check_key(Some(&a)).is_err());
    }

    #[test]
    fn bytes_and_text_say_the_same() {
        let address = Address {
            identity: std::net::Ipv4Addr::new(10, 77, 0, 1).to_ipv6_mapped(),
            port: 4711,
            endpoint: 0x0102_0304,
            incarnation: u64::MAX - 1,
            secret: std::array::from_fn(|i| i as u8),
        };
        assert_eq!(Address::from_bytes(&address.to_bytes()), Ok(address));
        assert_eq!(format!("{address:x}").parse(), Ok(address));
        assert_eq!(address.to_string(), "10.77.0.1:4711/01020304");
        assert_eq!(Address::from_bytes(&[0; Address::LEN]), Err(AddressError::Foreign));
        let mut newer = address.to_bytes();
        newer[1] = 99;
        let said = Address::from_bytes(&newer).unwrap_err().to_string();
        for part in ["10.77.0.1", "version 99", "version 1:"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert_eq!(Address::from_bytes(&[0; 64]), Err(AddressError::Length(64)));
        assert_eq!("x".repeat(96).parse::<Address>(), Err(AddressError::Digit));
    }
}
