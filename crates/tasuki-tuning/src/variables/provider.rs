//! What the libfabric provider reads.

use super::variable::{Reader, Values, Variable};

const READERS: &[Reader] = &[Reader::Provider];

/// Whether the libfabric in front of the system's stands in for it.
pub const LIBFABRIC: Variable = Variable {
    name: "TASUKI_LIBFABRIC",
    default: "in use where it can stand in",
    values: Values::Choice(&["0"]),
    meaning: "0: the libfabric in front of the system's steps aside.",
    readers: READERS,
};

/// What happens when a peer has died.
pub const PEER_FAILURE: Variable = Variable {
    name: "TASUKI_PEER_FAILURE",
    default: "abort below an MPI, report elsewhere",
    values: Values::Choice(&["abort", "report"]),
    meaning: "abort: the process ends when a peer has died; report: operations with that peer fail.",
    readers: READERS,
};

/// Which claimed messages the provider answers.
pub const ANSWER_CLAIMED: Variable = Variable {
    name: "TASUKI_ANSWER_CLAIMED",
    default: "unset",
    values: Values::Text("two bits of a tag, as 0xA:0xB"),
    meaning: "When a claimed message whose tag has bit A is received, the provider sends back an empty one \
              with bit B instead of the MPI. tasuki run and tasuki env set it for Open MPI 4.1.",
    readers: READERS,
};

/// Whether the provider says what it does.
pub const LOG: Variable = Variable {
    name: "TASUKI_LOG",
    default: "unset",
    values: Values::Choice(&["0", "1"]),
    meaning: "1: the provider says on standard error which libfabric has loaded it, which hint it could \
              not meet, and its endpoints.",
    readers: READERS,
};

/// Where the provider writes down what messages there are.
pub const TRACE: Variable = Variable {
    name: "TASUKI_TRACE",
    default: "unset",
    values: Values::Text("the path of a folder"),
    meaning: "Folder in which every process writes down what it sends and receives, and how long it \
              computes between its calls. tasuki run --trace sets it and makes one trace of it.",
    readers: READERS,
};

/// All of them, in the order of the documentation.
pub(super) const ALL: &[Variable] = &[LIBFABRIC, PEER_FAILURE, ANSWER_CLAIMED, LOG, TRACE];
