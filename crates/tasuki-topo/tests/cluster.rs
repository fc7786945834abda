//! From cluster files to proven routes.

use std::path::Path;
use tasuki_cluster::{Cluster, RouteLoads};
use tasuki_topo::bounds::{all_to_all_routed, all_to_all_split};
use tasuki_topo::measure::{Count, DEFAULT_EFFORT, SelfPairs, bisection, distances, weak_points};
use tasuki_topo::{Claims, Engine, Kind, Limits, Network, PathRule, prove, route};

type Check = Result<(), Box<dyn std::error::Error>>;

fn example(name: &str) -> Result<(Cluster, Network), Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let cluster = Cluster::load(path)?;
    let net = Network::from_cluster(&cluster)?;
    Ok((cluster, net))
}

/// Every example becomes a network of the same parts, and has routes without fault.
#[test]
fn examples_have_proven_routes() -> Check {
    for name in ["full4.toml", "ring5.toml", "star4.toml", "planes4x3.toml", "mixed8.toml"] {
        let (cluster, net) = example(name)?;
        assert_eq!(net.hosts().len(), cluster.hosts.len(), "{name}");
        assert_eq!(net.switches(), cluster.switches.len(), "{name}");
        assert_eq!(net.links().len(), cluster.cables.len(), "{name}");
        let tables = route(&net, Engine::Minimal(PathRule::SpreadPerHost), Limits::lossy())?;
        let report = prove(&net, &tables, Claims::lossy().minimal())?;
        assert_eq!(report.delivered, report.pairs, "{name}");
    }
    Ok(())
}

/// Four hosts, each cabled to all others: no switch or relay on any path, 2 x 2 cables between halves, no
/// weak point. Five in a ring: two neighbours directly, two over one host; 2 cables between halves.
#[test]
fn measures_of_direct_cabling() -> Check {
    let (_, full) = example("full4.toml")?;
    let found = distances(&full);
    assert_eq!((found.histogram.clone(), found.average(SelfPairs::Excluded)), (vec![12], Some(0.0)));
    assert_eq!(bisection(&full, Count::Cables, DEFAULT_EFFORT).exact(), Some(4));
    assert_eq!(weak_points(&full), Default::default());
    let (_, ring) = example("ring5.toml")?;
    assert_eq!(distances(&ring).histogram, [10, 10]);
    assert_eq!(bisection(&ring, Count::Cables, DEFAULT_EFFORT).exact(), Some(2));
    Ok(())
}

/// Four hosts at three switches: losing a switch or a cable separates nobody; with one switch, losing it
/// does.
#[test]
fn measures_of_switches() -> Check {
    let (_, planes) = example("planes4x3.toml")?;
    assert_eq!(weak_points(&planes), Default::default());
    assert_eq!(bisection(&planes, Count::Cables, DEFAULT_EFFORT).exact(), Some(6));
    let (_, star) = example("star4.toml")?;
    assert_eq!(weak_points(&star).nodes.len(), 1);
    Ok(())
}

/// NIC `i` is port `i`, switch port `p` is port `p - 1`, the slower end sets the rate, relays are relays.
#[test]
fn ports_rates_and_kinds() -> Check {
    let text = r#"
        [cluster]
        name = "two"
        [[host]]
        name = "a"
        relay = false
        nic = [{ name = "eth0", rate = "1G" }, { name = "eth1", rate = "10G" }]
        [[host]]
        name = "b"
        nic = [{ name = "eth0", rate = "10G" }]
        [[switch]]
        name = "sw"
        ports = 8
        rate = "2.5G"
        [[cable]]
        ends = ["a:eth1", "sw:7"]
        [[cable]]
        ends = ["b:eth0", "sw:3"]
    "#;
    let cluster = Cluster::parse(text, None)?;
    let net = Network::from_cluster(&cluster)?;
    assert_eq!(
        net.nodes().iter().map(|n| n.kind).collect::<Vec<_>>(),
        [Kind::Host, Kind::Relay, Kind::Switch]
    );
    let ends: Vec<_> = net.links().iter().map(|l| l.ends.map(|(node, port)| (node.0, port.0))).collect();
    assert_eq!(ends, [[(0, 1), (2, 6)], [(1, 0), (2, 2)]]);
    assert!(net.links().iter().all(|l| l.rate_bps == 2_500_000_000));
    Ok(())
}

/// Hosts count relays, not switches: three switches in a row between `a` and `b` are one way without a relay,
/// which is used, though the way over `c` has two cables instead of four. So no cable carries more than one
/// flow each way. With a bus of 1 Gbit/s a host's two flows share it.
#[test]
fn routes_pass_switches_rather_than_relays() -> Check {
    let host = |name: &str| {
        format!(
            "[[host]]\nname = \"{name}\"\nnic = [{{ name = \"x\", rate = \"1G\" }}, {{ name = \"y\", \
             rate = \"1G\" }}]\n"
        )
    };
    let switch = |name: &str| format!("[[switch]]\nname = \"{name}\"\nports = 8\nrate = \"1G\"\n");
    let cable = |a: &str, b: &str| format!("[[cable]]\nends = [\"{a}\", \"{b}\"]\n");
    let cables =
        [("a:x", "s:1"), ("s:2", "t:1"), ("t:2", "u:1"), ("u:2", "b:x"), ("a:y", "c:x"), ("c:y", "b:y")];
    let text = ["[cluster]\nname = \"row\"\n".to_owned()]
        .into_iter()
        .chain(["a", "b", "c"].map(host))
        .chain(["s", "t", "u"].map(switch))
        .chain(cables.map(|(a, b)| cable(a, b)));
    let cluster = Cluster::parse(&text.collect::<String>(), None)?;
    let net = Network::from_cluster(&cluster)?;
    let routes = RouteLoads::new(&cluster);
    assert_eq!(all_to_all_routed(&net, &routes, None, f64::INFINITY), Some(1e9));
    assert_eq!(all_to_all_routed(&net, &routes, None, 1e9), Some(5e8));
    assert_eq!(all_to_all_split(&net), Some(5e8), "by the fewest cables all goes over c");
    Ok(())
}
