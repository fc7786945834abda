//! Routing engines. All emit destination-indexed [`Tables`]. An engine that needs more virtual channels than
//! allowed returns an error that says how many.

mod acyclic;
mod any;
mod dfsssp;
mod fabric;
mod grid;
mod lash;
mod layers;
mod limits;
mod minimal;
mod stepped;
mod updown;

use crate::error::RouteError;
use crate::network::Network;
use crate::tables::Tables;
use fabric::Fabric;
pub use limits::{Limits, PathRule};

/// The routing engines. Sources are in `docs/reference/topologies.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Shortest paths by the rule. One virtual channel if that is free of deadlock; otherwise as many layers
    /// as it takes, where the row of entry and the destination decide on the layer of a path.
    Minimal(PathRule),
    /// Dimension by dimension on a mesh, torus, ring or hypercube; two virtual channels where rings close.
    DimensionOrder,
    /// Up towards a root, then down (Autonet). One virtual channel; paths may be longer than necessary.
    UpDown,
    /// Shortest paths; every hop between switches raises the virtual channel (Merlin and Schweitzer 1980).
    Structured(PathRule),
    /// Shortest paths; every turn from down to up raises the virtual channel (Koibuchi and others 2003).
    DescendingLayers(PathRule),
    /// One shortest path per pair of switches, in layers (Skeie, Lysne, Theiss 2002).
    Lash,
    /// Shortest paths balanced by load; cycles are broken by moving paths to further layers (Domke, Hoefler,
    /// Nagel 2011).
    Dfsssp,
    /// Works with any number of virtual channels, one included: paths are grown inside an acyclic channel
    /// dependency graph, one per virtual channel, with a spanning tree as escape (as Nue; Domke, Hoefler,
    /// Matsuoka 2016). Paths may be longer than necessary.
    AnyChannels,
}

impl Engine {
    /// Name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Minimal(PathRule::SpreadPerHost) => "minimal, spread per host",
            Engine::Minimal(PathRule::LowPortFirst) => "minimal, low port first",
            Engine::DimensionOrder => "dimension order",
            Engine::UpDown => "up*/down*",
            Engine::Structured(PathRule::SpreadPerHost) => "structured channels, spread per host",
            Engine::Structured(PathRule::LowPortFirst) => "structured channels, low port first",
            Engine::DescendingLayers(PathRule::SpreadPerHost) => "descending layers, spread per host",
            Engine::DescendingLayers(PathRule::LowPortFirst) => "descending layers, low port first",
            Engine::Lash => "LASH",
            Engine::Dfsssp => "DFSSSP",
            Engine::AnyChannels => "any number of channels",
        }
    }

    /// Whether the engine promises shortest paths.
    pub fn is_minimal(self) -> bool {
        !matches!(self, Engine::UpDown | Engine::AnyChannels)
    }

    /// All engines with all rules.
    pub const ALL: [Engine; 11] = [
        Engine::Minimal(PathRule::SpreadPerHost),
        Engine::Minimal(PathRule::LowPortFirst),
        Engine::DimensionOrder,
        Engine::UpDown,
        Engine::Structured(PathRule::SpreadPerHost),
        Engine::Structured(PathRule::LowPortFirst),
        Engine::DescendingLayers(PathRule::SpreadPerHost),
        Engine::DescendingLayers(PathRule::LowPortFirst),
        Engine::Lash,
        Engine::Dfsssp,
        Engine::AnyChannels,
    ];
}

/// Makes routing tables.
pub fn route(net: &Network, engine: Engine, limits: Limits) -> Result<Tables, RouteError> {
    if limits.vcs == 0 {
        return Err(RouteError::NoChannels);
    }
    let fabric = Fabric::new(net)?;
    let name = engine.name();
    match engine {
        Engine::Minimal(rule) => minimal::route(&fabric, name, rule, limits),
        Engine::DimensionOrder => grid::route(&fabric, name, limits),
        Engine::UpDown => updown::route(&fabric, name),
        Engine::Structured(rule) => stepped::structured(&fabric, name, rule, limits),
        Engine::DescendingLayers(rule) => stepped::descending(&fabric, name, rule, limits),
        Engine::Lash => lash::route(&fabric, name, limits),
        Engine::Dfsssp => dfsssp::route(&fabric, name, limits),
        Engine::AnyChannels => any::route(&fabric, name, limits),
    }
}
