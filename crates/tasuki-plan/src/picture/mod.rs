//! Pictures of networks as SVG, and pages with them that need no other file.

mod layout;
mod page;
mod svg;

pub use page::{Page, Section};

use crate::PlanningError;
use tasuki_topo::Network;

/// Largest number of hosts and switches of a picture; more could not be seen.
const NODES_MAX: usize = 1500;

/// The picture of a network as SVG; an error if the network is too large for one.
pub fn draw(net: &Network) -> Result<String, PlanningError> {
    match net.nodes().len() {
        count if count > NODES_MAX => Err(PlanningError::request(format!(
            "{} has {count} hosts and switches; pictures are drawn of up to {NODES_MAX}",
            net.name()
        ))),
        _ => Ok(svg::svg(net)),
    }
}

/// A text as it must be written between tags or in quotes.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
