//! Pictures of networks: where parts stand, as SVG, and as a page that needs nothing else.

mod layout;
mod page;
mod svg;

pub use page::{Page, Section};
pub use svg::svg;

use crate::failure::Failure;
use std::{fs, path::Path};
use tasuki_topo::Network;

/// More than this nobody can see.
const NODES_MAX: usize = 1500;

/// The picture of a network, unless it is too large for one.
pub fn draw(net: &Network) -> Result<String, Failure> {
    match net.nodes().len() {
        count if count > NODES_MAX => Err(Failure::new(format!(
            "{} has {count} hosts and switches; pictures are drawn of up to {NODES_MAX}",
            net.name()
        ))),
        _ => Ok(svg(net)),
    }
}

/// Writes a file, with an error that names it.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

/// Text between tags or in quotes.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
