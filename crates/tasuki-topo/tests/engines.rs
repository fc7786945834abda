//! Every engine on random irregular networks, whole and with every single cable lost: the verifier finds
//! nothing.

mod common;

use common::{connected, fabric_links, irregular};
use std::time::Instant;
use tasuki_topo::shapes::{self, ClosHosts, Fit, PairRing};
use tasuki_topo::{Claims, Engine, Limits, LinkId, Network, PathRule, RouteError, prove, route};

/// Virtual channels of the RHiNET-2 switch.
const VCS: u8 = 16;

/// Routes with an engine and proves the result. If the engine asks for more channels, it must be content with
/// exactly what it asks for, and with no less.
fn route_and_prove(net: &Network, engine: Engine, vcs: u8, what: &str) {
    fn fail(what: &str, engine: Engine, error: &dyn std::fmt::Display) -> ! {
        panic!("{what}, {}: {error}", engine.name())
    }
    let (tables, vcs) = match route(net, engine, Limits::lossless(vcs)) {
        Ok(tables) => (tables, vcs),
        Err(RouteError::NeedsChannels { need, .. }) => {
            assert!(need > u32::from(vcs), "{what}, {}: needs {need} of {vcs}", engine.name());
            let need = u8::try_from(need).unwrap_or_else(|e| fail(what, engine, &e));
            (route(net, engine, Limits::lossless(need)).unwrap_or_else(|e| fail(what, engine, &e)), need)
        }
        Err(error) => fail(what, engine, &error),
    };
    let claims = Claims::lossless(vcs);
    let claims = if engine.is_minimal() { claims.minimal() } else { claims };
    let report = prove(net, &tables, claims).unwrap_or_else(|e| fail(what, engine, &e));
    assert_eq!(report.delivered, report.pairs);
}

/// Engines for irregular networks: all but dimension order.
fn engines() -> impl Iterator<Item = Engine> {
    Engine::ALL.into_iter().filter(|&e| e != Engine::DimensionOrder)
}

fn check(net: &Network, what: &str) {
    for engine in engines() {
        route_and_prove(net, engine, if engine == Engine::AnyChannels { 2 } else { VCS }, what);
    }
    route_and_prove(net, Engine::AnyChannels, 1, what);
}

/// One network and some of its single cable failures. Returns the number of networks checked.
fn check_with_failures(seed: u64, every: usize) -> usize {
    let net = irregular(seed);
    check(&net, &format!("seed {seed}"));
    let mut checked = 1;
    for link in fabric_links(&net).into_iter().skip(seed as usize % every).step_by(every) {
        check_failure(&net, link, seed);
        checked += 1;
    }
    checked
}

fn check_failure(net: &Network, link: LinkId, seed: u64) {
    let broken = net.without(&[link], &[]);
    let what = format!("seed {seed} without cable {}", link.0);
    if connected(&broken) {
        check(&broken, &what);
        return;
    }
    for engine in engines() {
        let refused =
            matches!(route(&broken, engine, Limits::lossless(VCS)), Err(RouteError::Disconnected { .. }));
        assert!(refused, "{what}, {}: disconnected, but not refused as such", engine.name());
    }
}

#[test]
fn random_irregular_networks_and_some_failures() {
    // Replay one with: irregular(seed) and the cable named in the message.
    let checked: usize = (0..36).map(|seed| check_with_failures(seed, 11)).sum();
    println!("{checked} networks");
    assert!(checked >= 200, "{checked}");
}

/// 1,000 networks, every single cable failure, on one core. Run with
/// `cargo test --release -p tasuki-topo --test engines -- --ignored --nocapture`.
#[test]
#[ignore = "long: see the printed total time"]
fn thousand_random_irregular_networks_and_every_failure() {
    let begin = Instant::now();
    let checked: usize = (0..1000).map(|seed| check_with_failures(seed, 1)).sum();
    println!("{checked} networks x 11 routings, all proven, in {:.0} s", begin.elapsed().as_secs_f64());
}

#[test]
fn mixed_networks_with_hosts_of_several_cables() {
    for seed in 0..300 {
        let net = common::mixed(seed);
        check(&net, &format!("mixed {seed}"));
        for link in 0..net.links().len() as u32 {
            check_failure(&net, LinkId(link), seed);
        }
    }
}

#[test]
fn dimension_order_on_grids() -> Result<(), Box<dyn std::error::Error>> {
    let four = Fit::switches(4);
    let (one, two) = (PairRing::OneCable, PairRing::TwoCables);
    let cases = [
        (shapes::mesh(&[4, 4], &four)?, 1),
        (shapes::mesh(&[3, 5, 4], &Fit::switches(2))?, 1),
        (shapes::hypercube(5, &Fit::switches(2))?, 1),
        (shapes::torus(&[3, 3, 3], one, &Fit::switches(1))?, 1),
        (shapes::torus(&[4, 4], one, &four)?, 2),
        (shapes::torus(&[4, 2], one, &four)?, 2),
        (shapes::torus(&[4, 2], two, &four)?, 2),
        (shapes::torus(&[5, 7], one, &Fit::relays())?, 2),
        (shapes::torus(&[4, 6, 3], one, &Fit::switches(1))?, 2),
        (shapes::ring(8, &four)?, 2),
        (shapes::ring(9, &Fit::relays())?, 2),
    ];
    for (net, need) in cases {
        route_and_prove(&net, Engine::DimensionOrder, need, net.name());
        if need > 1 {
            let refused = route(&net, Engine::DimensionOrder, Limits::lossless(1));
            assert!(
                matches!(refused, Err(RouteError::NeedsChannels { need: 2, have: 1, .. })),
                "{}",
                net.name()
            );
        }
        check(&net, net.name());
    }
    let net = shapes::torus(&[4, 4], one, &four)?;
    let broken = net.without(&[LinkId(0)], &[]);
    let refused = route(&broken, Engine::DimensionOrder, Limits::lossless(2));
    assert!(matches!(refused, Err(RouteError::GridCableMissing { .. })));
    let refused = route(&shapes::petersen(&four)?, Engine::DimensionOrder, Limits::lossless(2));
    assert!(matches!(refused, Err(RouteError::NotAGrid { .. })));
    Ok(())
}

/// Facts about channel needs: structured channels take one per cable between switches on the longest path;
/// trees and Clos networks with hosts at one tier need a single channel (RHiNET-2 paper, 4.1.1).
#[test]
fn channel_needs_that_are_known() -> Result<(), Box<dyn std::error::Error>> {
    let need = |net: &Network, engine: Engine| match route(net, engine, Limits::lossless(1)) {
        Ok(tables) => u32::from(tables.vcs()),
        Err(RouteError::NeedsChannels { need, .. }) => need,
        Err(error) => panic!("{error}"),
    };
    let spread = PathRule::SpreadPerHost;
    let four = Fit::switches(4);
    assert_eq!(need(&shapes::mesh(&[4, 4], &four)?, Engine::Structured(spread)), 6);
    assert_eq!(need(&shapes::torus(&[4, 4], PairRing::OneCable, &four)?, Engine::Structured(spread)), 4);
    for net in [
        shapes::fat_tree(2, 4, 1, &four)?,
        shapes::fat_tree_part(2, 4, 2, 2, &Fit::switches(2))?,
        shapes::myrinet_clos(4, ClosHosts::Lower, &four)?,
        shapes::leaf_spine(6, 4, 2, &Fit::switches(8))?,
        shapes::full(6, &four)?,
    ] {
        // Structured channels count hops, and descending layers go by one root where these networks have
        // several.
        let counting = |e: &Engine| matches!(e, Engine::Structured(_) | Engine::DescendingLayers(_));
        for engine in engines().filter(|e| !counting(e)) {
            assert_eq!(need(&net, engine), 1, "{}, {}", net.name(), engine.name());
        }
    }
    // A ring of five or more cannot be routed minimally with one channel: the paths go all the way round.
    for engine in [Engine::Minimal(spread), Engine::Lash, Engine::Dfsssp] {
        assert_eq!(need(&shapes::ring(8, &four)?, engine), 2, "{}", engine.name());
    }
    Ok(())
}

/// An engine needs exactly as many channels as it asks for: with one fewer it asks again, with that many it
/// uses them all.
#[test]
fn the_number_of_channels_asked_for_is_exact() {
    let mut asked = 0;
    for seed in 0..12 {
        let net = irregular(seed);
        for engine in engines() {
            let Err(RouteError::NeedsChannels { need, have: 1, .. }) =
                route(&net, engine, Limits::lossless(1))
            else {
                continue;
            };
            asked += 1;
            let vcs = u8::try_from(need).unwrap_or(u8::MAX);
            let fewer = route(&net, engine, Limits::lossless(vcs - 1));
            assert!(
                matches!(fewer, Err(RouteError::NeedsChannels { need: again, .. }) if again == need),
                "seed {seed}"
            );
            let tables = route(&net, engine, Limits::lossless(vcs));
            assert_eq!(tables.map(|t| t.vcs()), Ok(vcs), "seed {seed}, {}", engine.name());
        }
    }
    assert!(asked > 50, "{asked}");
}

/// With hosts at both tiers of the Clos network, paths between hosts of one tier may use the other tier's
/// switches, and a per-host spread over one channel has circles: the engine says so instead of emitting it.
#[test]
fn clos_with_hosts_on_both_tiers_needs_more_than_one_channel() -> Result<(), Box<dyn std::error::Error>> {
    let net = shapes::myrinet_clos(4, ClosHosts::Both, &Fit::switches(4))?;
    let engine = Engine::Minimal(PathRule::SpreadPerHost);
    let Err(RouteError::NeedsChannels { need, .. }) = route(&net, engine, Limits::lossless(1)) else {
        panic!("one channel cannot do");
    };
    assert_eq!(need, 2);
    let lossy = route(&net, engine, Limits::lossy())?;
    let report = prove(&net, &lossy, Claims::lossy().minimal())?;
    assert!(report.circle.is_some(), "the same paths on one channel can deadlock where nothing is dropped");
    Ok(())
}

#[test]
fn spread_gives_hosts_of_one_switch_different_paths() -> Result<(), Box<dyn std::error::Error>> {
    let net = shapes::leaf_spine(4, 4, 1, &Fit::switches(4))?;
    let tables = route(&net, Engine::Minimal(PathRule::SpreadPerHost), Limits::lossless(1))?;
    let low = route(&net, Engine::Minimal(PathRule::LowPortFirst), Limits::lossless(1))?;
    let spines = |tables: &tasuki_topo::Tables| {
        let path =
            |h| tables.path(&net, tasuki_topo::HostId(0), tasuki_topo::HostId(h)).map(|p| net.to(p[1]).0);
        (4..8).map(path).collect::<Result<std::collections::BTreeSet<_>, _>>()
    };
    assert_eq!(spines(&tables)?.len(), 4);
    assert_eq!(spines(&low)?, std::collections::BTreeSet::from([4]), "always the first spine, node 4");
    Ok(())
}

#[test]
fn same_input_same_tables() -> Result<(), RouteError> {
    let net = irregular(11);
    for engine in engines() {
        assert_eq!(route(&net, engine, Limits::lossless(64))?, route(&net, engine, Limits::lossless(64))?);
    }
    Ok(())
}

#[test]
fn refusals() -> Result<(), Box<dyn std::error::Error>> {
    let one = shapes::from_edges("one host", 1, &[], &Fit::switches(1))?;
    assert_eq!(route(&one, Engine::UpDown, Limits::lossless(1)).err(), Some(RouteError::TooFewHosts(1)));
    let net = shapes::ring(4, &Fit::switches(1))?;
    assert_eq!(route(&net, Engine::UpDown, Limits::lossless(0)).err(), Some(RouteError::NoChannels));
    let apart = shapes::from_edges("apart", 4, &[(0, 1), (2, 3)], &Fit::switches(1))?;
    let error =
        route(&apart, Engine::Lash, Limits::lossless(4)).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.starts_with("no path from host2 to host0"), "{error}");
    // Two hosts joined by a third that does not relay.
    let mut builder = tasuki_topo::NetworkBuilder::new("through a host");
    let hosts = [0, 1, 2].map(|i| builder.host(format!("h{i}")));
    builder.cable(hosts[0], hosts[1], 1);
    builder.cable(hosts[1], hosts[2], 1);
    let net = builder.build()?;
    for engine in engines() {
        assert!(matches!(route(&net, engine, Limits::lossless(4)), Err(RouteError::Disconnected { .. })));
    }
    Ok(())
}
