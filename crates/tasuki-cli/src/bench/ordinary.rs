//! Ranks as an ordinary user: none of root's rights, a member of the broker's group, and a broker on every host that gives him the raw lane.

use super::{BuiltStack, LabNetwork};
use crate::failure::Failure;
use std::{
    ffi::OsString,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tasuki_cluster::HostId;
use tasuki_launch::{Flavour, Transport};

/// Every host of a lab has a `/run` of its own; `/run/tasuki` is the same for all.
const SOCKET: &str = "/run/tasuki-bench-broker.sock";
/// A user and groups that no distribution gives away.
const USER: &str = "64201";
const GROUP: &str = "64100";
/// A broker listens within a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(20);

/// Those stacks that can be run by him, made so that he runs them, and why the others cannot. Over TCP all stay as they are: the peer is not
/// handicapped.
pub fn choose(stacks: Vec<BuiltStack>) -> Result<(Vec<BuiltStack>, Vec<String>), Failure> {
    let (mut chosen, mut problems) = (Vec::new(), Vec::new());
    for mut stack in stacks {
        if !matches!(stack.transport, Transport::Tasuki(_)) {
            chosen.push(stack);
        } else if matches!(stack.detected.mpi.flavour, Flavour::Mpich | Flavour::Intel) {
            readable(Path::new(&stack.detected.argv[0]))?;
            stack.prefix = prefix();
            // Hydra passes them on.
            stack.variables = vec![("TASUKI_BROKER", SOCKET), ("TASUKI_LANES", "raw,udp")];
            chosen.push(stack);
        } else {
            problems.push(format!(
                "{}: its daemons, which are root's, take no ranks of another user",
                stack.name
            ));
        }
    }
    Ok((chosen, problems))
}

/// What stands before a program, so that he runs it.
fn prefix() -> Vec<OsString> {
    let words = [
        "/usr/bin/setpriv",
        &format!("--reuid={USER}"),
        &format!("--regid={USER}"),
        &format!("--groups={GROUP}"),
        "--inh-caps=-all",
        "--bounding-set=-all",
        "--no-new-privs",
    ];
    words.map(OsString::from).to_vec()
}

/// The brokers. They end with this value.
pub struct Brokers(Vec<Child>);

impl Brokers {
    /// Starts a broker on every host, and waits until all of them listen.
    pub fn start(networks: &[LabNetwork]) -> Result<Self, Failure> {
        let mut brokers = Self(Vec::new());
        for network in networks {
            for host in 0..network.cluster.hosts.len() {
                brokers.0.push(start(network, HostId(host))?);
            }
        }
        let end = Instant::now() + PATIENCE;
        for network in networks {
            for host in 0..network.cluster.hosts.len() {
                while !listens(network, HostId(host))? {
                    if Instant::now() > end {
                        let name = &network.cluster.hosts[host].name;
                        return Err(Failure::new(format!(
                            "the broker on {name} does not listen on {SOCKET}"
                        )));
                    }
                    thread::sleep(Duration::from_millis(20));
                }
            }
        }
        Ok(brokers)
    }
}

impl Drop for Brokers {
    fn drop(&mut self) {
        for broker in &mut self.0 {
            // It may have ended already.
            let _ = broker.kill();
            let _ = broker.wait();
        }
    }
}

fn start(network: &LabNetwork, host: HostId) -> Result<Child, Failure> {
    let words = ["/run/tasuki/bin/tasuki", "broker", "--socket", SOCKET, "--group", GROUP];
    let mut command = network.command(host, words.map(OsString::from));
    Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?)
}

fn listens(network: &LabNetwork, host: HostId) -> Result<bool, Failure> {
    let mut command: Command = network.command(host, ["test", "-S", SOCKET].map(OsString::from));
    Ok(command.status()?.success())
}

/// Others than its owner must be able to read the program.
fn readable(program: &Path) -> Result<(), Failure> {
    for path in program.ancestors().filter(|path| !path.as_os_str().is_empty()) {
        if path.metadata()?.permissions().mode() & 0o005 != 0o005 {
            return Err(Failure::new(format!(
                "an ordinary user cannot read {}: let XDG_CACHE_HOME name a folder that all can read, as /var/tmp",
                path.display()
            )));
        }
    }
    Ok(())
}
