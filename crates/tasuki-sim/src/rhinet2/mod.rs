//! The evaluation of topologies on RHiNET-2 (Koibuchi, Watanabe, Otsuka, Amano, IPSJ Transactions 2004), run again in the
//! simulator: every cell of tables 1 and 3 to 9 and what the text says of figures 4 and 6 to 8, published beside simulated.
//!
//! The model is fitted to figure 4 and table 8 only ([`Model::constants`] lists everything that went in); waiting for
//! other packets comes from the simulation. `docs/simulator.md` says what is assumed and what cannot be reached.

mod bandwidth;
mod barrier;
mod cell;
mod figures;
mod irregular;
mod model;
mod networks;
mod sensitivity;
mod tables;

pub use cell::{Cell, Target};
pub use figures::{Curve, Figure};
pub use irregular::{Fits, Irregular};
pub use model::{Constant, Model};
pub use sensitivity::Moved;

use crate::fabric::FabricError;
use tasuki_topo::{NetworkError, PathError, RouteError};
use thiserror::Error;

/// Why the evaluation cannot be run.
#[derive(Debug, Error)]
pub enum Rhinet2Error {
    /// A network cannot be built.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// It cannot be routed.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// Its tables lead nowhere.
    #[error(transparent)]
    Path(#[from] PathError),
    /// It cannot be simulated.
    #[error(transparent)]
    Fabric(#[from] FabricError),
}

/// How much to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Visit lists per network; the paper had 10.
    pub lists: u32,
    /// Graphs that could be A, and as many that could be B, at most; those of the class are about 600 each.
    pub graphs: usize,
    /// Seed of the visit lists.
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { lists: 400, graphs: usize::MAX, seed: 1 }
    }
}

/// Everything, in the paper's order. `progress` hears what is done next, out of [`STAGES`].
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

/// What [`run`] tells its `progress`.
pub const STAGES: u64 = 6;

/// The curves of the paper's figures.
pub fn figures(model: &Model) -> Result<Vec<Figure>, Rhinet2Error> {
    figures::curves(model)
}

/// Which choice of the model moves which cell.
pub fn sensitivity(effort: Effort, progress: impl FnMut(&str)) -> Result<Vec<Moved>, Rhinet2Error> {
    sensitivity::table(effort, progress)
}
