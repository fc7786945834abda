//! Leading a pair of hosts around its dead cables, and back: the daemon behind `tasuki watch`.
//!
//! Every host sends a hello on every cabled NIC twenty times a second, and lists in it the hosts that this
//! NIC hears ([`tasuki_wire::CableHello`]). [`View`] holds what follows from the hellos: which rails are dead
//! by what this host sees and by what all others say. It is pure; [`run`] gives it frames and time, and sets
//! the routes that the address plan has around the dead rails.
#![forbid(unsafe_code)]

mod daemon;
mod error;
mod instance;
mod liveness;
mod process;
mod stripes;
mod tuned;
mod view;

pub use daemon::{Nics, run};
pub use error::WatchError;
pub use instance::{Instance, Note, Said, end, said};
pub use tuned::{TunePlan, TunedNic, TunerNote};
pub use view::{TICK, View};

use tasuki_cluster::Cluster;

/// What the running watch of this host says; `None`: none runs.
pub fn note() -> Option<Note> {
    said()
}

/// Ends the watch of this host, which sets all routes as planned. Returns false if none ran.
pub fn stop() -> Result<bool, WatchError> {
    end::<Note>()
}

/// A checksum of what hosts must agree on to trust each other's hellos: hosts, NICs and cables.
//= docs/reference/wire.md#cable-probes
//# one line for every host in the order of the file, its name and those of its NICs, and
//# one for every cable, its two ends
pub fn fingerprint(cluster: &Cluster) -> u32 {
    let mut text = String::new();
    for host in &cluster.hosts {
        text.push_str(&host.name);
        for nic in &host.nics {
            text.push(' ');
            text.push_str(&nic.name);
        }
        text.push('\n');
    }
    for cable in &cluster.cables {
        let [a, b] = cable.ends.map(|end| cluster.end_name(end));
        text.push_str(&format!("{a} {b}\n"));
    }
    crc32c::crc32c(text.as_bytes())
}
