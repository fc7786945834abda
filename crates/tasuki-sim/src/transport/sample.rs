//! Counters of the packet layer, taken into the report before a connection ends.

use tasuki_proto::{ConnId, Proto, RailState};

use super::host::Host;
use tasuki_testkit::Coverage;

/// Takes the counters of one connection into the report.
pub(super) fn sample(proto: &Proto, conn: ConnId, coverage: &mut Coverage) {
    let mut up = 0;
    for rail in proto.rail_stats(conn) {
        coverage.add("bytes resent", rail.resent_bytes);
        coverage.add("packets declared lost", rail.lost_packets);
        coverage.add("losses that were none", rail.spurious_losses);
        coverage.add("probe time-outs", rail.pto_count);
        coverage.add("rail without its full MTU", u64::from(is_reduced(&rail)));
        up += u64::from(rail.state == RailState::Up && rail.sent_bytes > 0);
    }
    coverage.add("several rails used", u64::from(up > 1));
}

/// Takes the counters of all connections of a host into the report.
pub(super) fn sample_all(host: &Host, coverage: &mut Coverage) {
    for conn in host.conns.of_node.values() {
        sample(&host.proto, *conn, coverage);
    }
}

fn is_reduced(rail: &tasuki_proto::RailStats) -> bool {
    rail.state == RailState::Up && rail.packet_len <= 1280 && rail.sent_packets > 100
}
