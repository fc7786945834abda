//! Segmentation and checksum offloads.

use crate::HostError;
use tasuki_sys::ethtool::Ethtool;

/// What lets a virtual NIC carry super-frames that no cable could, by kernel feature name (as `ethtool -k`
/// lists them): segmentation and its software forms, receive merging, checksums left to the hardware.
pub const SEGMENTATION_OFFLOADS: &[&str] = &[
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-udp-segmentation",
    "tx-sctp-segmentation",
    "tx-generic-segmentation",
    "rx-gro",
    "tx-checksum-ip-generic",
    "tx-checksum-sctp",
    "tx-checksum-ipv4",
    "tx-checksum-ipv6",
];

/// Switches the [`SEGMENTATION_OFFLOADS`] of one interface, in the calling thread's network namespace.
pub fn set_offloads(host: &str, interface: &str, on: bool) -> Result<(), HostError> {
    let fail = |source| HostError::Ethtool { host: host.into(), source };
    let ethtool = Ethtool::open(interface).map_err(fail)?;
    ethtool.set_features(SEGMENTATION_OFFLOADS, on).map_err(fail)
}
