//! Offload features, interrupt delay and queue lengths of an interface, by the names that `ethtool -k` prints
//! (`SIOCETHTOOL`, include/uapi/linux/ethtool.h).

mod rings;

pub use rings::Rings;

use crate::generic::{Attributes, Generic};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};
use thiserror::Error;

const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GCOALESCE: u32 = 0x0e;
const ETHTOOL_SCOALESCE: u32 = 0x0f;
/// Bytes of a `struct ethtool_coalesce`: 23 words.
const COALESCE_BYTES: usize = 23 * 4;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;
const ETH_SS_FEATURES: u32 = 4;
/// `ETH_GSTRING_LEN`: bytes per name.
const NAME_BYTES: usize = 32;
/// Bytes of one `struct ethtool_get_features_block`: available, requested, active, never changed.
const GET_BLOCK_BYTES: usize = 16;

/// The command and attributes of include/uapi/linux/ethtool_netlink.h.
const COALESCE_GET: u8 = 19;
const HEADER: u16 = 1;
const DEV_INDEX: u16 = 1;
const USE_ADAPTIVE_RX: u16 = 11;

/// Whether the driver of an interface can choose the delay by itself (`adaptive-rx`). The interface is given
/// by its index in the thread's network namespace. Over netlink, ethtool lists only the settings that a
/// driver has. `None`: this kernel does not tell.
pub fn has_adaptive_rx(index: u32) -> io::Result<Option<bool>> {
    let Some(mut generic) = Generic::open("ethtool")? else { return Ok(None) };
    let interface = Attributes::default().word(DEV_INDEX, index);
    match generic.get(COALESCE_GET, Attributes::default().nest(HEADER, &interface)) {
        Ok(answer) => Ok(Some(answer.is_some_and(|answer| answer.number(USE_ADAPTIVE_RX).is_some()))),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(Some(false)),
        Err(error) => Err(error),
    }
}

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
    /// Whether it was asked for. A feature that was asked for may be off because another feature is missing.
    pub requested: bool,
    /// Whether it is in force.
    pub active: bool,
}

/// When a NIC interrupts for received frames: the part of `struct ethtool_coalesce` that is about receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// Delay in microseconds, `rx-usecs`; 0: none.
    pub rx_usecs: u32,
    /// Number of frames after which the NIC waits no longer, `rx-frames`; 0: the driver has no such limit.
    pub rx_frames: u32,
    /// Whether the driver chooses the delay by itself, `adaptive-rx`.
    pub adaptive_rx: bool,
}

/// Offsets into `struct ethtool_coalesce`, bytes.
const RX_USECS: usize = 4;
const RX_FRAMES: usize = 8;
const ADAPTIVE_RX: usize = 40;

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

    /// Hands `buffer` to the kernel: an ethtool command with room for its answer.
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

    /// The driver's name.
    pub fn driver(&self) -> Result<String, EthtoolError> {
        // struct ethtool_drvinfo: cmd, driver[32], and 160 bytes more.
        let mut buffer = [0u8; 196];
        buffer[..4].copy_from_slice(&ETHTOOL_GDRVINFO.to_ne_bytes());
        self.command("ask for the driver", &mut buffer)?;
        Ok(text(&buffer[4..36]))
    }

    /// When the NIC interrupts for received frames. Fails on devices that have no such setting.
    pub fn coalescing(&self) -> Result<Coalescing, EthtoolError> {
        let buffer = self.read_coalescing()?;
        Ok(Coalescing {
            rx_usecs: word(&buffer, RX_USECS),
            rx_frames: word(&buffer, RX_FRAMES),
            adaptive_rx: word(&buffer, ADAPTIVE_RX) != 0,
        })
    }

    fn read_coalescing(&self) -> Result<[u8; COALESCE_BYTES], EthtoolError> {
        self.read_words("read interrupt delay", ETHTOOL_GCOALESCE)
    }

    /// Sets when the NIC interrupts for received frames; all other settings of `ethtool -C` stay as they are.
    /// Drivers round, refuse, or give some numbers a meaning of their own, so the caller should read the
    /// setting back.
    pub fn set_coalescing(&self, wanted: Coalescing) -> Result<(), EthtoolError> {
        let new = [
            (RX_USECS, wanted.rx_usecs),
            (RX_FRAMES, wanted.rx_frames),
            (ADAPTIVE_RX, wanted.adaptive_rx.into()),
        ];
        self.set_words("set interrupt delay", ETHTOOL_SCOALESCE, self.read_coalescing()?, new)
    }

    /// Reads a structure that consists of a command and further 32-bit words, as the driver fills it in.
    fn read_words<const BYTES: usize>(
        &self,
        request: &'static str,
        command: u32,
    ) -> Result<[u8; BYTES], EthtoolError> {
        let mut buffer = [0; BYTES];
        put(&mut buffer, 0, command);
        self.command(request, &mut buffer)?;
        Ok(buffer)
    }

    /// Writes such a structure as it was read, with other words at these offsets.
    fn set_words<const BYTES: usize>(
        &self,
        request: &'static str,
        command: u32,
        mut buffer: [u8; BYTES],
        new: impl IntoIterator<Item = (usize, u32)>,
    ) -> Result<(), EthtoolError> {
        put(&mut buffer, 0, command);
        new.into_iter().for_each(|(at, value)| put(&mut buffer, at, value));
        self.command(request, &mut buffer)
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
        Ok(buffer[12..].chunks_exact(NAME_BYTES).map(text).collect())
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

    /// Switches the features whose names `chosen` accepts on or off. Features that the interface cannot
    /// change are left out.
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

/// Text up to its first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn put(buffer: &mut [u8], at: usize, word: u32) {
    buffer[at..at + 4].copy_from_slice(&word.to_ne_bytes());
}

fn word(buffer: &[u8], at: usize) -> u32 {
    buffer[at..at + 4].try_into().map(u32::from_ne_bytes).unwrap_or_default()
}

fn set_bit(buffer: &mut [u8], at: usize, bit: usize) {
    let value = word(buffer, at) | 1 << bit;
    buffer[at..at + 4].copy_from_slice(&value.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// ethtool(8) prints `on` or `off` for what a driver has, `n/a` for what it lacks, and nothing for
    /// interfaces that have no such setting.
    #[test]
    fn ethtool_knows_the_same_drivers_that_adapt() {
        let interfaces = nix::net::if_::if_nameindex().unwrap();
        for interface in interfaces.iter() {
            let name = interface.name().to_string_lossy().into_owned();
            let output = Command::new("ethtool").args(["-c", &name]).output().expect("ethtool is installed");
            let said = String::from_utf8_lossy(&output.stdout);
            let line = said.lines().find_map(|line| line.strip_prefix("Adaptive RX: "));
            let expected = line.is_some_and(|line| line.starts_with("on") || line.starts_with("off"));
            let told = has_adaptive_rx(interface.index()).unwrap();
            assert!(told.is_none_or(|told| told == expected), "{name}: {told:?}, ethtool: {said}");
        }
    }
}
