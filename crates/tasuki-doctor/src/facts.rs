//! Facts about one host. The host gathers them itself; [`crate::examine`] judges them where the user is.

use crate::faults::FaultFacts;
use nix::sys::{statvfs::statvfs, uio};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs,
    io::{IoSliceMut, Read},
    net::Ipv4Addr,
    path::{Path, PathBuf},
    str::FromStr,
};
use tasuki_cluster::RailTable;
use tasuki_link::broker::{self, Broker, BrokerError, Outcome};

/// What is known of one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Its name.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// The file of rails that ranks would read.
    pub rails_file: PathBuf,
    /// The table in that file; `None`: there is none, or it is not in order.
    pub rails: Option<RailTable>,
    /// Why there is no table.
    pub rails_problem: Option<String>,
    /// The interfaces that the rails name, and those that carry addresses.
    pub nics: BTreeMap<String, NicFacts>,
    /// Size and free bytes of /dev/shm; `None`: it is not there.
    pub shm: Option<(u64, u64)>,
    /// `net.core.rmem_max`, bytes; `None`: the host cannot see it (network namespaces of older kernels).
    pub rmem_max: Option<u64>,
    /// `net.core.wmem_max`, bytes.
    pub wmem_max: Option<u64>,
    /// `kernel.yama.ptrace_scope`; `None`: no Yama.
    pub ptrace_scope: Option<u32>,
    /// Why a process may not even read its own memory by process_vm_readv (a container's filter may forbid
    /// it); `None`: it may.
    pub cma_refused: Option<String>,
    /// Why this user may not open a packet socket, which the raw lane needs; `None`: the user may.
    #[serde(default)]
    pub raw_refused: Option<String>,
    /// Why the broker would not open one for this user, if that is needed; `None`: it would.
    #[serde(default)]
    pub broker_refused: Option<BrokerRefusal>,
    /// What this user may do about page faults; `None`: it is not told.
    #[serde(default)]
    pub faults: Option<FaultFacts>,
}

/// Why the broker opens no raw lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerRefusal {
    /// What the broker or the system said.
    pub why: String,
    /// What helps.
    pub remedy: String,
}

/// What is known of one network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicFacts {
    /// Whether there is a signal on the line.
    pub carrier: bool,
    /// MTU, bytes.
    pub mtu: u32,
    /// What the driver says of the line's rate, 10^6 bit/s; `None`: nothing (emulated NICs).
    pub speed_mbits: Option<u64>,
    /// Its IPv4 addresses.
    pub addresses: Vec<Ipv4Addr>,
}

impl HostFacts {
    /// Gathers the facts of the host that this process runs on.
    pub fn local() -> Self {
        let rails_file =
            std::env::var_os("TASUKI_RAILS").map_or_else(|| RailTable::PATH.into(), PathBuf::from);
        let (rails, rails_problem) = match RailTable::load(&rails_file) {
            Ok(table) => (Some(table), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let size = |path: &str| {
            let at = statvfs(path).ok()?;
            Some((at.blocks() * at.fragment_size(), at.blocks_available() * at.fragment_size()))
        };
        let raw_refused = raw_refused();
        let nic = rails.as_ref().and_then(|table| table.rails().next());
        let broker_refused = match (&raw_refused, nic) {
            (Some(_), Some(rail)) => broker_refused(&rail.nic),
            _ => None,
        };
        Self {
            host: nix::unistd::gethostname()
                .map_or_else(|_| String::new(), |name| name.to_string_lossy().into()),
            kernel: read("/proc/sys/kernel/osrelease").unwrap_or_default(),
            rails_file,
            rails,
            rails_problem,
            nics: nics(),
            shm: size("/dev/shm"),
            rmem_max: read("/proc/sys/net/core/rmem_max"),
            wmem_max: read("/proc/sys/net/core/wmem_max"),
            ptrace_scope: read("/proc/sys/kernel/yama/ptrace_scope"),
            cma_refused: cma_refused(),
            raw_refused,
            broker_refused,
            faults: Some(FaultFacts::local()),
        }
    }
}

/// Reads a small file that holds one value.
fn read<T: FromStr>(path: impl AsRef<Path>) -> Option<T> {
    let mut text = String::new();
    fs::File::open(path).ok()?.take(4096).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn nics() -> BTreeMap<String, NicFacts> {
    let mut all: BTreeMap<String, NicFacts> = BTreeMap::new();
    for entry in fs::read_dir("/sys/class/net").into_iter().flatten().flatten() {
        let at = entry.path();
        // An interface that is down has no carrier to be read.
        let facts = NicFacts {
            carrier: read::<u8>(at.join("carrier")) == Some(1),
            mtu: read(at.join("mtu")).unwrap_or(0),
            speed_mbits: read::<i64>(at.join("speed")).and_then(|speed| u64::try_from(speed).ok()),
            addresses: Vec::new(),
        };
        all.insert(entry.file_name().to_string_lossy().into(), facts);
    }
    for interface in nix::ifaddrs::getifaddrs().into_iter().flatten() {
        let address = interface.address.as_ref().and_then(|address| Some(address.as_sockaddr_in()?.ip()));
        if let (Some(facts), Some(address)) = (all.get_mut(&interface.interface_name), address) {
            facts.addresses.push(address);
        }
    }
    all
}

/// Why reading a byte of this very process by process_vm_readv fails; `None`: it does not.
fn cma_refused() -> Option<String> {
    let original = [7_u8];
    let mut copy = [0_u8];
    let from = [uio::RemoteIoVec { base: original.as_ptr() as usize, len: 1 }];
    match uio::process_vm_readv(nix::unistd::getpid(), &mut [IoSliceMut::new(&mut copy)], &from) {
        Ok(1) if copy == original => None,
        Ok(_) => Some("it gave other bytes".into()),
        Err(errno) => Some(errno.desc().into()),
    }
}

/// Why a packet socket cannot be opened; `None`: it can. The one that is opened receives nothing.
fn raw_refused() -> Option<String> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
    let opened = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None);
    opened.err().map(|errno| errno.desc().into())
}

/// Asks the broker whether it would open a packet socket for this NIC.
fn broker_refused(nic: &str) -> Option<BrokerRefusal> {
    let path = std::env::var_os(broker::VARIABLE).map_or_else(|| broker::SOCKET.into(), PathBuf::from);
    if path.as_os_str().is_empty() {
        let why = format!("{} is empty: no broker is asked", broker::VARIABLE);
        return Some(BrokerRefusal { why, remedy: format!("unset {}", broker::VARIABLE) });
    }
    let error = Broker::at(path).would_give(nic).err()?;
    let join = "sudo usermod --append --groups tasuki USER, then log in anew (docs/guide/security.md says \
                what that allows)";
    let remedy = match &error {
        BrokerError::Forbidden { .. } => join,
        BrokerError::Refused { outcome: Outcome::NotMember, .. } => join,
        BrokerError::Refused { outcome: Outcome::Nic, .. } => {
            "sudo tasuki apply FILE, or start the broker with --nic"
        }
        BrokerError::Stranger { .. } => {
            "unset TASUKI_BROKER, or find out who has made that socket; sudo systemctl restart \
             tasuki-broker.socket makes the right one"
        }
        BrokerError::Absent { .. } => start_broker(has_unit()),
        _ => "journalctl -u tasuki-broker",
    };
    Some(BrokerRefusal { why: error.to_string(), remedy: remedy.into() })
}

/// Whether systemd knows the broker here: the package and `make install` bring its units, `tasuki install`
/// and a wheel do not. The folders are those of systemd.unit(5).
fn has_unit() -> bool {
    let folders =
        ["/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd", "/lib/systemd"];
    folders.iter().any(|folder| Path::new(folder).join("system/tasuki-broker.socket").exists())
}

/// How a broker comes to a host on which none is.
fn start_broker(has_unit: bool) -> &'static str {
    match has_unit {
        true => "sudo systemctl enable --now tasuki-broker.socket (docs/guide/security.md)",
        false => {
            "install Tasuki's package there, which brings the broker's service; or once sudo groupadd \
             --system tasuki, sudo usermod --append --groups tasuki USER, and after each start of the \
             machine sudo tasuki broker (docs/guide/security.md)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // systemctl(1) fails for a unit that is not there, and the broker without its group.
    #[test]
    fn a_host_without_the_brokers_unit_is_not_told_to_enable_it() {
        assert!(start_broker(true).contains("systemctl enable --now tasuki-broker.socket"));
        let said = start_broker(false);
        assert!(!said.contains("systemctl"), "{said}");
        let group = said.find("sudo groupadd").expect("the group comes first");
        assert!(said.find("sudo tasuki broker").is_some_and(|broker| broker > group), "{said}");
    }

    // Every Linux machine has a loopback interface. Facts must also survive being sent as JSON from another
    // host.
    #[test]
    fn this_machine_has_a_loopback_interface() {
        let facts = HostFacts::local();
        assert!(facts.nics["lo"].addresses.contains(&Ipv4Addr::LOCALHOST) || !facts.nics["lo"].carrier);
        assert!(facts.kernel.contains('.'), "{}", facts.kernel);
        let again: HostFacts = serde_json::from_str(&serde_json::to_string(&facts).unwrap()).unwrap();
        assert_eq!(again, facts);
    }
}
