//! The rules of nftables and iptables as far as it matters which of them drops a given packet.

mod iptables;
mod matching;
mod nft;
mod walk;

pub use nft::{Chain, Ruleset};
pub use walk::{Culprit, Packet, find};

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

/// The rule that drops a packet, by what a host has said of its firewall.
pub fn culprit(rules: &crate::protocol::Rules, place: Place, packet: &Packet) -> Option<Culprit> {
    let nft = rules.nft.as_ref().and_then(|json| Ruleset::parse(json).ok());
    let found = nft.as_ref().and_then(|ruleset| find(ruleset, &rules.text, place, packet));
    found.or_else(|| rules.iptables.as_ref().and_then(|saved| iptables::find(saved, place)))
}
