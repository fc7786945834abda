//! Cable probes: frames by which NICs tell who is at the other end, and by which cables are measured. They
//! have nothing in common with packets but the encoding of integers and the checksum.

use crate::cursor::{Reader, Writer};
use crate::drop_reason::DropReason;

/// Ethertype of cable probes: IEEE 802 Local Experimental EtherType 2.
pub const CABLE_ETHERTYPE: u16 = 0x88B6;
/// First bytes of every cable probe: "TSKP".
const MAGIC: [u8; 4] = *b"TSKP";
const VERSION: u8 = 1;
const CHECKSUM_OFFSET: usize = 8;
/// Size of the part that all cable probes have, bytes.
pub const CABLE_HEAD_LEN: usize = 40;
/// Most bytes of a host's or a NIC's name.
const NAME_MAX: usize = 63;

/// What a cable probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CableKind {
    /// Tells who the sender is, whom it hears, and what it knows of dead cables.
    Hello,
    /// Asks for a pong.
    Ping,
    /// Answers a ping.
    Pong,
    /// One of many, which the receiver counts.
    Filler,
    /// Tells who the sender is while there is no cluster file: see [`crate::Discovery`].
    Discovery,
}

impl CableKind {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Hello,
            2 => Self::Ping,
            3 => Self::Pong,
            4 => Self::Filler,
            5 => Self::Discovery,
            _ => return None,
        })
    }

    fn byte(self) -> u8 {
        match self {
            Self::Hello => 1,
            Self::Ping => 2,
            Self::Pong => 3,
            Self::Filler => 4,
            Self::Discovery => 5,
        }
    }
}

/// A NIC by its numbers in the cluster file, both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CableNic {
    /// Number of the host.
    pub host: u16,
    /// Number of the NIC in the host.
    pub nic: u16,
}

/// A cable probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CableProbe<'a> {
    /// What it is for.
    pub kind: CableKind,
    /// Counts the probes of one kind and run that the sender's NIC sends.
    pub number: u32,
    /// Tells the probes of one program from another's.
    pub run: u64,
    /// Checksum of the meaning of the cluster file: probes of hosts of another cluster are ignored.
    pub cluster: u32,
    /// The NIC that sends it.
    pub sender: CableNic,
    /// The sender's host name.
    pub host_name: &'a str,
    /// The name of the sender's NIC.
    pub nic_name: &'a str,
    /// What follows the head.
    pub body: &'a [u8],
}

impl<'a> CableProbe<'a> {
    /// Reads what came behind an Ethernet header of type [`CABLE_ETHERTYPE`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DropReason> {
        let head = bytes.get(..CABLE_HEAD_LEN).ok_or(DropReason::Short)?;
        let mut reader = Reader::new(head);
        if reader.array::<4>()? != MAGIC {
            return Err(DropReason::Magic);
        }
        if reader.u8()? != VERSION {
            return Err(DropReason::Version);
        }
        let kind = reader.u8()?;
        let length = usize::from(reader.u16()?);
        //= docs/reference/wire.md#cable-probes
        //# What follows behind its `length` is padding, which a receiver must ignore.
        let probe = bytes.get(..length).ok_or(DropReason::Length)?;
        if length < CABLE_HEAD_LEN {
            return Err(DropReason::Length);
        }
        if reader.u32()? != checksum(probe) {
            return Err(DropReason::Checksum);
        }
        let number = reader.u32()?;
        let run = reader.u64()?;
        let cluster = reader.u32()?;
        let sender = CableNic { host: reader.u16()?, nic: reader.u16()? };
        let kind = CableKind::from_byte(kind).ok_or(DropReason::FrameType)?;
        let names = [usize::from(reader.u8()?), usize::from(reader.u8()?)];
        let mut rest = Reader::new(probe.get(CABLE_HEAD_LEN..).ok_or(DropReason::Length)?);
        let mut name = |len| {
            let text = std::str::from_utf8(rest.bytes(len)?).map_err(|_| DropReason::Greeting)?;
            let is_plain =
                !text.is_empty() && text.len() <= NAME_MAX && text.chars().all(|c| c.is_ascii_graphic());
            if is_plain { Ok(text) } else { Err(DropReason::Greeting) }
        };
        let (host_name, nic_name) = (name(names[0])?, name(names[1])?);
        Ok(Self { kind, number, run, cluster, sender, host_name, nic_name, body: rest.rest() })
    }

    /// Writes the probe with its checksum; `buffer` is emptied first. `None` if a name or the whole is too
    /// long.
    pub fn emit(&self, buffer: &mut Vec<u8>) -> Option<()> {
        let names = [self.host_name, self.nic_name];
        if names.iter().any(|name| name.is_empty() || name.len() > NAME_MAX) {
            return None;
        }
        let length = CABLE_HEAD_LEN + names[0].len() + names[1].len() + self.body.len();
        buffer.clear();
        buffer.resize(length, 0);
        let mut writer = Writer::new(buffer);
        writer.bytes(&MAGIC);
        writer.u8(VERSION);
        writer.u8(self.kind.byte());
        writer.u16(u16::try_from(length).ok()?);
        writer.u32(0);
        writer.u32(self.number);
        writer.u64(self.run);
        writer.u32(self.cluster);
        writer.u16(self.sender.host);
        writer.u16(self.sender.nic);
        names.iter().for_each(|name| writer.u8(name.len() as u8));
        writer.zeros(6);
        names.iter().for_each(|name| writer.bytes(name.as_bytes()));
        writer.bytes(self.body);
        let sum = checksum(buffer).to_le_bytes();
        buffer[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 4].copy_from_slice(&sum);
        Some(())
    }
}

/// The checksum of a probe, whatever stands in its checksum field. `probe` has at least a head.
//= docs/reference/wire.md#cable-probes
//# The checksum is that of packets: the CRC32C of all bytes of the probe except the four of the checksum.
fn checksum(probe: &[u8]) -> u32 {
    crate::crc::of(&probe[..CHECKSUM_OFFSET], &probe[CHECKSUM_OFFSET + 4..])
}

/// What one host says about its cables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CableState {
    /// Number of the host.
    pub host: u16,
    /// Version of the state: begins with the time of day in milliseconds, grows with every change, and goes
    /// beyond the stamp of an earlier state of the host that others still pass on.
    pub stamp: u64,
    /// Cables that it takes for dead: number of its own NIC, and the NIC at the other end.
    pub dead: Vec<(u16, CableNic)>,
}

/// The body of a hello.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CableHello {
    /// The sender is about to leave: if it is not heard from now on, that is no sign of a dead cable.
    pub leaving: bool,
    /// The NICs that the sending NIC hears.
    pub heard: Vec<CableNic>,
    /// What the sender knows about the cables of all hosts, its own included.
    pub states: Vec<CableState>,
}

impl CableHello {
    /// Reads a body. The bytes are those of a probe with a valid checksum, but anybody can make such a probe.
    pub fn parse(body: &[u8]) -> Result<Self, DropReason> {
        let mut reader = Reader::new(body);
        let leaving = match reader.u8()? {
            0 => false,
            1 => true,
            _ => return Err(DropReason::Flags),
        };
        let nic = |reader: &mut Reader<'_>| Ok(CableNic { host: reader.u16()?, nic: reader.u16()? });
        let count = reader.u16()?;
        let heard = (0..count).map(|_| nic(&mut reader)).collect::<Result<_, _>>()?;
        let count = reader.u16()?;
        let mut states = Vec::new();
        for _ in 0..count {
            let (host, stamp, dead) = (reader.u16()?, reader.u64()?, reader.u16()?);
            let pair = |_| Ok::<_, DropReason>((reader.u16()?, nic(&mut reader)?));
            let dead = (0..dead).map(pair).collect::<Result<_, _>>()?;
            states.push(CableState { host, stamp, dead });
        }
        if reader.is_empty() { Ok(Self { leaving, heard, states }) } else { Err(DropReason::Length) }
    }

    /// Writes a body of at most `room` bytes; what does not fit is left out, states first.
    pub fn emit(&self, room: usize) -> Vec<u8> {
        let nic = |body: &mut Vec<u8>, nic: &CableNic| {
            body.extend(nic.host.to_le_bytes());
            body.extend(nic.nic.to_le_bytes());
        };
        let mut body = vec![u8::from(self.leaving)];
        let heard = &self.heard[..self.heard.len().min(room.saturating_sub(5) / 4).min(1 << 15)];
        body.extend((heard.len() as u16).to_le_bytes());
        heard.iter().for_each(|heard| nic(&mut body, heard));
        let mut left = room.saturating_sub(body.len() + 2);
        let fits = |state: &&CableState| {
            let size = 12 + 6 * state.dead.len();
            let fits = size <= left && state.dead.len() < 1 << 15;
            left -= if fits { size } else { 0 };
            fits
        };
        let states: Vec<_> = self.states.iter().filter(fits).collect();
        body.extend((states.len() as u16).to_le_bytes());
        for state in states {
            body.extend(state.host.to_le_bytes());
            body.extend(state.stamp.to_le_bytes());
            body.extend((state.dead.len() as u16).to_le_bytes());
            for (own, peer) in &state.dead {
                body.extend(own.to_le_bytes());
                nic(&mut body, peer);
            }
        }
        body
    }
}
