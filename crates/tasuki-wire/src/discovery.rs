//! The hello of `tasuki discover`: a cable probe by which a NIC tells who it is while there is no cluster
//! file.

use crate::{
    cable::{CableKind, CableNic, CableProbe},
    drop_reason::DropReason,
};

/// What stands in the cluster field of a discovery: there is no cluster yet.
const NO_CLUSTER: u32 = 0;

/// A hello of `tasuki discover`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discovery<'a> {
    /// Counts the hellos of the sender's NIC, from 0.
    pub number: u32,
    /// Tells one run of `tasuki discover` from another.
    pub run: u64,
    /// The sender by its numbers in this run, both from 1: the host in the list of hosts, the NIC in the list
    /// of NICs that its host has told.
    pub sender: CableNic,
    /// The sender's host name.
    pub host_name: &'a str,
    /// The name of the sender's NIC.
    pub nic_name: &'a str,
    /// The MAC address of the sender's NIC.
    pub mac: [u8; 6],
}

impl<'a> Discovery<'a> {
    /// Reads what came behind an Ethernet header of type [`crate::CABLE_ETHERTYPE`].
    ///
    /// # Errors
    /// [`DropReason::FrameType`] for a probe of another kind; otherwise what is wrong with the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DropReason> {
        let probe = CableProbe::parse(bytes)?;
        if probe.kind != CableKind::Discovery {
            return Err(DropReason::FrameType);
        }
        //= docs/reference/wire.md#cable-probes
        //# A discovery whose cluster is not 0, whose numbers are 0 or whose body is not the MAC address of
        //# one NIC is dropped.
        let mac: [u8; 6] = probe.body.try_into().map_err(|_| DropReason::Length)?;
        let is_one_nic = mac[0] & 1 == 0 && mac != [0; 6];
        let is_numbered = probe.sender.host > 0 && probe.sender.nic > 0;
        if probe.cluster != NO_CLUSTER || !is_numbered || !is_one_nic {
            return Err(DropReason::Greeting);
        }
        let CableProbe { number, run, sender, host_name, nic_name, .. } = probe;
        Ok(Self { number, run, sender, host_name, nic_name, mac })
    }

    /// Writes the hello; `buffer` is emptied first. `None` if a name is empty or too long.
    pub fn emit(&self, buffer: &mut Vec<u8>) -> Option<()> {
        let Self { number, run, sender, host_name, nic_name, mac } = *self;
        let cluster = NO_CLUSTER;
        let kind = CableKind::Discovery;
        CableProbe { kind, number, run, cluster, sender, host_name, nic_name, body: &mac }.emit(buffer)
    }
}
