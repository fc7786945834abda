//! Segmentation and checksum offloads.

use crate::HostError;
use tasuki_sys::ethtool::Ethtool;

/// Whether a kernel feature (by the name that `ethtool -k` lists) lets a virtual NIC carry what no cable
/// could: frames that are still to be segmented, frames merged on arrival, checksums left to the hardware.
pub(crate) fn is_segmentation_or_checksum(feature: &str) -> bool {
    let segmentation = feature.starts_with("tx-") && feature.ends_with("-segmentation");
    let merging = matches!(feature, "rx-gro" | "rx-gro-list" | "rx-udp-gro-forwarding");
    segmentation || merging || feature.starts_with("tx-checksum-")
}

/// Switches the segmentation, merging and checksum offloads of one interface, in the calling thread's network
/// namespace. Other features are not changed.
pub fn set_offloads(host: &str, interface: &str, on: bool) -> Result<(), HostError> {
    let fail = |source| HostError::Ethtool { host: host.into(), source };
    let ethtool = Ethtool::open(interface).map_err(fail)?;
    ethtool.set_features(is_segmentation_or_checksum, on).map_err(fail)
}
