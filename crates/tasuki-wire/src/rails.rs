//! Lists of rails, which tell how a peer can be reached.

use std::fmt;
use std::net::Ipv6Addr;

use crate::cursor::{Reader, Writer};
use crate::drop_reason::DropReason;
use crate::emit_error::EmitError;
use crate::ids::Lane;
use crate::limits::{MAX_RAILS, MIN_MTU};

/// Size of one rail on the wire, bytes.
const RAIL_LEN: usize = 32;

/// The lanes of a rail that may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lanes(u8);

impl Lanes {
    /// No lane: the rail is down.
    pub const NONE: Lanes = Lanes(0);
    const KNOWN: u8 = 0b111;

    /// These lanes and `lane`.
    #[must_use]
    pub fn with(self, lane: Lane) -> Lanes {
        Lanes(self.0 | 1 << lane as u8)
    }

    /// Whether `lane` is one of these.
    pub fn contains(self, lane: Lane) -> bool {
        self.0 & 1 << lane as u8 != 0
    }
}

/// One end of a rail, as its owner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rail {
    /// Number, below [`MAX_RAILS`].
    pub rail: u8,
    /// The lanes that may be used now.
    pub lanes: Lanes,
    /// Largest Ethernet or IP payload, bytes, at least [`MIN_MTU`].
    pub mtu: u16,
    /// Rate, Mbit/s; 0 if unknown.
    pub rate_mbps: u32,
    /// Address of the NIC; IPv4 as `::ffff:a.b.c.d`.
    pub address: Ipv6Addr,
    /// UDP port on that address, 0 if none.
    pub port: u16,
    /// Ethernet address of the NIC, zeros if none.
    pub mac: [u8; 6],
}

impl Rail {
    fn read(reader: &mut Reader<'_>) -> Result<Rail, DropReason> {
        let rail = Rail {
            rail: reader.u8()?,
            lanes: Lanes(reader.u8()?),
            mtu: reader.u16()?,
            rate_mbps: reader.u32()?,
            address: Ipv6Addr::from(reader.array::<16>()?),
            port: reader.u16()?,
            mac: reader.array()?,
        };
        if rail.is_valid() { Ok(rail) } else { Err(DropReason::Rails) }
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.rail);
        writer.u8(self.lanes.0);
        writer.u16(self.mtu);
        writer.u32(self.rate_mbps);
        writer.bytes(&self.address.octets());
        writer.u16(self.port);
        writer.bytes(&self.mac);
    }

    fn is_valid(&self) -> bool {
        usize::from(self.rail) < MAX_RAILS && self.lanes.0 & !Lanes::KNOWN == 0 && self.mtu >= MIN_MTU
    }
}

/// All rails of an endpoint, after a change of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rails<'a> {
    /// Number of the change.
    //= docs/reference/wire.md#rail
    //# A list replaces every list with
    //# a lower `change`; a list with a change that is not higher than the last one says nothing new.
    pub change: u64,
    /// The rails.
    pub list: RailList<'a>,
}

/// Rails in ascending order, borrowed from a packet (already checked) or from the caller's own list.
#[derive(Clone, Copy)]
pub struct RailList<'a>(Source<'a>);

#[derive(Clone, Copy)]
enum Source<'a> {
    List(&'a [Rail]),
    Wire(&'a [u8]),
}

impl<'a> RailList<'a> {
    /// A list of rails to send, in ascending order of their numbers. It is checked when the frame is emitted.
    pub fn new(rails: &'a [Rail]) -> RailList<'a> {
        RailList(Source::List(rails))
    }

    /// The rails, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Rail> + use<'a> {
        let (list, wire) = match self.0 {
            Source::List(list) => (list, &[][..]),
            Source::Wire(wire) => (&[][..], wire),
        };
        let read = wire.chunks_exact(RAIL_LEN).map_while(|bytes| Rail::read(&mut Reader::new(bytes)).ok());
        list.iter().copied().chain(read)
    }

    //= docs/reference/wire.md#rail
    //# The rails of one list are in ascending order of their numbers, each number once.
    fn is_ascending(&self) -> bool {
        self.iter().zip(self.iter().skip(1)).all(|(one, next)| one.rail < next.rail)
    }
}

impl PartialEq for RailList<'_> {
    fn eq(&self, other: &RailList<'_>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for RailList<'_> {}

impl fmt::Debug for RailList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> Rails<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Rails<'a>, DropReason> {
        let change = reader.var()?;
        let count = usize::from(reader.u8()?);
        if count > MAX_RAILS {
            return Err(DropReason::Rails);
        }
        let all = reader.rest();
        for _ in 0..count {
            Rail::read(reader)?;
        }
        let list = RailList(Source::Wire(&all[..count * RAIL_LEN]));
        if list.is_ascending() { Ok(Rails { change, list }) } else { Err(DropReason::Rails) }
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<(), EmitError> {
        let count = self.list.iter().count();
        if count > MAX_RAILS || !self.list.is_ascending() || !self.list.iter().all(|rail| rail.is_valid()) {
            return Err(EmitError::Rails);
        }
        writer.var(self.change);
        writer.u8(count as u8);
        self.list.iter().for_each(|rail| rail.write(writer));
        Ok(())
    }
}
