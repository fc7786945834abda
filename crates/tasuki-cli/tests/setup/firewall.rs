//! Firewalls between hosts: `tasuki doctor` and `tasuki check` name the host, the rule, and what lets
//! programs' packets in; what they say, typed on the host, does.

use crate::support::{TestLab, ok, skip_without_root, tasuki, text};
use serde_json::Value;

/// What a desktop's or a server's firewall most often is: answers pass, and what is listed.
const STATEFUL: &str = "nft add table inet filter &&
     nft 'add chain inet filter input { type filter hook input priority 0; policy drop; }' &&
     nft 'add rule inet filter input iifname { lo, mgmt0 } accept' &&
     nft 'add rule inet filter input ct state established,related accept'";

/// What doctor finds of what is no `well`, as (host, what, remedy).
fn doctor(lab: &TestLab) -> Vec<(String, String, String)> {
    let output = tasuki().args(["doctor", "--lab", &lab.name, "--json"]).output().expect("it starts");
    let findings: Vec<Value> =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    let field = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    let all = findings.iter().filter(|finding| finding["weight"] != "well");
    let all = all.map(|finding| (field(finding, "about"), field(finding, "what"), field(finding, "remedy")));
    all.filter(|(about, ..)| about.starts_with('n')).collect()
}

/// The host's firewall drops what others send; nobody else's does.
#[test]
fn a_firewall_that_drops_is_named_with_the_rule_that_opens_it() {
    if skip_without_root("a_firewall_that_drops_is_named_with_the_rule_that_opens_it") {
        return;
    }
    let lab = TestLab::up("walled", &["--shape", "full:3"]);
    assert_eq!(doctor(&lab), []);
    lab.sh("n2", STATEFUL);
    let found = doctor(&lab);
    let [(host, what, remedy)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(host, "n2");
    assert!(what.contains("nftables table inet filter, chain input: policy drop"), "{what}");
    assert!(["ufw allow in on eth1", "firewall-cmd"].iter().all(|line| remedy.contains(line)), "{remedy}");
    let check =
        tasuki().args(["check", "--lab", &lab.name, "--stages", "2", "--json"]).output().expect("starts");
    let report: Value = serde_json::from_slice(&check.stdout).unwrap_or_else(|_| panic!("{}", text(&check)));
    let found = report["findings"].as_array().expect("findings");
    let has = |kind: &str, part: &str| {
        found
            .iter()
            .any(|one| one["kind"] == kind && one["part"]["name"].as_str().is_some_and(|of| of == part))
    };
    assert!(has("firewall", "n2: firewall"), "{report}");
    assert!(found.iter().all(|finding| finding["kind"] != "unreachable"), "{report}");
    // The first line is for nftables: typed on that host, it helps.
    let line = remedy.lines().next().expect("a line");
    let line =
        line.strip_prefix("on n2: ").and_then(|line| line.strip_suffix(" (nftables)")).expect("a command");
    lab.sh("n2", line);
    assert_eq!(doctor(&lab), []);
}

/// A relay passes nothing on, and a host lets no datagrams out by one of its NICs.
#[test]
fn rules_of_relays_and_senders_are_found_too() {
    if skip_without_root("rules_of_relays_and_senders_are_found_too") {
        return;
    }
    let lab = TestLab::up("gate", &["--shape", "ring:4"]);
    let forward = "nft add table ip gate &&
         nft 'add chain ip gate forward { type filter hook forward priority 0; policy accept; }' &&
         nft add rule ip gate forward meta l4proto udp counter drop";
    lab.sh("n2", forward);
    lab.sh("n4", forward);
    let output = "nft add table ip out &&
         nft 'add chain ip out output { type filter hook output priority 0; }' &&
         nft add rule ip out output oifname eth1 udp dport 1024-65535 drop";
    lab.sh("n3", output);
    let found = doctor(&lab);
    let says = |host: &str, rule: &str| found.iter().any(|(of, what, _)| of == host && what.contains(rule));
    assert!(
        says("n2", "chain forward: meta l4proto udp counter")
            || says("n4", "chain forward: meta l4proto udp counter"),
        "{found:?}"
    );
    assert!(says("n3", "chain output: oifname \"eth1\" udp dport 1024-65535 drop"), "{found:?}");
    assert!(found.iter().all(|(host, ..)| host != "n1"), "{found:?}");
    ok(tasuki().args(["lab", "down", &lab.name]));
}
