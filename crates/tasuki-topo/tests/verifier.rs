//! The verifier against an exhaustive search, on sound and on damaged tables.

mod common;

use common::{exhaustive, irregular, mixed};
use tasuki_topo::shapes::{self, Fit};
use tasuki_topo::{
    ChannelId, Claims, Engine, FaultKind, HostId, Limits, LinkId, Network, NodeId, PathRule, Port,
    Refutation, SplitMix64, Start, Tables, TurnRule, prove, route, verify,
};

/// Compares everything: counts, every faulty pair and its kind, dependencies; and the circle is real and no
/// longer than the shortest one.
fn compare(net: &Network, tables: &Tables, what: &str) -> bool {
    let found = verify(net, tables, usize::MAX);
    let expected = exhaustive(net, tables);
    let circle = found.circle.clone();
    let mut without_circle = found;
    without_circle.circle = None;
    assert_eq!(without_circle, expected.report, "{what}");
    assert_eq!(circle.as_ref().map(Vec::len), expected.smallest_circle, "{what}");
    if let Some(circle) = &circle {
        let state = |i: usize| {
            let (channel, vc): (ChannelId, u8) = circle[i % circle.len()];
            (channel, u32::from(vc))
        };
        let real = |i: usize| expected.dependencies.contains(&(state(i), state(i + 1)));
        assert!((0..circle.len()).all(real), "{what}: {circle:?}");
        assert_eq!(circle.iter().min(), circle.first(), "{what}");
    }
    without_circle.faulty > 0 || circle.is_some()
}

fn engine_for(random: &mut SplitMix64) -> (Engine, u8) {
    let engines: Vec<Engine> = Engine::ALL.into_iter().filter(|&e| e != Engine::DimensionOrder).collect();
    let engine = engines[random.below(engines.len())];
    (engine, if engine == Engine::AnyChannels { 1 + random.below(3) as u8 } else { 64 })
}

/// Damages tables in one way.
fn mutate(net: &Network, tables: &mut Tables, random: &mut SplitMix64) {
    let row = random.below(tables.rows());
    let host = |random: &mut SplitMix64| HostId(random.below(net.hosts().len()) as u32);
    let node = (0..net.nodes().len() as u32).map(NodeId).find(|&n| tables.row(n) == Some(row));
    let ports = node.map_or(1, |n| net.ports(n)).max(1);
    let port = |random: &mut SplitMix64| Port(random.below(ports) as u16);
    match random.below(9) {
        0 => {
            let to = host(random);
            tables.set_port(row, to, None);
        }
        1..=3 => {
            let (to, port) = (host(random), Port(random.below(ports + 1) as u16));
            tables.set_port(row, to, Some(port));
        }
        4 => {
            // Two destinations exchanged.
            let (a, b) = (host(random), host(random));
            let (at_a, at_b) = (tables.port(row, a), tables.port(row, b));
            tables.set_port(row, a, at_b);
            tables.set_port(row, b, at_a);
        }
        5 | 6 => {
            let rule =
                [TurnRule::Keep, TurnRule::Raise, TurnRule::Set(random.below(3) as u8)][random.below(3)];
            let (a, b) = (port(random), port(random));
            tables.set_turn(row, ports, a, b, rule);
        }
        7 => tables.set_vcs(1 + random.below(3) as u8),
        _ => {
            let n = tables.rows() * tables.hosts();
            let mut start = vec![0u8; n];
            if let Start::Entry(old) = tables.starts() {
                start.clone_from(old);
            }
            start[random.below(n)] = random.below(3) as u8;
            tables.set_starts(Start::Entry(start));
        }
    }
}

/// A network, tables of some engine for it, 1 to 3 mutations; now and then the cables change under the tables
/// too.
fn damaged(seed: u64) -> Option<(Network, Tables)> {
    let mut random = SplitMix64::new(seed);
    let mut net = match random.below(8) {
        0 => shapes::irregular(16, 24, 4, seed, &Fit::switches(1)).ok()?,
        1 => shapes::torus(&[4, 4], shapes::PairRing::OneCable, &Fit::relays()).ok()?,
        _ => mixed(random.next_u64()),
    };
    let (engine, vcs) = engine_for(&mut random);
    // Hosts that the network does not connect have no tables to damage.
    let mut tables = route(&net, engine, Limits::lossless(vcs)).ok()?;
    if tables.rows() == 0 {
        return None;
    }
    for _ in 0..random.below(4) {
        mutate(&net, &mut tables, &mut random);
    }
    if random.below(4) == 0 {
        net = net.without(&[LinkId(random.below(net.links().len()) as u32)], &[]);
    }
    Some((net, tables))
}

fn check_damaged(seeds: std::ops::Range<u64>) -> (u64, u64) {
    let (mut checked, mut bad) = (0, 0);
    for seed in seeds {
        // Replay one with: damaged(seed).
        if let Some((net, tables)) = damaged(seed) {
            checked += 1;
            bad += u64::from(compare(&net, &tables, &format!("seed {seed}")));
        }
    }
    (checked, bad)
}

#[test]
fn finds_exactly_what_an_exhaustive_search_finds_in_ten_thousand_tables() {
    let begin = std::time::Instant::now();
    let (checked, bad) = check_damaged(0..25_000);
    println!("{checked} tables, {bad} of them bad, in {:.1} s", begin.elapsed().as_secs_f64());
    assert!(bad >= 10_000, "{checked} tables, {bad} of them bad");
}

#[test]
fn agrees_on_sound_tables_of_larger_networks() {
    for seed in 0..12 {
        let net = irregular(seed);
        let (engine, vcs) = engine_for(&mut SplitMix64::new(seed));
        if let Ok(tables) = route(&net, engine, Limits::lossless(vcs)) {
            assert!(!compare(&net, &tables, &format!("seed {seed}, {}", engine.name())));
        }
    }
}

/// The textbook deadlock: four nodes in a ring, everyone sends clockwise to the opposite node.
#[test]
fn ring_of_four_deadlocks_clockwise() -> Result<(), Box<dyn std::error::Error>> {
    let net = shapes::ring(4, &Fit::relays())?;
    let mut tables = Tables::new("clockwise", &net, net.hosts());
    for node in 0..4u16 {
        for to in (0..4).filter(|&to| to != u32::from(node)) {
            tables.set_port(usize::from(node), HostId(to), Some(Port(0)));
        }
    }
    let Err(Refutation::Deadlock(circle)) = prove(&net, &tables, Claims::lossless(1)) else {
        panic!("four packets wait for each other");
    };
    assert_eq!(circle.len(), 4);
    let report = prove(&net, &tables, Claims::lossy())?;
    assert_eq!((report.delivered, report.longer, report.excess_max), (12, 4, 2));
    // A second channel behind node 0 breaks it, if there is one.
    tables.set_vcs(2);
    tables.set_turn(0, 2, Port(1), Port(0), TurnRule::Raise);
    assert_eq!(prove(&net, &tables, Claims::lossless(2))?.vcs, 2);
    assert_eq!(prove(&net, &tables, Claims::lossless(1)), Err(Refutation::Channels { used: 2, have: 1 }));
    Ok(())
}

#[test]
fn names_what_is_wrong() -> Result<(), Box<dyn std::error::Error>> {
    let net = shapes::mesh(&[2, 2], &Fit::switches(1))?;
    let good = route(&net, Engine::Minimal(PathRule::LowPortFirst), Limits::lossless(1))?;
    let kind = |change: &dyn Fn(&mut Tables)| {
        let mut tables = good.clone();
        change(&mut tables);
        verify(&net, &tables, 1).faults.first().map(|f| f.kind)
    };
    // Switch 0: ports 0 and 1 lead to switches 1 and 2, port 2 to host 0. Host 3 is opposite.
    assert_eq!(kind(&|_| {}), None);
    assert_eq!(kind(&|t| t.set_port(0, HostId(3), None)), Some(FaultKind::NoEntry { node: NodeId(0) }));
    let dead = FaultKind::DeadPort { node: NodeId(0), port: Port(9) };
    assert_eq!(kind(&|t| t.set_port(0, HostId(3), Some(Port(9)))), Some(dead));
    let wrong = FaultKind::WrongHost { node: net.hosts()[0] };
    assert_eq!(kind(&|t| t.set_port(0, HostId(3), Some(Port(2)))), Some(wrong));
    let around = |t: &mut Tables| {
        t.set_port(0, HostId(3), Some(Port(0)));
        t.set_port(1, HostId(3), Some(Port(0)));
    };
    assert_eq!(kind(&around), Some(FaultKind::Loop));
    assert!(matches!(
        kind(&|t| t.set_starts(Start::Destination(vec![4; 4]))),
        Some(FaultKind::ChannelExceeded { vc: 4, .. })
    ));
    let mut tables = good.clone();
    tables.set_port(0, HostId(3), None);
    let error = prove(&net, &tables, Claims::lossless(1)).err().map(|e| e.to_string()).unwrap_or_default();
    assert_eq!(error, "1 of 12 pairs are not delivered; host0 to host3: switch0 has no entry");
    let other = shapes::ring(5, &Fit::switches(1))?;
    assert!(matches!(prove(&other, &good, Claims::lossless(1)), Err(Refutation::OtherNetwork { .. })));
    Ok(())
}
