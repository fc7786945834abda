//! Several networks measured, to be looked at side by side.

use crate::{ENGINES, MEASURE_STEPS, Measures, PlanningError, Prices, Steps, measure, network};
use serde::Serialize;
use std::collections::BTreeMap;
use tasuki_topo::{Engine, Limits, Network, PathRule, RouteError, route};

/// Engines whose need of virtual channels tells networks apart.
const COMPARED: [Engine; 4] = [
    Engine::Minimal(PathRule::SpreadPerHost),
    Engine::Structured(PathRule::SpreadPerHost),
    Engine::Lash,
    Engine::Dfsssp,
];
/// Hosts up to which the engines are asked; more take long.
const HOSTS_MAX: usize = 2048;
/// Steps that [`compare()`] reports for each network.
pub const COMPARE_STEPS: u64 = MEASURE_STEPS + 1;

/// A network among others.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// Its name as it was given.
    pub given: String,
    /// What it gives.
    #[serde(flatten)]
    pub measures: Measures,
    /// Virtual channels that engines need, by the engine's name; none where the engine has no route, or where it would take
    /// long.
    pub channels: BTreeMap<&'static str, Option<u32>>,
}

/// Names of the engines whose virtual channels are compared.
pub fn compared_engines() -> impl Iterator<Item = &'static str> {
    ENGINES.into_iter().filter(|(_, engine)| COMPARED.contains(engine)).map(|(name, _)| name)
}

/// Measures the networks of these names (see [`network`]).
pub fn compare(names: &[String], prices: &Prices, step: Steps<'_>) -> Result<Vec<Compared>, PlanningError> {
    let mut all = Vec::new();
    for given in names {
        let net = network(given)?;
        let measures = measure(&net, prices, step);
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
