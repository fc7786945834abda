//! Drivers that overwrite an interrupt delay: e1000e, as long as it adapts by itself, keeps the number that it has chosen until the next interrupt of its
//! receiving queue, and writes it into the NIC then (`e1000_set_itr`, `e1000_intr_msix_rx`), also if it was told a delay in the meantime; what it tells
//! remains that delay. So it is written once more after such an interrupt.

use tasuki_sys::ethtool::{Ethtool, EthtoolError};

/// After so long there was such an interrupt: the driver itself raises one every two seconds (`e1000_watchdog_task`).
pub const SETTLED: std::time::Duration = std::time::Duration::from_secs(3);

/// Whether a driver may overwrite a delay with a number from before.
pub fn forgets(driver: &str) -> bool {
    driver == "e1000e"
}

/// Writes once more what the driver says the NIC's delay is.
pub fn write_again(interface: &str) -> Result<(), EthtoolError> {
    let ethtool = Ethtool::open(interface)?;
    // By ioctl: the netlink interface leaves out what would change nothing.
    ethtool.set_coalescing(ethtool.coalescing()?)
}
