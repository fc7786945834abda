//! The rates that a traffic pattern gets over given tables, and the best that it could get over any routes.

use crate::{PlanningError, Range, digits};
use serde::Serialize;
use tasuki_topo::{
    Network, Tables,
    bounds::{MAX_PHASES, Pattern, Traffic, concurrent, max_min_fair, together},
};

/// Relative width of the range of the best rate.
const WIDTH: f64 = 0.02;

/// Which hosts send to which, all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficPattern {
    /// Every host to every other.
    AllToAll,
    /// Every host to the next one.
    Neighbour,
    /// One host of a switch to one host of another.
    Switches(Pattern),
}

/// The flows of a pattern on a network.
pub(crate) struct Flows {
    traffic: Traffic,
    /// Rate that all flows can reach together over the best routes, bit/s.
    best: Range,
}

/// The rates that the flows of a pattern get.
#[derive(Debug, Serialize)]
pub struct TrafficRates {
    /// The least of the flows' max-min fair rates, bit/s.
    pub least_bits_per_second: f64,
    /// The mean of the flows' max-min fair rates, bit/s.
    pub mean_bits_per_second: f64,
    /// The rate that all flows reach together over these tables, bit/s.
    pub together_bits_per_second: f64,
    /// The rate that all flows could reach together over the best routes, bit/s.
    pub together_best_bits_per_second: Range,
}

impl Flows {
    /// Finds the flows of a pattern; an error if the network's switches have no such pattern.
    pub fn new(net: &Network, pattern: TrafficPattern) -> Result<Self, PlanningError> {
        let traffic = match pattern {
            TrafficPattern::AllToAll => Traffic::all_to_all(net),
            TrafficPattern::Neighbour => Traffic::neighbour(net),
            TrafficPattern::Switches(pattern) => Traffic::between_switches(net, pattern)?,
        };
        let best = concurrent(net, &traffic, WIDTH, MAX_PHASES);
        Ok(Self { traffic, best: Range { lower: best.lower_bps, upper: best.upper_bps } })
    }

    /// The rates of the flows over given tables.
    pub fn over(&self, net: &Network, tables: &Tables) -> Result<TrafficRates, PlanningError> {
        let paths = self.traffic.paths(net, tables)?;
        let fair = max_min_fair(net, &self.traffic, &paths);
        Ok(TrafficRates {
            least_bits_per_second: fair.least_bps(),
            mean_bits_per_second: fair.mean_bps(),
            together_bits_per_second: together(net, &self.traffic, &paths),
            together_best_bits_per_second: self.best,
        })
    }
}

impl TrafficRates {
    /// The rates as text: fair rates, and by how much the best routes could exceed these routes.
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
