//! What can go wrong with a lane, and what to do about it.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tasuki_sys::packet::PacketError;

/// Why a lane could not be opened, or did not carry what it was given.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The socket could not be made at all.
    #[error(
        "no UDP socket for {address}: {source}; is this address family enabled, and are descriptors left \
         (ulimit -n)?"
    )]
    Socket {
        /// The local address asked for.
        address: IpAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// A socket option that the lane cannot do without was refused.
    #[error("UDP socket for {address}: option {option} refused: {source}; Linux 5.15 or newer is needed")]
    Option {
        /// The local address asked for.
        address: IpAddr,
        /// The option by its name in the manual pages.
        option: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The device to bind to does not exist, or cannot be used.
    #[error("UDP socket for {address} cannot be bound to NIC {device}: {source}; see `ip link`")]
    Device {
        /// The local address asked for.
        address: IpAddr,
        /// The NIC asked for.
        device: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The address or port is not to be had. See [`LinkError::is_in_use`].
    #[error("UDP socket cannot be bound to {address}: {source}; see `ip address` and `ss -uln`")]
    Bind {
        /// The local address and port asked for.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel refused packets to one address. They are dropped and counted; the rest of the queue is
    /// still there.
    #[error("{packets} packets from {from} to {to} not sent: {source}; see `ip route get` for that address")]
    Send {
        /// The lane's own address.
        from: SocketAddr,
        /// Where the packets were to go.
        to: SocketAddr,
        /// How many packets were dropped.
        packets: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// The raw lane of a NIC cannot be had.
    #[error(transparent)]
    Raw(#[from] PacketError),
    /// Receiving failed for a reason that will not go away by itself.
    #[error("receiving at {local} failed: {source}")]
    Receive {
        /// The lane's own address.
        local: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
}

impl LinkError {
    /// Whether the cause is a missing permission (`CAP_NET_RAW`).
    pub fn is_forbidden(&self) -> bool {
        matches!(self, LinkError::Raw(error) if error.source.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Whether the cause is that another socket has this port, so that another port may do.
    pub fn is_in_use(&self) -> bool {
        matches!(self, LinkError::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse)
    }
}
