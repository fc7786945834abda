//! Places, at which hosts are, and the rails between each two of them: lines of their own, or routes through
//! fabrics of switches that all hosts share.
//!
//! A packet goes to a place, and the process that lives there gets it. After a death that may be a new
//! process, which must drop packets to its predecessor.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use tasuki_wire::{Carriage, Lane, Lanes, Path, Rail};

use super::switched::Switched;
use crate::channel::{Arrival, Channel, Fate};
use crate::kernel::Time;
use tasuki_testkit::Check;

/// Port of every host.
pub(crate) const PORT: u16 = 7000;

/// One end of a rail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// What its owner tells the endpoints about it.
    pub mtu: u16,
    pub rate_mbps: u32,
    pub lanes: Lanes,
    /// The NIC has a carrier, as its host sees it.
    pub up: bool,
}

#[derive(Default)]
pub(crate) struct Network {
    /// By (place, place, rail).
    channels: BTreeMap<(usize, usize, u8), Channel>,
    ends: BTreeMap<(usize, usize, u8), End>,
    /// Channels that lose raw frames.
    deaf: BTreeSet<(usize, usize, u8)>,
    /// Ends that have no carrier, as their hosts report.
    silent: BTreeSet<(usize, usize, u8)>,
    /// If set, each rail is a fabric of switches instead of lines.
    pub switched: Option<Switched>,
}

/// Most places and rails: their numbers share the 24 bits of an address in 10.0.0.0/8, with 9, 9 and 6 bits.
pub(crate) const PLACES: usize = 512;
const RAILS: u8 = 64;

fn address(place: usize, other: usize, rail: u8) -> Ipv6Addr {
    let number = (place % PLACES) << 15 | (other % PLACES) << 6 | usize::from(rail % RAILS);
    Ipv4Addr::from_bits(10 << 24 | number as u32).to_ipv6_mapped()
}

/// Identity address of the host at a place; it has the last numbers, which no rail has.
pub(crate) fn identity(place: usize) -> Ipv6Addr {
    address(place, PLACES - 1, RAILS - 1)
}

/// Bytes in front of a packet on a lane. Addresses are IPv4.
pub(crate) fn headers(lane: Lane) -> usize {
    match lane {
        Lane::Udp => Carriage::UdpV4.overhead(),
        Lane::Raw | Lane::Xdp => Carriage::Ethernet.overhead(),
    }
}

impl Network {
    /// Adds one direction of a rail and its end; the other direction is added likewise.
    pub fn add(&mut self, from: usize, to: usize, rail: u8, end: End, channel: Channel) {
        self.channels.insert((from, to, rail), channel);
        self.ends.insert((from, to, rail), end);
    }

    /// Numbers of the rails between two places.
    pub fn numbers(&self, place: usize, other: usize) -> Vec<u8> {
        let between = (place, other, 0)..=(place, other, u8::MAX);
        self.ends.range(between).map(|((_, _, rail), _)| *rail).collect()
    }

    /// The rails as the host at `place` sees its ends of them.
    pub fn rails(&self, place: usize, other: usize) -> Vec<Rail> {
        let mac = |rail| [2, rail, (place >> 8) as u8, place as u8, (other >> 8) as u8, other as u8];
        let own = |(&(_, _, rail), end): (&(usize, usize, u8), &End)| Rail {
            rail,
            lanes: if end.up { end.lanes } else { Lanes::NONE },
            mtu: end.mtu,
            rate_mbps: end.rate_mbps,
            address: address(place, other, rail),
            port: PORT,
            mac: mac(rail),
        };
        if let Some(switched) = &self.switched {
            let ends: Vec<_> =
                (0..switched.planes()).map(|rail| ((place, other, rail), switched.end)).collect();
            return ends.iter().map(|(key, end)| own((key, end))).collect();
        }
        let between = (place, other, 0)..=(place, other, u8::MAX);
        self.ends.range(between).map(own).collect()
    }

    /// One end of a rail.
    pub fn end(&self, place: usize, other: usize, rail: u8) -> Option<End> {
        match &self.switched {
            Some(switched) => (rail < switched.planes()).then_some(switched.end),
            None => self.ends.get(&(place, other, rail)).copied(),
        }
    }

    pub fn end_mut(&mut self, place: usize, other: usize, rail: u8) -> Option<&mut End> {
        self.ends.get_mut(&(place, other, rail))
    }

    pub fn channel_mut(&mut self, from: usize, to: usize, rail: u8) -> Option<&mut Channel> {
        self.channels.get_mut(&(from, to, rail))
    }

    /// Makes one direction of a rail lose raw frames, or not any more.
    pub fn set_deaf(&mut self, from: usize, to: usize, rail: u8, deaf: bool) {
        if deaf {
            self.deaf.insert((from, to, rail));
        } else {
            self.deaf.remove(&(from, to, rail));
        }
    }

    /// Notes that a host reports that its end of a rail has no carrier, or that it has one.
    pub fn set_silent(&mut self, place: usize, other: usize, rail: u8, silent: bool) {
        if silent {
            self.silent.insert((place, other, rail));
        } else {
            self.silent.remove(&(place, other, rail));
        }
    }

    /// Rails to another place whose ends have no carrier, as their host reports.
    pub fn silent(&self, place: usize, other: usize) -> Vec<u8> {
        let between = (place, other, 0)..=(place, other, u8::MAX);
        self.silent.range(between).map(|(_, _, rail)| *rail).collect()
    }

    /// Number of ends that have no carrier, as their hosts report.
    pub fn silents(&self) -> usize {
        self.silent.len()
    }

    /// All channels, with the numbers of their rails.
    pub fn channels_mut(&mut self) -> impl Iterator<Item = (u8, &mut Channel)> {
        self.channels.iter_mut().map(|(&(_, _, rail), channel)| (rail, channel))
    }

    /// All ends.
    pub fn ends_mut(&mut self) -> impl Iterator<Item = (&(usize, usize, u8), &mut End)> {
        self.ends.iter_mut()
    }

    /// The place that `from` reaches at this end of a rail.
    pub fn place_of(&self, from: usize, rail: &Rail) -> Check<usize> {
        let number = rail.address.to_ipv4_mapped().map_or(0, Ipv4Addr::to_bits);
        let place = number as usize >> 15 & (PLACES - 1);
        if rail.port == PORT && address(place, from, rail.rail) == rail.address {
            return Ok(place);
        }
        Err(format!("place {from} sends to {}, port {}: nobody's address there", rail.address, rail.port))
    }

    /// Sends a packet; `arrive` is called with what arrives.
    pub fn send(
        &mut self,
        now: Time,
        (from, to): (usize, usize),
        path: Path,
        packet: &[u8],
        arrive: impl FnMut(Arrival),
    ) -> Check<Fate> {
        if let Some(switched) = &mut self.switched {
            return Ok(switched.send(now, (from, to), path, packet));
        }
        let channel = self.channels.get_mut(&(from, to, path.rail));
        let channel = channel.ok_or_else(|| format!("no rail {} from {from} to {to}", path.rail))?;
        if path.lane == Lane::Raw && self.deaf.contains(&(from, to, path.rail)) {
            return Ok(Fate::Deaf);
        }
        Ok(channel.send(now, packet.to_vec(), headers(path.lane), arrive))
    }
}
