//! The keys of a connection whose packets carry keyed tags.

use tasuki_wire::{JobKey, PacketKey, Party};

use crate::ids::{Local, Remote};

/// The keys of the packets of one connection, one for each direction.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    /// For packets to the peer.
    pub tx: PacketKey,
    /// For packets from the peer.
    pub rx: PacketKey,
}

impl Keys {
    pub fn new(job: &JobKey, local: &Local, remote: &Remote) -> Keys {
        let here = local.party();
        let there = Party { endpoint: remote.endpoint, incarnation: remote.incarnation };
        Keys { tx: job.for_packets(here, there), rx: job.for_packets(there, here) }
    }
}

impl Local {
    /// The local endpoint, as keys are derived for it.
    pub(crate) fn party(&self) -> Party {
        Party { endpoint: self.endpoint, incarnation: self.incarnation }
    }
}
