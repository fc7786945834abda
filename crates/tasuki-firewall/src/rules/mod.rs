//! The rules of nftables and iptables as far as it matters which of them drops a given packet.

mod iptables;
mod matching;
mod nft;
mod walk;

pub use nft::{Chain, Ruleset};
pub use walk::{Culprit, Packet, find};

use crate::protocol::Rules;

/// Where in a host a chain sees a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the host that sends it.
    Out,
    /// In a host that passes it on.
    Through,
    /// In the host that receives it.
    In,
}

impl Place {
    /// The hooks of nftables that packets pass there, in their order.
    pub fn hooks(self) -> &'static [&'static str] {
        match self {
            Self::Out => &["output", "postrouting"],
            Self::Through => &["ingress", "prerouting", "forward", "postrouting"],
            Self::In => &["ingress", "prerouting", "input"],
        }
    }
}

/// What a host has said of its firewall, as far as it is understood.
pub struct Known<'a> {
    told: &'a Rules,
    nft: Option<Ruleset>,
    /// Why not all of its rules are known; `None`: they are.
    pub problem: Option<String>,
}

impl<'a> Known<'a> {
    /// Reads what a host has said.
    pub fn of(told: &'a Rules) -> Self {
        let (nft, misread) = match told.nft.as_deref().map(Ruleset::parse).transpose() {
            Ok(nft) => (nft, None),
            Err(why) => (None, Some(format!("what nft says is not understood: {why}"))),
        };
        Self { told, nft, problem: told.problem.clone().or(misread) }
    }

    /// The rule that drops a packet.
    pub fn culprit(&self, place: Place, packet: &Packet) -> Option<Culprit> {
        let found = self.nft.as_ref().and_then(|ruleset| find(ruleset, &self.told.text, place, packet));
        found.or_else(|| self.told.iptables.as_ref().and_then(|saved| iptables::find(saved, place)))
    }
}
