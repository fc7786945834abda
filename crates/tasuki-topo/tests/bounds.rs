//! Throughput bounds against arithmetic and against properties that define them.

mod common;

use tasuki_topo::bounds::{MAX_PHASES, Pattern, Traffic, bounds, concurrent, max_min_fair, together};
use tasuki_topo::measure::{Count, DEFAULT_EFFORT, bisection};
use tasuki_topo::shapes::{self, ClosHosts, Fit, PairRing};
use tasuki_topo::{ChannelId, Engine, HostId, Limits, Network, NetworkBuilder, PathRule, SplitMix64, route};

type Check = Result<(), Box<dyn std::error::Error>>;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * b.abs().max(1e-300)
}

/// Bertsekas and Gallager, "Data Networks", 6.5.2: rates are max-min fair if and only if they are feasible
/// and every flow crosses a full channel on which no flow has a higher rate.
fn assert_max_min_fair(
    net: &Network,
    traffic: &Traffic,
    paths: &[Vec<ChannelId>],
    rates: &[f64],
    what: &str,
) {
    let mut load = vec![0.0; net.channels()];
    for (path, rate) in paths.iter().zip(rates) {
        path.iter().for_each(|c| load[c.ix()] += rate);
    }
    let capacity = |c: ChannelId| net.rate_bps(c) as f64;
    for c in (0..net.channels() as u32).map(ChannelId) {
        assert!(load[c.ix()] <= capacity(c) * (1.0 + 1e-9), "{what}: {} is overloaded", net.channel_label(c));
    }
    let share = |flow: usize| rates[flow] / traffic.flows[flow].demand;
    for (flow, path) in paths.iter().enumerate() {
        let holds_back = |c: &ChannelId| {
            let full = load[c.ix()] >= capacity(*c) * (1.0 - 1e-9);
            let users = (0..paths.len()).filter(|&other| paths[other].contains(c));
            full && users.into_iter().all(|other| share(other) <= share(flow) * (1.0 + 1e-9))
        };
        assert!(path.iter().any(holds_back), "{what}: flow {flow} could have more");
    }
}

#[test]
fn fair_rates_are_max_min_fair() -> Check {
    for seed in 0..60 {
        let mut random = SplitMix64::new(seed);
        let net = shapes::irregular(10, 15, 5, seed, &Fit::switches(2).rates(3, 2))?;
        let tables = route(&net, Engine::UpDown, Limits::lossless(1))?;
        let hosts = net.hosts().len();
        let mut host = || HostId(random.below(hosts) as u32);
        let mut traffic = Traffic::new((0..40).map(|_| (host(), host())));
        traffic.flows.iter_mut().for_each(|f| f.demand = 1.0 + random.below(3) as f64);
        let paths = traffic.paths(&net, &tables)?;
        let fair = max_min_fair(&net, &traffic, &paths);
        assert_max_min_fair(&net, &traffic, &paths, &fair.rates_bps, &format!("seed {seed}"));
        // The rate that all flows can have at once is the least max-min fair rate per unit of demand.
        let shares = fair.rates_bps.iter().zip(&traffic.flows).map(|(rate, flow)| rate / flow.demand);
        assert!(near(shares.fold(f64::INFINITY, f64::min), together(&net, &traffic, &paths)), "seed {seed}");
    }
    Ok(())
}

/// The textbook line: one flow over both cables, one over each: halves; with 2 and 10 units: 1, 1 and 9.
#[test]
fn fair_rates_on_a_line() -> Check {
    let mut builder = NetworkBuilder::new("line");
    let relays = [0, 1, 2].map(|i| builder.relay(format!("r{i}")));
    builder.cable(relays[0], relays[1], 2);
    builder.cable(relays[1], relays[2], 10);
    let net = builder.build()?;
    let tables = route(&net, Engine::UpDown, Limits::lossless(1))?;
    let [a, b, c] = [0, 1, 2].map(HostId);
    let traffic = Traffic::new([(a, c), (a, b), (b, c)]);
    let paths = traffic.paths(&net, &tables)?;
    let fair = max_min_fair(&net, &traffic, &paths);
    assert_eq!(fair.rates_bps, [1.0, 1.0, 9.0]);
    assert_eq!((fair.least_bps(), fair.total_bps()), (1.0, 11.0));
    Ok(())
}

/// Upper bounds on what any routing gives that have a closed form, or come from cuts.
#[test]
fn concurrent_flow_of_known_networks() -> Check {
    let one = DEFAULT as f64;
    let relays = Fit::relays();
    let ring = shapes::ring(8, &relays)?;
    let torus = shapes::torus(&[4, 4], PairRing::OneCable, &Fit::switches(1).rates(DEFAULT, 100 * DEFAULT))?;
    let star = shapes::from_edges("star", 1, &[], &Fit::switches(8))?;
    let clos = shapes::myrinet_clos(4, ClosHosts::Lower, &Fit::switches(4))?;
    // Edge-transitive networks: all-to-all fills every channel alike, so the rate is channels / sum of
    // distances. Ring of 8: 16 channels, sum of distances 8 * (1+1+2+2+3+3+4) = 128. Torus 4x4: 64 channels,
    // 16 * 32.
    for (net, expected) in
        [(&ring, one * 16.0 / 128.0), (&torus, one * 64.0 / 512.0), (&star, one / 7.0), (&clos, one / 15.0)]
    {
        let found = concurrent(net, &Traffic::all_to_all(net), 0.02, MAX_PHASES);
        assert!(found.lower_bps <= expected * (1.0 + 1e-9), "{}: {found:?} {expected}", net.name());
        assert!(found.upper_bps >= expected * (1.0 - 1e-9), "{}: {found:?} {expected}", net.name());
        assert!(found.upper_bps <= found.lower_bps * 1.02 + 1e-6, "{}: {found:?}", net.name());
    }
    Ok(())
}

const DEFAULT: u64 = shapes::DEFAULT_BPS;

/// Any routing at all stays below the upper bound; and the lower bound is below what every cut allows.
#[test]
fn concurrent_flow_brackets_every_routing_and_every_cut() -> Check {
    for seed in 0..10 {
        let net = shapes::irregular(12, 18, 5, seed, &Fit::switches(2))?;
        for traffic in [Traffic::all_to_all(&net), Traffic::neighbour(&net)] {
            let best = concurrent(&net, &traffic, 0.05, MAX_PHASES);
            assert!(
                best.lower_bps <= best.upper_bps && best.upper_bps <= best.lower_bps * 1.05001,
                "seed {seed}: {best:?}"
            );
            for engine in
                [Engine::UpDown, Engine::Dfsssp, Engine::Minimal(PathRule::LowPortFirst), Engine::AnyChannels]
            {
                let tables = route(&net, engine, Limits::lossless(64))?;
                let paths = traffic.paths(&net, &tables)?;
                let over = together(&net, &traffic, &paths);
                assert!(over <= best.upper_bps * (1.0 + 1e-9), "seed {seed}, {}", engine.name());
            }
        }
        let all = concurrent(&net, &Traffic::all_to_all(&net), 0.05, MAX_PHASES);
        let cut = bisection(&net, Count::BitsPerSecond, DEFAULT_EFFORT);
        assert!(
            all.lower_bps * 144.0 <= cut.upper as f64 * (1.0 + 1e-9),
            "seed {seed}: 12 x 12 pairs cross the cut"
        );
    }
    Ok(())
}

/// The pattern of table 9: complement on the 4x4 torus leaves no flow sharing a channel under structured
/// channels with low port first ("all packets ... without contention", 4.3.1); on the mesh flows must share.
#[test]
fn complement_on_torus_and_mesh() -> Check {
    let four = Fit::switches(4);
    let torus = shapes::torus(&[4, 4], PairRing::OneCable, &four)?;
    let traffic = Traffic::between_switches(&torus, Pattern::Complement)?;
    assert_eq!(traffic.flows.len(), 16);
    let tables = route(&torus, Engine::Structured(PathRule::LowPortFirst), Limits::lossless(16))?;
    let found = bounds(&torus, &tables, &traffic, 0.02)?;
    assert!(near(found.fair.least_bps(), DEFAULT as f64), "{:?}", found.fair);
    // 3 switches on every path: 2 cables between switches, 2 to hosts.
    assert!(traffic.paths(&torus, &tables)?.iter().all(|path| path.len() == 4));
    assert!(found.gap_at_most() < 1.021);
    let mesh = shapes::mesh(&[4, 4], &four)?;
    let traffic = Traffic::between_switches(&mesh, Pattern::Complement)?;
    let tables = route(&mesh, Engine::Structured(PathRule::SpreadPerHost), Limits::lossless(16))?;
    let found = bounds(&mesh, &tables, &traffic, 0.02)?;
    // All 16 flows cross both middles (8 each way over 4 channels): no routing gives all of them more than
    // half.
    assert!(found.over_any.upper_bps <= DEFAULT as f64 * 0.5 * 1.021);
    assert!(found.over_routes_bps <= found.over_any.upper_bps);
    Ok(())
}

#[test]
fn patterns() -> Check {
    let all =
        |pattern: Pattern, bits: u32| (0..1 << bits).map(|i| pattern.target(i, bits)).collect::<Vec<_>>();
    assert_eq!(all(Pattern::BitReversal, 3), [0, 4, 2, 6, 1, 5, 3, 7]);
    assert_eq!(all(Pattern::MatrixTranspose, 4), [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]);
    assert_eq!(all(Pattern::Butterfly, 3), [0, 4, 2, 6, 1, 5, 3, 7]);
    assert_eq!(all(Pattern::Butterfly, 4), [0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15]);
    assert_eq!(all(Pattern::Complement, 3), [7, 6, 5, 4, 3, 2, 1, 0]);
    for pattern in [Pattern::BitReversal, Pattern::MatrixTranspose, Pattern::Butterfly, Pattern::Complement] {
        assert_eq!(all(pattern, 0), [0]);
    }
    let refused = |n, hosts, pattern| {
        let net = shapes::ring(n, &Fit::switches(hosts));
        net.ok().and_then(|net| Traffic::between_switches(&net, pattern).err()).map(|e| e.to_string())
    };
    assert!(refused(6, 2, Pattern::Complement).is_some_and(|e| e.contains("6 switches")));
    assert!(refused(8, 2, Pattern::MatrixTranspose).is_some_and(|e| e.contains("square")));
    assert!(refused(8, 1, Pattern::Complement).is_some_and(|e| e.contains("has 1 hosts")));
    Ok(())
}

#[test]
fn odd_cases() -> Check {
    let net = shapes::ring(4, &Fit::switches(2))?;
    let none = concurrent(&net, &Traffic { flows: vec![] }, 0.1, 100);
    assert!(none.lower_bps.is_infinite() && none.upper_bps.is_infinite());
    let apart = shapes::from_edges("apart", 4, &[(0, 1), (2, 3)], &Fit::switches(1))?;
    let found = concurrent(&apart, &Traffic::new([(HostId(0), HostId(3))]), 0.1, 100);
    assert_eq!((found.lower_bps, found.upper_bps), (0.0, 0.0));
    let unknown = concurrent(&net, &Traffic::new([(HostId(0), HostId(99))]), 0.1, 100);
    assert_eq!((unknown.lower_bps, unknown.upper_bps), (0.0, 0.0));
    let tables = route(&net, Engine::UpDown, Limits::lossless(1))?;
    assert!(Traffic::new([(HostId(0), HostId(99))]).paths(&net, &tables).is_err());
    let mut idle = Traffic::new([(HostId(0), HostId(3))]);
    idle.flows[0].demand = 0.0;
    let found = bounds(&net, &tables, &idle, 0.1)?;
    assert_eq!((found.fair.rates_bps.clone(), found.over_any.lower_bps), (vec![0.0], f64::INFINITY));
    // Hosts with several cables: two planes give twice the rate of one, if paths are split.
    let mut builder = NetworkBuilder::new("two planes");
    let planes = [0, 1].map(|i| builder.switch(format!("plane{i}"), None));
    for i in 0..4 {
        let host = builder.host(format!("h{i}"));
        planes.iter().for_each(|&plane| builder.cable(host, plane, 10));
    }
    let net = builder.build()?;
    let found = concurrent(&net, &Traffic::neighbour(&net), 0.01, MAX_PHASES);
    assert!(found.lower_bps >= 20.0 / 1.01 && found.upper_bps <= 20.0 * 1.000_001, "{found:?}");
    let tables = route(&net, Engine::Minimal(PathRule::SpreadPerHost), Limits::lossy())?;
    let bound = bounds(&net, &tables, &Traffic::neighbour(&net), 0.01)?;
    assert!(near(bound.over_routes_bps, 10.0) && bound.gap_at_least() > 1.97 && bound.gap_at_most() < 2.03);
    Ok(())
}

/// A full fat tree has routes for every shift of its hosts at full rate (Zahavi, "D-Mod-K routing providing
/// non-blocking traffic for shift permutations on real life fat trees", 2010). Hosts spread over shortest
/// paths find them for shifts by whole subtrees, on two levels above the leaves and on three.
#[test]
fn spread_hosts_do_not_meet_in_a_fat_tree() -> Check {
    for (width, levels) in [(4, 2), (2, 3), (4, 1)] {
        let net = shapes::fat_tree(width, width, levels, &Fit::switches(width))?;
        let hosts = net.hosts().len() as u32;
        let tables = route(&net, Engine::Minimal(PathRule::SpreadPerHost), Limits::lossless(1))?;
        for far in 1..width {
            let shift = (0..hosts).map(|host| (HostId(host), HostId((host + far * (hosts / width)) % hosts)));
            let traffic = Traffic::new(shift);
            let paths = traffic.paths(&net, &tables)?;
            let share = together(&net, &traffic, &paths) / net.rate_bps(ChannelId(0)) as f64;
            assert!(near(share, 1.0), "({width},{width},{levels}): a shift by {far} subtrees gives {share}");
        }
    }
    Ok(())
}
