//! Counters of the packet layer, taken into the report before a connection ends; and the death of a process.

use tasuki_proto::{ConnId, RailState};

use super::world::World;

impl World {
    /// Takes the counters of one connection into the report.
    pub(super) fn sample(&mut self, node: usize, conn: ConnId) {
        let (proto, coverage) = (&self.hosts[node].proto, &mut self.oracle.coverage);
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

    /// Takes the counters of all connections into the report.
    pub(super) fn sample_all(&mut self) {
        for node in self.oracle.living() {
            let conns: Vec<ConnId> = self.hosts[node].conns.of_node.values().copied().collect();
            conns.into_iter().for_each(|conn| self.sample(node, conn));
        }
    }

    /// The node's process dies. No other node is told.
    pub(super) fn kill(&mut self, node: usize) {
        self.oracle.note(|| format!("node {node} dies"));
        self.oracle.cover("node died");
        let conns: Vec<ConnId> = self.hosts[node].conns.of_node.values().copied().collect();
        conns.into_iter().for_each(|conn| self.sample(node, conn));
        self.oracle.nodes[node].alive = false;
        self.hosts[node].socket.clear();
        self.hosts[node].socket_held = 0;
    }

    /// Whether the node is dead and no other process has taken its place.
    pub(super) fn tenant_is_dead(&self, node: usize) -> bool {
        self.tenants.get(&self.hosts[node].place) == Some(&node) && !self.oracle.nodes[node].alive
    }
}

fn is_reduced(rail: &tasuki_proto::RailStats) -> bool {
    rail.state == RailState::Up && rail.packet_len <= 1280 && rail.sent_packets > 100
}
