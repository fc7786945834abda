//! Machines that ssh reaches.

use crate::{
    host_name,
    jump::{QUIET, arguments},
    local::{leads_here, leads_to},
    task::{Program, Task},
    this_program,
};
use std::{
    ffi::{OsStr, OsString},
    net::Ipv4Addr,
    process::Command,
};
use tasuki_cluster::{AddressPlan, Cluster, HostId, SshAddress, SshTarget};
use tasuki_process::quote;

/// The machines of a cluster file, which ssh reaches as the file's `management` and `ssh` say.
#[derive(Clone, Debug)]
pub struct SshHosts {
    /// The machines.
    pub cluster: Cluster,
    /// ssh, and options for it.
    ssh: Vec<String>,
    /// The `tasuki` command on a machine, with what stands before it.
    tasuki: Vec<String>,
    /// The host that is this machine, and is reached without ssh.
    own: Option<HostId>,
}

impl SshHosts {
    /// Reaches other machines by plain `ssh`, and runs the `tasuki` that a login finds there.
    pub fn new(cluster: Cluster) -> Self {
        Self::through(cluster, vec!["ssh".into()], vec!["tasuki".into()])
    }

    /// Reaches machines by this ssh (program and options; not empty), and runs this `tasuki` there, `sudo`
    /// before it if need be. The host that has this machine's name is reached without ssh, unless its
    /// `management` is another machine's address.
    pub fn through(cluster: Cluster, ssh: Vec<String>, tasuki: Vec<String>) -> Self {
        let own = own_host(&cluster);
        Self { cluster, ssh, tasuki, own }
    }

    /// The machines of another cluster, reached in the same way.
    pub fn with_cluster(&self, cluster: Cluster) -> Self {
        Self::through(cluster, self.ssh.clone(), self.tasuki.clone())
    }

    /// How ssh reaches a host; `None`: it is this machine.
    pub(crate) fn target(&self, host: HostId) -> Option<SshTarget<'_>> {
        (self.own != Some(host)).then(|| self.cluster.ssh_target(host))
    }

    /// The address of a host's cables, if that is where ssh goes to reach it.
    pub(crate) fn by_cables(&self, host: HostId) -> Option<Ipv4Addr> {
        let target = self.target(host).filter(|target| target.jump.is_none())?;
        identity(&self.cluster, host).filter(|identity| leads_to(target.address, *identity))
    }

    pub(crate) fn of_task(&self, host: HostId, task: &Task) -> Command {
        let Some(target) = self.target(host) else { return local(task) };
        let tasuki: &[String] = if task.program == Program::Tasuki { &self.tasuki } else { &[] };
        let argv = tasuki.iter().map(OsStr::new).chain(task.argv.iter().map(OsString::as_os_str));
        let mut ssh = self.ssh.clone();
        if task.on_terminal {
            ssh.push("-t".into());
        }
        over_ssh(&ssh, target, argv)
    }
}

/// The host of a cluster that is this machine: it has this machine's name, and an address of this machine if
/// the file gives it one. A name that leads to the address that the host has while it is set up, and so may
/// have now or not, is its own.
fn own_host(cluster: &Cluster) -> Option<HostId> {
    let name = host_name();
    let own = cluster.hosts.iter().position(|host| host.name == name)?;
    let own = HostId(own);
    let is_own = |address: &str| {
        leads_here(address) || identity(cluster, own).is_some_and(|identity| leads_to(address, identity))
    };
    let address = cluster.host_of(own).management.as_ref().map(SshAddress::address);
    address.is_none_or(is_own).then_some(own)
}

/// The address by which the names of hosts that are set up lead to a host.
fn identity(cluster: &Cluster, host: HostId) -> Option<Ipv4Addr> {
    let plan = AddressPlan::new(cluster).ok()?;
    plan.hosts.get(host.0).map(|host| host.identity)
}

/// A task on this machine.
pub(crate) fn local(task: &Task) -> Command {
    match task.program {
        Program::Tasuki => this_program(&task.argv),
        Program::Any => {
            let mut argv = task.argv.iter();
            let mut command = Command::new(argv.next().map_or(OsStr::new(""), OsString::as_os_str));
            command.args(argv);
            command
        }
    }
}

/// A command on a machine by `ssh` (program and options), which asks nobody for a password and does not wait
/// long for a machine that is off. The arguments pass the shell of the machine unchanged, and no name from a
/// cluster file can be taken for an option: each follows an option or the `--` that ends them.
fn over_ssh(
    ssh: &[String],
    target: SshTarget<'_>,
    argv: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Command {
    let mut command = Command::new(&ssh[0]);
    command.args(&ssh[1..]).args(QUIET);
    if let Some(port) = target.port {
        command.args(["-p", &port.to_string()]);
    }
    if let Some(jump) = target.jump {
        command.args(arguments(ssh, jump));
    }
    if let Some(user) = target.user {
        command.args(["-l", user]);
    }
    command.args(["--", target.address]).args(argv.into_iter().map(|word| quote(word.as_ref())));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [[host]]
        name = "n1"
        nic = [{ name = "eth1" }]
        [[host]]
        name = "n2"
        management = "me@198.18.0.2"
        ssh = { port = 2222, jump = "gate" }
        nic = [{ name = "eth1" }]
        [[cable]]
        ends = ["n1:eth1", "n2:eth1"]
    "#;

    fn hosts() -> SshHosts {
        // None of them is this machine, whatever its name.
        SshHosts { own: None, ..SshHosts::new(Cluster::parse(FILE, None).unwrap()) }
    }

    fn line(command: &Command) -> Vec<String> {
        let words = [command.get_program()].into_iter().chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn every_name_of_a_file_follows_an_option_or_the_end_of_options() {
        let command = hosts().of_task(HostId(1), &Task::tasuki(["status", "--host", "a b"]));
        let quiet = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"];
        let jump = "ProxyCommand=ssh -o BatchMode=yes -o ConnectTimeout=10 -W '[%h]:%p' -- gate";
        let way = ["-p", "2222", "-o", jump, "-l", "me", "--", "198.18.0.2"];
        let argv = ["tasuki", "status", "--host", "'a b'"];
        assert_eq!(line(&command), [&quiet[..], &way, &argv].concat());
    }

    #[test]
    fn the_machine_itself_is_reached_without_ssh_if_it_is_told_apart() {
        let mut cluster = hosts().cluster;
        cluster.hosts[0].name = host_name();
        let sudo = ["sudo", "-n", "/opt/tasuki"].map(str::to_owned).to_vec();
        let ssh = ["ssh", "-F", "config"].map(str::to_owned).to_vec();
        let hosts = SshHosts::through(cluster, ssh, sudo);
        let task = Task::tasuki(["status"]);
        assert_eq!(line(&hosts.of_task(HostId(0), &task)), ["/proc/self/exe", "status"]);
        let other = line(&hosts.of_task(HostId(1), &task));
        assert_eq!(other[..3], ["ssh", "-F", "config"]);
        assert_eq!(other[other.len() - 4..], ["sudo", "-n", "/opt/tasuki", "status"]);
        let on_terminal = line(&hosts.of_task(HostId(1), &task.on_terminal()));
        assert_eq!(on_terminal[3..5], ["-t", "-o"]);
        let id = Task::program(["id", "-u"]);
        assert_eq!(line(&hosts.of_task(HostId(0), &id)), ["id", "-u"]);
        assert_eq!(line(&hosts.of_task(HostId(1), &id))[14..], ["198.18.0.2", "id", "-u"]);
    }

    #[test]
    fn a_host_of_this_machines_name_with_another_address_is_another_machine() {
        let reached = |management: Option<&str>| {
            let mut cluster = hosts().cluster;
            cluster.hosts[0].name = host_name();
            cluster.hosts[0].management = management.map(|text| text.parse().unwrap());
            let hosts = SshHosts::new(cluster);
            (hosts.target(HostId(0)).is_some(), hosts.with_cluster(hosts.cluster.clone()).own)
        };
        // RFC 5737 and RFC 3849 keep these for documentation: no machine has them.
        for far in ["root@198.51.100.1", "2001:db8::1"] {
            assert_eq!(reached(Some(far)), (true, None), "{far}");
        }
        // RFC 6761 has localhost lead to the machine itself, and .invalid nowhere.
        // The address that the host has while it is set up tells no other machine, whoever has it now.
        for near in [
            Some("root@10.77.0.1"),
            None,
            Some("root@127.0.0.1"),
            Some("::1"),
            Some("localhost"),
            Some("alias.invalid"),
        ] {
            assert_eq!(reached(near), (false, Some(HostId(0))), "{near:?}");
        }
    }
}
