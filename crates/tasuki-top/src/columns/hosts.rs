//! Columns of hosts.

use super::{Cell, Column, Mark};
use tasuki_load::HostLoad;

/// From this share on, processors or memory are full.
const FULL: f64 = 0.95;
/// From this temperature on, processors of most kinds slow down.
const HOT_CELSIUS: f32 = 90.0;

pub(crate) const HOSTS: &[Column<HostLoad>] = &[
    Column::<HostLoad>::new("host", 0, |host| Cell::text(&*host.host)),
    Column::<HostLoad>::new("busy", 0, |host| Cell::Share(host.busy))
        .marked(|host| Mark::doubtful_if(host.busy >= FULL)),
    Column::<HostLoad>::new("cores", 4, |host| Cell::count(host.processors.into())),
    Column::<HostLoad>::new("load", 3, |host| Cell::Number(host.load, format!("{:.2}", host.load))),
    Column::<HostLoad>::new("memory", 2, |host| Cell::Share(memory(host)))
        .marked(|host| Mark::doubtful_if(memory(host) >= FULL)),
    Column::<HostLoad>::new("of", 6, |host| Cell::bytes(host.memory_bytes as f64)),
    Column::<HostLoad>::new("°C", 5, |host| {
        Cell::or_unknown(host.celsius, |celsius| Cell::Number(celsius.into(), format!("{celsius:.0}")))
    })
    .marked(|host| Mark::doubtful_if(host.celsius.is_some_and(|celsius| celsius >= HOT_CELSIUS))),
    Column::<HostLoad>::new("sent/s", 0, |host| Cell::bytes(host.sent)),
    Column::<HostLoad>::new("received/s", 0, |host| Cell::bytes(host.received)),
    Column::<HostLoad>::new("errors/s", 1, |host| Cell::rate(host.errors))
        .marked(|host| Mark::bad_if(host.errors > 0.0)),
    Column::<HostLoad>::new("NICs up", 1, |host| {
        Cell::Number(host.nics_up as f64, format!("{} of {}", host.nics_up, host.nics))
    })
    .marked(|host| Mark::bad_if(host.nics_up < host.nics)),
    Column::<HostLoad>::new("ranks", 0, |host| Cell::count(host.ranks as u64)),
];

fn memory(host: &HostLoad) -> f64 {
    if host.memory_bytes == 0 { 0.0 } else { host.memory_used_bytes as f64 / host.memory_bytes as f64 }
}
