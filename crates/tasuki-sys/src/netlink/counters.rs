//! What interfaces have sent and received.

use netlink_packet_route::link::Stats64;

/// What an interface has sent and received since it was made (`rtnl_link_stats64` of
/// include/uapi/linux/if_link.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Frames received.
    pub received_frames: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Frames sent.
    pub sent_frames: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Frames that were damaged, received or to be sent.
    pub errors: u64,
    /// Frames for which there was no room, in either direction.
    pub dropped: u64,
}

impl LinkCounters {
    pub(super) fn from_kernel(stats: &Stats64) -> Self {
        Self {
            received_frames: stats.rx_packets,
            received_bytes: stats.rx_bytes,
            sent_frames: stats.tx_packets,
            sent_bytes: stats.tx_bytes,
            errors: stats.rx_errors + stats.tx_errors,
            dropped: stats.rx_dropped + stats.rx_missed_errors + stats.tx_dropped,
        }
    }
}
