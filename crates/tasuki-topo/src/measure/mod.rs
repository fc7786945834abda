//! What a network gives before any routing is chosen: distances, bisection, single points of failure.

mod bisection;
mod distance;
mod failure;
mod partition;
mod search;

pub(crate) use bisection::all_to_all_load;
pub use bisection::{Bisection, Count, DEFAULT_EFFORT, bisection};
pub(crate) use distance::levels;
pub use distance::{Distances, SelfPairs, degree, diameter, distances};
pub use failure::{Loss, WeakPoints, weak_points};
