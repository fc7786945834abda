//! `tasuki watch`, as `apply` starts it: streams go on through a neighbour when all cables of a pair die, in
//! whichever way, and return later; `undo` leaves nothing of it, whatever it was doing.

use crate::support::{
    TestLab, eventually, ok, skip_without_root,
    state::{same_of_all, whole_of_all},
    stream::Stream,
    tasuki, text,
};
use std::fs;

const PING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/ping.py");

/// A cluster file: n1 and n2 with two cables, and n3 with one cable to each.
const TRIANGLE: &str = r#"
[defaults]
rate = "100M"
[[host]]
name = "n1"
nic = [{ name = "eth1" }, { name = "eth2" }, { name = "eth3" }]
[[host]]
name = "n2"
nic = [{ name = "eth1" }, { name = "eth2" }, { name = "eth3" }]
[[host]]
name = "n3"
nic = [{ name = "eth1" }, { name = "eth2" }]
[[cable]]
ends = ["n1:eth1", "n2:eth1"]
[[cable]]
ends = ["n1:eth2", "n2:eth2"]
[[cable]]
ends = ["n1:eth3", "n3:eth1"]
[[cable]]
ends = ["n2:eth3", "n3:eth2"]
"#;

fn triangle(stem: &str, argv: &[&str]) -> TestLab {
    triangle_with("", stem, argv)
}

/// The lab of that file, with more lines at its beginning.
fn triangle_with(lines: &str, stem: &str, argv: &[&str]) -> TestLab {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("triangle.toml");
    fs::write(&file, format!("{lines}{TRIANGLE}")).expect("writes");
    let mut arguments = vec![file.to_str().expect("UTF-8"), "--bare"];
    arguments.extend(argv);
    TestLab::up(stem, &arguments)
}

/// Bytes that went over the cables between two hosts, in both directions.
fn carried(lab: &TestLab, a: &str, b: &str) -> u64 {
    let status = lab.status();
    let cables = status["cables"].as_array().expect("cables").iter();
    let at = |end: &serde_json::Value, host: &str| {
        end.as_str().is_some_and(|end| end.starts_with(&format!("{host}:")))
    };
    let between = cables.filter(|cable| {
        let ends = cable["ends"].as_array().expect("ends");
        ends.iter().any(|end| at(end, a)) && ends.iter().any(|end| at(end, b))
    });
    let bytes = |cable: &serde_json::Value| {
        let directions = cable["directions"].as_array().expect("directions").iter();
        directions.map(|direction| direction["bytes"].as_u64().expect("a number")).sum::<u64>()
    };
    between.map(bytes).sum()
}

/// Waits until enough further bytes have gone between two hosts.
fn flows(lab: &TestLab, a: &str, b: &str) {
    let before = carried(lab, a, b);
    eventually(&format!("bytes between {a} and {b}"), || carried(lab, a, b) > before + 2_000_000);
}

fn on_lab(verb: &str, lab: &TestLab, argv: &[&str]) -> String {
    ok(tasuki().args([verb, "--lab", &lab.name]).args(argv))
}

/// What the watches of all hosts say of themselves.
fn notes(lab: &TestLab) -> Vec<serde_json::Value> {
    let output = tasuki().args(["watch", "--status", "--json", "--lab", &lab.name]).output().expect("runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)))
}

fn is_as_planned(lab: &TestLab) -> bool {
    let calm = |note: &serde_json::Value| {
        note["dead"].as_array().is_some_and(Vec::is_empty)
            && note["detours"].as_array().is_some_and(Vec::is_empty)
            && note["relays"] == false
    };
    notes(lab).iter().all(calm)
}

#[test]
fn a_stream_goes_on_through_the_neighbour_and_returns() {
    if skip_without_root("a_stream_goes_on_through_the_neighbour_and_returns") {
        return;
    }
    let lab = triangle("watch", &[]);
    on_lab("apply", &lab, &[]);
    assert_eq!(notes(&lab).len(), 3);
    let deaths: [(&str, &[&str]); 4] = [
        ("no carrier", &["n1-n2"]),
        ("silent", &["n1-n2", "--keep-carrier"]),
        ("silent from n1", &["n1-n2", "--from", "n1"]),
        ("silent from n2", &["n1-n2", "--from", "n2"]),
    ];
    for (number, (death, argv)) in deaths.iter().enumerate() {
        let stream = Stream::begin(&lab, 7000 + number as u16);
        flows(&lab, "n1", "n2");
        lab.fault("cut", argv);
        flows(&lab, "n1", "n3");
        // The relay forwards only on its NICs, and only now. It hears of the death by itself.
        eventually("n3 forwards", || {
            lab.run("n3", &["cat", "/proc/sys/net/ipv4/conf/eth1/forwarding"]).trim() == "1"
        });
        // That is no difference from the file, and nothing that `apply` should take back.
        // On a busy machine hellos are late at times: a death before the cut ends soon after it, and the
        // cut is noticed again.
        for verb in ["diff", "status"] {
            eventually(&format!("{verb} names what is dead"), || {
                let output = tasuki().args([verb, "--lab", &lab.name]).output().expect("runs");
                let said = text(&output);
                assert!(output.status.success(), "{said}");
                said.contains("around what is dead: n1:eth1 - n2:eth1")
            });
        }
        lab.fault("heal", &["n1-n2"]);
        flows(&lab, "n1", "n2");
        let pause = stream.end();
        eventually("all is as planned", || {
            is_as_planned(&lab)
                && lab.run("n3", &["cat", "/proc/sys/net/ipv4/conf/eth1/forwarding"]).trim() == "0"
        });
        eprintln!("{death}: the stream paused for at most {pause} ms");
    }
    on_lab("diff", &lab, &[]);
}

/// As in the paper: a pair has its own cables and no other route.
#[test]
fn it_can_be_turned_off() {
    if skip_without_root("it_can_be_turned_off") {
        return;
    }
    let lab = triangle_with("[cluster]\nfallback = false\n", "off", &[]);
    on_lab("apply", &lab, &[]);
    assert!(notes(&lab).is_empty());
    let route = || lab.run("n1", &["ip", "route", "show", "10.77.0.2"]);
    let planned = route();
    lab.run("n1", &["python3", PING, "10.77.0.2"]);
    lab.fault("cut", &["n1-n2", "--keep-carrier"]);
    let output = lab.exec("n1", &["timeout", "5", "python3", PING, "10.77.0.2"]).output().expect("runs");
    assert!(!output.status.success() && route() == planned, "{}", text(&output));
    assert_eq!(lab.run("n3", &["cat", "/proc/sys/net/ipv4/conf/eth1/forwarding"]).trim(), "0");
    on_lab("diff", &lab, &[]);
}

/// In a ring the two hosts have no common neighbour: the route leads through all other hosts.
#[test]
fn a_ring_is_gone_the_other_way_round() {
    if skip_without_root("a_ring_is_gone_the_other_way_round") {
        return;
    }
    let lab = TestLab::up("round", &["--shape", "ring:5", "--bare"]);
    on_lab("apply", &lab, &[]);
    lab.fault("cut", &["n1-n2", "--keep-carrier"]);
    eventually("n1 goes by n5", || {
        lab.run("n1", &["ip", "route", "get", "10.77.0.2"]).contains("via 10.78.5.")
    });
    eventually("the other three relay and n2 knows the way back", || {
        notes(&lab)
            .iter()
            .filter(|note| note["detours"].as_array().is_some_and(|all| !all.is_empty()))
            .count()
            >= 2
    });
    lab.run("n1", &["python3", PING, "10.77.0.2"]);
    lab.fault("heal", &["n1-n2"]);
    eventually("all is as planned", || is_as_planned(&lab));
}

#[test]
fn undo_leaves_nothing_of_it() {
    if skip_without_root("undo_leaves_nothing_of_it") {
        return;
    }
    let lab = triangle("left", &[]);
    let before = whole_of_all(&lab);
    let is_as_before = |what: &str| {
        same_of_all(what, &before, &lab);
        assert!(notes(&lab).is_empty());
        assert!(
            !lab.sh("n3", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").contains("watch -"),
            "{what}: it runs"
        );
    };
    let cut = || {
        lab.fault("cut", &["n1-n2", "--keep-carrier"]);
        let relays = || notes(&lab).iter().any(|note| note["host"] == "n3" && note["relays"] == true);
        eventually("n3 relays", relays);
    };
    // `apply` while it leads a pair around.
    on_lab("apply", &lab, &[]);
    cut();
    on_lab("undo", &lab, &[]);
    is_as_before("while led around");
    // `apply` after it was killed while it did so.
    lab.fault("heal", &["all"]);
    on_lab("apply", &lab, &[]);
    cut();
    for note in notes(&lab) {
        let host = note["host"].as_str().expect("a name");
        lab.sh(host, &format!("kill -9 {}", note["pid"]));
    }
    lab.fault("heal", &["all"]);
    on_lab("undo", &lab, &[]);
    is_as_before("killed");
    // Another `apply` restores the routes and starts another watch.
    on_lab("apply", &lab, &[]);
    cut();
    for note in notes(&lab) {
        lab.sh(note["host"].as_str().expect("a name"), &format!("kill -9 {}", note["pid"]));
    }
    lab.fault("heal", &["all"]);
    on_lab("apply", &lab, &[]);
    on_lab("diff", &lab, &[]);
    assert_eq!(notes(&lab).len(), 3);
    // With the option no watch is started, and one that runs is ended.
    on_lab("apply", &lab, &["--no-watch"]);
    assert!(notes(&lab).is_empty());
    on_lab("undo", &lab, &[]);
    is_as_before("without");
}

/// The kernel takes the routes of a NIC that goes down away, and no new ones before it is up.
#[test]
fn a_nic_that_was_down_has_its_routes_again() {
    if skip_without_root("a_nic_that_was_down_has_its_routes_again") {
        return;
    }
    let lab = TestLab::up("nic", &["--shape", "full:2", "--bare"]);
    on_lab("apply", &lab, &[]);
    let routes = || lab.run("n1", &["ip", "route", "show", "proto", "116"]);
    let planned = routes();
    assert!(planned.contains("10.77.0.2 via 10.78."), "{planned}");
    let before = notes(&lab);
    lab.run("n1", &["python3", PING, "10.77.0.2"]);
    // The watch has nothing to lead n1 around by, and the plan's routes are refused.
    lab.sh("n1", "ip link set eth1 down");
    let is_noticed = || notes(&lab)[0]["dead"].as_array().is_some_and(|dead| !dead.is_empty());
    eventually("n1 knows that its NIC is down", is_noticed);
    lab.sh("n1", "ip link set eth1 up");
    eventually("all is as planned", || is_as_planned(&lab) && routes() == planned);
    lab.run("n1", &["python3", PING, "10.77.0.2"]);
    // This is too short for anything to be noticed but that the routes are gone.
    lab.sh("n1", "ip link set eth1 down && ip link set eth1 up");
    eventually("the routes are there", || routes() == planned);
    let pids = |notes: &[serde_json::Value]| notes.iter().map(|note| note["pid"].clone()).collect::<Vec<_>>();
    assert_eq!(pids(&notes(&lab)), pids(&before), "the watches are those of before");
}
