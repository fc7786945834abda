//! Where packets of a path go: by which of the own links, and to which address of the peer.

use std::net::SocketAddr;

use tasuki_proto::{ConnId, Proto, Time};
use tasuki_wire::{Lane, Path};

use super::link::{Destination, Link};
use super::rails::{Host, ROUTED};
use crate::address::Address;
use crate::api::Peer;
use crate::peers::{PeerRecord, Peers};

/// Where packets of one path go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Index of the own link.
    pub link: usize,
    pub to: Destination,
}

/// What is known of the paths to one peer.
#[derive(Default)]
struct PeerTargets {
    /// Worked out when a path is first used, and again when the peer's rails may have changed.
    by_path: Vec<(Path, Target)>,
    /// When this endpoint has greeted the peer, or welcomed it, which has not answered yet.
    unanswered: Option<Greeting>,
}

/// A greeting without an answer.
#[derive(Clone, Copy)]
struct Greeting {
    since: Time,
    /// Rounds of looking after peers since then.
    rounds: u64,
    /// The user has been told.
    told: bool,
}

/// The targets of all peers.
#[derive(Default)]
pub(super) struct Targets(Vec<PeerTargets>);

impl Targets {
    fn of(&mut self, peer: Peer) -> &mut PeerTargets {
        let index = peer.0 as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, PeerTargets::default);
        }
        &mut self.0[index]
    }

    /// This endpoint has greeted a peer, or welcomed it.
    pub fn greeted(&mut self, peer: Peer, now: Time) {
        self.of(peer).unanswered.get_or_insert(Greeting { since: now, rounds: 0, told: false });
    }

    /// The peer's rails may have changed.
    pub fn forget(&mut self, peer: Peer) {
        self.of(peer).by_path.clear();
    }

    /// Where packets of a path to the peer of `conn` go. `None`: such a path leads nowhere (any more).
    #[inline]
    pub fn of_path(&mut self, conn: ConnId, path: Path, peers: &Peers, ends: &Ends<'_>) -> Option<Target> {
        let peer = peers.by_conn(conn)?;
        if let Some(known) = self.0.get(peer.0 as usize)
            && let Some((_, target)) = known.by_path.iter().find(|(one, _)| *one == path)
        {
            return Some(*target);
        }
        let target = ends.target(&peers.get(peer)?.address, conn, path)?;
        self.of(peer).by_path.push((path, target));
        Some(target)
    }

    fn has(&self, peer: Peer, to: SocketAddr) -> bool {
        let known = self.0.get(peer.0 as usize).into_iter().flat_map(|targets| &targets.by_path);
        known.into_iter().any(|(_, target)| target.to == Destination::Udp(to))
    }

    /// Peers that have not failed and have, as far as is known, a UDP socket at this address.
    pub fn peers_at(&self, to: SocketAddr, peers: &Peers) -> Vec<Peer> {
        let matches = |(peer, record): &(Peer, &PeerRecord)| {
            let main = record.address.host() == to.ip() && record.address.port == to.port();
            record.is_probed_by_packet() && record.failure.is_none() && (main || self.has(*peer, to))
        };
        peers.iter().filter(matches).map(|(peer, _)| peer).collect()
    }

    /// Peers that were greeted before `deadline` and have not answered. Each is given once.
    pub fn take_unanswered(&mut self, deadline: Time) -> Vec<Peer> {
        let late = |targets: &mut PeerTargets| {
            let late = targets.unanswered.as_mut().filter(|one| one.since <= deadline && !one.told);
            late.map(|greeting| greeting.told = true).is_some()
        };
        let all = self.0.iter_mut().enumerate();
        all.filter_map(|(index, targets)| late(targets).then_some(Peer(index as u32))).collect()
    }

    /// A round passes. Forgets the greetings of peers that have answered meanwhile, and gives the peers that
    /// have not for so many rounds.
    pub fn never_answered(&mut self, rounds: u64, answered: impl Fn(Peer) -> bool) -> Vec<Peer> {
        let mut never = Vec::new();
        for (index, targets) in self.0.iter_mut().enumerate() {
            let peer = Peer(index as u32);
            let Some(greeting) = &mut targets.unanswered else { continue };
            greeting.rounds += 1;
            let late = greeting.rounds >= rounds;
            if answered(peer) {
                targets.unanswered = None;
            } else if late {
                never.push(peer);
            }
        }
        never
    }
}

/// What is known of both ends of the paths: here, and as peers have told.
pub(super) struct Ends<'a> {
    pub host: &'a Host,
    pub links: &'a [Link],
    pub proto: &'a Proto,
}

impl Ends<'_> {
    fn target(&self, address: &Address, conn: ConnId, path: Path) -> Option<Target> {
        match path.lane {
            Lane::Raw => self.raw_target(address, conn, path.rail),
            Lane::Udp => self.udp_target(address, conn, path.rail),
            Lane::Xdp => None,
        }
    }

    /// By the raw lane of the own NIC to the NIC that the peer has named.
    fn raw_target(&self, address: &Address, conn: ConnId, rail: u8) -> Option<Target> {
        let told = self.proto.remote_rail(conn, rail).filter(|told| told.lanes.contains(Lane::Raw))?;
        let link = self.link_of(address, rail)?;
        self.links[link].raw.as_ref()?;
        Some(Target { link, to: Destination::Raw(told.mac) })
    }

    fn udp_target(&self, address: &Address, conn: ConnId, rail: u8) -> Option<Target> {
        let told = self.proto.remote_rail(conn, rail).filter(|told| told.port != 0);
        if rail == ROUTED {
            let port = told.map_or(address.port, |told| told.port);
            return Some(Target { link: 0, to: Destination::Udp(SocketAddr::new(address.host(), port)) });
        }
        let link = self.link_of(address, rail)?;
        let to = match told {
            Some(told) => SocketAddr::new(told.address.to_canonical(), told.port),
            None => {
                let own = self.host.rails.to(address.identity).iter().find(|own| own.rail == rail)?;
                SocketAddr::new(own.remote, address.port)
            }
        };
        Some(Target { link, to: Destination::Udp(to) })
    }

    /// Index of the link of the own NIC of a rail.
    fn link_of(&self, address: &Address, rail: u8) -> Option<usize> {
        let own = self.host.rails.to(address.identity).iter().find(|own| own.rail == rail)?;
        self.links.iter().position(|link| link.nic.as_deref() == Some(&own.nic))
    }
}

#[cfg(test)]
mod tests;
