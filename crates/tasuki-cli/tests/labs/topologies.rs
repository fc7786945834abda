//! `tasuki topo` and `tasuki plan`, compared with facts that are known from elsewhere.

use crate::support::{TestLab, ok, skip_without_root, tasuki, text};
use serde_json::Value;
use std::path::Path;
use tasuki_cluster::{AddressPlan, Cluster};

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&ok(tasuki().args(arguments).arg("--json"))).expect("JSON")
}

/// The output of a command that must fail.
fn fails(arguments: &[&str]) -> String {
    let output = tasuki().args(arguments).output().expect("the command starts");
    assert!(!output.status.success(), "{arguments:?} should fail: {}", text(&output));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn measure(network: &str) -> Value {
    json(&["topo", "measure", network])
}

/// RHiNET-2, tables 1, 3, 5 and 7: diameter, and "average distance" (with self pairs, rounded half up to one
/// digit); textbook bisections of mesh (k), torus (2k) and ring (2).
#[test]
fn measures_what_the_rhinet_2_paper_prints() {
    let cases = [
        ("mesh:4x4+4", 6, 3.5, Some(4.0)),
        ("torus:4x4+4", 4, 3.0, Some(8.0)),
        ("ring:8+4", 4, 3.0, Some(2.0)),
        ("mesh:4x2+4", 4, 2.8, Some(2.0)),
        ("torus:4x2+4", 3, 2.5, Some(4.0)),
        ("clos-both:4+4", 2, 2.3, None),
        ("clos:4+4", 2, 2.5, Some(8.0)),
        ("fat-tree:2/4/1+4", 2, 2.5, None),
        ("ring:4+4", 2, 2.0, Some(2.0)),
    ];
    for (network, diameter, distance, bisection) in cases {
        let found = measure(network);
        assert_eq!(found["diameter"], diameter, "{network}");
        let mean = found["average_distance_with_self"].as_f64().expect("a number");
        assert_eq!((mean * 10.0 + 0.5).floor() / 10.0, distance, "{network}: {mean}");
        if let Some(bisection) = bisection {
            let range = &found["bisection_cables"];
            assert_eq!(
                (&range["lower"], &range["upper"]),
                (&bisection.into(), &bisection.into()),
                "{network}"
            );
        }
    }
}

/// Petersen and Hoffman-Singleton graphs: 10 and 50 vertices, 15 and 175 edges, diameter 2, and the average
/// number of relays: 6 of 9 and 42 of 49 other vertices are two cables away.
#[test]
fn measures_the_moore_graphs() {
    for (name, hosts, cables, distance) in
        [("petersen", 10, 15, 6.0 / 9.0), ("hoffman-singleton", 50, 175, 42.0 / 49.0)]
    {
        let found = measure(name);
        assert_eq!(
            (&found["hosts"], &found["cables"], &found["diameter"]),
            (&hosts.into(), &cables.into(), &2.into())
        );
        assert!(
            (found["average_distance"].as_f64().unwrap_or(9.0) - distance).abs() < 1e-9,
            "{name}: {found}"
        );
        assert_eq!(found["weak_nodes"], Value::Array(vec![]), "{name}");
    }
    // The search finds a graph that is as good as Petersen's.
    assert_eq!(measure("optimal:10/3")["average_distance"], measure("petersen")["average_distance"]);
}

/// One switch: the bisection of four hosts on each side, everything depends on the switch, and the bill adds
/// up.
#[test]
fn measures_a_star() {
    let found = json(&[
        "topo",
        "measure",
        "star:8",
        "--price-cable",
        "5",
        "--price-nic",
        "20.5",
        "--price-switch",
        "100",
    ]);
    assert_eq!(found["bisection_bits_per_second"]["upper"], 4e9);
    assert_eq!(found["effective_bisection_bits_per_second"]["lower"].as_f64().map(f64::round), Some(4e9));
    assert_eq!(found["weak_nodes"][0]["pairs"], 8 * 7);
    assert_eq!(found["weak_cables"].as_array().map(Vec::len), Some(8));
    assert_eq!(found["cost"], 8.0 * 5.0 + 8.0 * 20.5 + 100.0);
    let shown = ok(tasuki().args(["topo", "measure", "star:8"]));
    assert!(shown.contains("4 Gbit/s") && shown.contains("sw1 (56 pairs)"), "{shown}");
}

/// Dally and Seitz: shortest paths round a ring of 5 or more close a circle of waiting with one channel; two
/// are enough.
#[test]
fn routes_of_a_ring() {
    let found = json(&["topo", "route", "ring:5", "--channels", "2"]);
    let engines = found["engines"].as_array().expect("a list");
    assert_eq!(engines.len(), 11);
    for made in engines {
        assert_eq!(made["failed"], Value::Null, "{made}");
        assert_eq!((&made["refuted"], &made["delivered"]), (&Value::Null, &20.into()), "{made}");
    }
    let of = |name: &str| engines.iter().find(|made| made["engine"] == name).expect("an engine");
    assert_eq!(of("minimal")["circle_with_one_channel"].as_array().map(Vec::len), Some(5));
    assert_eq!(of("up-down")["circle_with_one_channel"], Value::Null);
    assert!(of("up-down")["longer"].as_u64() > Some(0));
    // With one channel the engines that need two say so; none falls back to something else.
    let one = json(&["topo", "route", "ring:5", "--channels", "1"]);
    for made in one["engines"].as_array().expect("a list") {
        let failed = made["failed"].as_str().unwrap_or_default();
        let works = ["up-down", "any-channels"].contains(&made["engine"].as_str().unwrap_or_default());
        assert_eq!(failed.contains("needs 2 virtual channels here, 1 are allowed"), !works, "{made}");
    }
    let error = fails(&["topo", "route", "ring:5", "--channels", "1", "--engine", "minimal"]);
    assert!(error.contains("needs 2 virtual channels"), "{error}");
}

#[test]
fn routes_print_tables_and_verdicts() {
    let shown =
        ok(tasuki().args(["topo", "route", "torus:4x4+1", "--engine", "dimension-order", "--tables"]));
    assert!(shown.contains("proven: all delivered, no deadlock"), "{shown}");
    // There are 16 switches with an entry for each of 16 hosts.
    assert_eq!(shown.lines().filter(|line| line.trim_start().starts_with("switch")).count(), 256, "{shown}");
    let lossy = ok(tasuki().args(["topo", "route", "torus:4x4", "--lossy"]));
    assert!(lossy.contains("proven: all delivered") && !lossy.contains("REFUTED"), "{lossy}");
}

/// RHiNET-2, 4.3.1: the complement pattern on the 4x4 torus meets no contention with structured channels, low
/// port first: every flow has its cables for itself. On the mesh all 16 flows cross both middles, 8 over 4
/// cables in each direction: no routes give all of them more than half.
#[test]
fn routes_say_what_a_pattern_gets() {
    let complement = |network: &str, engine: &str| {
        let argv =
            ["topo", "route", network, "--channels", "16", "--engine", engine, "--pattern", "complement"];
        json(&argv)["engines"][0]["traffic"].clone()
    };
    let torus = complement("torus:4x4+4", "structured-low-port");
    assert_eq!(torus["least_bits_per_second"], 1e9, "{torus}");
    let mesh = complement("mesh:4x4+4", "structured");
    let best = &mesh["together_best_bits_per_second"];
    assert!(best["upper"].as_f64().is_some_and(|rate| rate <= 0.5e9 * 1.021), "{mesh}");
    assert!(mesh["together_bits_per_second"].as_f64() <= best["upper"].as_f64(), "{mesh}");
    let error = fails(&["topo", "route", "ring:6+2", "--pattern", "complement"]);
    assert!(error.contains("6 switches with hosts"), "{error}");
}

#[test]
fn errors_say_what_is_missing() {
    for (arguments, says) in [
        (&["topo", "measure", "nothing.toml"][..], "nothing.toml"),
        (&["topo", "measure", "octopus:4"], "no shape"),
        (&["topo", "measure", "optimal:16"], "optimal:16/3"),
        (&["topo", "measure", "ring:2"], "at least 3"),
        (&["topo", "measure", "torus:4x4", "--price-cable=-3"], "0 or more"),
        (&["topo", "route", "star:4", "--engine", "dimension-order"], "dimension order needs a mesh"),
        (&["topo", "route", "ring:5", "--engine", "magic"], "there are minimal"),
        (
            &["plan", "--hosts", "8", "--nics", "1"],
            "8 hosts with 1 port each and no switch cannot be connected",
        ),
        (&["plan", "--hosts", "8", "--nics", "1"], "--switch 8"),
        (
            &["plan", "--hosts", "20", "--nics", "1", "--switch", "8", "--switch", "8"],
            "switches of 8, 8 ports",
        ),
        (&["plan", "--hosts", "8", "--nics", "2", "--choose", "9"], "no proposal 9"),
        (&["plan", "--hosts", "8", "--nics", "2", "--switch", "many"], "as 8 or 16@10G"),
        (&["plan", "--hosts", "8", "--nics", "2", "--rate", "1000"], "1000M"),
    ] {
        let error = fails(arguments);
        assert!(error.contains(says), "{arguments:?}: {error:?} should say {says:?}");
    }
}

/// What follows by arithmetic from four hosts with three ports: a full cross-connection has bisection 4
/// cables and each host sends 3 Gbit/s; a ring with one cable each 2 cables, and every host sends 3 * 8 / 16
/// = 1.5 Gbit/s.
#[test]
fn plans_are_ranked() {
    let found = json(&["plan", "--hosts", "4", "--nics", "3"]);
    let (first, second) = (&found[0], &found[1]);
    assert_eq!((&first["what"], &second["what"]), (&"full cross-connection".into(), &"ring".into()));
    let giga = |value: &Value| (value.as_f64().unwrap_or(0.0) / 1e6).round() / 1e3;
    assert_eq!(giga(&first["all_to_all_bits_per_second"]), 3.0);
    assert_eq!(giga(&second["all_to_all_bits_per_second"]), 1.5);
    assert_eq!(first["measures"]["bisection_cables"]["upper"], 4.0);
    assert_eq!(first["cabling"].as_array().map(Vec::len), Some(6));
    // A lost cable of four fully connected hosts: its two hosts use two relays, whose cables each carry a
    // half more.
    assert_eq!(giga(&first["after_cable_bits_per_second"]), 2.0);
    let by_cost = json(&["plan", "--hosts", "4", "--nics", "3", "--price-cable", "5", "--best", "cost"]);
    assert_eq!((&by_cost[0]["what"], &by_cost[0]["measures"]["cost"]), (&"ring".into(), &20.0.into()));
    let switched =
        json(&["plan", "--hosts", "6", "--nics", "2", "--switch", "8", "--switch", "6", "--best", "failure"]);
    assert_eq!(switched[0]["what"], "2 switches, 2 NICs each host");
    assert_eq!(giga(&switched[0]["after_switch_bits_per_second"]), 1.0);
}

fn planned(folder: &Path, arguments: &[&str]) -> Cluster {
    let file = folder.join("cluster.toml");
    ok(tasuki().arg("plan").args(arguments).arg("--force").arg("-o").arg(&file));
    let cluster = Cluster::load(&file).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
    AddressPlan::new(&cluster).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
    cluster
}

#[test]
fn plans_write_cluster_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let full = planned(folder.path(), &["--hosts", "4", "--nics", "3", "--rate", "2.5G"]);
    assert_eq!((full.hosts.len(), full.switches.len(), full.cables.len()), (4, 0, 6));
    assert_eq!(full.hosts[0].nics[0].rate.bits_per_second, 2_500_000_000);
    // Two switches of 8 ports joined by a cable hold 14 hosts.
    let tree =
        planned(folder.path(), &["--hosts", "14", "--nics", "1", "--switch", "8", "--switch", "8@10G"]);
    assert_eq!((tree.hosts.len(), tree.switches.len(), tree.cables.len()), (14, 2, 15));
    assert_eq!(tree.switches[0].rate.bits_per_second, 10_000_000_000);
    let shown = ok(tasuki().args(["cluster", "check"]).arg(folder.path().join("cluster.toml")));
    assert!(shown.contains("no errors"), "{shown}");
}

/// A planned cluster of hosts that relay for each other (8 with 3 ports) can be built, and every host reaches
/// every other.
#[test]
fn a_planned_cluster_stands_up() {
    if skip_without_root("a_planned_cluster_stands_up") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    planned(folder.path(), &["--hosts", "8", "--nics", "3", "--choose", "1"]);
    let file = folder.path().join("cluster.toml");
    let lab = TestLab::up("planned", &[file.to_str().expect("UTF-8")]);
    // A port on which no process listens refuses, which proves that there is a route in both directions.
    let script = "import socket, sys\n\
                  for name in sys.argv[1:]:\n    \
                      try: socket.create_connection((name, 9), 5)\n    \
                      except ConnectionRefusedError: print(name)\n";
    for host in 1..=8 {
        let others: Vec<String> = (1..=8).filter(|&o| o != host).map(|other| format!("n{other}")).collect();
        let mut command = vec!["python3", "-c", script];
        command.extend(others.iter().map(String::as_str));
        assert_eq!(
            lab.run(&format!("n{host}"), &command).lines().collect::<Vec<_>>(),
            others,
            "from n{host}"
        );
    }
    lab.down();
}
