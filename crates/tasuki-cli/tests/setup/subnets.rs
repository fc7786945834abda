//! One subnet per cable (`addresses = "subnets"`), the cross-connection paper's own style: applied, used,
//! checked, undone.

use crate::support::{
    MARK, TestLab,
    mpis::{build, mpis, peers},
    ok, skip_without_root,
    ssh::Ssh,
    state::{hosts, same_of_all, whole_of_all},
    tasuki, text,
};
use std::{fs, path::PathBuf};

const PING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/ping.py");

/// The agent by which a launcher reaches the lab's hosts.
const AGENT: &str = "/run/tasuki/bin/tasuki-agent";

/// A cluster file of a shape, in a folder that is removed with this value.
struct File {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl File {
    fn of(shape: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cluster.toml");
        let text = ok(tasuki().args(["cluster", "new", shape]));
        let text = text.replacen("[cluster]\n", "[cluster]\naddresses = \"subnets\"\n", 1);
        fs::write(&path, text).expect("writes");
        Self { _folder: folder, path }
    }

    fn path(&self) -> &str {
        self.path.to_str().expect("UTF-8")
    }
}

/// Every host reaches every other by its name, over the one cable to it: the address that the name stands for
/// is one hop away, on the NIC whose cable leads there.
fn everybody_reaches_everybody_by_name(lab: &TestLab) {
    let names = hosts(lab);
    for host in &names {
        for other in names.iter().filter(|other| *other != host) {
            let line = lab.run(host, &["getent", "ahostsv4", other]);
            let address = line.split_whitespace().next().expect("an address").to_owned();
            lab.run(host, &["python3", PING, &address]);
            let route = lab.run(host, &["ip", "route", "get", &address]);
            assert!(route.contains(" dev eth") && !route.contains(" via "), "{host} to {other}: {route}");
        }
    }
}

fn check_shape(shape: &str) {
    let file = File::of(shape);
    let lab = TestLab::up("subnets", &[file.path(), "--bare"]);
    let before = whole_of_all(&lab);
    let said = ok(tasuki().args(["apply", "--lab", &lab.name]));
    everybody_reaches_everybody_by_name(&lab);
    for host in hosts(&lab) {
        let links = lab.run(&host, &["ip", "-o", "-4", "addr"]);
        assert!(links.contains("/30 ") && !links.contains("tasuki0"), "{host}: {links}");
        // The paper's "IP forwarding is off": the only route to a host is the cable to it.
        let forwarding = lab.sh(&host, "cat /proc/sys/net/ipv4/conf/eth*/forwarding | sort -u");
        assert_eq!(forwarding.trim(), "0");
        assert!(!lab.sh(&host, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").contains("watch -"), "{said}");
    }
    let again = ok(tasuki().args(["apply", "--lab", &lab.name]));
    assert!(again.lines().all(|line| line.ends_with("nothing to do")), "{again}");
    ok(tasuki().args(["status", "--lab", &lab.name]));
    ok(tasuki().args(["undo", "--lab", &lab.name]));
    same_of_all(&format!("{shape}, after undo"), &before, &lab);
}

#[test]
fn a_full_mesh_has_one_subnet_per_cable_and_back() {
    if skip_without_root("a_full_mesh_has_one_subnet_per_cable_and_back") {
        return;
    }
    for shape in ["full:2", "full:4"] {
        check_shape(shape);
    }
}

#[test]
#[ignore = "long: more of the same"]
fn full_meshes_of_all_sizes_have_one_subnet_per_cable() {
    if skip_without_root("full_meshes_of_all_sizes_have_one_subnet_per_cable") {
        return;
    }
    for shape in ["full:3", "full:5", "full:6", "full:7", "full:8"] {
        check_shape(shape);
    }
}

/// From one style to the other and back, with an `apply` each. `lab up` makes the same state, and `check`
/// knows both styles.
#[test]
fn one_style_follows_the_other() {
    if skip_without_root("one_style_follows_the_other") {
        return;
    }
    let file = File::of("full:3");
    let lab = TestLab::up("styles", &["--shape", "full:3", "--rate", "100M", "--bare"]);
    let before = whole_of_all(&lab);
    let apply = |file: Option<&str>| {
        ok(tasuki().arg("apply").args(file).args(["--lab", &lab.name]));
    };
    apply(None);
    apply(Some(file.path()));
    everybody_reaches_everybody_by_name(&lab);
    let addresses = lab.run("n1", &["ip", "-o", "-4", "addr"]);
    assert!(!addresses.contains("10.77.") && addresses.contains("10.78.0.1/30"), "{addresses}");
    ok(tasuki().args(["check", file.path(), "--lab", &lab.name]));
    // A wrong address is found in this style too.
    lab.sh("n2", "ip addr add 10.78.0.77/30 dev eth1; ip addr del 10.78.0.2/30 dev eth1");
    let output = tasuki().args(["check", file.path(), "--lab", &lab.name]).output().expect("runs");
    assert!(
        output.status.code() == Some(2) && text(&output).contains("the plan says 10.78.0.2"),
        "{}",
        text(&output)
    );
    lab.sh("n2", "ip addr del 10.78.0.77/30 dev eth1; ip addr add 10.78.0.2/30 dev eth1");
    // So is the right address with another prefix: other addresses in that network would be taken to be on
    // the cable.
    lab.sh("n2", "ip addr del 10.78.0.2/30 dev eth1; ip addr add 10.78.0.2/24 dev eth1");
    let output = tasuki().args(["check", file.path(), "--lab", &lab.name]).output().expect("runs");
    let said = text(&output);
    assert!(output.status.code() == Some(2), "{said}");
    assert!(said.contains("n2:eth1 has 10.78.0.2/24, the plan says 10.78.0.2/30"), "{said}");
    lab.sh("n2", "ip addr del 10.78.0.2/24 dev eth1; ip addr add 10.78.0.77/30 dev eth1");
    apply(None);
    let addresses = lab.run("n1", &["ip", "-o", "-4", "addr"]);
    assert!(addresses.contains("10.77.0.1/32") && !addresses.contains("/30"), "{addresses}");
    lab.sh("n2", "ip addr del 10.78.0.77/30 dev eth1");
    ok(tasuki().args(["undo", "--lab", &lab.name]));
    same_of_all("after undo", &before, &lab);
    let made = TestLab::up("made", &[file.path()]);
    everybody_reaches_everybody_by_name(&made);
    let ready = ok(tasuki().args(["apply", "--lab", &made.name, "--no-watch"]));
    assert!(ready.lines().all(|line| line.ends_with("nothing to do")), "{ready}");
}

/// Programs that are given a name, as docs/results/mpi-behaviour.md says: iperf3 and ssh, between every two
/// hosts.
#[test]
fn iperf3_and_ssh_go_by_name() {
    let test = "iperf3_and_ssh_go_by_name";
    if skip_without_root(test) {
        return;
    }
    let Some(ssh) = Ssh::prepare(test) else { return };
    let file = File::of("full:3");
    let lab = TestLab::up("names", &[file.path(), "--bare"]);
    ok(tasuki().args(["apply", "--lab", &lab.name]));
    let names = hosts(&lab);
    for host in &names {
        ssh.serve(&lab, host);
    }
    for host in &names {
        for other in names.iter().filter(|other| *other != host) {
            let argv = ["ssh", "-F", "ssh_config", other, "uname -n; echo $SSH_CONNECTION"];
            let said = ok(lab.exec(host, &argv).current_dir(ssh.path()));
            // It is the other host, and the route is a cable's subnet and not the management network.
            assert!(
                said.starts_with(other.as_str()) && said.matches(" 10.78.").count() == 1,
                "{host}: {said}"
            );
            let printed = lab.iperf3(host, other, &["-n", "1M"]);
            assert!(printed.contains("connected to 10.78."), "{host} to {other}: {printed}");
        }
    }
}

#[test]
fn what_needs_relays_or_one_network_is_refused() {
    let file = File::of("ring:4");
    let output = tasuki().args(["cluster", "check", file.path()]).output().expect("runs");
    assert!(!output.status.success());
    assert!(text(&output).contains("n1 cannot reach n3"), "{}", text(&output));
    if skip_without_root("what_needs_relays_or_one_network_is_refused") {
        return;
    }
    let file = File::of("full:2");
    let lab = TestLab::up("refused", &[file.path()]);
    let output =
        tasuki().args(["run", "--lab", &lab.name, "--mpi", "openmpi-4.1", "-n", "2", "hpcc"]).output();
    let said = text(&output.expect("runs"));
    assert!(said.contains("one subnet per cable"), "{said}");
}

/// How stock MPIs fail in this style: docs/results/mpi-behaviour.md has what is printed here. The test fails
/// on the day on which they do not fail any more.
#[test]
#[ignore = "long: it is about other people's programs"]
fn stock_mpis_do_not_find_their_way_with_one_subnet_per_cable() {
    let test = "stock_mpis_do_not_find_their_way_with_one_subnet_per_cable";
    if skip_without_root(test) {
        return;
    }
    let all = mpis(test);
    let at = |name: &str, launcher: &str| peers().join(name).join("bin").join(launcher).display().to_string();
    let open_mpi = "--bind-to none --map-by node --host n1:1,n2:1,n3:1,n4:1 -np 4 --mca mpi_yield_when_idle \
                    1 --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.78.0.0/16";
    let four = format!(
        "mpirun --allow-run-as-root --mca plm_rsh_agent {AGENT} --mca plm_rsh_no_tree_spawn 1 --mca \
         oob_tcp_if_include 198.18.0.0/16 {open_mpi}"
    );
    let five = format!(
        "{} --allow-run-as-root --prtemca plm_ssh_agent {AGENT} --prtemca plm_ssh_no_tree_spawn 1 --prtemca \
         prte_if_include 198.18.0.0/16 {open_mpi}",
        at("openmpi-5.0", "mpirun")
    );
    let mpich = format!(
        "{} -launcher ssh -launcher-exec {AGENT} -hosts n1:1,n2:1,n3:1,n4:1 -np 4",
        at("mpich-4.3", "mpiexec")
    );
    // Every host has a /tmp of its own, so the folder is elsewhere.
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let file = File::of("full:4");
    let lab = TestLab::up("stock", &[file.path()]);
    for (name, argv, says) in [
        ("openmpi-4.1", four, "Network is unreachable"),
        ("openmpi-5.0", five, "Network is unreachable"),
        ("mpich-4.3", mpich, "Destination is unreachable"),
    ] {
        let Some(mpi) = all.iter().find(|mpi| mpi.name == name) else { continue };
        let hello = build(mpi, "hello.c", folder.path());
        let mut command = tasuki();
        command.args(["lab", "exec", "--lab", &lab.name, "--job", "n1", "--", "timeout", "-k", "5", "120"]);
        command.args(argv.split_whitespace()).arg(&hello).env(MARK, &lab.name).current_dir(folder.path());
        let output = command.output().expect("runs");
        let said = text(&output);
        eprintln!("{name}: {said}");
        assert!(!output.status.success() && said.contains(says), "{name}: {said}");
    }
}
