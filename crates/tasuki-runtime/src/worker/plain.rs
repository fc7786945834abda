//! What ranks of a job without an MPI know of each other: the variables by which `torch.distributed` and
//! others find their way (`init_method="env://"`), as torchrun sets them.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::Path;

use tasuki_cluster::RailTable;
use tasuki_control::{JobId, Start};

/// The first port at which a job's rank 0 may be met, which is torchrun's; jobs that run at a time have
/// different ones of the [`PORTS`] from there on.
const PORT: u64 = 29_500;
const PORTS: u64 = 500;

/// The interface of the identity address, by which every other host reaches this one.
const INTERFACE: &str = "tasuki0";

/// Variables of libraries that would else look for an address by the host's name, which many hosts know as
/// 127.0.1.1.
const INTERFACES: [(&str, &str); 2] = [("GLOO_SOCKET_IFNAME", "tasuki0"), ("NCCL_SOCKET_IFNAME", "=tasuki0")];

/// Where rank 0 of a job is met.
struct Meeting {
    address: Ipv4Addr,
    port: u64,
}

/// Where rank 0 is: `None` if the host is not set up, so that it does not know the address.
fn meeting(job: JobId, host: &str, table: &RailTable) -> Option<Meeting> {
    let of_peer = || table.peers.iter().find(|(_, peer)| peer.host == host).map(|(address, _)| *address);
    let address = if table.host == host { Some(table.identity) } else { of_peer() };
    address.map(|address| Meeting { address, port: PORT + job % PORTS })
}

/// Variables of each of the ranks of the host with the number `own`, in their order there. What the user has
/// set stays as far as it is about the job and not about a rank.
pub fn environment(start: &Start, own: usize) -> Vec<Vec<(OsString, OsString)>> {
    let table = RailTable::load(Path::new(RailTable::PATH)).ok();
    let has_interface = Path::new("/sys/class/net").join(INTERFACE).exists();
    let interfaces: &[_] = if has_interface { &INTERFACES } else { &[] };
    let host_of_first = start.parts.iter().find(|part| part.ranks.contains(&0));
    let met = table.zip(host_of_first).and_then(|(table, part)| meeting(start.job, &part.host, &table));
    let is_set = |name: &str| start.work.env.iter().any(|(set, _)| set.as_slice() == name.as_bytes());
    let ranks = &start.parts[own].ranks;
    let of_rank = |(place, rank): (usize, &u32)| {
        let mut all = vec![
            ("RANK", rank.to_string()),
            ("WORLD_SIZE", start.work.ranks.to_string()),
            ("LOCAL_RANK", place.to_string()),
            ("LOCAL_WORLD_SIZE", ranks.len().to_string()),
        ];
        if let Some(met) = met.as_ref().filter(|_| !is_set("MASTER_ADDR")) {
            all.push(("MASTER_ADDR", met.address.to_string()));
        }
        if let Some(met) = met.as_ref().filter(|_| !is_set("MASTER_PORT")) {
            all.push(("MASTER_PORT", met.port.to_string()));
        }
        all.extend(
            interfaces.iter().filter(|(name, _)| !is_set(name)).map(|&(name, value)| (name, value.into())),
        );
        all.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    };
    ranks.iter().enumerate().map(of_rank).collect()
}
