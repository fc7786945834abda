//! Objects of libfabric except endpoints, one file each.

pub mod av;
pub mod cntr;
pub mod cq;
pub mod domain;
pub mod eq;
pub mod fabric;
pub mod mr;
pub mod refs;
