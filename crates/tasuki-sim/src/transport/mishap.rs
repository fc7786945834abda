//! Mishaps of rails and processes.

/// A mishap.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mishap {
    /// One direction of a rail stops or starts to carry packets.
    Cable { from: usize, to: usize, rail: u8, up: bool },
    /// A host takes its end of a rail out of use, or puts it back.
    Carrier { place: usize, other: usize, rail: u8, up: bool },
    /// A host reports that its end of a rail has lost its carrier, or has it back, rightly or wrongly.
    Report { place: usize, other: usize, rail: u8, up: bool },
    /// One direction of a rail carries only packets up to this size, headers included.
    Hole { from: usize, to: usize, rail: u8, mtu: usize },
    /// A host sets the MTU of its end of a rail.
    Mtu { place: usize, other: usize, rail: u8, mtu: u16 },
    /// One direction of a rail stops or starts to lose raw frames, while datagrams pass, as when a bridge
    /// takes the NIC.
    Deaf { from: usize, to: usize, rail: u8, deaf: bool },
    /// An endpoint doubts whether its peer lives, and probes it.
    Doubt { place: usize, other: usize },
    /// A process is stopped for some time.
    Stop { node: usize, ns: u64 },
}

impl Mishap {
    /// Whether it does harm, and is not the end of another mishap.
    pub fn is_bad(self) -> bool {
        match self {
            Mishap::Cable { up, .. } | Mishap::Carrier { up, .. } => !up,
            Mishap::Hole { mtu, .. } => mtu < 9000,
            Mishap::Deaf { deaf, .. } => deaf,
            Mishap::Mtu { .. } | Mishap::Stop { .. } => true,
            // Reports and probes do no harm.
            Mishap::Report { .. } | Mishap::Doubt { .. } => false,
        }
    }
}
