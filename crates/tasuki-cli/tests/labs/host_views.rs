//! What hosts of a lab, and their users, see of the transport: tables of rails, the doctor, statistics.

use crate::support::{
    TestLab, background, eventually,
    mpis::{build, mpis, run_over},
    ok, skip_without_root, tasuki,
};
use serde_json::Value;
use std::path::Path;
use tasuki_cluster::RailTable;

fn rails(lab: &TestLab, host: &str) -> RailTable {
    let text = lab.run(host, &["cat", RailTable::PATH]);
    RailTable::parse(&text, Path::new(RailTable::PATH)).expect("a table")
}

#[test]
fn every_host_has_its_own_rails_and_they_lead_where_they_say() {
    if skip_without_root("every_host_has_its_own_rails_and_they_lead_where_they_say") {
        return;
    }
    let lab = TestLab::up("rails", &["--shape", "pair:3", "--rate", "100M"]);
    for (host, other) in [("n1", "n2"), ("n2", "n1")] {
        let table = rails(&lab, host);
        assert_eq!(table.host, host);
        let peer = table.peers.values().next().expect("a peer");
        assert_eq!((peer.host.as_str(), peer.rails.len()), (other, 3));
        for rail in &peer.rails {
            assert_eq!(rail.rate_mbits, 100, "the lab's rate, not the file's");
            let has = lab.run(host, &["ip", "-o", "-4", "address", "show", &rail.nic]);
            assert!(has.contains(&format!(" {}/", rail.local)), "{has}");
            // The kernel's own route to the other end uses that cable.
            let route = lab.run(host, &["ip", "route", "get", &rail.remote.to_string()]);
            assert!(route.contains(&format!("dev {} ", rail.nic)), "{route}");
        }
    }
}

fn doctor(lab: &TestLab) -> (bool, Vec<Value>) {
    let output = tasuki().args(["doctor", "--json", "--lab", &lab.name]).output().expect("runs");
    (output.status.success(), serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// Findings about a host that are not well.
fn amiss<'a>(findings: &'a [Value], host: &str) -> Vec<&'a Value> {
    findings.iter().filter(|finding| finding["about"] == host && finding["weight"] != "well").collect()
}

#[test]
fn the_doctor_finds_planted_faults_and_names_what_mends_them() {
    if skip_without_root("the_doctor_finds_planted_faults_and_names_what_mends_them") {
        return;
    }
    let lab = TestLab::up("doctor", &["--shape", "full:3"]);
    let healthy = doctor(&lab).1;
    let rails = |host: &str| {
        let of = |finding: &&Value| {
            finding["about"] == host && finding["what"].as_str().is_some_and(|w| w.contains(" rail "))
        };
        healthy.iter().filter(of).count()
    };
    assert_eq!([rails("n1"), rails("n2"), rails("n3")], [2, 2, 2], "{healthy:?}");
    let idle = amiss(&healthy, "n3").len();

    lab.fault("cut", &["n1-n2"]);
    lab.run("n3", &["ip", "link", "set", "eth1", "mtu", "1400"]);
    let (_, findings) = doctor(&lab);
    let with = |host: &str, what: &str, remedy: &str| {
        let is = |finding: &&&Value| {
            let has = |key: &str, part: &str| finding[key].as_str().is_some_and(|text| text.contains(part));
            has("what", what) && has("remedy", remedy)
        };
        assert_eq!(amiss(&findings, host).iter().filter(is).count(), 1, "{host} {what}: {findings:?}");
    };
    with("n1", "no carrier", "lab heal n1:eth1");
    with("n2", "no carrier", "lab heal n2:eth1");
    with("n3", "MTU is 1400, not 1500", "ip link set eth1 mtu 1500");
    assert_eq!(amiss(&findings, "n3").len(), idle + 1);

    // The remedy that it names works.
    ok(tasuki().args(["lab", "heal", "--lab", &lab.name, "n1:eth1"]));
    lab.run("n3", &["ip", "link", "set", "eth1", "mtu", "1500"]);
    eventually("the cable to be back", || amiss(&doctor(&lab).1, "n1").len() == amiss(&healthy, "n1").len());

    lab.run("n2", &["ip", "link", "delete", "tasuki0"]);
    let (well, findings) = doctor(&lab);
    assert!(!well, "without an identity address nothing works: {findings:?}");
    assert!(amiss(&findings, "n2").iter().any(|finding| finding["weight"] == "broken"), "{findings:?}");
}

fn stats(lab: &TestLab) -> Vec<Value> {
    serde_json::from_str(&ok(tasuki().args(["stats", "--json", "--lab", &lab.name]))).expect("JSON")
}

#[test]
fn statistics_show_what_each_rail_of_a_running_job_carries() {
    let test = "statistics_show_what_each_rail_of_a_running_job_carries";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("stats", &["--shape", "ring:3"]);
    assert_eq!(stats(&lab), Vec::<Value>::new());
    let folder = tempfile::tempdir().expect("a folder");
    for mpi in mpis(test).iter().filter(|mpi| ["openmpi-4.1", "mpich-4.3"].contains(&mpi.name)) {
        let traffic = build(mpi, "traffic.c", folder.path());
        let mut job = background(&mut run_over("tasuki", &lab, mpi.name, 3, &traffic));
        let carried = |process: &Value| {
            let peers = process["peers"].as_array().cloned().unwrap_or_default();
            let rails = peers.iter().flat_map(|peer| peer["rails"].as_array().cloned().unwrap_or_default());
            rails.map(|rail| rail["bytes_sent"].as_u64().unwrap_or(0)).sum::<u64>()
        };
        eventually(&format!("three ranks of {} to send", mpi.name), || {
            let processes = stats(&lab);
            processes.len() == 3 && processes.iter().all(|process| carried(process) > 1_000_000)
        });
        let processes = stats(&lab);
        let ranks: Vec<_> = processes.iter().map(|process| process["rank"].as_u64()).collect();
        assert_eq!(ranks, [Some(0), Some(1), Some(2)], "{processes:?}");
        let table = ok(tasuki().args(["stats", "--lab", &lab.name]));
        for part in ["0@n1", "1@n2", "2@n3", "rail 0 eth", "RTT us"] {
            assert!(table.contains(part), "{part} is missing in\n{table}");
        }
        job.0.kill().expect("kills");
        job.0.wait().expect("ends");
        eventually("pages of dead processes to be passed over", || stats(&lab).is_empty());
    }
}
