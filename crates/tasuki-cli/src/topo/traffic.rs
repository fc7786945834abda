//! What a traffic pattern gets over given tables, beside what any routes could give.

use super::range::{Range, digits};
use crate::{args::Traffics, failure::Failure};
use serde::Serialize;
use tasuki_topo::{
    Network, Tables,
    bounds::{MAX_PHASES, Pattern, Traffic, concurrent, max_min_fair, together},
};

/// Relative width of the range of what any routes could give.
const WIDTH: f64 = 0.02;

/// A pattern on one network.
pub struct Wanted {
    traffic: Traffic,
    /// Rate that all flows can reach together over the best routes, bit/s.
    best: Range,
}

/// What the flows get.
#[derive(Debug, Serialize)]
pub struct Got {
    /// Max-min fair rates.
    least_bits_per_second: f64,
    mean_bits_per_second: f64,
    /// What all flows reach together, over these tables and over the best routes that there could be.
    together_bits_per_second: f64,
    together_best_bits_per_second: Range,
}

impl Wanted {
    pub fn new(net: &Network, pattern: Traffics) -> Result<Self, Failure> {
        let traffic = match pattern {
            Traffics::AllToAll => Traffic::all_to_all(net),
            Traffics::Neighbour => Traffic::neighbour(net),
            Traffics::BitReversal => Traffic::between_switches(net, Pattern::BitReversal)?,
            Traffics::MatrixTranspose => Traffic::between_switches(net, Pattern::MatrixTranspose)?,
            Traffics::Butterfly => Traffic::between_switches(net, Pattern::Butterfly)?,
            Traffics::Complement => Traffic::between_switches(net, Pattern::Complement)?,
        };
        let best = concurrent(net, &traffic, WIDTH, MAX_PHASES);
        Ok(Self { traffic, best: Range { lower: best.lower_bps, upper: best.upper_bps } })
    }

    pub fn over(&self, net: &Network, tables: &Tables) -> Result<Got, Failure> {
        let paths = self.traffic.paths(net, tables)?;
        let fair = max_min_fair(net, &self.traffic, &paths);
        Ok(Got {
            least_bits_per_second: fair.least_bps(),
            mean_bits_per_second: fair.mean_bps(),
            together_bits_per_second: together(net, &self.traffic, &paths),
            together_best_bits_per_second: self.best,
        })
    }
}

impl Got {
    /// As text: fair rates, and by how much the best routes could do better.
    pub fn show(&self) -> String {
        let mega = |rate: f64| digits(rate / 1e6);
        let gap = |best: f64| (best / self.together_bits_per_second).max(1.0);
        let best = self.together_best_bits_per_second;
        let gap = Range { lower: gap(best.lower), upper: gap(best.upper) };
        let fair = format!(
            "{} at least, {} on average",
            mega(self.least_bits_per_second),
            mega(self.mean_bits_per_second)
        );
        format!("{fair}; best routes x {:.2} to {:.2}", gap.lower, gap.upper)
    }
}
