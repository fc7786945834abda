//! The one table of tuning: every constant of the data path that could have another value, with its unit,
//! meaning and reason, what it gains, and the command that measures that; and every environment variable.
//!
//! `tasuki info` prints the table. Code uses a constant by its path, as `tasuki_tuning::coalesce::FIRST`. To
//! try another value, build with the environment variable that [`Constant::variable`] names, as
//! `TASUKI_TUNING_coalesce_FIRST=0`; `make measure` builds a provider so and compares it with this one.
//! Nothing of it is read at run time.

mod constant;
#[macro_use]
mod define;
mod find;
mod table;
pub mod variables;

pub use constant::{Constant, Measure, Value, readable};
pub use find::near;
pub use table::*;

/// Constants that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Its name, as `coalesce`.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Its constants.
    pub constants: &'static [Constant],
}

/// All constants, by group.
pub fn constants() -> impl Iterator<Item = &'static Constant> {
    groups().flat_map(|group| group.constants)
}
