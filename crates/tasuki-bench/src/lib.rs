//! Measurements: an MPI program run over several stacks in interleaved repetitions, beside the raw limits of
//! the same network, with records, tables and plots of the results.
//!
//! [`run`] takes a [`Plan`] and a [`Launch`] that can start an MPI program somewhere; it returns a
//! [`Report`]. [`raw`] measures a path between two peers without any MPI. [`lab`] makes measurements on labs.
//! `docs/reference/bench.md` says how each figure is taken.
#![forbid(unsafe_code)]

mod error;
pub mod ethernet;
pub mod figure;
pub mod hpcc;
pub mod lab;
pub mod load;
pub mod machine;
pub mod nas;
mod once;
mod others;
mod output;
pub mod plot;
pub mod program;
pub mod rates;
pub mod raw;
mod record;
mod report;
mod runner;
pub mod startup;
pub mod stats;
pub mod stripe;
mod table;

pub use error::BenchError;
pub use machine::Machine;
pub use output::{Line, OutputError, parse_lines};
pub use record::{Ceiling, Record, Unit};
pub use report::{Comparison, FailedRun, Report, ending};
pub use runner::{
    CALLS, Launch, LaunchError, LineRate, Network, Output, Plan, PlanError, Progress, Run, Stack, TestPlan,
    TestSet, run,
};
