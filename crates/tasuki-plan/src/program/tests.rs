//! What a pencil, and the rates of cables, say about programs on cablings.

use super::*;
use crate::{Best, OwnSwitch, compare_ranked, proposals, rank};
use std::fmt::Write;

/// Bits per second of the cables of [`inventory`].
const RATE: f64 = 1e9;

fn inventory(hosts: usize, nics: usize, ports: &[u32]) -> Inventory {
    let switches = ports.iter().map(|&ports| OwnSwitch { ports, rate: None }).collect();
    Inventory { switches, ..Inventory::new(hosts, nics) }
}

/// A trace in which every rank does its sends, then its receives, `rounds` times.
fn trace(ranks: usize, rounds: usize, messages: &[(usize, usize, u64)]) -> String {
    let mut text = format!("tasuki-trace 1\nranks {ranks}\n");
    for _ in 0..rounds {
        for &(from, to, bytes) in messages {
            writeln!(text, "{from} send {to} {bytes} 0").expect("a string");
        }
        for &(from, to, bytes) in messages {
            writeln!(text, "{to} recv {from} {bytes} 0").expect("a string");
        }
    }
    text
}

fn program(text: &str, hosts: usize) -> Program {
    Program::parse(Path::new("test.trace"), text, hosts).expect("a trace")
}

/// All cablings with their times, the best first.
fn ordered(inventory: &Inventory, program: &Program) -> Vec<Ranked> {
    let mut found = proposals(inventory).expect("proposals");
    program.add_proposals(inventory, None, None, &mut found).expect("proposals");
    let mut all: Vec<Ranked> = found
        .into_iter()
        .map(|proposal| {
            let mut one = rank(proposal, inventory, &mut |_| {}).expect("measures");
            one.program = Some(program.on(&one.cluster).expect("a time"));
            one
        })
        .collect();
    all.sort_by(|a, b| compare_programs(a, b, compare_ranked(a, b, Best::Bandwidth)));
    all
}

fn time(one: &Ranked) -> f64 {
    one.program.as_ref().expect("a time").time_us
}

fn both_ways(pairs: impl Iterator<Item = (usize, usize)>, bytes: u64) -> Vec<(usize, usize, u64)> {
    pairs.flat_map(|(a, b)| [(a, b, bytes), (b, a, bytes)]).collect()
}

/// A message of one full packet: 1,500 bytes and 38 more of Ethernet at 1 Gbit/s per cable, 25 ns per cable,
/// 5 us in a relay, 1 us in each host.
#[test]
fn a_lone_message_takes_as_long_as_a_pencil_says() {
    let inventory = inventory(4, 2, &[]);
    let ring = proposals(&inventory).expect("proposals").remove(0).cluster;
    for (to, expected) in [(1, 2.0 + 12.304 + 0.025), (2, 2.0 + 2.0 * (12.304 + 0.025) + 5.0)] {
        let found = program(&trace(4, 1, &[(0, to, 1440)]), 4).on(&ring).expect("a time");
        assert!((found.time_us - expected).abs() < 1e-3, "to {to}: {} us, not {expected}", found.time_us);
        assert_eq!((found.hops_most, found.messages), (to as u64 - 1, 1));
    }
}

/// Neighbours in a ring exchange: their own cables serve them better than a switch, through which every
/// packet passes two cables, and a ring in another order, in which they are not neighbours.
#[test]
fn neighbours_in_a_ring_want_the_ring() {
    let inventory = inventory(6, 2, &[16]);
    let messages = both_ways((0..6).map(|a| (a, (a + 1) % 6)), 20_000);
    let program = program(&trace(6, 5, &messages), 6);
    let all = ordered(&inventory, &program);
    assert_eq!(all[0].what, "ring", "{:?}", all.iter().map(|one| (&one.what, time(one))).collect::<Vec<_>>());
    assert!(all.len() > 2 && time(&all[0]) < time(&all[1]));
    assert_eq!(all[0].program.as_ref().map(|found| found.hops_most), Some(0));

    let order = [0, 2, 4, 1, 5, 3];
    let renamed = messages.iter().map(|&(a, b, bytes)| (order[a], order[b], bytes)).collect::<Vec<_>>();
    let other = super::tests::program(&trace(6, 5, &renamed), 6).on(&all[0].cluster).expect("a time");
    assert!(other.time_us > 1.5 * time(&all[0]), "{} us in the wrong order", other.time_us);
}

/// One pair sends everything: with three ports per host and all hosts joined it can have two cables, so the
/// best cabling needs half the time that one cable needs for these bytes, and not less.
#[test]
fn a_pair_that_sends_everything_gets_parallel_cables() {
    let bytes = 10_000_000;
    let program = program(&trace(4, 1, &[(0, 1, bytes)]), 4);
    let all = ordered(&inventory(4, 3, &[]), &program);
    let between = all[0].cluster.cables.iter().filter(|cable| {
        let hosts = cable.ends.map(|end| if let End::Nic(nic) = end { nic.host.0 } else { usize::MAX });
        hosts.iter().all(|&host| host < 2)
    });
    assert_eq!(between.count(), 2, "{}", all[0].what);
    let one_cable = bytes as f64 * 8.0 / RATE * 1e6;
    let share = time(&all[0]) / one_cable;
    assert!((0.5..0.56).contains(&share), "{share} of the time of one cable");
}

/// All send to all: the cabling with the shortest mean distance has the shortest time.
#[test]
fn all_to_all_wants_short_distances() {
    let messages = both_ways((0..12).flat_map(|a| (a + 1..12).map(move |b| (a, b))), 30_000);
    let all = ordered(&inventory(12, 4, &[]), &program(&trace(12, 2, &messages), 12));
    let distance = |one: &Ranked| one.measures.average_distance.expect("connected");
    let shortest = all.iter().map(distance).fold(f64::INFINITY, f64::min);
    assert!(all.len() > 2);
    assert_eq!(distance(&all[0]), shortest, "{}", all[0].what);
}

/// No run is shorter than its bytes need: over the cable with the most bytes, and out of and into each host
/// over all its cables together.
#[test]
fn no_time_is_below_what_the_bytes_need() {
    for seed in 0..8u64 {
        let mut state = seed * 2 + 1;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let hosts = 4 + draw(4) as usize;
        let pairs: Vec<(usize, usize)> = (0..30)
            .map(|_| (draw(hosts as u64) as usize, draw(hosts as u64) as usize))
            .filter(|(a, b)| a != b)
            .collect();
        let messages: Vec<_> = pairs.iter().map(|&(a, b)| (a, b, draw(200_000))).collect();
        let nics = 2 + draw(2) as usize;
        let all = ordered(&inventory(hosts, nics, &[16]), &program(&trace(hosts, 1, &messages), hosts));
        for one in &all {
            let found = one.program.as_ref().expect("a time");
            let most = found.cables.iter().map(|cable| cable.bytes).max().unwrap_or(0);
            let mut least = most as f64 * 8.0 / RATE * 1e6;
            for host in 0..hosts {
                let cabled = |end: &End| matches!(end, End::Nic(nic) if nic.host.0 == host);
                let cables =
                    one.cluster.cables.iter().flat_map(|cable| &cable.ends).filter(|end| cabled(end));
                let rate = RATE * cables.count() as f64;
                let sum = |is: &dyn Fn(&(usize, usize, u64)) -> bool| {
                    messages.iter().filter(|message| is(message)).map(|message| message.2).sum::<u64>()
                };
                let bytes = sum(&|message| message.0 == host).max(sum(&|message| message.1 == host));
                least = least.max(bytes as f64 * 8.0 / rate * 1e6);
            }
            assert!(found.time_us >= least, "seed {seed}, {}: {} us, not {least}", one.what, found.time_us);
            let arrived: u64 = messages.iter().map(|message| message.2).sum();
            let carried: u64 = found.cables.iter().map(|cable| cable.bytes).sum();
            assert!(carried >= arrived, "seed {seed}, {}: {carried} of {arrived} bytes", one.what);
        }
    }
}

/// Twice as many ranks as hosts stand two and two on the hosts: messages inside a pair use no cable.
#[test]
fn ranks_stand_on_the_hosts_in_blocks() {
    let ring = proposals(&inventory(4, 2, &[])).expect("proposals").remove(0).cluster;
    let inside = both_ways((0..4).map(|pair| (2 * pair, 2 * pair + 1)), 1000);
    let found = program(&trace(8, 1, &inside), 4).on(&ring).expect("a time");
    assert_eq!((found.messages, found.local_messages, found.cables.len()), (8, 8, 0));
    assert_eq!((found.unused_cables, found.hops_mean), (4, None));
    assert!(program_why(&found).contains("does not matter"), "{}", program_why(&found));
}

#[test]
fn what_is_no_trace_of_such_a_program_is_refused_with_the_line() {
    let refused = |text: &str| match Program::parse(Path::new("my.trace"), text, 4) {
        Ok(_) => panic!("{text:?} is taken"),
        Err(error) => error.to_string(),
    };
    for (text, parts) in [
        ("", &["my.trace", "is this a trace"][..]),
        ("hello\n", &["my.trace: line 1", "tasuki-trace 1"]),
        ("tasuki-trace 1\nranks 4\n", &["no rank sends a message"]),
        ("tasuki-trace 1\nranks 4\n0 send 1 8 0\n1 recv\n", &["line 4", "wanted: rank event"]),
        ("tasuki-trace 1\nranks 4\n0 send 1 8 0\n", &["line 3", "never receives"]),
        ("tasuki-trace 1\nranks 4\n0 send 1 34359738369 0\n", &["line 3", "at most 34359738368 are"]),
        ("tasuki-trace 1\nranks 2\n0 send 1 8 0\n1 recv 0 8 0\n", &["2 ranks", "2 of 4 hosts", "--hosts"]),
    ] {
        let said = refused(text);
        assert!(parts.iter().all(|part| said.contains(part)), "{text:?}: {said}");
    }
}
