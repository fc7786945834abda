//! What the `tasuki` command reads.

use super::variable::{Reader, Values, Variable};

const READERS: &[Reader] = &[Reader::Command];

/// The folder with the provider.
pub const PROVIDER: Variable = Variable {
    name: "TASUKI_PROVIDER",
    default: "../lib/tasuki seen from the command, else what cargo built beside it",
    values: Values::Text("the path of a folder"),
    meaning: "Folder with libtasuki-fi.so that tasuki run and tasuki env point MPIs to.",
    readers: READERS,
};

/// The folder with further MPIs.
pub const PEERS: Variable = Variable {
    name: "TASUKI_PEERS",
    default: "target/peers beside the command, if it is there",
    values: Values::Text("the path of a folder"),
    meaning: "Folder with further MPIs, as make peers makes it.",
    readers: READERS,
};

/// The job of which a process is a part.
pub const LAB_JOB: Variable = Variable {
    name: "TASUKI_LAB_JOB",
    default: "",
    values: Values::Text("the name of a job"),
    meaning: "Set by tasuki lab exec --job for what it starts; not for users.",
    readers: READERS,
};

/// CRIU's program.
pub const CRIU: Variable = Variable {
    name: "TASUKI_CRIU",
    default: "criu in the PATH",
    values: Values::Text("the path of a program"),
    meaning: "For tasukid: CRIU, by which checkpoints of jobs are taken, where it is not in the PATH.",
    readers: READERS,
};

/// All of them, in the order of the documentation.
pub(super) const ALL: &[Variable] = &[PROVIDER, PEERS, LAB_JOB, CRIU];
