//! LLDP (IEEE 802.1AB): what a switch says of itself and of the port that a cable is plugged into. Only what
//! names the switch and its port is read.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Ethertype of LLDP.
pub const LLDP_ETHERTYPE: u16 = 0x88cc;
/// The group that LLDP frames are sent to; no switch passes them on (IEEE 802.1AB, table 7-1).
pub const LLDP_GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x0e];

/// Types of the parts that are read (IEEE 802.1AB, table 8-1).
const END: u8 = 0;
const CHASSIS: u8 = 1;
const PORT: u8 = 2;
const LIFE: u8 = 3;
const SYSTEM_NAME: u8 = 5;
const CAPABILITIES: u8 = 7;
/// Subtypes of identifiers that are MAC addresses: of a chassis, and of a port.
const CHASSIS_MAC: u8 = 4;
const PORT_MAC: u8 = 3;
/// Most bytes of an identifier, without its subtype.
const IDENTIFIER_MAX: usize = 255;
/// The capability "bridge" of the enabled ones (IEEE 802.1AB, table 8-4).
const BRIDGE: u16 = 1 << 2;

/// What a neighbour says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Neighbour {
    /// Identifier of the device, as text; a MAC address as `aa:bb:cc:dd:ee:ff`.
    pub chassis: String,
    /// Identifier of its port, as text.
    pub port: String,
    /// Its name, if it says one.
    pub system: Option<String>,
    /// Whether it says that it is a switch; `None`: it says nothing of what it is.
    pub is_switch: Option<bool>,
}

/// Why bytes are no LLDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LldpError {
    /// A part goes on beyond the end of the frame, or the frame ends before its end mark.
    #[error("it was cut off")]
    Truncated,
    /// The first three parts are not chassis, port and lifetime.
    #[error("its first parts are not chassis, port and lifetime")]
    Order,
    /// A part has a size that it cannot have, or comes twice.
    #[error("a part is impossible")]
    Part,
    /// The neighbour says that it leaves (lifetime 0).
    #[error("the neighbour leaves")]
    Leaves,
}

impl Neighbour {
    /// Reads what came behind an Ethernet header of type [`LLDP_ETHERTYPE`].
    ///
    /// # Errors
    /// If it is cut off or impossible. Parts that are not read are passed over, whatever they hold.
    pub fn parse(mut bytes: &[u8]) -> Result<Self, LldpError> {
        let chassis = identifier(expect(&mut bytes, CHASSIS)?, CHASSIS_MAC)?;
        let port = identifier(expect(&mut bytes, PORT)?, PORT_MAC)?;
        match expect(&mut bytes, LIFE)? {
            [0, 0, ..] => return Err(LldpError::Leaves),
            [_, _, ..] => {}
            _ => return Err(LldpError::Part),
        }
        let mut neighbour = Self { chassis, port, ..Self::default() };
        loop {
            let (kind, value) = part(&mut bytes)?;
            match (kind, value) {
                (END, []) => return Ok(neighbour),
                (END | CHASSIS | PORT | LIFE, _) => return Err(LldpError::Part),
                (SYSTEM_NAME, _) if neighbour.system.is_some() => return Err(LldpError::Part),
                (SYSTEM_NAME, name) => neighbour.system = Some(text(name)),
                (CAPABILITIES, [_, _, high, low]) => {
                    neighbour.is_switch = Some(u16::from_be_bytes([*high, *low]) & BRIDGE != 0);
                }
                (CAPABILITIES, _) => return Err(LldpError::Part),
                _ => {}
            }
        }
    }

    /// What people call the neighbour: its name, or else its identifier.
    pub fn name(&self) -> &str {
        self.system.as_deref().filter(|name| !name.is_empty()).unwrap_or(&self.chassis)
    }
}

/// The next part: its type, and its bytes. A head is 7 bits of type and 9 bits of length.
fn part<'a>(bytes: &mut &'a [u8]) -> Result<(u8, &'a [u8]), LldpError> {
    let (head, rest) = bytes.split_first_chunk::<2>().ok_or(LldpError::Truncated)?;
    let head = u16::from_be_bytes(*head);
    let (value, rest) = rest.split_at_checked(usize::from(head & 0x1ff)).ok_or(LldpError::Truncated)?;
    *bytes = rest;
    Ok(((head >> 9) as u8, value))
}

fn expect<'a>(bytes: &mut &'a [u8], wanted: u8) -> Result<&'a [u8], LldpError> {
    match part(bytes)? {
        (kind, value) if kind == wanted => Ok(value),
        _ => Err(LldpError::Order),
    }
}

/// An identifier as text: a byte of subtype, then 1 to 255 bytes.
fn identifier(value: &[u8], mac: u8) -> Result<String, LldpError> {
    let (subtype, value) = value.split_first().ok_or(LldpError::Part)?;
    if value.is_empty() || value.len() > IDENTIFIER_MAX {
        return Err(LldpError::Part);
    }
    let hexadecimal = || value.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":");
    let is_text = value.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    Ok(if *subtype == mac || !is_text { hexadecimal() } else { text(value) })
}

/// Text of a stranger, in which nothing is left that acts on a terminal or in a file.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect::<String>().trim().to_owned()
}
