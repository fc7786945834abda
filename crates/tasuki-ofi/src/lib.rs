//! Tasuki as a provider of libfabric: the door by which unmodified MPI libraries come in.
pub mod abi;
