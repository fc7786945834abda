//! Names of routing engines.

use tasuki_topo::{Engine, PathRule};

/// All engines, with their names on the command line.
pub const ENGINES: [(&str, Engine); 11] = [
    ("minimal", Engine::Minimal(PathRule::SpreadPerHost)),
    ("minimal-low-port", Engine::Minimal(PathRule::LowPortFirst)),
    ("dimension-order", Engine::DimensionOrder),
    ("up-down", Engine::UpDown),
    ("structured", Engine::Structured(PathRule::SpreadPerHost)),
    ("structured-low-port", Engine::Structured(PathRule::LowPortFirst)),
    ("descending-layers", Engine::DescendingLayers(PathRule::SpreadPerHost)),
    ("descending-layers-low-port", Engine::DescendingLayers(PathRule::LowPortFirst)),
    ("lash", Engine::Lash),
    ("dfsssp", Engine::Dfsssp),
    ("any-channels", Engine::AnyChannels),
];

/// The engine of a given name; the error lists all names.
pub fn engine_named(text: &str) -> Result<Engine, String> {
    let found = ENGINES.iter().find(|(name, _)| *name == text).map(|&(_, engine)| engine);
    let names = || ENGINES.map(|(name, _)| name).join(", ");
    found.ok_or_else(|| format!("there is no such engine; there are {}", names()))
}
