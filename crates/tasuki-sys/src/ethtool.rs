//! Offload features and interrupt delay of an interface, by the names that `ethtool -k` prints (`SIOCETHTOOL`,
//! include/uapi/linux/ethtool.h).

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};
use thiserror::Error;

const ETHTOOL_GCOALESCE: u32 = 0x0e;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;
const ETH_SS_FEATURES: u32 = 4;
/// `ETH_GSTRING_LEN`: bytes per name.
const NAME_BYTES: usize = 32;
/// Bytes of one `struct ethtool_get_features_block`: available, requested, active, never changed.
const GET_BLOCK_BYTES: usize = 16;

/// An ethtool request that failed.
#[derive(Debug, Error)]
#[error("ethtool {request} on {interface}: {source}")]
pub struct EthtoolError {
    /// Interface name.
    pub interface: String,
    /// The request in words.
    pub request: &'static str,
    /// The kernel's error.
    pub source: io::Error,
}

/// One offload feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Kernel name, e.g. `tx-tcp-segmentation`.
    pub name: String,
    /// Whether it can be changed at all.
    pub changeable: bool,
    /// Whether it was asked for. What is asked for may be off for want of another feature.
    pub requested: bool,
    /// Whether it is in force.
    pub active: bool,
}

/// Access to one interface's features, in the network namespace in which it was opened.
pub struct Ethtool {
    socket: OwnedFd,
    interface: String,
}

impl Ethtool {
    /// Opens a control socket in the calling thread's network namespace.
    pub fn open(interface: &str) -> Result<Self, EthtoolError> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None);
        let socket = socket.map_err(|errno| EthtoolError {
            interface: interface.into(),
            request: "socket",
            source: errno.into(),
        })?;
        Ok(Self { socket, interface: interface.into() })
    }

    /// Hands `buffer`, an ethtool command with room for its answer, to the kernel.
    fn command(&self, request: &'static str, buffer: &mut [u8]) -> Result<(), EthtoolError> {
        let fail = |source| EthtoolError { interface: self.interface.clone(), request, source };
        // SAFETY: ifreq is plain old data; all zeroes is a valid value.
        let mut ifreq: libc::ifreq = unsafe { std::mem::zeroed() };
        if self.interface.len() >= ifreq.ifr_name.len() {
            return Err(fail(io::Error::from_raw_os_error(libc::ENODEV)));
        }
        for (to, from) in ifreq.ifr_name.iter_mut().zip(self.interface.bytes()) {
            *to = from.cast_signed();
        }
        ifreq.ifr_ifru.ifru_data = buffer.as_mut_ptr().cast();
        // SAFETY: the descriptor is open, ifreq is initialised and nul-terminated, and ifru_data points to a
        // buffer that each caller sized for the command's answer (header plus the stated number of elements).
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut ifreq) };
        if result < 0 { Err(fail(io::Error::last_os_error())) } else { Ok(()) }
    }

    /// For how long the NIC holds received frames back before it interrupts, microseconds (`ethtool -c`, `rx-usecs`). Fails on
    /// devices that have no such setting.
    pub fn receive_delay_us(&self) -> Result<u64, EthtoolError> {
        // struct ethtool_coalesce: cmd, rx_coalesce_usecs, and 21 words more.
        let mut buffer = [0u8; 23 * 4];
        buffer[..4].copy_from_slice(&ETHTOOL_GCOALESCE.to_ne_bytes());
        self.command("read interrupt delay", &mut buffer)?;
        Ok(word(&buffer, 4).into())
    }

    fn feature_count(&self) -> Result<usize, EthtoolError> {
        // struct ethtool_sset_info: cmd, reserved, sset_mask (u64), data[1].
        let mut buffer = [0u8; 20];
        buffer[..4].copy_from_slice(&ETHTOOL_GSSET_INFO.to_ne_bytes());
        buffer[8..16].copy_from_slice(&(1u64 << ETH_SS_FEATURES).to_ne_bytes());
        self.command("count features", &mut buffer)?;
        Ok(word(&buffer, 16) as usize)
    }

    fn names(&self, count: usize) -> Result<Vec<String>, EthtoolError> {
        // struct ethtool_gstrings: cmd, string_set, len, data[].
        let mut buffer = vec![0u8; 12 + count * NAME_BYTES];
        buffer[..4].copy_from_slice(&ETHTOOL_GSTRINGS.to_ne_bytes());
        buffer[4..8].copy_from_slice(&ETH_SS_FEATURES.to_ne_bytes());
        buffer[8..12].copy_from_slice(&(count as u32).to_ne_bytes());
        self.command("name features", &mut buffer)?;
        let name = |bytes: &[u8]| {
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        Ok(buffer[12..].chunks_exact(NAME_BYTES).map(name).collect())
    }

    /// All features of the interface.
    pub fn features(&self) -> Result<Vec<Feature>, EthtoolError> {
        let count = self.feature_count()?;
        let names = self.names(count)?;
        let blocks = count.div_ceil(32);
        // struct ethtool_gfeatures: cmd, size (in blocks), features[].
        let mut buffer = vec![0u8; 8 + blocks * GET_BLOCK_BYTES];
        buffer[..4].copy_from_slice(&ETHTOOL_GFEATURES.to_ne_bytes());
        buffer[4..8].copy_from_slice(&(blocks as u32).to_ne_bytes());
        self.command("read features", &mut buffer)?;
        let bit = |feature: usize, field: usize| {
            let at = 8 + feature / 32 * GET_BLOCK_BYTES + field * 4;
            word(&buffer, at) >> (feature % 32) & 1 == 1
        };
        let feature = |(index, name)| {
            let [changeable, requested, active] = [0, 1, 2].map(|field| bit(index, field));
            Feature { name, changeable, requested, active }
        };
        Ok(names.into_iter().enumerate().map(feature).collect())
    }

    /// Switches the features whose names `chosen` accepts on or off; those that the interface cannot change
    /// are passed over.
    pub fn set_features(&self, chosen: impl Fn(&str) -> bool, on: bool) -> Result<(), EthtoolError> {
        let features = self.features()?;
        let blocks = features.len().div_ceil(32);
        // struct ethtool_sfeatures: cmd, size, then per block: valid, requested.
        let mut buffer = vec![0u8; 8 + blocks * 8];
        buffer[..4].copy_from_slice(&ETHTOOL_SFEATURES.to_ne_bytes());
        buffer[4..8].copy_from_slice(&(blocks as u32).to_ne_bytes());
        for (index, feature) in features.iter().enumerate() {
            if !feature.changeable || !chosen(&feature.name) {
                continue;
            }
            let at = 8 + index / 32 * 8;
            set_bit(&mut buffer, at, index % 32);
            if on {
                set_bit(&mut buffer, at + 4, index % 32);
            }
        }
        self.command("set features", &mut buffer)
    }
}

fn word(buffer: &[u8], at: usize) -> u32 {
    buffer[at..at + 4].try_into().map(u32::from_ne_bytes).unwrap_or_default()
}

fn set_bit(buffer: &mut [u8], at: usize, bit: usize) {
    let value = word(buffer, at) | 1 << bit;
    buffer[at..at + 4].copy_from_slice(&value.to_ne_bytes());
}
