//! Measures several networks for a comparison side by side.

use crate::{ENGINES, MEASURE_STEPS, Measures, Named, PlanningError, Prices, Steps, measure, named};
use serde::Serialize;
use std::collections::BTreeMap;
use tasuki_cluster::RouteLoads;
use tasuki_topo::{Engine, Limits, Network, PathRule, RouteError, route};

/// Engines whose need of virtual channels is compared.
const COMPARED: [Engine; 4] = [
    Engine::Minimal(PathRule::SpreadPerHost),
    Engine::Structured(PathRule::SpreadPerHost),
    Engine::Lash,
    Engine::Dfsssp,
];
/// Largest number of hosts up to which the engines are run; larger networks would take too long.
const HOSTS_MAX: usize = 2048;
/// Number of steps that [`compare()`] reports for each network.
pub const COMPARE_STEPS: u64 = MEASURE_STEPS + 1;

/// A network of the comparison.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// Its name on the command line.
    pub given: String,
    /// Its measures.
    #[serde(flatten)]
    pub measures: Measures,
    /// Number of virtual channels that engines need, by the name of the engine; `None` if the engine has no
    /// route, or the network has more than 2,048 hosts.
    pub channels: BTreeMap<&'static str, Option<u32>>,
}

/// Names of the engines whose virtual channels are compared.
pub fn compared_engines() -> impl Iterator<Item = &'static str> {
    ENGINES.into_iter().filter(|(_, engine)| COMPARED.contains(engine)).map(|(name, _)| name)
}

/// Measures the networks of these names (see [`named`]).
pub fn compare(names: &[String], prices: &Prices, step: Steps<'_>) -> Result<Vec<Compared>, PlanningError> {
    let mut all = Vec::new();
    for given in names {
        let Named { net, cluster } = named(given)?;
        let routes = cluster.as_ref().map(RouteLoads::new);
        let measures = measure(&net, routes.as_ref(), prices, step);
        step("channels");
        all.push(Compared { given: given.clone(), measures, channels: channels(&net) });
    }
    Ok(all)
}

fn channels(net: &Network) -> BTreeMap<&'static str, Option<u32>> {
    let need = |engine: Engine| match route(net, engine, Limits::lossless(1)) {
        Ok(_) => Some(1),
        Err(RouteError::NeedsChannels { need, .. }) => Some(need),
        Err(_) => None,
    };
    let is_small = net.hosts().len() <= HOSTS_MAX;
    let compared = ENGINES.into_iter().filter(|(_, engine)| COMPARED.contains(engine));
    compared.map(|(name, engine)| (name, is_small.then(|| need(engine)).flatten())).collect()
}
