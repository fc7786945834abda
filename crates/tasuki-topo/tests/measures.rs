//! Measures against facts from elsewhere: the tables of the RHiNET-2 paper, known graphs, formulas of the
//! literature.

use tasuki_topo::measure::{Count, SelfPairs, bisection, degree, diameter, distances};
use tasuki_topo::shapes::{self, ClosHosts, Fit, PairRing};
use tasuki_topo::{Network, NetworkBuilder, NodeId, Port};

/// Effort of a search: enough for every network here, and quick without optimisation.
const EFFORT: u64 = 50_000_000;

fn ok(net: Result<Network, tasuki_topo::NetworkError>) -> Network {
    net.unwrap_or_else(|error| panic!("{error}"))
}

/// Table 1: 2-D mesh n x n: 2(n-1), 4. 2-D torus n x n: n, 4. Fat tree (p,q,r): 2r, p+q. Myrinet-Clos n x n:
/// 2, n.
#[test]
fn table_1_diameter_and_degree() {
    let fit = Fit::switches(1);
    for n in [4, 6, 8] {
        let mesh = ok(shapes::mesh(&[n, n], &fit));
        assert_eq!((diameter(&mesh), degree(&mesh)), (Some(2 * (n - 1)), 4), "mesh {n}");
        let torus = ok(shapes::torus(&[n, n], PairRing::OneCable, &fit));
        assert_eq!((diameter(&torus), degree(&torus)), (Some(n), 4), "torus {n}");
        let clos = ok(shapes::myrinet_clos(n, ClosHosts::Lower, &fit));
        assert_eq!((diameter(&clos), degree(&clos)), (Some(2), n), "clos {n}");
    }
    for (p, q, r) in [(2, 4, 2), (4, 4, 3), (2, 2, 4), (3, 4, 2)] {
        let tree = ok(shapes::fat_tree(p, q, r, &fit));
        assert_eq!((diameter(&tree), degree(&tree)), (Some(2 * r), p + q), "fat tree ({p},{q},{r})");
        let switches: u32 = (0..=r).map(|level| q.pow(r - level) * p.pow(level)).sum();
        assert_eq!(tree.switches() as u32, switches, "fat tree ({p},{q},{r})");
    }
}

/// Tables 3, 5 and 7: "average distance" is switches on the path over all ordered pairs of hosts, a host's
/// pair with itself included (rounded half up to one digit); the fat tree of 14 switches alone needs self
/// pairs excluded.
#[test]
fn average_distances_of_the_paper() {
    let four = Fit::switches(4);
    let torus = |dims: &[u32]| ok(shapes::torus(dims, PairRing::OneCable, &four));
    let cases = [
        ("mesh 4x4", ok(shapes::mesh(&[4, 4], &four)), 3.5, 64),
        ("torus 4x4", torus(&[4, 4]), 3.0, 64),
        ("ring 8", ok(shapes::ring(8, &four)), 3.0, 32),
        ("mesh 4x2", ok(shapes::mesh(&[4, 2], &four)), 2.8, 32),
        ("torus 4x2", torus(&[4, 2]), 2.5, 32),
        ("Clos, both tiers", ok(shapes::myrinet_clos(4, ClosHosts::Both, &four)), 2.3, 32),
        ("Clos, lower tier", ok(shapes::myrinet_clos(4, ClosHosts::Lower, &four)), 2.5, 16),
        ("fat tree (2,4,1)", ok(shapes::fat_tree(2, 4, 1, &four)), 2.5, 16),
        ("ring 4", ok(shapes::ring(4, &four)), 2.0, 16),
    ];
    for (name, net, published, hosts) in cases {
        assert_eq!(net.hosts().len(), hosts, "{name}");
        let average = distances(&net).average(SelfPairs::Included).unwrap_or(f64::NAN);
        assert_eq!((average * 10.0 + 0.5).floor() / 10.0, published, "{name}: {average}");
    }
    let tree = ok(shapes::fat_tree_part(2, 4, 2, 2, &Fit::switches(2)));
    assert_eq!((tree.switches(), tree.hosts().len()), (14, 16));
    let all = distances(&tree);
    assert!(
        (all.average(SelfPairs::Excluded).unwrap_or(0.0) - 59.0 / 15.0).abs() < 1e-12,
        "3.933, published 3.9"
    );
    assert_eq!(all.average(SelfPairs::Included), Some(3.75));
}

/// Every switch of the paper has 8 ports; its networks fit.
#[test]
fn the_papers_networks_fit_eight_ports() {
    let four = Fit::switches(4);
    let nets = [
        ok(shapes::mesh(&[4, 4], &four)),
        ok(shapes::torus(&[4, 4], PairRing::OneCable, &four)),
        ok(shapes::torus(&[4, 2], PairRing::TwoCables, &four)),
        ok(shapes::myrinet_clos(4, ClosHosts::Both, &four)),
        ok(shapes::fat_tree_part(2, 4, 2, 2, &Fit::switches(2))),
    ];
    for net in nets {
        for node in 0..net.nodes().len() {
            let node = tasuki_topo::NodeId(node as u32);
            assert!(net.out(node).count() <= 8, "{} {}", net.name(), net.label(node));
        }
    }
    // In the middle of the fat tree 6 ports join switches.
    let tree = ok(shapes::fat_tree_part(2, 4, 2, 2, &Fit::switches(2)));
    assert_eq!(degree(&tree), 6);
}

/// Petersen: 10 vertices, degree 3, diameter 2, 15 edges. Hoffman-Singleton: 50, 7, 2, 175. Both are Moore
/// graphs (n = 1 + d^2), so from each vertex d are at distance 1 and d(d-1) at distance 2; girth 5.
#[test]
fn moore_graphs() {
    for (net, n, d) in [
        (ok(shapes::petersen(&Fit::relays())), 10u64, 3u64),
        (ok(shapes::hoffman_singleton(&Fit::relays())), 50, 7),
    ] {
        assert_eq!(net.nodes().len() as u64, n);
        assert_eq!(net.links().len() as u64, n * d / 2);
        assert_eq!((diameter(&net), u64::from(degree(&net))), (Some(2), d));
        assert_eq!(distances(&net).histogram, [n * d, n * d * (d - 1)], "switches passed: 0 and 1");
        assert_eq!(girth(&net), 5);
    }
}

fn girth(net: &Network) -> usize {
    let n = net.nodes().len();
    let mut adjacent = vec![vec![]; n];
    for link in net.links() {
        let [a, b] = link.ends.map(|e| e.0.ix());
        adjacent[a].push(b);
        adjacent[b].push(a);
    }
    // Shortest circle through an edge: remove it and measure between its ends.
    let mut girth = usize::MAX;
    for link in net.links() {
        let [a, b] = link.ends.map(|e| e.0.ix());
        let mut distance = vec![usize::MAX; n];
        let mut queue = std::collections::VecDeque::from([a]);
        distance[a] = 0;
        while let Some(v) = queue.pop_front() {
            for &w in adjacent[v].iter().filter(|&&w| !(v == a && w == b)) {
                if distance[w] == usize::MAX {
                    distance[w] = distance[v] + 1;
                    queue.push_back(w);
                }
            }
        }
        girth = girth.min(distance[b].saturating_add(1));
    }
    girth
}

#[test]
fn hypercube_full_ring_dragonfly_leaf_spine() {
    let cube = ok(shapes::hypercube(6, &Fit::switches(1)));
    assert_eq!(
        (cube.switches(), diameter(&cube), degree(&cube), cube.links().len()),
        (64, Some(6), 6, 192 + 64)
    );
    let full = ok(shapes::full(9, &Fit::relays()));
    assert_eq!((diameter(&full), degree(&full), full.links().len()), (Some(1), 8, 36));
    // Dragonfly with a = 4, h = 2 and the full a*h + 1 = 9 groups: any two groups share one cable;
    // diameter 3.
    let dragonfly = ok(shapes::dragonfly(9, 4, 2, &Fit::switches(2)));
    assert_eq!((diameter(&dragonfly), degree(&dragonfly), dragonfly.switches()), (Some(3), 5, 36));
    let mut between = std::collections::BTreeMap::new();
    for link in dragonfly.links() {
        let [a, b] = link.ends.map(|e| e.0.ix() / 4);
        if a != b && a < 9 && b < 9 {
            *between.entry((a.min(b), a.max(b))).or_insert(0) += 1;
        }
    }
    assert!(between.len() == 36 && between.values().all(|&n| n == 1), "{between:?}");
    let small = ok(shapes::dragonfly(3, 4, 2, &Fit::switches(2)));
    assert_eq!((degree(&small), small.switches()), (5, 12));
    let leaf_spine = ok(shapes::leaf_spine(6, 3, 2, &Fit::switches(8)));
    assert_eq!((diameter(&leaf_spine), degree(&leaf_spine), leaf_spine.hosts().len()), (Some(2), 12, 48));
}

#[test]
fn random_graphs_are_what_they_claim_and_follow_their_seed() {
    for (n, d) in [(16u32, 3u32), (64, 4), (33, 6), (20, 19), (8, 2), (2, 1)] {
        let make = |seed| ok(shapes::random_regular(n, d, seed, &Fit::relays()));
        let net = make(5);
        let mut edges: Vec<_> = net.links().iter().map(|l| l.ends.map(|e| e.0)).collect();
        edges.iter_mut().for_each(|e| e.sort());
        edges.sort();
        edges.dedup();
        assert_eq!(edges.len() as u32, n * d / 2, "simple");
        assert!((0..n).all(|v| net.out(tasuki_topo::NodeId(v)).count() as u32 == d), "regular");
        assert!(diameter(&net).is_some(), "connected");
        let ends = |net: &Network| net.links().iter().map(|l| l.ends).collect::<Vec<_>>();
        assert_eq!(ends(&make(5)), ends(&net));
        assert!(n <= 8 || n == d + 1 || ends(&make(6)) != ends(&net));
    }
    let net = ok(shapes::irregular(40, 70, 5, 3, &Fit::switches(2)));
    assert!(diameter(&net).is_some() && degree(&net) <= 5);
    assert_eq!(net.links().len(), 70 + 80);
}

/// Least cut over all halves of the hosts and all sides of the other nodes, by trying everything.
fn bisection_by_trying(net: &Network) -> u64 {
    let n = net.nodes().len();
    assert!(n <= 20);
    let hosts = net.hosts().len();
    let balanced = |sides: u32| {
        let in_a = net.hosts().iter().filter(|h| sides >> h.0 & 1 == 1).count();
        in_a == hosts / 2 || in_a == hosts.div_ceil(2)
    };
    let cut = |sides: u32| {
        let crosses =
            |l: &&tasuki_topo::Link| l.up && (sides >> l.ends[0].0.0 ^ sides >> l.ends[1].0.0) & 1 == 1;
        net.links().iter().filter(crosses).count() as u64
    };
    (0..1u32 << n).filter(|&sides| balanced(sides)).map(cut).min().unwrap_or(0)
}

#[test]
fn bisection_of_small_networks_equals_trying_everything() {
    for seed in 0..60u64 {
        let n = 4 + (seed % 3) as u32;
        let fit = if seed % 3 == 0 { Fit::relays() } else { Fit::switches(1 + (seed % 2) as u32) };
        let net = ok(shapes::irregular(n, n + (seed % 3) as u32, 4, seed, &fit));
        let found = bisection(&net, Count::Cables, EFFORT);
        assert_eq!(found.exact(), Some(bisection_by_trying(&net)), "seed {seed}");
    }
    // Hosts with two cables, hosts cabled to each other, an odd number of hosts, a switch without hosts.
    let mut builder = NetworkBuilder::new("odd one");
    let switches: Vec<_> = (0..3).map(|i| builder.switch(format!("s{i}"), None)).collect();
    let hosts: Vec<_> = (0..7).map(|i| builder.host(format!("h{i}"))).collect();
    for (i, &host) in hosts.iter().enumerate().take(5) {
        builder.cable(host, switches[i % 2], 1);
        builder.cable(host, switches[(i + 1) % 3], 1);
    }
    builder.cable(hosts[5], switches[2], 1);
    builder.cable(hosts[5], hosts[6], 1);
    builder.cable(hosts[4], hosts[6], 1);
    let net = ok(builder.build());
    assert_eq!(bisection(&net, Count::Cables, EFFORT).exact(), Some(bisection_by_trying(&net)));
}

/// Textbook values: k x k torus 2k, k x k mesh k (k even), hypercube n/2, full graph (n/2)^2, ring 2.
#[test]
fn bisection_of_regular_networks() {
    let fit = Fit::switches(4);
    let cases = [
        ("torus 4x4", ok(shapes::torus(&[4, 4], PairRing::OneCable, &fit)), 8),
        ("torus 8x8", ok(shapes::torus(&[8, 8], PairRing::OneCable, &fit)), 16),
        ("mesh 4x4", ok(shapes::mesh(&[4, 4], &fit)), 4),
        ("mesh 6x6", ok(shapes::mesh(&[6, 6], &fit)), 6),
        ("ring 8", ok(shapes::ring(8, &fit)), 2),
        ("hypercube 5", ok(shapes::hypercube(5, &fit)), 16),
        ("full 8 of relays", ok(shapes::full(8, &Fit::relays())), 16),
        ("Clos 4x4, lower tier", ok(shapes::myrinet_clos(4, ClosHosts::Lower, &fit)), 8),
        ("fat tree (2,2,2)", ok(shapes::fat_tree(2, 2, 2, &Fit::switches(2))), 4),
        ("one switch", ok(shapes::from_edges("star", 1, &[], &Fit::switches(9))), 4),
    ];
    for (name, net, expected) in cases {
        assert_eq!(bisection(&net, Count::Cables, EFFORT).exact(), Some(expected), "{name}");
    }
}

/// A search that cannot be finished gives an interval that holds the truth, and a half that attains its upper
/// end.
#[test]
fn bisection_without_effort_is_an_honest_interval() {
    let net = ok(shapes::mesh(&[6, 6], &Fit::switches(2)));
    for effort in [0, 1_000, 100_000, 1_000_000] {
        let found = bisection(&net, Count::Cables, effort);
        assert!(found.lower <= 6 && 6 <= found.upper, "effort {effort}: {found:?}");
        assert_eq!(found.side.len(), 36);
    }
}

#[test]
fn networks_of_hardly_anything() {
    for hosts in 0..2 {
        let net = ok(shapes::from_edges("few", 1, &[], &Fit::switches(hosts)));
        assert_eq!(bisection(&net, Count::Cables, EFFORT).exact(), Some(0));
        assert_eq!(distances(&net).average(SelfPairs::Excluded), None);
        assert_eq!((diameter(&net), degree(&net)), (Some(0), 0));
    }
    let apart = ok(shapes::from_edges("apart", 4, &[(0, 1), (2, 3)], &Fit::relays()));
    assert_eq!((diameter(&apart), distances(&apart).unconnected), (None, 8));
    assert_eq!(bisection(&apart, Count::Cables, EFFORT).exact(), Some(0));
    let none = ok(NetworkBuilder::new("nothing").build());
    assert_eq!(bisection(&none, Count::Cables, EFFORT).exact(), Some(0));
    assert_eq!(diameter(&none), None);
}

/// SCore III: 512 hosts in 16 groups of 32; Ethernet: two planes, 100 Mbit/s to the hosts, one 1 Gbit/s cable
/// per group and plane upwards: in one direction 16 Gbit/s of the 51.2 Gbit/s of full bisection, over both.
#[test]
fn score_iii_ethernet() {
    let net = ok(shapes::score_iii_ethernet(16, 32));
    assert_eq!(net.hosts().len(), 512);
    let found = bisection(&net, Count::BitsPerSecond, EFFORT);
    assert!(found.lower <= 16_000_000_000 && found.upper == 16_000_000_000, "{found:?}");
    // With a quarter of the groups the proof is complete: 4 of 8 uplinks.
    let part = ok(shapes::score_iii_ethernet(4, 32));
    assert_eq!(bisection(&part, Count::BitsPerSecond, EFFORT).exact(), Some(4_000_000_000));
    let full: u64 =
        (0..512).map(|h| net.out(net.hosts()[h]).map(|c| net.rate_bps(c)).sum::<u64>()).sum::<u64>() / 2;
    assert_eq!(full, 51_200_000_000);
}

/// SCore III: Myrinet with full bisection: 512 hosts at 2 Gbit/s, 256 times that in each direction; the paper
/// counts both: 1 Tbit/s. Three tiers of 16-port crossbars, as in the Clos enclosures that it was built from.
#[test]
fn score_iii_myrinet() {
    let net = ok(shapes::score_iii_myrinet());
    assert_eq!(net.hosts().len(), 512);
    assert!(
        net.nodes().iter().enumerate().all(|(n, _)| net.ports(NodeId(n as u32)) <= 16),
        "16-port crossbars"
    );
    let found = bisection(&net, Count::BitsPerSecond, EFFORT);
    assert!(found.lower <= 512_000_000_000 && found.upper == 512_000_000_000, "{found:?}");
}

#[test]
fn bad_input_is_refused_with_a_reason() {
    let fit = Fit::switches(1);
    for (result, says) in [
        (shapes::random_regular(5, 3, 1, &fit), "n * degree even"),
        (shapes::random_regular(2, 0, 1, &fit), "degree of at least 2"),
        (shapes::ring(2, &fit), "at least 3"),
        (shapes::mesh(&[4, 0], &fit), "at least 1"),
        (shapes::mesh(&[], &fit), "at least 1"),
        (shapes::mesh(&[100_000, 100_000], &fit), "1048576"),
        (shapes::fat_tree_part(2, 4, 1, 3, &fit), "multiple of q"),
        (shapes::fat_tree(2, 4, 0, &fit), "r >= 1"),
        (shapes::dragonfly(4, 4, 2, &fit), "multiple of groups - 1"),
        (shapes::irregular(10, 4, 3, 1, &fit), "between 9 and 15"),
        (shapes::leaf_spine(2, 2, 1, &Fit::relays()), "spines are switches"),
        (shapes::from_edges("x", 2, &[(0, 2)], &fit), "no node 2"),
        (shapes::from_edges("x", 2, &[(1, 1)], &fit), "both ends are at switch1"),
        (shapes::full(3, &fit.rates(0, 1)), "rate 0"),
        (shapes::from_edges("x", 1, &[], &Fit::switches(5000)), "ports of a node: more than 4096"),
    ] {
        let error = result.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(says), "{error:?} should say {says:?}");
    }
    let mut builder = NetworkBuilder::new("ports");
    let switch = builder.switch("core", Some(2));
    for i in 0..3 {
        let host = builder.host(format!("h{i}"));
        builder.cable(switch, host, 1);
    }
    let error = builder.build().err().map(|e| e.to_string()).unwrap_or_default();
    let mut builder = NetworkBuilder::new("ports");
    let [a, b] = ["a", "b"].map(|name| builder.switch(name, None));
    builder.cable(a, b, 1);
    builder.cable_at((a, Port(0)), (b, Port(1)), 1);
    builder.cable_at((b, Port(7)), (a, Port(0)), 1);
    let taken = builder.build().err().map(|e| e.to_string()).unwrap_or_default();
    assert_eq!(taken, "a: port 0 would hold two cables; move one to a free port");
    assert_eq!(error, "core has 2 ports, but needs 3; use a larger switch or fewer cables");
}
