//! The NICs of this host.

use std::path::Path;
use tasuki_cluster::{HostRail, RailTable};

/// This host's rails; none if no cluster was applied here.
pub fn host_rails() -> Vec<HostRail> {
    let table = RailTable::load(Path::new(RailTable::PATH));
    table.map_or_else(|_| Vec::new(), |table| table.rails().cloned().collect())
}

/// The NICs of this host's rails, each once, in alphabetical order.
pub fn cabled_nics() -> Vec<String> {
    let mut nics: Vec<_> = host_rails().into_iter().map(|rail| rail.nic).collect();
    nics.sort();
    nics.dedup();
    nics
}

/// All interfaces but loopback.
pub fn present_nics() -> Vec<String> {
    let names = nix::net::if_::if_nameindex();
    let names =
        names.iter().flat_map(|all| all.to_slice()).map(|one| one.name().to_string_lossy().into_owned());
    names.filter(|name| name != "lo").collect()
}
