//! The statistics page: a small shared file in which one writer keeps its counters, for other processes to
//! read.

mod encoding;
mod layout;
mod process;
mod reader;
mod records;
pub(crate) mod seqlock;
pub(crate) mod words;
mod writer;

pub(crate) use layout::LOCK;
pub use layout::OPERATIONS_MAX;
pub use process::ONE_SIDED;
pub use reader::{ReadError, Reader, list, list_in};
pub use records::{
    Carrier, EndpointRecord, Identity, Lane, Operation, OperationRecord, PeerRecord, PeerSnapshot,
    RailRecord, RailState, Snapshot,
};
pub(crate) use writer::PREFIX;
pub use writer::{Layout, RANK_VARIABLES, Writer};
