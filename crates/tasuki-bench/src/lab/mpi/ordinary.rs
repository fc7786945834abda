//! Ranks as an ordinary user, who has none of root's rights and is a member of the broker's group, and a
//! broker on every host that gives the user the raw lane.

use super::BuiltStack;
use crate::{BenchError, lab::Testbed};
use std::{
    ffi::OsString,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};
use tasuki_cluster::HostId;
use tasuki_launch::{Flavour, Transport};

/// Every host of a lab has a `/run` of its own; `/run/tasuki` is the same for all.
const SOCKET: &str = "/run/tasuki-bench-broker.sock";
/// Number of the user, one that no distribution gives away.
const USER: &str = "64201";
/// Number of the group that the broker serves, one that no distribution gives away.
const GROUP: &str = "64100";
/// Time in which all brokers must listen; one takes a fraction of a second.
const LISTEN_LIMIT: Duration = Duration::from_secs(20);

/// The stacks that an ordinary user can run, made so that the user runs those over Tasuki; and in words why
/// others are left out. Stacks over TCP stay root's: what Tasuki is compared with has no handicap.
pub fn as_ordinary_user(stacks: Vec<BuiltStack>) -> Result<(Vec<BuiltStack>, Vec<String>), BenchError> {
    let (mut chosen, mut problems) = (Vec::new(), Vec::new());
    for mut stack in stacks {
        if !matches!(stack.transport, Transport::Tasuki(_)) {
            chosen.push(stack);
        } else if matches!(stack.detected.mpi.flavour, Flavour::Mpich | Flavour::Intel) {
            check_readable(Path::new(&stack.detected.argv[0]))?;
            stack.prefix = prefix();
            // Hydra passes the variables on to all ranks.
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

/// The words before a program that have the user run it.
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

/// Running brokers. They end with this value.
pub struct Brokers(Vec<Child>);

impl Brokers {
    /// Starts a broker on every host, and waits until all of them listen.
    pub fn start(networks: &[Testbed]) -> Result<Self, BenchError> {
        let mut brokers = Self(Vec::new());
        for network in networks {
            for host in 0..network.cluster.hosts.len() {
                brokers.0.push(start(network, HostId(host))?);
            }
        }
        let end = Instant::now() + LISTEN_LIMIT;
        for network in networks {
            for host in 0..network.cluster.hosts.len() {
                while !listens(network, HostId(host))? {
                    if Instant::now() > end {
                        let name = &network.cluster.hosts[host].name;
                        return Err(BenchError::refused(format!(
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

fn start(network: &Testbed, host: HostId) -> Result<Child, BenchError> {
    let mut command = network.tasuki(host, ["broker", "--socket", SOCKET, "--group", GROUP]);
    Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?)
}

fn listens(network: &Testbed, host: HostId) -> Result<bool, BenchError> {
    Ok(network.command(host, ["test", "-S", SOCKET]).status()?.success())
}

/// Refuses a program that others than its owner cannot read.
fn check_readable(program: &Path) -> Result<(), BenchError> {
    for path in program.ancestors().filter(|path| !path.as_os_str().is_empty()) {
        if path.metadata()?.permissions().mode() & 0o005 != 0o005 {
            return Err(BenchError::refused(format!(
                "an ordinary user cannot read {}: let XDG_CACHE_HOME name a folder that all can read, as \
                 /var/tmp",
                path.display()
            )));
        }
    }
    Ok(())
}
