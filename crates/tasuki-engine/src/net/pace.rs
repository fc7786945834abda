//! The pace of messages in static mode, in which senders know their receivers.

use tasuki_msg::Pace;
use tasuki_rate::Static;

use super::rails::{Host, UDP_IPV4_HEADERS};
use super::static_rate::Receivers;
use crate::peers::{PeerRecord, Route};

/// Bytes of a packet over UDP that are not payload, at any MTU (`docs/reference/wire.md`, table of sizes).
const NOT_PAYLOAD: f64 = 47.0;

/// How fast the bulk of a message of `len` bytes leaves for a peer; `None`: as the receiver's grants say.
pub(super) fn pace(host: &Host, receivers: &Receivers, record: &PeerRecord, len: u64) -> Option<Pace> {
    if !matches!(record.route, Route::Net(_)) {
        return None;
    }
    let receiver = receivers.of(record.address.identity)?;
    let rails = host.rails.to(record.address.identity);
    // Rails of unknown rate do not bound the rate of a message here; they do so by themselves.
    let unknown = rails.is_empty() || rails.iter().any(|rail| rail.rate_mbits == 0);
    let mbits: f64 = rails.iter().map(|rail| f64::from(rail.rate_mbits)).sum();
    let link_bps = if unknown { f64::INFINITY } else { mbits * 1e6 };
    let mtu = rails.iter().map(|rail| rail.mtu).min().unwrap_or(host.routed_mtu);
    let packet = f64::from(mtu - UDP_IPV4_HEADERS);
    let paced = Static { receiver, link_bps }.paced(len, (packet - NOT_PAYLOAD) / packet)?;
    Some(Pace { bps: paced.payload_bps, slack: paced.slack_bytes })
}
