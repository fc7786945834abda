//! `tasuki apply` on bare labs: it makes the state that `tasuki lab up` makes, hosts reach each other, a
//! stock MPI runs, and a second run changes nothing.

use crate::support::{
    TestLab,
    mpis::{build, mpis, run_over},
    ok, skip_without_root,
    state::{hosts, same, same_of_all, set, whole_of_all},
    tasuki, text,
};
use std::path::Path;

const PING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/ping.py");

fn on_lab(verb: &str, lab: &TestLab, argv: &[&str]) -> String {
    ok(tasuki().args([verb, "--lab", &lab.name]).args(argv))
}

/// Every host reaches every other by its identity address.
fn everybody_reaches_everybody(lab: &TestLab) {
    let status = lab.status();
    let identities: Vec<_> = status["hosts"].as_array().expect("hosts").iter().collect();
    let identities: Vec<_> = identities.iter().map(|host| host["identity"].as_str().expect("text")).collect();
    for host in hosts(lab) {
        let mut command = vec!["python3", PING];
        command.extend(&identities);
        lab.run(&host, &command);
    }
}

fn check_shape(shape: &str) {
    let wanted = TestLab::up("set", &["--shape", shape]);
    let lab = TestLab::up("bare", &["--shape", shape, "--bare"]);
    let before = whole_of_all(&lab);
    // The difference is shown, with the exit code of diff(1), and nothing is done.
    let diff = tasuki().args(["diff", "--json", "--lab", &lab.name]).output().expect("runs");
    assert_eq!(diff.status.code(), Some(1), "{}", text(&diff));
    let reports: serde_json::Value = serde_json::from_slice(&diff.stdout).expect("JSON");
    assert!(reports[0]["changes"].as_array().expect("changes").len() > 10, "{reports}");
    // For people every host has a few lines, and a line for each setting with --full.
    let count = reports[0]["changes"].as_array().map_or(0, Vec::len);
    let [short, full] = [&[][..], &["--full"]].map(|more| {
        let diff = tasuki().args(["diff", "--lab", &lab.name]).args(more).output().expect("runs");
        String::from_utf8(diff.stdout).expect("UTF-8")
    });
    assert!(short.contains(&format!("n1: {count} things would be changed\n  new: 1 interface, ")), "{short}");
    assert!(short.lines().count() <= 4 * hosts(&lab).len() + 1, "{short}");
    assert!(full.lines().filter(|line| line.starts_with(" n1 ")).count() == count, "{full}");
    let bare = tasuki().args(["status", "--lab", &lab.name]).output().expect("runs");
    assert_eq!(bare.status.code(), Some(1), "no host is set up: {}", text(&bare));
    assert_eq!(before, whole_of_all(&lab), "{shape}: diff or status changed something");

    // The watch is left out, because it would lead around hosts that the machine does not run for a second.
    on_lab("apply", &lab, &["--no-watch"]);
    for host in hosts(&lab) {
        same(&format!("{shape}, {host}"), &set(&wanted, &host), &set(&lab, &host));
    }
    everybody_reaches_everybody(&lab);
    // The names of hosts stand for identity addresses.
    assert!(lab.run("n1", &["getent", "hosts", "n2"]).contains("10.77.0.2"), "{shape}");

    let again = on_lab("apply", &lab, &["--no-watch"]);
    assert!(again.lines().all(|line| line.ends_with("nothing to do")), "{again}");
    on_lab("diff", &lab, &[]);
    on_lab("status", &lab, &[]);
    // The state that `lab up` itself has made is the one that `apply` wants.
    let ready = on_lab("apply", &wanted, &["--no-watch"]);
    assert!(ready.lines().all(|line| line.ends_with("nothing to do")), "{ready}");

    on_lab("undo", &lab, &[]);
    same_of_all(&format!("{shape}, after undo"), &before, &lab);
}

#[test]
fn a_bare_lab_becomes_what_lab_up_makes_and_back() {
    if skip_without_root("a_bare_lab_becomes_what_lab_up_makes_and_back") {
        return;
    }
    for shape in ["full:2", "full:4", "ring:5", "mixed:6/3", "pair:3", "planes:3x2"] {
        check_shape(shape);
    }
}

#[test]
fn eight_hosts_each_cabled_to_each() {
    if skip_without_root("eight_hosts_each_cabled_to_each") {
        return;
    }
    check_shape("full:8");
}

#[test]
fn a_stock_mpi_runs_over_tcp_after_apply() {
    let test = "a_stock_mpi_runs_over_tcp_after_apply";
    if skip_without_root(test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let all = mpis(test);
    let Some(mpi) = all.first() else { return };
    let hello = build(mpi, "hello.c", folder.path());
    for (shape, ranks) in [("full:4", 4), ("ring:5", 5)] {
        let lab = TestLab::up("applied", &["--shape", shape, "--bare"]);
        on_lab("apply", &lab, &[]);
        let printed = ok(&mut run_over("tcp", &lab, mpi.name, ranks, &hello));
        assert!(printed.contains("ring ok"), "{shape}: {printed}");
    }
}

/// Stock programs without any settings, on every kind of cluster: Open MPI and MPICH over their own TCP, and
/// iperf3.
#[test]
#[ignore = "takes minutes"]
fn stock_programs_run_on_every_shape_after_apply() {
    let test = "stock_programs_run_on_every_shape_after_apply";
    if skip_without_root(test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let all = mpis(test);
    let chosen: Vec<_> = all.iter().filter(|mpi| ["openmpi-4.1", "mpich-4.3"].contains(&mpi.name)).collect();
    let programs: Vec<_> = chosen
        .iter()
        .map(|mpi| {
            let own = folder.path().join(mpi.name);
            std::fs::create_dir(&own).expect("a folder");
            (mpi.name, build(mpi, "hello.c", &own))
        })
        .collect();
    let meshes = (2..=8).map(|hosts| format!("full:{hosts}"));
    let rings = (3..=8).map(|hosts| format!("ring:{hosts}"));
    for shape in meshes.chain(rings).chain(["torus:4x4", "mixed:6/3"].map(str::to_owned)) {
        let lab = TestLab::up("stock", &["--shape", &shape, "--bare"]);
        on_lab("apply", &lab, &[]);
        let names = hosts(&lab);
        everybody_reaches_everybody(&lab);
        for (name, program) in &programs {
            let printed = ok(&mut run_over("tcp", &lab, name, names.len() as u32, program));
            assert!(printed.contains("ring ok"), "{shape}, {name}: {printed}");
        }
        let (first, last) = (&names[0], &names[names.len() - 1]);
        let printed = lab.iperf3(first, last, &["-t", "1"]);
        assert!(printed.contains("connected to 10.77."), "{shape}: {printed}");
        eprintln!("{shape}: Open MPI, MPICH, iperf3");
        on_lab("undo", &lab, &[]);
    }
}

/// Two hosts with two cables, of which one is only for frames: its NICs are up and checked, and IP does not
/// use them.
#[test]
fn a_second_rail_has_no_ip_address() {
    if skip_without_root("a_second_rail_has_no_ip_address") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.toml");
    let text = ok(tasuki().args(["cluster", "new", "pair:2", "--rate", "100M"]));
    let text = text.replace("{ name = \"eth2\"", "{ name = \"eth2\", ip = false, mtu = 9000");
    assert_eq!(text.matches("ip = false").count(), 2, "{text}");
    std::fs::write(&file, text).expect("writes");
    let file = file.to_str().expect("UTF-8");
    let lab = TestLab::up("frames", &[file, "--bare"]);
    let before = whole_of_all(&lab);
    ok(tasuki().args(["apply", file, "--lab", &lab.name]));
    everybody_reaches_everybody(&lab);
    for host in hosts(&lab) {
        let state = lab.run(&host, &["ip", "-o", "link", "show", "eth2"]);
        assert!(state.contains("mtu 9000") && state.contains(",UP,LOWER_UP"), "{state}");
        assert_eq!(lab.run(&host, &["ip", "-o", "-4", "addr", "show", "eth2"]), "");
        assert_eq!(lab.run(&host, &["ip", "-4", "route", "show", "table", "all", "dev", "eth2"]), "");
        assert!(!lab.run(&host, &["cat", "/run/tasuki/rails.json"]).contains("eth2"));
        // The NIC does not answer by ARP either.
        lab.sh(&host, "test $(cat /proc/sys/net/ipv4/conf/eth2/arp_ignore) = 1");
    }
    assert!(on_lab("status", &lab, &[]).contains("no IP"));
    let check = || tasuki().args(["check", file, "--lab", &lab.name]).output().expect("runs");
    let healthy = check();
    assert_eq!(healthy.status.code(), Some(0), "{}", crate::support::text(&healthy));
    lab.fault("cut", &["n1:eth2", "--keep-carrier"]);
    let dead = check();
    let said = crate::support::text(&dead);
    assert!(dead.status.code() == Some(2) && said.contains("cable n1:eth2 - n2:eth2"), "{said}");
    lab.fault("heal", &["all"]);
    on_lab("undo", &lab, &[]);
    same_of_all("after undo", &before, &lab);
}

/// Another cluster on the same hosts: what the first one has set and the second does not want is restored.
#[test]
fn a_changed_file_takes_away_what_it_no_longer_has() {
    if skip_without_root("a_changed_file_takes_away_what_it_no_longer_has") {
        return;
    }
    let lab = TestLab::up("changed", &["--shape", "ring:3", "--bare"]);
    let before = whole_of_all(&lab);
    on_lab("apply", &lab, &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("other.toml");
    let text = ok(tasuki().args(["cluster", "new", "ring:3"]));
    // The second cluster has other addresses and another MTU.
    let text = text.replace("[cluster]\n", "[cluster]\nidentity = \"10.90.0.0/24\"\n");
    let text =
        if text.contains("10.90") { text } else { format!("[cluster]\nidentity = \"10.90.0.0/24\"\n{text}") };
    std::fs::write(&file, text).expect("writes");
    let file: &Path = &file;
    ok(tasuki().arg("apply").arg(file).args(["--lab", &lab.name]));
    let addresses = lab.run("n1", &["ip", "-o", "-4", "addr"]);
    assert!(addresses.contains("10.90.0.1/32") && !addresses.contains("10.77.0.1"), "{addresses}");
    let routes = lab.run("n1", &["ip", "route"]);
    assert!(routes.contains("10.90.0.3") && !routes.contains("10.77."), "{routes}");
    on_lab("undo", &lab, &[]);
    same_of_all("after undo", &before, &lab);
}
