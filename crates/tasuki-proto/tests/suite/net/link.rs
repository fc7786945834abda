//! The rails of the simulated network.

/// One direction of a rail.
#[derive(Clone, Debug)]
pub struct Link {
    /// Bits per second.
    pub rate: u64,
    pub delay_ns: u64,
    /// Capacity of the queue, bytes.
    pub queue: u64,
    /// Loss, per mille.
    pub loss: u64,
    pub dup: u64,
    pub reorder: u64,
    pub corrupt: u64,
    pub dead: bool,
    /// Longer datagrams are lost.
    pub hole: usize,
    pub bytes: u64,
    pub packets: u64,
    pub overflow: u64,
    pub(super) free_at: u64,
}

impl Link {
    pub fn new(mbps: u64, delay_us: u64, queue_kib: u64) -> Link {
        Link {
            rate: mbps * 1_000_000,
            delay_ns: delay_us * 1000,
            queue: queue_kib << 10,
            loss: 0,
            dup: 0,
            reorder: 0,
            corrupt: 0,
            dead: false,
            hole: usize::MAX,
            bytes: 0,
            packets: 0,
            overflow: 0,
            free_at: 0,
        }
    }
}
