//! Striping, as `[striping]` of a cluster file asks for it: one stream over all NICs, whatever is between
//! them, by every policy; what is not to be striped is not; nothing is lost when a cable dies; `undo` leaves
//! nothing of it. Shares are read from the counters of the lab's wires, which do not depend on the program.

use crate::support::{
    TestLab, eventually, ok, skip_without_root,
    state::{same, whole_of_all},
    stream::Stream,
    tasuki,
};
use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
};

/// Bytes that a stream must carry before its shares are looked at.
const ENOUGH: u64 = 4_000_000;

/// A cluster file of two hosts with cables of these rates.
fn cables(rates: &[&str], striping: &str) -> String {
    let nic =
        |(number, rate): (usize, &&str)| format!("{{ name = \"eth{}\", rate = \"{rate}\" }}", number + 1);
    let nics: Vec<_> = rates.iter().enumerate().map(nic).collect();
    let host = |name: &str| format!("[[host]]\nname = \"{name}\"\nnic = [{}]\n", nics.join(", "));
    let cable = |n: usize| format!("[[cable]]\nends = [\"n1:eth{n}\", \"n2:eth{n}\"]\n");
    let cables: String = (1..=rates.len()).map(cable).collect();
    format!("[striping]\n{striping}\n{}{}{cables}", host("n1"), host("n2"))
}

/// Builds the lab of a cluster file's text.
fn lab(stem: &str, text: &str, argv: &[&str]) -> TestLab {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("striped.toml");
    fs::write(&file, text).expect("writes");
    let mut arguments = vec![file.to_str().expect("UTF-8")];
    arguments.extend(argv);
    TestLab::up(stem, &arguments)
}

/// Bytes that a host has sent into each of its cables.
fn sent(lab: &TestLab, host: &str) -> Vec<u64> {
    let status = lab.status();
    let cables = status["cables"].as_array().expect("cables").iter();
    let of_host = |cable: &serde_json::Value| {
        let ends = cable["ends"].as_array().expect("ends");
        let side = ends.iter().position(|end| end.as_str().is_some_and(|end| end.starts_with(host)))?;
        cable["directions"][side]["bytes"].as_u64()
    };
    cables.filter_map(of_host).collect()
}

/// What a stream from one host to an address of another adds to each cable of the sender, as shares of the
/// whole.
fn shares(lab: &TestLab, [from, to]: [&str; 2], address: &str, port: u16) -> Vec<f64> {
    let before = sent(lab, from);
    let added =
        || sent(lab, from).into_iter().zip(&before).map(|(now, before)| now - before).collect::<Vec<_>>();
    let stream = Stream::between(lab, [from, to], address, port);
    eventually("enough bytes", || added().iter().sum::<u64>() > ENOUGH);
    stream.end();
    let added = added();
    let all: u64 = added.iter().sum();
    let shares: Vec<_> = added.iter().map(|&of_one| of_one as f64 / all as f64).collect();
    eprintln!("{from} to {address}: {shares:.3?}");
    shares
}

/// Demands these shares, up to `tolerance`.
fn are(shares: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(shares.len(), expected.len());
    let differ = shares.iter().zip(expected).any(|(share, expected)| (share - expected).abs() > tolerance);
    assert!(!differ, "{shares:?} instead of {expected:?}");
}

/// Whether all bytes, except answers to ARP and the like, used one cable.
fn is_on_one(shares: &[f64]) -> bool {
    shares.iter().any(|share| *share > 0.97)
}

#[test]
#[ignore = "long: streams over many labs"]
fn one_stream_takes_all_cables_by_every_policy() {
    if skip_without_root("one_stream_takes_all_cables_by_every_policy") {
        return;
    }
    let n1_to_n2 = |lab: &TestLab| shares(lab, ["n1", "n2"], "10.77.0.2", 7000);
    let equal = ["20M"; 4];
    for policy in ["shortest-delay", "round-robin", "byte-weighted"] {
        let lab = lab("policy", &cables(&equal, &format!("policy = \"{policy}\"")), &[]);
        are(&n1_to_n2(&lab), &[0.25; 4], 0.06);
    }
    let hashed = lab("hash", &cables(&equal, "policy = \"flow-hash\""), &[]);
    assert!(is_on_one(&n1_to_n2(&hashed)));
    // By weight each cable gets what its rate says, whatever else the machine does.
    let unequal = lab("weight", &cables(&["20M", "20M", "10M", "5M"], "policy = \"byte-weighted\""), &[]);
    are(&n1_to_n2(&unequal), &[20.0 / 55.0, 20.0 / 55.0, 10.0 / 55.0, 5.0 / 55.0], 0.03);
    // Only NICs that are listed are used, whichever the route chooses.
    let listed = lab("listed", &cables(&equal, "nics = [\"eth2\", \"eth4\"]\npolicy = \"round-robin\""), &[]);
    are(&n1_to_n2(&listed), &[0.0, 0.5, 0.0, 0.5], 0.06);
}

/// Three NICs of each of two hosts on one switch, or on one switch per NIC index without links between them.
/// The plan has no MAC addresses: the lab gives them to its own plan, so testing ARP, which is the usual
/// case, needs a host that `apply` has set up.
#[test]
#[ignore = "long: streams over many labs"]
fn switches_are_striped_over_as_cables_are() {
    if skip_without_root("switches_are_striped_over_as_cables_are") {
        return;
    }
    for switches in [1, 3] {
        let names: Vec<_> = (1..=switches).map(|number| format!("sw{number}")).collect();
        let mut text = String::from("[defaults]\nrate = \"20M\"\n[striping]\n");
        for host in ["n1", "n2"] {
            text += &format!(
                "[[host]]\nname = \"{host}\"\nnic = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"c\" \
                 }}]\n"
            );
        }
        for name in &names {
            text += &format!("[[switch]]\nname = \"{name}\"\nports = 8\n");
        }
        for (host, (number, nic)) in ["n1", "n2"]
            .iter()
            .flat_map(|host| ["a", "b", "c"].iter().enumerate().map(move |nic| (host, nic)))
        {
            text += &format!("[[cable]]\nends = [\"{host}:{nic}\", \"{}\"]\n", names[number % switches]);
        }
        let lab = lab("switch", &text, &["--bare"]);
        ok(tasuki().args(["apply", "--lab", &lab.name]));
        are(&shares(&lab, ["n1", "n2"], "10.77.0.2", 7000), &[1.0 / 3.0; 3], 0.06);
        // What a NIC receives is what its partner has sent: the switch has not flooded.
        are(&shares(&lab, ["n2", "n1"], "10.77.0.1", 7001), &[1.0 / 3.0; 3], 0.06);
    }
}

#[test]
fn what_is_not_to_be_striped_is_not() {
    if skip_without_root("what_is_not_to_be_striped_is_not") {
        return;
    }
    let lab = lab("except", &cables(&["20M"; 3], "except = [\"n2\"]"), &[]);
    // A host that does not stripe communicates with one that does.
    are(&shares(&lab, ["n1", "n2"], "10.77.0.2", 7000), &[1.0 / 3.0; 3], 0.06);
    assert!(is_on_one(&shares(&lab, ["n2", "n1"], "10.77.0.1", 7001)));
    // A link address stands for one cable.
    let to_link = shares(&lab, ["n1", "n2"], "10.78.2.3", 7002);
    assert!(to_link[2] > 0.97, "{to_link:?}");
    // IPv6 uses the MAC addresses of the other host; a link-local address stands for one cable.
    for (host, own, peer) in [("n1", 1, 2), ("n2", 2, 1)] {
        lab.sh(host, "ip -6 addr add fd00::$1/128 dev lo".replace("$1", &own.to_string()).as_str());
        let mac = lab.sh(if host == "n1" { "n2" } else { "n1" }, "cat /sys/class/net/eth1/address");
        let mac = mac.trim();
        lab.sh(
            host,
            &format!(
                "ip -6 route add fd00::{peer} dev eth1 src fd00::{own}; ip neigh add fd00::{peer} lladdr \
                 {mac} dev eth1 nud permanent"
            ),
        );
    }
    are(&shares(&lab, ["n1", "n2"], "fd00::2", 7003), &[1.0 / 3.0; 3], 0.06);
    // The program's own counters agree with those of the wires.
    let stats: serde_json::Value =
        serde_json::from_str(&ok(tasuki().args(["stats", "--striping", "--json", "--lab", &lab.name])))
            .expect("JSON");
    assert_eq!(stats.as_array().map(Vec::len), Some(1), "n2 does not stripe: {stats}");
    let counted = |nic: &serde_json::Value| nic["bytes"].as_u64().expect("a number") as f64;
    let counted: f64 = stats[0]["nics"].as_array().expect("NICs").iter().map(counted).sum();
    let all: u64 = sent(&lab, "n1").iter().sum();
    let others = sent(&lab, "n1")[2] as f64;
    assert!(counted < all as f64 && counted > all as f64 - others, "{counted} of {all}");
    assert!(stats[0]["others"].as_u64() > Some(0), "{stats}");
}

/// Four flows of UDP in turn, far below the cables' rate: every datagram of each arrives, over all cables
/// alike.
#[test]
fn udp_goes_over_all_cables_and_no_flow_is_left_behind() {
    if skip_without_root("udp_goes_over_all_cables_and_no_flow_is_left_behind") {
        return;
    }
    const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/datagrams.py");
    let (flows, count) = (4, 500);
    let lab = lab("udp", &cables(&["20M"; 3], "policy = \"round-robin\""), &[]);
    let before = sent(&lab, "n1");
    let numbers = [flows.to_string(), count.to_string()];
    let start = |host: &str, role: &str| {
        let argv = ["python3", PROGRAM, role, "10.77.0.2", "7000", &numbers[0], &numbers[1]];
        lab.exec(host, &argv).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("starts")
    };
    let mut server = start("n2", "serve");
    let mut output = BufReader::new(server.stdout.take().expect("piped"));
    let mut line = String::new();
    output.read_line(&mut line).expect("reads");
    assert_eq!(line.trim(), "listening");
    assert!(start("n1", "send").wait().expect("ends").success());
    line.clear();
    output.read_line(&mut line).expect("reads");
    assert!(server.wait().expect("ends").success());
    assert_eq!(line.trim(), vec![count.to_string(); flows].join(" "));
    let added: Vec<u64> =
        sent(&lab, "n1").into_iter().zip(before).map(|(now, before)| now - before).collect();
    let all: u64 = added.iter().sum();
    let shares: Vec<f64> = added.iter().map(|&bytes| bytes as f64 / all as f64).collect();
    are(&shares, &[1.0 / 3.0; 3], 0.03);
}

/// A cable dies while a stream uses it, noticed by the NIC or not, with a watch and without: all bytes
/// arrive, and the cable is used again when it has healed.
#[test]
fn a_cable_that_dies_takes_nothing_with_it() {
    if skip_without_root("a_cable_that_dies_takes_nothing_with_it") {
        return;
    }
    let lab = lab("dies", &cables(&["20M"; 3], ""), &["--bare"]);
    for (number, (watched, argv)) in
        [(true, vec!["n1:eth2"]), (true, vec!["n1:eth2", "--keep-carrier"]), (false, vec!["n1:eth2"])]
            .into_iter()
            .enumerate()
    {
        let mut apply = tasuki();
        apply.args(["apply", "--lab", &lab.name]);
        if !watched {
            // The watch of the rounds before ends with `undo`.
            ok(tasuki().args(["undo", "--lab", &lab.name]));
            apply.arg("--no-watch");
        }
        ok(&mut apply);
        let flows = |cable: usize| {
            let before = sent(&lab, "n1")[cable];
            eventually(&format!("bytes on cable {cable}"), || sent(&lab, "n1")[cable] > before + 300_000);
        };
        let stream = Stream::begin(&lab, 7000 + number as u16);
        flows(1);
        lab.fault("cut", &argv);
        // Nothing is sent into the dead cable any more, and the others go on.
        eventually("eth2 is left alone", || {
            let before = sent(&lab, "n1");
            eventually("bytes elsewhere", || sent(&lab, "n1")[0] > before[0] + 300_000);
            sent(&lab, "n1")[1] < before[1] + 10_000
        });
        lab.fault("heal", &["all"]);
        flows(1);
        let pause = stream.end();
        eprintln!("watched {watched}, {argv:?}: the longest pause was {pause} ms");
    }
}

/// clsact qdiscs, programs and `gso_max_segs`, which `whole` leaves out.
fn traces(lab: &TestLab) -> String {
    lab.sh(
        "n1",
        "tc qdisc show | grep clsact; for n in 1 2; do tc filter show dev eth$n egress; done; \
         ip -d link | grep -o 'gso_max_segs [0-9]*'; true",
    )
}

#[test]
fn undo_leaves_nothing_of_it_wherever_apply_was_killed() {
    if skip_without_root("undo_leaves_nothing_of_it_wherever_apply_was_killed") {
        return;
    }
    let text = cables(&["20M"; 2], "");
    let lab = lab("undo", &text, &["--bare"]);
    let before = (whole_of_all(&lab), traces(&lab));
    let on_host = |argv: &str| {
        let script = format!("exec /run/tasuki/bin/tasuki {argv} --host n1");
        lab.exec("n1", &["sh", "-c", &script]).output().expect("runs")
    };
    let diff = on_host("diff /run/tasuki/cluster.toml --json");
    let reports: serde_json::Value = serde_json::from_slice(&diff.stdout).expect("JSON");
    let changes = reports[0]["changes"].as_array().expect("changes");
    let first = changes.iter().position(|change| change["key"]["kind"] == "clsact").expect("striping");
    assert!(changes.iter().any(|change| change["key"]["kind"] == "striping"));
    for step in first..=changes.len() {
        let script = format!(
            "TASUKI_APPLY_STOP_AFTER={step} exec /run/tasuki/bin/tasuki apply /run/tasuki/cluster.toml \
             --host n1 --no-watch"
        );
        let output = lab.exec("n1", &["sh", "-c", &script]).output().expect("runs");
        assert_eq!(output.status.code(), Some(128 + 9), "step {step}");
        assert!(on_host("undo").status.success());
        assert_eq!(traces(&lab), before.1, "killed after step {step} of {}", changes.len());
    }
    ok(tasuki().args(["apply", "--lab", &lab.name]));
    let is = traces(&lab);
    assert!(is.contains("tasuki-stripe") && is.contains("gso_max_segs 1\n"), "{is}");
    // All is as it should be: there is nothing to do, and `status` says so.
    let diff = || tasuki().args(["diff", "--lab", &lab.name]).output().expect("runs").status.code();
    assert_eq!(diff(), Some(0));
    let status = ok(tasuki().args(["status", "--lab", &lab.name]));
    assert!(status.contains("striping, shortest-delay over eth1 eth2 to 1 host"), "{status}");
    // A NIC is removed from the bundle by hand: that is found, and repaired.
    lab.sh("n1", "tc qdisc del dev eth2 clsact");
    assert_eq!(diff(), Some(1));
    ok(tasuki().args(["apply", "--lab", &lab.name]));
    assert_eq!(traces(&lab).matches("tasuki-stripe").count(), is.matches("tasuki-stripe").count());
    ok(tasuki().args(["undo", "--lab", &lab.name]));
    assert_eq!(traces(&lab), before.1);
    for (before, after) in before.0.iter().zip(whole_of_all(&lab)) {
        same("undone", before, &after);
    }
}
