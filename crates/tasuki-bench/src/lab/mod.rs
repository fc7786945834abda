//! Measurements on labs and on machines: which programs run on which hosts, in which order, and what comes of
//! it.
//!
//! A measurement takes its options, a lab or machines ([`Testbed`]) or what builds labs ([`LabBuilder`]), and
//! a [`Session`], which is told how far it has got and says whether it is to end early. What it returns is a
//! report with a table and JSON. Which MPIs there are, and how their jobs start, says an [`MpiAccess`].

pub mod cross;
pub mod drain;
pub mod kernels;
mod linpack;
pub mod mpi;
pub mod peers;
mod session;
pub mod startup;
pub mod stripe;
mod testbed;
pub mod tune;
mod turns;

pub use session::{Progress, Session};
pub use testbed::{HostAccess, HostKind, LabBuilder, MpiAccess, Testbed};

/// Lines of standard error that reports keep of a failed run.
const TAIL_LINES: usize = 12;
