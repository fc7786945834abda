//! What programs of `tasuki_checkpoint.h` read.

use super::variable::{Reader, Values, Variable};

const READERS: &[Reader] = &[Reader::Endpoints];

/// The folder with images.
pub const CHECKPOINT: Variable = Variable {
    name: "TASUKI_CHECKPOINT",
    default: "",
    values: Values::Text("the path of a folder, in which %h is the host's name"),
    meaning: "Folder in which programs of tasuki_checkpoint.h keep checkpoints, on a disk of each host.",
    readers: READERS,
};

/// The time between checkpoints.
pub const CHECKPOINT_EVERY: Variable = Variable {
    name: "TASUKI_CHECKPOINT_EVERY",
    default: "as is best for the cost and the failures",
    values: Values::Number("a number of seconds"),
    meaning: "Seconds between the checkpoints of a program of tasuki_checkpoint.h.",
    readers: READERS,
};

/// How often the machine fails.
pub const CHECKPOINT_FAILURES: Variable = Variable {
    name: "TASUKI_CHECKPOINT_FAILURES",
    default: "86400",
    values: Values::Number("a number of seconds"),
    meaning: "Mean seconds between failures of all hosts together, from which the time between checkpoints \
              follows.",
    readers: READERS,
};

/// All of them, in the order of the documentation.
pub(super) const ALL: &[Variable] = &[CHECKPOINT, CHECKPOINT_EVERY, CHECKPOINT_FAILURES];
