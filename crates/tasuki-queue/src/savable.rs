//! Which jobs can have checkpoints.

use crate::floor::{Class, class};
use tasuki_control::{Kind, Sharing};

/// Why jobs of this kind, which get on with others in this way, are never saved.
pub(crate) fn never(kind: Kind, sharing: Sharing) -> Option<&'static str> {
    match kind {
        Kind::OpenMpi { .. } => {
            Some("jobs of Open MPI cannot be saved yet: take MPICH or Intel MPI, or leave --checkpoint away")
        }
        _ if class(sharing) == Class::Shares => {
            Some("jobs that take turns with others are not saved: take --checkpoint or --share")
        }
        _ => None,
    }
}
