//! The program's counters.

use crate::{
    Found, StripeError, attached,
    error::doing,
    layout::{Count, PASSES},
};
use aya::maps::{Map, PerCpuArray};
use serde::{Deserialize, Serialize};
use tasuki_sys::netlink::Netlink;

/// What was striped on a host since striping was set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripeCounts {
    /// The NICs of the bundle.
    pub nics: Vec<NicCounts>,
    /// Packets that are not striped: to others than hosts of the cluster, to link addresses, or of other
    /// protocols than TCP and UDP.
    pub others: u64,
    /// Packets of sockets that are bound to a NIC.
    pub bound: u64,
    /// Packets to hosts to which all rails are dead; they go as the kernel's route says.
    pub no_way: u64,
}

/// What one NIC sent of what was striped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicCounts {
    /// Interface name.
    pub interface: String,
    /// Packets, as the kernel handed them over: super-frames of TCP count once.
    pub packets: u64,
    /// Frames on the wire.
    pub frames: u64,
    /// Bytes of these frames, without preamble, frame check sequence and gap.
    pub bytes: u64,
    /// Packets that the kernel's route had given to another NIC.
    pub moved: u64,
}

impl StripeCounts {
    /// The counters of the network namespace of `netlink`; `None`: nothing is striped there. Needs root where
    /// something is striped.
    pub fn read(netlink: &mut Netlink) -> Result<Option<Self>, StripeError> {
        let Some(found) = attached::find(netlink)? else { return Ok(None) };
        let links = netlink.links()?;
        let name = |index: u32| {
            let link = links.iter().find(|link| link.index == index);
            link.map_or_else(|| index.to_string(), |link| link.name.clone())
        };
        let mut nics = Vec::new();
        let totals: PerCpuArray<_, Count> =
            Map::PerCpuArray(found.table("counts")?).try_into().map_err(doing("use a table"))?;
        for (index, number) in numbers(&found)? {
            let values = totals.get(&number, 0).map_err(doing("read a counter"))?;
            let sum = |field: usize| values.iter().map(|of_one: &Count| of_one[field]).sum();
            let [packets, frames, bytes, moved] = [0, 1, 2, 3].map(sum);
            nics.push((number, NicCounts { interface: name(index), packets, frames, bytes, moved }));
        }
        nics.sort_by_key(|(number, _)| *number);
        let passed: PerCpuArray<_, u64> =
            Map::PerCpuArray(found.table("passed")?).try_into().map_err(doing("use a table"))?;
        let mut passes = [0; PASSES];
        for (number, total) in (0..).zip(&mut passes) {
            *total = passed.get(&number, 0).map_err(doing("read a counter"))?.iter().sum();
        }
        let [others, bound, no_way] = passes;
        Ok(Some(Self { nics: nics.into_iter().map(|(_, counts)| counts).collect(), others, bound, no_way }))
    }
}

/// Interface index of every NIC, and its number in the bundle.
fn numbers(found: &Found) -> Result<Vec<(u32, u32)>, StripeError> {
    let table = Map::HashMap(found.table("numbers")?);
    let table: aya::maps::HashMap<_, u32, u32> = table.try_into().map_err(doing("use a table"))?;
    table.iter().collect::<Result<_, _>>().map_err(doing("read the NICs"))
}
