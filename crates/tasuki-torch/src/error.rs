//! Why something has failed.

use tasuki_engine::{AddressError, Failure, OpenError, PostError, VariableError};

/// Why a group cannot be made, or an operation of it has failed.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Open(String),
    #[error("rank {rank}: its address cannot be read: {why}")]
    Address { rank: usize, why: String },
    #[error("{0}")]
    Post(#[from] PostError),
    #[error("rank {rank} on host {host}: {failure}{reason}")]
    Peer { rank: usize, host: String, failure: Failure, reason: String },
    #[error("{0}")]
    Failed(Failure),
    #[error("rank {rank} has sent {sent} bytes where {wanted} were expected: are all calls the same there?")]
    Length { rank: usize, sent: u64, wanted: u64 },
    #[error("nothing was heard of {} for {seconds} s (the group's timeout)", named(.rank))]
    Timeout { rank: Option<usize>, seconds: u64 },
    #[error("no rank is left that could send: all others have closed the process group, or ended")]
    Deserted,
    #[error("the process group was closed, or has failed before")]
    Closed,
    #[error("an operation panicked: this is a defect of Tasuki")]
    Panicked,
    #[error("{0}")]
    Usage(&'static str),
}

/// The other side of an operation, which may be any rank.
fn named(rank: &Option<usize>) -> String {
    rank.map_or("any rank".to_owned(), |rank| format!("rank {rank}"))
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Error {
        Error::Open(error.to_string())
    }
}

impl From<VariableError> for Error {
    fn from(error: VariableError) -> Error {
        Error::Open(error.to_string())
    }
}

impl Error {
    pub fn address(rank: usize, why: AddressError) -> Error {
        Error::Address { rank, why: why.to_string() }
    }
}
