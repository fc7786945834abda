//! How many frames a NIC's receive and send queues hold (`ethtool -g`).

use super::{Ethtool, EthtoolError, word};

const ETHTOOL_GRINGPARAM: u32 = 0x10;
const ETHTOOL_SRINGPARAM: u32 = 0x11;
/// Bytes of a `struct ethtool_ringparam`: 9 words.
const RINGS_BYTES: usize = 9 * 4;
/// Offsets into `struct ethtool_ringparam`, bytes.
const RX_MAX: usize = 4;
const TX_MAX: usize = 16;
const RX: usize = 20;
const TX: usize = 32;

/// Lengths of a NIC's queues, frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rings {
    /// Length of the receive queue: frames that wait for the host.
    pub rx: u32,
    /// Length of the send queue: frames that wait to be sent.
    pub tx: u32,
    /// The largest `rx` that the driver accepts.
    pub rx_max: u32,
    /// The largest `tx` that the driver accepts.
    pub tx_max: u32,
}

impl Ethtool {
    /// Reads the lengths of the queues. Fails on devices that have none to set.
    pub fn rings(&self) -> Result<Rings, EthtoolError> {
        let buffer = self.read_rings()?;
        let at = |at| word(&buffer, at);
        Ok(Rings { rx: at(RX), tx: at(TX), rx_max: at(RX_MAX), tx_max: at(TX_MAX) })
    }

    fn read_rings(&self) -> Result<[u8; RINGS_BYTES], EthtoolError> {
        self.read_words("read queue lengths", ETHTOOL_GRINGPARAM)
    }

    /// Sets the lengths of the queues. Some drivers round, and most reset the NIC: its link is down for some
    /// seconds.
    pub fn set_rings(&self, rx: u32, tx: u32) -> Result<(), EthtoolError> {
        self.set_words("set queue lengths", ETHTOOL_SRINGPARAM, self.read_rings()?, [(RX, rx), (TX, tx)])
    }
}
