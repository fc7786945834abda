//! The defaults for what a cluster file does not say.

use crate::{AddressStyle, Addressing, Ipv4Net, Rate};
use std::net::Ipv4Addr;

/// Default range of identity addresses.
pub const DEFAULT_IDENTITY: Ipv4Net = Ipv4Net { address: Ipv4Addr::new(10, 77, 0, 0), prefix: 16 };
/// Default range of link addresses.
pub const DEFAULT_LINK: Ipv4Net = Ipv4Net { address: Ipv4Addr::new(10, 78, 0, 0), prefix: 16 };
/// The management network of labs. It is in the range that RFC 2544 sets aside for tests, so that it meets no
/// network of the machine. Clusters must not use it.
pub const LAB_MANAGEMENT: Ipv4Net = Ipv4Net { address: Ipv4Addr::new(198, 18, 0, 0), prefix: 16 };
/// Default rate of NICs and switches.
pub const DEFAULT_RATE: Rate = Rate::from_bits_per_second(1_000_000_000);
/// Default MTU of NICs, in bytes.
pub const DEFAULT_MTU: u32 = 1500;
/// How long the slowest NIC of a bundle may take for what TCP hands to it at once, microseconds. Longer
/// pieces reach the receiver in an order that TCP takes for loss; shorter ones cost more of the processor.
pub const STRIPE_PIECE_US: u64 = 250;
/// Most rails of a pair of hosts, and most NICs of a host, that are striped over.
pub const STRIPE_MAX: usize = 32;
/// Default for the longest interrupt delay that follows the load, microseconds.
pub const DEFAULT_MOST_DELAY_US: u32 = 500;
/// Smallest MTU: RFC 791 requires that every network carries 68 bytes.
pub const MTU_MIN: u32 = 68;
/// Largest MTU: the length field of IPv4 ends here.
pub const MTU_MAX: u32 = 65_535;

impl Default for Addressing {
    fn default() -> Self {
        Self { identity: DEFAULT_IDENTITY, link: DEFAULT_LINK, style: AddressStyle::Identity }
    }
}
