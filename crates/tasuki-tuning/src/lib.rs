//! The one table of tuning: every constant of the data path that could have another value, with its unit, meaning and reason, what it
//! gains, and the command that measures that.
//!
//! `tasuki info` prints the table. A constant is used by its path, as `tasuki_tuning::coalesce::FIRST`. To try another value, build
//! with the environment variable that [`Constant::variable`] names, as `TASUKI_TUNING_coalesce_FIRST=0`; `make measure` builds
//! a provider so and compares it with this one. Nothing is read at run time.

mod constant;
#[macro_use]
mod define;
pub mod variables;

pub use constant::{Constant, Measure, Value};
