//! Racks: who stands where, how long cables must be, and what to write on them.

use super::grow::Moves;
use crate::args::PlanArgs;
use std::fmt::Write;
use tasuki_cluster::{Cluster, End};

/// Height of a host, of the way that cables take above the racks, and width of a rack, in metres.
const HOST_M: f64 = 0.0445;
const TOP_M: f64 = 2.0;
const RACK_M: f64 = 0.6;
/// Between port and the side of the rack, at each end.
const SLACK_M: f64 = 0.4;
/// Lengths that cables are sold in, metres; longer ones in steps of 10.
const SOLD_M: [f64; 13] = [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 25.0, 30.0, 50.0];

/// A place: rack from 0, height above the floor.
#[derive(Clone, Copy)]
struct Place {
    rack: usize,
    height: f64,
}

/// Where everything stands: hosts in order, `per_rack` to a rack; switches on top of the rack in the middle.
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

    /// What a cable between two places must span, as sold.
    fn length(&self, ends: [End; 2]) -> f64 {
        let [a, b] = ends.map(|end| self.place(end));
        let way = match a.rack == b.rack {
            true => (a.height - b.height).abs(),
            false => {
                let up = |height: f64| (TOP_M - height).max(0.0);
                up(a.height) + up(b.height) + a.rack.abs_diff(b.rack) as f64 * RACK_M
            }
        };
        let needed = way + 2.0 * SLACK_M;
        SOLD_M.into_iter().find(|&sold| sold >= needed).unwrap_or((needed / 10.0).ceil() * 10.0)
    }
}

/// Puts hosts into racks and gives all cables without a length the one that they need.
pub fn furnish(cluster: &mut Cluster, arguments: &PlanArgs) {
    let Some(per_rack) = arguments.rack_hosts.map(|hosts| hosts as usize) else { return };
    let hosts = cluster.hosts.len();
    let room = Room { per_rack, racks: hosts.div_ceil(per_rack), hosts };
    for (number, host) in cluster.hosts.iter_mut().enumerate() {
        host.rack.get_or_insert_with(|| format!("rack{}", number / per_rack + 1));
    }
    for cable in &mut cluster.cables {
        cable.length_m.get_or_insert_with(|| room.length(cable.ends));
    }
}

/// The rack of an end; switches have none in cluster files.
fn rack(cluster: &Cluster, end: End) -> &str {
    match end {
        End::Nic(nic) => {
            cluster.hosts.get(nic.host.0).and_then(|host| host.rack.as_deref()).unwrap_or("no rack")
        }
        End::Port { .. } => "switches",
    }
}

/// One end of a cable as it is listed.
pub struct Listed {
    pub rack: String,
    pub label: String,
    /// This end, and the other one with its rack where that is another.
    pub here: String,
    pub there: String,
    pub length: String,
    /// What to do when a cluster grows.
    pub action: &'static str,
}

/// All ends of all cables, rack by rack; a cable inside a rack is listed once.
pub fn listed(cluster: &Cluster, moves: Option<&Moves>) -> Vec<Listed> {
    let mut all = Vec::new();
    for (number, cable) in cluster.cables.iter().enumerate() {
        let [a, b] = cable.ends;
        let inside = rack(cluster, a) == rack(cluster, b);
        for (here, there) in [(a, b), (b, a)].into_iter().take(if inside { 1 } else { 2 }) {
            let far = if inside { String::new() } else { format!(" ({})", rack(cluster, there)) };
            all.push(Listed {
                rack: rack(cluster, here).into(),
                label: format!("c{}", number + 1),
                here: cluster.end_name(here),
                there: format!("{}{far}", cluster.end_name(there)),
                length: cable.length_m.map_or(String::new(), |metres| format!("{metres} m")),
                action: match moves.and_then(|moves| moves.there.get(number)) {
                    None => "",
                    Some(true) => "stays",
                    Some(false) => "plug in",
                },
            });
        }
    }
    // Stable: cables keep their order within a rack; racks come in the order of the hosts, switches last.
    let order = |name: &str| cluster.hosts.iter().position(|host| host.rack.as_deref() == Some(name));
    all.sort_by_key(|end| order(&end.rack).unwrap_or(usize::MAX));
    all
}

/// The list for whoever plugs the cables in.
pub fn list(cluster: &Cluster, moves: Option<&Moves>) -> String {
    let mut text = format!(
        "Cabling of {}: {} cables. Both ends of a cable carry its label.\n",
        cluster.name,
        cluster.cables.len()
    );
    if let Some(moves) = moves {
        let _ = writeln!(text, "{} stay, {} are unplugged first:", moves.kept, moves.moved);
        moves.unplug.iter().for_each(|[a, b]| {
            let _ = writeln!(text, "  [ ] unplug {a} - {b}");
        });
    }
    let mut last = String::new();
    for end in listed(cluster, moves) {
        if end.rack != last {
            let _ = writeln!(text, "\n{}", end.rack);
            last.clone_from(&end.rack);
        }
        let _ = writeln!(
            text,
            "  [ ] {:<6} {:<20} - {:<32} {:<6} {}",
            end.label, end.here, end.there, end.length, end.action
        );
    }
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// One line per label to print: two of each, one for either end.
pub fn labels(cluster: &Cluster) -> String {
    let mut text = String::from("label,this end,other end,length_m\n");
    for (number, cable) in cluster.cables.iter().enumerate() {
        let [a, b] = cable.ends.map(|end| cluster.end_name(end));
        let length = cable.length_m.map_or(String::new(), |metres| metres.to_string());
        for (here, there) in [(&a, &b), (&b, &a)] {
            let _ = writeln!(text, "c{},{here},{there},{length}", number + 1);
        }
    }
    text
}
