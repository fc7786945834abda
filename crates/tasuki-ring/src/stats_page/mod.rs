//! The statistics page: a small shared file in which one writer keeps its counters and from which anybody reads them.

mod reader;
mod records;
mod writer;

pub use reader::{ReadError, Reader, list};
pub use records::{
    Carrier, EndpointRecord, Identity, PeerRecord, PeerSnapshot, RailRecord, RailState, Snapshot,
};
pub use writer::{Layout, Writer};
