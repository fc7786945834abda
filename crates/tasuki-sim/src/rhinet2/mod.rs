//! The evaluation of topologies on RHiNET-2 (Koibuchi, Watanabe, Otsuka, Amano, IPSJ Transactions 2004), run
//! again in the simulator: every cell of tables 1 and 3 to 9 and what the text says of figures 4 and 6 to 8,
//! published beside simulated.
//!
//! The model is fitted to figure 4 and table 8 only ([`Model::constants`] lists all numbers that went into
//! it); the time that packets wait for each other comes from the simulation. `docs/internals/simulator.md`
//! says what is assumed and what cannot be reached.

mod bandwidth;
mod barrier;
mod cell;
mod effort;
mod error;
mod figures;
mod irregular;
mod model;
mod networks;
mod sensitivity;
mod tables;

pub use self::cell::{Cell, Target};
pub use self::effort::Effort;
pub use self::error::Rhinet2Error;
pub use self::figures::{Curve, Figure};
pub use self::irregular::{Fits, Irregular};
pub use self::model::{Constant, Model};
pub use self::sensitivity::Moved;

/// All cells, in the paper's order. `progress` is called with the name of each of the [`STAGES`] stages as it
/// begins.
pub fn run(model: &Model, effort: Effort, mut progress: impl FnMut(&str)) -> Result<Vec<Cell>, Rhinet2Error> {
    let mut cells = Vec::new();
    progress("table 1");
    cells.extend(tables::table1()?);
    progress("graphs that could be A and B");
    let a = Irregular::a(effort.graphs);
    let b = Irregular::b(effort.graphs);
    progress("barriers");
    cells.extend(tables::barriers(model, effort, [&a, &b])?);
    progress("table 8");
    cells.extend(tables::table8(model)?);
    progress("complement traffic");
    cells.extend(tables::table9(model, [&a, &b])?);
    progress("figures");
    cells.extend(figures::stated(model, &a)?);
    Ok(cells)
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
