//! Switches that are asked by SNMP: Debian's snmpd, with its IF-MIB of the real interfaces of the host of a
//! lab that it runs in. The host stands for the switch: `p1` to `p3` are its ports.

use crate::support::{machines::Machines, mpis::peers, ok, skip_without_root, skipped, text};
use serde_json::Value;
use std::{fs, process::Output};

const FILE: &str = "cluster.toml";
/// Where the agent answers: at the management address of the host n3.
const AGENT: &str = "198.18.0.3:1161";
const SECRET: &str = "s3cret-community";

/// A community for which the agent has 600, as files of secrets should.
fn secret(machines: &Machines, name: &str, community: &str) {
    let file = machines.sshd.path().join(name);
    fs::write(&file, format!("{community}\n")).expect("writes");
    machines.lab.sh("n3", &format!("chmod 600 {}", file.display()));
}

/// Three hosts on a switch, and the agent's ports in n3.
fn up(test: &str) -> Option<Machines> {
    if !peers().join("snmpd").exists() {
        skipped(test, "scripts/oracles has not unpacked snmpd");
        return None;
    }
    if skip_without_root(test) {
        return None;
    }
    let machines = Machines::up(test, "star:3", 3)?;
    machines.lab.sh(
        "n3",
        "for port in 1 2 3; do ip link add p$port type veth peer name q$port; done; ip link set p1 up; ip \
         link \
         set q1 up; ip link set p2 up; ip link set q2 up",
    );
    secret(&machines, "community", SECRET);
    Some(machines)
}

/// Starts the agent with further lines of its configuration.
fn serve(machines: &Machines, more: &str) {
    let conf = format!("rocommunity {SECRET}\nagentAddress udp:{AGENT}\n{more}");
    fs::write(machines.sshd.path().join("snmpd.conf"), conf).expect("writes");
    let unpacked = peers().join("snmpd");
    let start = format!(
        "export LD_LIBRARY_PATH=$(echo {at}/usr/lib/*-linux-gnu | tr ' ' :) SNMP_PERSISTENT_DIR=/run/snmp \
         MIBS=; \
         exec {at}/usr/sbin/snmpd -C -c {folder}/snmpd.conf -Lf /run/snmpd.log -p /run/snmpd.pid",
        at = unpacked.display(),
        folder = machines.sshd.path().display(),
    );
    machines.lab.sh("n3", &start);
}

/// Writes the cluster file with these keys of its switch.
fn keys(machines: &Machines, keys: &str) {
    let path = machines.sshd.path().join(FILE);
    let before = fs::read_to_string(&path).expect("reads");
    let (head, rest) = before.split_once("ports = 3\n").expect("a switch");
    let cables = rest.split_once("[[cable]]").expect("a cable").1;
    fs::write(path, format!("{head}ports = 3\n{keys}\n[[cable]]{cables}")).expect("writes");
}

/// The value of a metric, which stands behind exactly these labels.
fn value(text: &str, metric: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(metric)?.trim().parse().ok())
}

fn metrics(machines: &Machines) -> Output {
    let output = machines.tasuki(&["metrics", "--cluster", FILE]).output().expect("runs");
    assert!(!text(&output).contains(SECRET), "{}", text(&output));
    output
}

/// Bytes that the kernel of the agent's host says an interface has received.
fn received(machines: &Machines, interface: &str) -> f64 {
    let said = machines.lab.run("n3", &["ip", "-j", "-s", "link", "show", interface]);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    said[0]["stats64"]["rx"]["bytes"].as_f64().expect("a number")
}

#[test]
fn metrics_has_what_a_real_agent_counts() {
    let Some(machines) = up("metrics_has_what_a_real_agent_counts") else { return };
    let send = "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('q2', 0)); \
                [s.send(b'\\xff' * 6 + b'\\x02\\0\\0\\0\\0\\1\\x88\\xb5' + b'x' * 986) for _ in range(500)]";
    machines.lab.run("n3", &["python3", "-c", send]);
    let before = received(&machines, "p2");
    serve(&machines, "");
    let management = format!("management = \"{AGENT}\"\n");
    keys(&machines, &format!("{management}community_file = \"community\"\ninterfaces = \"p{{}}\"\n"));
    let output = metrics(&machines);
    assert!(output.status.success(), "{}", text(&output));
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    let of = |metric: &str, port: u32| {
        let labels = format!("switch=\"sw1\",port=\"{port}\",interface=\"p{port}\",to=\"n{port}:eth1\"");
        value(&said, &format!("{metric}{{{labels}}} "))
    };
    let told = of("tasuki_switch_port_receive_bytes_total", 2).expect("bytes");
    let after = received(&machines, "p2");
    assert!(before >= 500_000.0 && (before..=after).contains(&told), "{before} {told} {after}");
    let up = [1, 2, 3].map(|port| of("tasuki_switch_port_up", port));
    assert_eq!(up, [Some(1.0), Some(1.0), Some(0.0)]);
    // What the kernel says of a veth, in bytes.
    assert_eq!(of("tasuki_switch_port_speed_bytes", 1), Some(1.25e9));
    assert_eq!(of("tasuki_switch_port_crc_errors_total", 1), Some(0.0));
    assert_eq!(value(&said, "tasuki_switch_answers{switch=\"sw1\"} "), Some(1.0));

    // Without names it is not clear which of p1, q1 and the host's own eth1 is meant, and that is said.
    keys(&machines, &format!("{management}community_file = \"community\"\n"));
    let output = metrics(&machines);
    let said = text(&output);
    assert!(
        said.contains("tasuki: sw1: port 1 may be ") && said.contains("interfaces = \"Gi1/0/{}\""),
        "{said}"
    );
    // A wrong community is silence, which keeps no host from answering.
    secret(&machines, "other", "wrong");
    keys(&machines, &format!("{management}community_file = \"other\"\n"));
    let output = metrics(&machines);
    let said = text(&output);
    assert!(
        !output.status.success() && said.contains(&format!("tasuki: sw1: no answer by SNMP from {AGENT}"))
    );
    assert_eq!(value(&said, "tasuki_switch_answers{switch=\"sw1\"} "), Some(0.0));
    assert_eq!(value(&said, "tasuki_host_answers{host=\"n2\"} "), Some(1.0));
}

/// The port of n1 counts seven damaged frames more each time that it is asked, which is planted: a veth
/// damages none.
#[test]
fn check_says_in_which_direction_frames_are_damaged() {
    let Some(machines) = up("check_says_in_which_direction_frames_are_damaged") else { return };
    let index = machines.lab.run("n3", &["cat", "/sys/class/net/p1/ifindex"]);
    let count = machines.sshd.path().join("count.sh");
    // The agent's pass_persist (snmpd.conf(5)), which asks the script anew for every request.
    let script = "n=0\nwhile read -r word; do\n  case $word in\n    PING) echo PONG ;;\n    get) read -r \
                  oid; \
                  n=$((n + 7)); echo \"$oid\"; echo counter; echo $n ;;\n    *) read -r oid; echo NONE ;;\n  \
                  esac\ndone\n";
    fs::write(&count, script).expect("writes");
    let oid = format!(".1.3.6.1.2.1.2.2.1.14.{}", index.trim());
    serve(&machines, &format!("pass_persist -p 1 {oid} /bin/sh {}\n", count.display()));
    keys(
        &machines,
        &format!("management = \"{AGENT}\"\ncommunity_file = \"community\"\ninterfaces = \"p{{}}\"\n"),
    );
    machines.lab.fault("loss", &["n1:eth1", "5%", "--from", "n1"]);
    let output = machines.tasuki(&["check", FILE, "--stages", "1", "--json"]).output().expect("runs");
    let said = text(&output);
    assert!(!said.contains(SECRET), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {said}"));
    let findings = report["findings"].as_array().expect("findings");
    let of = |finding: &&Value| finding["part"]["name"] == "n1:eth1 - sw1:1" && finding["kind"] == "loss";
    let finding = findings.iter().find(of).unwrap_or_else(|| panic!("the loss is not found: {said}"));
    let evidence = finding["evidence"].to_string();
    assert!(evidence.contains(" damaged frames from n1:eth1 at sw1:1"), "{evidence}");
    let count = evidence.split("the switch has counted ").nth(1).and_then(|rest| rest.split(' ').next());
    // An agent whose answer comes late is asked again, and counts again.
    let count: u32 = count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{evidence}"));
    assert!(count > 0 && count.is_multiple_of(7), "{evidence}");
    let ports = report["tables"]
        .as_array()
        .expect("tables")
        .iter()
        .find(|table| table[0] == "Ports of switches during the check");
    assert_eq!(ports.expect("a table")[2].as_array().expect("rows").len(), 3, "{said}");
    let _ = ok(&mut machines.tasuki(&["cluster", "show", FILE]));
}
