//! Pictures of networks: where parts stand, as SVG, and as a page that needs nothing else.

mod layout;
mod page;
mod svg;

pub use page::{Page, Section};

use crate::PlanningError;
use tasuki_topo::Network;

/// Hosts and switches at most: nobody could see more.
const NODES_MAX: usize = 1500;

/// The picture of a network as SVG, unless the network is too large for one.
pub fn draw(net: &Network) -> Result<String, PlanningError> {
    match net.nodes().len() {
        count if count > NODES_MAX => Err(PlanningError::request(format!(
            "{} has {count} hosts and switches; pictures are drawn of up to {NODES_MAX}",
            net.name()
        ))),
        _ => Ok(svg::svg(net)),
    }
}

/// The text as it is written between tags or in quotes.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
