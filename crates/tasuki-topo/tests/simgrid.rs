//! Against SimGrid: what flows get at saturation, and which topology gives more. `scripts/oracles --full`
//! unpacks it.

mod common;

use common::oracle::simgrid::SimGrid;
use tasuki_topo::bounds::{Pattern, Traffic, max_min_fair};
use tasuki_topo::shapes::{self, ClosHosts, Fit, PairRing};
use tasuki_topo::{Engine, Limits, Network, PathRule, route};

/// Networks of 64 hosts on 16 switches, and one on 32, in no particular order.
fn nets() -> Vec<Network> {
    let four = Fit::switches(4);
    [
        shapes::ring(16, &four),
        shapes::mesh(&[4, 4], &four),
        shapes::torus(&[4, 4], PairRing::OneCable, &four),
        shapes::torus(&[8, 2], PairRing::OneCable, &four),
        shapes::full(16, &four),
        shapes::random_regular(16, 3, 1, &four),
        shapes::fat_tree(2, 4, 2, &four),
        shapes::myrinet_clos(8, ClosHosts::Both, &four),
    ]
    .into_iter()
    .map(|net| net.unwrap_or_else(|error| panic!("{error}")))
    .collect()
}

/// The topologies by what all flows get together, the best one first.
fn order(mut totals: Vec<(String, f64)>) -> Vec<String> {
    // Totals that differ by rounding only are ordered by name.
    totals.sort_by(|a, b| (b.1 / 1e3).round().total_cmp(&(a.1 / 1e3).round()).then(a.0.cmp(&b.0)));
    totals.into_iter().map(|(name, _)| name).collect()
}

/// The traffic to ask for on a network; `None` if the pattern does not fit it.
type Asked = fn(&Network) -> Option<Traffic>;

/// Every flow's rate, and the order of the topologies, for patterns of the RHiNET-2 paper and for neighbours.
#[test]
#[ignore = "needs SimGrid: make test-full"]
fn agrees_with_simgrid_on_rates_and_on_the_order_of_topologies() {
    let Some(simgrid) = SimGrid::find("agrees_with_simgrid_on_rates_and_on_the_order_of_topologies") else {
        return;
    };
    let patterns: [(&str, Asked); 4] = [
        ("complement", |net| Traffic::between_switches(net, Pattern::Complement).ok()),
        ("bit reversal", |net| Traffic::between_switches(net, Pattern::BitReversal).ok()),
        ("neighbour", |net| Some(Traffic::neighbour(net))),
        ("butterfly", |net| Traffic::between_switches(net, Pattern::Butterfly).ok()),
    ];
    for (pattern, traffic) in patterns {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for net in nets() {
            let Some(traffic) = traffic(&net) else { continue };
            let engine = Engine::Minimal(PathRule::SpreadPerHost);
            let tables = route(&net, engine, Limits::lossy()).unwrap_or_else(|error| panic!("{error}"));
            let paths = traffic.paths(&net, &tables).unwrap_or_else(|error| panic!("{error}"));
            let fair = max_min_fair(&net, &traffic, &paths);
            let rates = simgrid.rates_bps(&net, &paths);
            assert_eq!(rates.len(), fair.rates_bps.len(), "{pattern}, {}", net.name());
            for (flow, (we, they)) in fair.rates_bps.iter().zip(&rates).enumerate() {
                assert!(
                    (we / they - 1.0).abs() < 1e-4,
                    "{pattern}, {}, flow {flow}: {we} and {they}",
                    net.name()
                );
            }
            ours.push((net.name().to_owned(), fair.total_bps()));
            theirs.push((net.name().to_owned(), rates.iter().sum::<f64>()));
        }
        let (ours, theirs) = (order(ours), order(theirs));
        println!("{pattern}: {}", ours.join(" > "));
        assert_eq!(ours, theirs, "{pattern}");
        assert!(ours.len() > 4, "{pattern}: {ours:?}");
    }
}
