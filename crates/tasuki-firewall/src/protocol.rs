//! What the prober orders, and what agents answer: one JSON value a line.

use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// The hidden subcommand of `tasuki` that is an agent.
pub const AGENT_COMMAND: &str = "firewall-agent";

/// An order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Open ports, and listen on these NICs. Answer: [`Answer::Ports`].
    Listen {
        /// The cabled NICs.
        nics: Vec<String>,
    },
    /// Send to other hosts. Answer: [`Answer::Connected`].
    Knock(Vec<Knock>),
    /// Tell what has come. Answer: [`Answer::Arrived`].
    Report,
    /// Tell the rules of the firewall. Answer: [`Answer::Rules`].
    Rules,
}

/// A packet to another host, or a connection, by which a flow is tried.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Knock {
    /// Its number, which the datagram carries.
    pub number: u64,
    /// The own NIC to send by; `None`: wherever the route leads.
    pub nic: Option<String>,
    /// The own address.
    pub from: Ipv4Addr,
    /// The other host's address.
    pub to: Ipv4Addr,
    /// The port there.
    pub port: u16,
    /// TCP instead of UDP.
    pub tcp: bool,
}

/// An answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// The ports that are open.
    Ports {
        /// For datagrams.
        udp: u16,
        /// For connections.
        tcp: u16,
    },
    /// Numbers of the TCP knocks that were answered.
    Connected(Vec<u64>),
    /// What has come so far.
    Arrived(Arrived),
    /// The rules of the firewall.
    Rules(Box<Rules>),
    /// What could not be done, and why.
    Failed(String),
}

/// What has come to a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrived {
    /// Numbers of the datagrams that its socket was given.
    pub given: Vec<u64>,
    /// Numbers of the datagrams that its NICs have heard; `None`: this user may not listen there.
    pub heard: Option<Vec<u64>>,
    /// NICs that have no carrier.
    pub dark: Vec<String>,
}

/// What a host's firewall says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// What `nft -j list ruleset` prints.
    pub nft: Option<String>,
    /// What `nft -a list ruleset` prints: the same in the words of who wrote it.
    pub text: String,
    /// What `iptables-save` of the older kind prints.
    pub iptables: Option<String>,
    /// Why rules cannot be read; `None`: they can.
    pub problem: Option<String>,
}
