//! `tasuki undo` after `apply` or `undo` itself was killed at every one of its steps, on hosts that had
//! settings of their own before.

use crate::support::{
    TestLab, ok, skip_without_root,
    state::{same, whole},
    tasuki,
};
use std::process::Command;

/// A host that its owner has used: settings, routes, neighbours and names where Tasuki's will be.
const USED: &str = "
    set -e
    ip link set eth1 mtu 1400; ip link set eth2 down; ip addr add 192.0.2.1/24 dev eth1
    ip route add 10.77.0.2 via 198.18.0.9 dev mgmt0; ip route add 10.77.0.3 dev mgmt0 metric 50
    ip route add blackhole 10.77.0.4
    ip route add 10.77.0.5 nexthop via 198.18.0.7 dev mgmt0 weight 2 nexthop via 192.0.2.7 dev eth1 weight 5
    ip neigh add 10.78.2.1 lladdr 02:00:00:00:00:99 dev eth1 nud permanent
    ip addr add 10.78.1.1/24 dev eth1
    cd /proc/sys/net/ipv4/conf; echo 2 > all/rp_filter; echo 1 > eth1/rp_filter; echo 1 > eth2/forwarding
    ethtool -K eth1 tso off > /dev/null; printf '127.0.0.1 localhost' > /etc/hosts
    ip rule add from 192.0.2.0/24 table 77; ip route add default dev eth1 table 77
    tc qdisc add dev eth1 root handle 1: tbf rate 100mbit burst 64kb latency 50ms
    tc qdisc add dev eth2 clsact
    unshare -m sh -c 'mount -t bpf bpf /sys/fs/bpf; exec tc filter add dev eth2 egress bpf da obj \
    /run/pass.o sec classifier'
    tc filter add dev eth2 ingress bpf bytecode '1,6 0 0 4294967295,' flowid 1:1";

/// An eBPF program that lets every packet pass.
const PASS: &str = "#define SEC(name) __attribute__((section(name), used))
    SEC(\"classifier\") int pass(void *skb) { return -1; }
    char license_of[] SEC(\"license\") = \"GPL\";";

const TASUKI: &str = "/run/tasuki/bin/tasuki";
const FILE: &str = "/run/with-macs.toml";

/// The eBPF program as its compiler made it, in base64, because hosts have a /tmp of their own.
fn pass_program() -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, object) = (folder.path().join("pass.c"), folder.path().join("pass.o"));
    std::fs::write(&source, PASS).expect("writes");
    ok(Command::new("clang").args(["-O2", "-target", "bpf", "-c"]).arg(&source).arg("-o").arg(&object));
    ok(Command::new("base64").arg("-w0").arg(&object))
}

/// A bare lab whose host n1 was used by its owner and has the cluster file with the MAC addresses of all
/// NICs.
fn used(stem: &str) -> TestLab {
    let lab = TestLab::up(stem, &["--shape", "ring:5", "--bare"]);
    lab.sh("n1", &format!("echo {} | base64 -d > /run/pass.o", pass_program()));
    lab.sh("n1", USED);
    let whole = whole(&lab, "n1");
    for part in [
        "direct-action",
        "bytecode",
        "tbf",
        "lookup 77",
        "tx-tcp-segmentation: off",
        "lladdr 02:00:00:00:00:99",
    ] {
        assert!(whole.contains(part), "the dump has no {part:?}: {whole}");
    }
    let text = lab.run("n1", &["cat", "/run/tasuki/cluster.toml"]);
    let cluster = tasuki_cluster::Cluster::parse(&text, None).expect("a cluster").with_lab_macs();
    lab.sh("n1", &format!("cat > {FILE} << 'EOF'\n{}\nEOF", cluster.to_toml()));
    lab
}

/// The number of changes that `apply` would make on n1.
fn steps(lab: &TestLab) -> usize {
    let argv = [TASUKI, "diff", FILE, "--host", "n1", "--offloads", "off", "--json"];
    let output = lab.exec("n1", &argv).output().expect("runs");
    let reports: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    reports[0]["changes"].as_array().expect("changes").len()
}

/// Runs the command on n1, with a variable set.
fn on_host(lab: &TestLab, verb: &str, variable: &str, value: usize) -> std::process::Output {
    let argv = match verb {
        "apply" => format!("apply {FILE} --offloads off"),
        other => other.to_owned(),
    };
    let script = format!("{variable}={value} exec {TASUKI} {argv} --host n1");
    lab.exec("n1", &["sh", "-c", &script]).output().expect("runs")
}

fn killed(output: &std::process::Output) -> bool {
    output.status.code() == Some(128 + 9)
}

#[test]
fn apply_killed_at_every_step_can_be_undone() {
    if skip_without_root("apply_killed_at_every_step_can_be_undone") {
        return;
    }
    let lab = used("killed");
    let before = whole(&lab, "n1");
    let steps = steps(&lab);
    assert!(steps > 30, "{steps}");
    for step in 0..=steps {
        let output = on_host(&lab, "apply", "TASUKI_APPLY_STOP_AFTER", step);
        assert!(killed(&output), "step {step}: {}", crate::support::text(&output));
        ok(&mut lab.exec("n1", &[TASUKI, "undo"]));
        same(&format!("killed after step {step} of {steps}"), &before, &whole(&lab, "n1"));
    }
}

#[test]
fn apply_and_undo_killed_anywhere_can_be_undone() {
    if skip_without_root("apply_and_undo_killed_anywhere_can_be_undone") {
        return;
    }
    let lab = used("undo");
    let before = whole(&lab, "n1");
    let steps = steps(&lab);
    for step in (0..=steps).step_by(4) {
        // `apply` is killed, run again, killed in `undo`, and undone.
        assert!(killed(&on_host(&lab, "apply", "TASUKI_APPLY_STOP_AFTER", steps - step)));
        let output = on_host(&lab, "apply", "UNUSED", 0);
        assert!(output.status.success(), "{}", crate::support::text(&output));
        assert!(killed(&on_host(&lab, "undo", "TASUKI_UNDO_STOP_AFTER", step)), "step {step}");
        ok(&mut lab.exec("n1", &[TASUKI, "undo"]));
        same(&format!("undo killed after step {step}"), &before, &whole(&lab, "n1"));
    }
}

#[test]
fn what_the_owner_changed_since_is_respected() {
    if skip_without_root("what_the_owner_changed_since_is_respected") {
        return;
    }
    let lab = TestLab::up("since", &["--shape", "full:2", "--bare"]);
    // Forwarding that was on stays on, and a note says so.
    lab.sh("n1", "echo 1 > /proc/sys/net/ipv4/conf/eth1/forwarding");
    let output = tasuki().args(["apply", "--lab", &lab.name]).output().expect("runs");
    assert!(
        output.status.success() && crate::support::text(&output).contains("--stop-forwarding"),
        "{output:?}"
    );
    assert_eq!(lab.run("n1", &["cat", "/proc/sys/net/ipv4/conf/eth1/forwarding"]).trim(), "1");
    // The kernel removes an interface's routes with its last address.
    lab.sh("n1", "ip addr add 192.0.2.5/24 dev eth1");
    let script = "echo '192.0.2.1 printer' >> /etc/hosts; ip route replace 10.77.0.2 dev eth1 proto static";
    lab.sh("n1", script);
    // `status` finds a setting that was changed since.
    let status = tasuki().args(["status", "--lab", &lab.name]).output().expect("runs");
    assert_eq!(status.status.code(), Some(1));
    assert!(
        crate::support::text(&status).contains("route to 10.77.0.2"),
        "{}",
        crate::support::text(&status)
    );
    ok(tasuki().args(["undo", "--lab", &lab.name]));
    let names = lab.run("n1", &["cat", "/etc/hosts"]);
    assert!(names.contains("printer") && !names.contains("n2"), "{names}");
    assert!(lab.run("n1", &["ip", "route"]).contains("10.77.0.2 dev eth1 proto static"));

    // A second `apply` finds a line of the owner's in the file of names, and writes it again with the rest.
    lab.sh("n1", "ip route del 10.77.0.2");
    ok(tasuki().args(["apply", "--lab", &lab.name]));
    lab.sh("n1", "echo '192.0.2.3 scanner' >> /etc/hosts");
    ok(tasuki().args(["apply", "--lab", &lab.name]));
    ok(tasuki().args(["undo", "--lab", &lab.name]));
    let names = lab.run("n1", &["cat", "/etc/hosts"]);
    let is_kept = names.contains("printer") && names.contains("scanner");
    assert!(is_kept && !names.contains("n2"), "{names}");
}

#[test]
fn a_route_by_a_nic_without_addresses_comes_back() {
    if skip_without_root("a_route_by_a_nic_without_addresses_comes_back") {
        return;
    }
    let lab = TestLab::up("route", &["--shape", "full:2", "--bare"]);
    lab.sh("n1", "ip route add 10.77.0.2 dev eth1");
    let before = whole(&lab, "n1");
    ok(tasuki().args(["apply", "--lab", &lab.name]));
    assert!(lab.run("n1", &["ip", "route"]).contains("10.77.0.2 via 10.78.2.1"));
    ok(tasuki().args(["undo", "--lab", &lab.name]));
    same("after undo", &before, &whole(&lab, "n1"));
}
