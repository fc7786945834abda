//! Error numbers of libfabric for the engine's errors.

use tasuki_engine::{Failure, PostError};

use crate::abi::*;
use crate::guard::Errno;

/// The error number for an operation that the engine did not take.
#[cold]
pub fn of_post(error: PostError) -> Errno {
    Errno(match error {
        PostError::UnknownPeer(_) | PostError::UnknownClaim => FI_EINVAL,
        PostError::NullBuffer(_) | PostError::Operands => FI_EINVAL,
        PostError::ClaimLost => FI_ECONNRESET,
        PostError::Closed => FI_EOPBADSTATE,
    })
}

/// The error number for a failure.
pub fn of_failure(failure: Failure) -> i32 {
    match failure {
        Failure::Cancelled => FI_ECANCELED,
        Failure::PeerFailed => FI_ECONNRESET,
        Failure::PeerClosed => FI_ESHUTDOWN,
    }
}
