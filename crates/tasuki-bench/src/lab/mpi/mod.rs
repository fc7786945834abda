//! MPI programs on labs: the MPIs to measure with the programs built for each, and how these start.

mod launch;
mod measurement;
mod ordinary;
mod stacks;
mod sweep;
mod variants;

pub(super) use launch::share;
pub use launch::{Spread, start};
pub use measurement::{Measurement, compared_table, over_tcp, plots};
pub use ordinary::{Brokers, as_ordinary_user};
pub use stacks::{BuiltStack, Program, build_stacks, over_transports};
pub use sweep::sweep_tests;
pub use variants::{Setting, with_variants};
