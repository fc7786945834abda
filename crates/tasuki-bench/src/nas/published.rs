//! What the papers publish of kernels on networks: the gain of a cabling over one switch with one NIC per host.

use super::{Class, Kernel};

/// A published gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The program.
    pub kernel: Kernel,
    /// Its class.
    pub class: Class,
    /// The cabling, as `--shape` names it.
    pub network: &'static str,
    /// What it is compared with.
    pub against: &'static str,
    /// Times as many operations per second.
    pub gain: f64,
    /// Where it says so.
    pub source: &'static str,
}

const CROSS: &str = "cross-connection paper, section 4.2: four PCs, 1 Gbit/s";
const NICS: &str = "NIC distribution paper, section 3: four PCs, four NICs of 100 Mbit/s";

/// Everything published; the figures' other bars are lost.
pub const PUBLISHED: [Published; 4] = [
    Published {
        kernel: Kernel::Is,
        class: Class::A,
        network: "full:4",
        against: "star:4",
        gain: 2.5,
        source: CROSS,
    },
    Published {
        kernel: Kernel::Cg,
        class: Class::A,
        network: "full:4",
        against: "star:4",
        gain: 1.4,
        source: CROSS,
    },
    Published {
        kernel: Kernel::Mg,
        class: Class::W,
        network: "planes:4x4",
        against: "star:4",
        gain: 1.16,
        source: NICS,
    },
    Published {
        kernel: Kernel::Lu,
        class: Class::W,
        network: "planes:4x4",
        against: "star:4",
        gain: 1.09,
        source: NICS,
    },
];

/// What was published for this comparison.
pub fn published(kernel: Kernel, class: Class, network: &str, against: &str) -> Option<&'static Published> {
    let wanted = (kernel, class, network, against);
    PUBLISHED.iter().find(|it| (it.kernel, it.class, it.network, it.against) == wanted)
}
