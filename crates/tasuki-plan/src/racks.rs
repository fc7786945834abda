//! Racks: where hosts and switches stand, and how long the cables between them must be.

use tasuki_cluster::{Cluster, End};

/// Height of a host, or of a switch, in metres: one unit of a rack.
const HOST_M: f64 = 0.0445;
/// Height above the floor at which cables between racks run, in metres.
const TOP_M: f64 = 2.0;
/// Width of a rack, in metres.
const RACK_M: f64 = 0.6;
/// Length of cable between a port and the side of its rack, at each end, in metres.
const SLACK_M: f64 = 0.4;
/// Lengths that cables are sold in, in metres; longer ones in steps of 10.
const SOLD_M: [f64; 13] = [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 25.0, 30.0, 50.0];

/// A place in a room.
#[derive(Clone, Copy)]
struct Place {
    /// Number of the rack, from 0.
    rack: usize,
    /// Height above the lowest host, in metres.
    height: f64,
}

/// The places of all parts: hosts in order, `per_rack` to a rack; switches on top of the rack in the middle.
struct Room {
    per_rack: usize,
    racks: usize,
    hosts: usize,
}

impl Room {
    fn place(&self, end: End) -> Place {
        match end {
            End::Nic(nic) => Place {
                rack: nic.host.0 / self.per_rack,
                height: (nic.host.0 % self.per_rack) as f64 * HOST_M,
            },
            End::Port { switch, .. } => Place {
                rack: (self.racks - 1) / 2,
                height: self.per_rack.min(self.hosts) as f64 * HOST_M + switch.0 as f64 * HOST_M,
            },
        }
    }

    /// The shortest length sold that spans a cable's two ends, in metres.
    fn length(&self, ends: [End; 2]) -> f64 {
        let [a, b] = ends.map(|end| self.place(end));
        let between = match a.rack == b.rack {
            true => (a.height - b.height).abs(),
            false => {
                let up = |height: f64| (TOP_M - height).max(0.0);
                up(a.height) + up(b.height) + a.rack.abs_diff(b.rack) as f64 * RACK_M
            }
        };
        let needed = between + 2.0 * SLACK_M;
        SOLD_M.into_iter().find(|&sold| sold >= needed).unwrap_or((needed / 10.0).ceil() * 10.0)
    }
}

/// Puts hosts without a rack into racks of `per_rack` hosts, and gives cables without a length the shortest
/// that is long enough.
pub fn furnish(cluster: &mut Cluster, per_rack: usize) {
    let hosts = cluster.hosts.len();
    let room = Room { per_rack, racks: hosts.div_ceil(per_rack), hosts };
    for (number, host) in cluster.hosts.iter_mut().enumerate() {
        host.rack.get_or_insert_with(|| format!("rack{}", number / per_rack + 1));
    }
    for cable in &mut cluster.cables {
        cable.length_m.get_or_insert_with(|| room.length(cable.ends));
    }
}
