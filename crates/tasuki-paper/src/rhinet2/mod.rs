//! The evaluation of topologies on RHiNET-2 (Koibuchi, Watanabe, Otsuka, Amano, IPSJ Transactions 2004),
//! run again in the simulator: every cell of tables 1 and 3 to 9, what the text says of figures 4 and 6 to
//! 8, and, where there are traces of them, the NAS programs of tables 10 to 12.
//!
//! The model is fitted to figure 4 and table 8 only ([`Model::constants`] lists all numbers that went into
//! it); the time that packets wait for each other comes from the simulation. `docs/internals/simulator.md`
//! says what is assumed and what cannot be reached.

mod bandwidth;
mod barrier;
mod barriers;
mod claims;
mod effort;
mod error;
mod figures;
mod irregular;
mod model;
mod names;
mod networks;
mod programs;
mod replays;
mod sensitivity;
mod tables;

pub use self::claims::claims;
pub use self::effort::Effort;
pub use self::error::Rhinet2Error;
pub use self::figures::{Curve, Figure};
pub use self::irregular::{Fits, Irregular};
pub use self::model::{Constant, Model};
pub use self::replays::{PROGRAM_STAGES, programs};
pub use self::sensitivity::Moved;

use crate::cell::Findings;
use crate::data::Rhinet2;

/// Simulates everything. Of the published figures only those are used that are inputs: by them the graphs are
/// found that could be A and B. `progress` is called with the name of each of the [`STAGES`] stages as it
/// begins.
pub fn run(
    model: &Model,
    data: &Rhinet2,
    effort: Effort,
    mut progress: impl FnMut(&str),
) -> Result<Findings, Rhinet2Error> {
    progress("table 1");
    let mut found = tables::table1()?;
    progress("graphs that could be A and B");
    let a = Irregular::a(data, effort.graphs);
    let b = Irregular::b(data, effort.graphs);
    progress("barriers");
    found.extend(barriers::barriers(model, effort, [&a, &b])?);
    progress("table 8");
    found.extend(tables::table8(model)?);
    progress("complement traffic");
    found.extend(tables::table9(model, [&a, &b])?);
    progress("figures");
    found.extend(figures::stated(model, &a)?);
    Ok(found)
}

/// Number of times that [`run`] calls `progress`.
pub const STAGES: u64 = 6;

/// The curves of the paper's figures.
pub fn figures(model: &Model) -> Result<Vec<Figure>, Rhinet2Error> {
    figures::curves(model)
}

/// How the cells change if a choice of the model is made differently.
pub fn sensitivity(effort: Effort, progress: impl FnMut(&str)) -> Result<Vec<Moved>, Rhinet2Error> {
    sensitivity::table(effort, progress)
}
