//! Objects of libfabric except endpoints, one file each; `deadline`, `refs` and `shared` have what several
//! use.

pub mod av;
pub mod cntr;
pub mod cq;
pub mod deadline;
pub mod domain;
pub mod eq;
pub mod fabric;
pub mod mr;
pub mod refs;
pub mod shared;
