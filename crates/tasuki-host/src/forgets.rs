//! Drivers that overwrite an interrupt delay. While it adapts by itself, e1000e keeps the number that it has
//! chosen until the next interrupt of its receive queue, and then writes it into the NIC (`e1000_set_itr`,
//! `e1000_intr_msix_rx`), even if it was given a delay in the meantime; yet it goes on reporting that delay.
//! So the delay is written once more after such an interrupt.

use tasuki_sys::ethtool::{Ethtool, EthtoolError};

/// After this time there has been such an interrupt: the driver itself raises one every two seconds
/// (`e1000_watchdog_task`).
pub const SETTLED: std::time::Duration = std::time::Duration::from_secs(3);

/// Whether a driver may overwrite a delay with a number from before.
pub fn forgets(driver: &str) -> bool {
    driver == "e1000e"
}

/// Writes the delay that the driver reports into the NIC once more.
pub fn write_again(interface: &str) -> Result<(), EthtoolError> {
    let ethtool = Ethtool::open(interface)?;
    // This is done by ioctl, because the netlink interface leaves out what would change nothing.
    ethtool.set_coalescing(ethtool.coalescing()?)
}
