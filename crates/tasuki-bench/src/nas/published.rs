//! Gains that the papers publish for kernels: those of a cabling over one switch with one NIC per host.

use super::{Class, Kernel};

/// A published gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The program.
    pub kernel: Kernel,
    /// The class of its problem.
    pub class: Class,
    /// The cabling, as `--shape` names it.
    pub network: &'static str,
    /// The network that it is compared with.
    pub against: &'static str,
    /// How many times as many operations per second it makes.
    pub gain: f64,
    /// The place in the paper.
    pub source: &'static str,
}

const CROSS: &str = "cross-connection paper, section 4.2: four PCs, 1 Gbit/s";
const NICS: &str = "NIC distribution paper, section 3: four PCs, four NICs of 100 Mbit/s";

/// All published gains; the other bars of the figures are lost.
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

/// The published gain of this comparison, if there is one.
pub fn published(kernel: Kernel, class: Class, network: &str, against: &str) -> Option<&'static Published> {
    let wanted = (kernel, class, network, against);
    PUBLISHED.iter().find(|it| (it.kernel, it.class, it.network, it.against) == wanted)
}
