//! What measurements need of labs and of MPIs, and leave to their caller: how to get into a host, and how a
//! job starts.

use crate::{BenchError, LineRate, Network};
use std::{
    ffi::{OsStr, OsString},
    process::Command,
};
use tasuki_cluster::{AddressPlan, Cluster, HostId, Rail};
use tasuki_lab::LabOptions;
use tasuki_launch::{Detected, LaunchCommand, Mpi, Transport};

/// The way into the hosts of a lab. The lab may end with this value.
pub trait LabAccess: Send + Sync {
    /// A command in a host, as a process of this machine. All that it starts, on any host, ends with it.
    fn command(&self, host: HostId, argv: Vec<OsString>) -> Command;
}

/// Stands labs up.
pub trait LabBuilder {
    /// Builds a lab that ends with the value that is returned. `name` is what records call it.
    fn build(&self, name: &str, cluster: Cluster, options: LabOptions) -> Result<Testbed, BenchError>;
}

/// The MPIs of this machine.
pub trait MpiAccess {
    /// All that are installed.
    fn installed(&self) -> Vec<Mpi>;
    /// The one that a name or a prefix means, such as `openmpi-4.1`.
    fn one(&self, choice: &str) -> Result<Mpi, BenchError>;
    /// The MPI of a program; `choice`: the folder of the one to run it with instead.
    fn detect(&self, argv: &[OsString], choice: Option<&str>) -> Result<Detected, BenchError>;
    /// What is to carry the messages of an MPI, each to be measured; or why it cannot.
    fn transports(&self, mpi: &Mpi) -> Vec<Result<Transport, BenchError>>;
    /// Makes what a program needs visible in all hosts of a lab.
    fn share(&self, lab: &Testbed, program: &Detected, transport: &Transport) -> Result<(), BenchError>;
    /// How a program is started on the first `hosts` hosts of a lab.
    fn launch(
        &self,
        lab: &Testbed,
        hosts: u32,
        ranks: u32,
        program: &Detected,
        transport: &Transport,
    ) -> Result<LaunchCommand, BenchError>;
}

/// A lab with what a measurement must know of it.
pub struct Testbed {
    /// Name in records.
    pub name: String,
    /// Name of the lab.
    pub lab: String,
    /// Its cluster, MAC addresses filled in.
    pub cluster: Cluster,
    /// Its addresses.
    pub plan: AddressPlan,
    /// How it was built.
    pub options: LabOptions,
    /// Path of this program inside of its hosts.
    pub program: &'static str,
    /// The way into its hosts.
    pub access: Box<dyn LabAccess>,
}

impl Testbed {
    /// A command in a host, as a process of this machine. All that it starts, on any host, ends with it.
    pub fn command(&self, host: HostId, argv: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        self.access.command(host, argv.into_iter().map(|word| word.as_ref().to_owned()).collect())
    }

    /// This program with these arguments in a host.
    pub fn tasuki(&self, host: HostId, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let arguments = arguments.into_iter().map(|word| word.as_ref().to_owned());
        self.command(host, [OsString::from(self.program)].into_iter().chain(arguments))
    }

    /// The first direct rail between two hosts, if there is one.
    pub fn direct_rail(&self, a: HostId, b: HostId) -> Option<Rail> {
        self.cluster.rails(a, b).into_iter().find(Rail::is_direct)
    }

    /// Two hosts with a direct rail, the first ones of the file.
    pub fn neighbours(&self) -> Option<(HostId, HostId)> {
        let hosts = self.cluster.hosts.len();
        (1..hosts).map(|other| (HostId(0), HostId(other))).find(|&(a, b)| self.direct_rail(a, b).is_some())
    }

    /// Rate of the line between two hosts in bit/s, all direct rails together; `None` if nothing holds the
    /// rate.
    pub fn line_bits_per_second(&self, a: HostId, b: HostId) -> Option<u64> {
        if self.options.unshaped {
            return None;
        }
        let direct = self.cluster.rails(a, b).into_iter().filter(Rail::is_direct);
        // A rate given to the lab holds for every cable.
        let rate = |rail: Rail| self.options.rate.unwrap_or(rail.rate).bits_per_second;
        Some(direct.map(rate).sum())
    }

    /// The lab as records describe it.
    pub fn description(&self) -> Network {
        let mtu = self.cluster.hosts.iter().flat_map(|host| &host.nics).map(|nic| nic.mtu).min();
        let pair = self.neighbours().and_then(|(a, b)| self.line_bits_per_second(a, b));
        let line = pair.zip(mtu).map(|(pair_bits_per_second, mtu)| LineRate { pair_bits_per_second, mtu });
        Network {
            name: self.name.clone(),
            hosts: self.cluster.hosts.len() as u32,
            line,
            offloads: if self.options.offloads { "on" } else { "off" }.into(),
        }
    }
}
