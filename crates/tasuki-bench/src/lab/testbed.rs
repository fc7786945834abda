//! What measurements need of hosts and of MPIs, and leave to their caller: how a command gets onto a host,
//! and how a job starts.

use super::peers::own_processor;
use crate::{BenchError, LineRate, Network};
use std::{
    ffi::{OsStr, OsString},
    net::Ipv4Addr,
    process::Command,
};
use tasuki_cluster::{AddressPlan, Cluster, HostId, Rail, Rate};
use tasuki_lab::LabOptions;
use tasuki_launch::{Detected, Facts, LaunchCommand, Mpi, Transport};

/// Access to the hosts of a testbed. A lab may end with this value.
pub trait HostAccess: Send + Sync {
    /// A command on a host, as a process of this machine that passes its streams and its exit code on. All
    /// that it starts in a lab, on any host, ends with it.
    fn command(&self, host: HostId, argv: Vec<OsString>) -> Command;
    /// The `tasuki` of a host, with these arguments, as [`Self::command`] has it.
    fn tasuki(&self, host: HostId, arguments: Vec<OsString>) -> Command;
    /// The launcher of a job: in the first host of a lab, or on this machine, which is one of the machines.
    fn launcher(&self, argv: Vec<OsString>) -> Command;
    /// What an MPI must know of the hosts to run so many ranks on them.
    fn facts(&self, ranks: u32) -> Result<Facts, BenchError>;
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
    /// Makes what a program needs visible in all hosts of a lab. Machines must have it already.
    fn share(&self, network: &Testbed, program: &Detected, transport: &Transport) -> Result<(), BenchError>;
    /// How a program is started on the first `hosts` hosts of a testbed.
    fn launch(
        &self,
        network: &Testbed,
        hosts: u32,
        ranks: u32,
        program: &Detected,
        transport: &Transport,
    ) -> Result<LaunchCommand, BenchError>;
}

/// What the hosts of a testbed are.
#[derive(Clone, Debug)]
pub enum HostKind {
    /// Namespaces of this machine.
    Lab {
        /// Name of the lab.
        name: String,
        /// How it was built.
        options: LabOptions,
    },
    /// Machines, this one among them.
    Machines {
        /// Whether commands on all of them have root's rights, without which no frames can be sent past the
        /// protocols of the kernel.
        as_root: bool,
    },
}

/// Hosts to measure on: a lab or machines, with what a measurement must know of them.
pub struct Testbed {
    /// Name in records.
    pub name: String,
    /// What the hosts are.
    pub kind: HostKind,
    /// Their cluster; in a lab MAC addresses are filled in.
    pub cluster: Cluster,
    /// Their addresses.
    pub plan: AddressPlan,
    /// Access to the hosts.
    pub access: Box<dyn HostAccess>,
}

impl Testbed {
    /// A command in a host, as a process of this machine. All that it starts, on any host, ends with it.
    pub fn command(&self, host: HostId, argv: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        self.access.command(host, argv.into_iter().map(|word| word.as_ref().to_owned()).collect())
    }

    /// This program with these arguments in a host.
    pub fn tasuki(&self, host: HostId, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let arguments = arguments.into_iter().map(|word| word.as_ref().to_owned());
        self.access.tasuki(host, arguments.collect())
    }

    /// The launcher of a job, as a process of this machine.
    pub fn launcher(&self, argv: Vec<OsString>) -> Command {
        self.access.launcher(argv)
    }

    /// How the lab was built; `None`: the hosts are machines.
    pub fn lab_options(&self) -> Option<&LabOptions> {
        match &self.kind {
            HostKind::Lab { options, .. } => Some(options),
            HostKind::Machines { .. } => None,
        }
    }

    /// The name of the lab; `None`: the hosts are machines.
    pub fn lab(&self) -> Option<&str> {
        match &self.kind {
            HostKind::Lab { name, .. } => Some(name),
            HostKind::Machines { .. } => None,
        }
    }

    /// Whether measurements may send frames past the protocols of the kernel, for which they need root's
    /// rights on every host.
    pub fn allows_frames(&self) -> bool {
        match self.kind {
            HostKind::Lab { .. } => true,
            HostKind::Machines { as_root } => as_root,
        }
    }

    /// The address at which another host of the testbed reaches a process that coordinates a measurement: a
    /// lab has a management network for this; machines have identity addresses, and their management may be a
    /// name that only ssh knows.
    pub fn control_address(&self, host: HostId) -> Ipv4Addr {
        match self.kind {
            HostKind::Lab { .. } => self.cluster.lab_management(host),
            HostKind::Machines { .. } => self.plan.hosts[host.0].identity,
        }
    }

    /// The processor for one of two processes that measure together, the first or the second. In a lab both
    /// share this machine: each gets a processor of its own if there are two (`None` if there is one, because
    /// two that spin on one processor would measure the scheduler). On machines of their own the kernel
    /// chooses.
    pub(super) fn processor(&self, number: usize) -> Option<usize> {
        match self.kind {
            HostKind::Lab { .. } => own_processor(number),
            HostKind::Machines { .. } => None,
        }
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

    /// Rate of a rail; `None` if nothing holds it. On machines it is what the cluster file says.
    pub fn rate(&self, rail: &Rail) -> Option<Rate> {
        match self.lab_options() {
            Some(options) => options.line_rate(rail.rate),
            None => Some(rail.rate),
        }
    }

    /// Rate of the line between two hosts in bit/s, all direct rails together; `None` if nothing holds the
    /// rate.
    pub fn line_bits_per_second(&self, a: HostId, b: HostId) -> Option<u64> {
        let direct = self.cluster.rails(a, b).into_iter().filter(Rail::is_direct);
        direct.map(|rail| self.rate(&rail).map(|rate| rate.bits_per_second)).sum()
    }

    /// The testbed as records describe it. Offloads of machines are not looked at: `own` stands for their
    /// hosts' own settings.
    pub fn description(&self) -> Network {
        let mtu = self.cluster.hosts.iter().flat_map(|host| &host.nics).map(|nic| nic.mtu).min();
        let pair = self.neighbours().and_then(|(a, b)| self.line_bits_per_second(a, b));
        let line = pair.zip(mtu).map(|(pair_bits_per_second, mtu)| LineRate { pair_bits_per_second, mtu });
        Network {
            name: self.name.clone(),
            hosts: self.cluster.hosts.len() as u32,
            line,
            offloads: match self.lab_options() {
                Some(options) if options.offloads => "on",
                Some(_) => "off",
                None => "own",
            }
            .into(),
        }
    }
}
