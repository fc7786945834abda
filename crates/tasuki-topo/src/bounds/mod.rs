//! The rates that a traffic pattern gets over given routes, and the best that it could get over any.

mod concurrent;
mod effective;
mod fair;
mod split;
mod traffic;

pub use concurrent::{Concurrent, MAX_PHASES, concurrent};
pub use effective::{Effective, effective_bisection};
pub use fair::{Fair, max_min_fair, together};
pub use split::{all_to_all_routed, all_to_all_split};
pub use traffic::{Flow, Pattern, PatternError, Traffic};

use crate::network::Network;
use crate::tables::{PathError, Tables};

/// How given routes compare with the best possible ones.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Rates when every flow takes its fair share.
    pub fair: Fair,
    /// Rate per unit of demand that all flows reach together over the given routes, bit/s.
    pub over_routes_bps: f64,
    /// An interval that holds the rate per unit of demand that all flows could reach together over the best
    /// routes, where paths may split at will.
    pub over_any: Concurrent,
}

impl Bounds {
    /// The best routing gives at least this many times the rate of the given one; 1 if it is not known to
    /// give more.
    pub fn gap_at_least(&self) -> f64 {
        (self.over_any.lower_bps / self.over_routes_bps).max(1.0)
    }
    /// The best routing gives at most this many times the rate of the given one.
    pub fn gap_at_most(&self) -> f64 {
        (self.over_any.upper_bps / self.over_routes_bps).max(1.0)
    }
}

/// All bounds for one pattern. `epsilon` is the relative width of the interval to aim for.
pub fn bounds(net: &Network, tables: &Tables, traffic: &Traffic, epsilon: f64) -> Result<Bounds, PathError> {
    let paths = traffic.paths(net, tables)?;
    let fair = max_min_fair(net, traffic, &paths);
    let over_routes_bps = together(net, traffic, &paths);
    Ok(Bounds { fair, over_routes_bps, over_any: concurrent(net, traffic, epsilon, MAX_PHASES) })
}
