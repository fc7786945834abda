//! What can go wrong on a host. Each variant names the host and the part, and what to do where that is known.

use crate::names::HOSTS_FILE;
use nix::unistd::Uid;
use std::{
    io,
    path::{Path, PathBuf},
};
use tasuki_cluster::MacAddr;
use tasuki_stripe::StripeError;
use tasuki_sys::{ethtool::EthtoolError, netlink::NetlinkError};
use thiserror::Error;

/// Why a host could not be read or configured.
#[derive(Debug, Error)]
pub enum HostError {
    /// There is no rtnetlink socket.
    #[error("{host}: cannot open an rtnetlink socket: {source}")]
    Socket {
        /// Host name.
        host: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The plan names an interface that the host does not have.
    #[error(
        "{host}: there is no interface {interface}; it has {present}. Correct the NIC's name, in the cluster \
         file if it stands there, or set up the others with --allow-missing"
    )]
    NoInterface {
        /// Host name.
        host: String,
        /// Interface in the plan.
        interface: String,
        /// Interfaces that are there.
        present: String,
    },
    /// The kernel refused a change of interfaces, addresses, routes or neighbours.
    #[error("{host}: {source}{}", advice(&source.source))]
    Netlink {
        /// Host name.
        host: String,
        /// What was asked, and the kernel's answer.
        source: NetlinkError,
    },
    /// A kernel setting could not be written.
    #[error("{host}: cannot write {value:?} to {}: {source}{}", path.display(), advice(source))]
    Sysctl {
        /// Host name.
        host: String,
        /// File below /proc/sys.
        path: PathBuf,
        /// Value that was to be written.
        value: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// An offload could not be read or set.
    #[error("{host}: {source}{}", advice(&source.source))]
    Ethtool {
        /// Host name.
        host: String,
        /// What was asked, and the kernel's answer.
        source: EthtoolError,
    },
    /// The driver does not take the plan's MTU.
    #[error(
        "{host}: {interface} takes an MTU from {least} to {most} bytes, not {mtu}. Change `mtu` in the \
         cluster file, on all NICs that reach each other"
    )]
    Mtu {
        /// Host name.
        host: String,
        /// The NIC.
        interface: String,
        /// MTU in the plan, bytes.
        mtu: u32,
        /// Smallest MTU that the driver accepts, bytes.
        least: u32,
        /// Largest MTU that the driver accepts, bytes.
        most: u32,
    },
    /// The NIC has another MAC address than the file says, so its peers would send to nobody.
    #[error(
        "{host}: {interface} has the MAC address {actual}, the cluster file says {planned}. Correct `mac`, \
         or leave it out: the peers then ask for it"
    )]
    Mac {
        /// Host name.
        host: String,
        /// The NIC.
        interface: String,
        /// Its own MAC address.
        actual: MacAddr,
        /// The MAC address in the cluster file.
        planned: MacAddr,
    },
    /// The kernel lacks a setting.
    #[error(
        "{host}: this kernel has no setting {path}; it needs Linux 5.15 or newer with multipath routes \
         (CONFIG_IP_ROUTE_MULTIPATH)"
    )]
    NoSetting {
        /// Host name.
        host: String,
        /// Path below /proc/sys.
        path: String,
    },
    /// The process may not change the host.
    #[error("{host}: changing its addresses, routes and NICs needs root; run this with sudo")]
    NotRoot {
        /// Host name.
        host: String,
    },
    /// A change would touch the interface by which the user is logged in.
    #[error(
        "{host}: you are logged in over {interface} ({why}), and {what} would be changed there. Log in by \
         another interface, take {interface} out of the cluster file, or say --force"
    )]
    Login {
        /// Host name.
        host: String,
        /// The interface.
        interface: String,
        /// How that is known.
        why: String,
        /// The first change that touches it.
        what: String,
    },
    /// Striping could not be read or set.
    #[error("{host}: {source}")]
    Striping {
        /// Host name.
        host: String,
        /// Why.
        source: StripeError,
    },
    /// A NIC has no interrupt delay that could be changed while it runs.
    #[error("{host}: {interface} has no interrupt delay that could be changed while it runs: {why}")]
    NoDelay {
        /// Host name.
        host: String,
        /// The NIC.
        interface: String,
        /// What each means lacks.
        why: String,
    },
    /// The kernel's own interrupt delay could not be read or set.
    #[error("{host}: cannot {doing} the interrupt delay (NAPI) of {interface}: {source}{}", advice(source))]
    Napi {
        /// Host name.
        host: String,
        /// What was attempted.
        doing: &'static str,
        /// The NIC.
        interface: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// A file could not be read or written.
    #[error("{host}: cannot {doing} {}: {source}{}", path.display(), file_advice(path, source))]
    File {
        /// Host name.
        host: String,
        /// What was attempted.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The record of changes has a form that this version does not write.
    #[error("{host}: {} cannot be understood: {why}. It holds what the host was like before; use the tasuki \
             that wrote it for `undo`", path.display())]
    Journal {
        /// Host name.
        host: String,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Another process is changing the host.
    #[error("{host}: another tasuki is changing this host (it holds {})", path.display())]
    Busy {
        /// Host name.
        host: String,
        /// The lock.
        path: PathBuf,
    },
    /// The saved state of a route cannot be used.
    #[error("{host}: the saved route to {destination} cannot be read back")]
    SavedRoute {
        /// Host name.
        host: String,
        /// The route's destination.
        destination: std::net::Ipv4Addr,
    },
}

impl HostError {
    /// Whether a NIC or the kernel refused a value, and everything else is well.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            HostError::Ethtool { source, .. } => crate::kernel::is_refusal(&source.source),
            HostError::Napi { source, .. } => crate::kernel::is_refusal(source),
            _ => false,
        }
    }
}

/// What to do about the most common errors of the system.
fn advice(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(nix::libc::EPERM | nix::libc::EACCES) if Uid::effective().is_root() => {
            "; root may not do that either: look for a container or a security module that forbids it"
        }
        Some(nix::libc::EPERM | nix::libc::EACCES) => "; it needs root: run it with sudo",
        Some(nix::libc::EROFS) => "; in a container, give it a writable /proc/sys",
        _ => "",
    }
}

/// What to do about an error of a file.
fn file_advice(path: &Path, source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(nix::libc::EROFS) if path == Path::new(HOSTS_FILE) => {
            "; mount it writable, or leave it alone with --no-names"
        }
        Some(nix::libc::EROFS) => "; mount it writable",
        Some(nix::libc::EPERM) if Uid::effective().is_root() => {
            "; root may not do that either: look whether it is immutable (lsattr), or a container forbids it"
        }
        _ => advice(source),
    }
}
