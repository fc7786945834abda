//! What ranks of a job without an MPI know of each other: the variables by which `torch.distributed` and
//! others find their way (`init_method="env://"`), as torchrun sets them.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::Path;

use tasuki_cluster::{IDENTITY_INTERFACE, RailTable};
use tasuki_control::Start;

/// The first port at which a job's rank 0 may be met, which is torchrun's; jobs that run at a time have
/// different ones of the [`PORTS`] from there on.
const PORT: u64 = 29_500;
const PORTS: u64 = 500;

/// The identity address of a host of the cluster.
fn address_of(host: &str, table: &RailTable) -> Option<Ipv4Addr> {
    let of_peer = || table.peers.iter().find(|(_, peer)| peer.host == host).map(|(address, _)| *address);
    if table.host == host { Some(table.identity) } else { of_peer() }
}

/// By which way all ranks meet, as far as the user has not said so.
fn of_job(start: &Start) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    // Without a table this host is not set up, and knows no address.
    let table = RailTable::load(Path::new(RailTable::PATH)).ok();
    let host_of_first = start.parts.iter().find(|part| part.ranks.contains(&0));
    let met = table.zip(host_of_first).and_then(|(table, part)| address_of(&part.host, &table));
    if let Some(address) = met {
        all.push(("MASTER_ADDR", address.to_string()));
        all.push(("MASTER_PORT", (PORT + start.job % PORTS).to_string()));
    }
    if Path::new("/sys/class/net").join(IDENTITY_INTERFACE).exists() {
        // These would else look for an address by the host's name, which many hosts know as 127.0.1.1.
        all.push(("GLOO_SOCKET_IFNAME", IDENTITY_INTERFACE.into()));
        all.push(("NCCL_SOCKET_IFNAME", format!("={IDENTITY_INTERFACE}")));
    }
    let is_set = |name: &str| start.work.env.iter().any(|(set, _)| set.as_slice() == name.as_bytes());
    all.retain(|(name, _)| !is_set(name));
    all
}

/// Variables of each of the ranks of the host with the number `own`, in their order there. What the user has
/// set stays as far as it is about the job and not about a rank.
pub fn environment(start: &Start, own: usize) -> Vec<Vec<(OsString, OsString)>> {
    let of_job = of_job(start);
    let ranks = &start.parts[own].ranks;
    let of_rank = |(place, rank): (usize, &u32)| {
        let own = [
            ("RANK", rank.to_string()),
            ("WORLD_SIZE", start.work.ranks.to_string()),
            ("LOCAL_RANK", place.to_string()),
            ("LOCAL_WORLD_SIZE", ranks.len().to_string()),
        ];
        let all = own.into_iter().chain(of_job.iter().cloned());
        all.map(|(name, value)| (name.into(), value.into())).collect()
    };
    ranks.iter().enumerate().map(of_rank).collect()
}
