//! The text, as the OpenMetrics specification (version 1.0) has it.

use super::*;
use std::collections::BTreeSet;
use tasuki_load::{NicSample, ProcessSample, Processors};
use tasuki_ring::stats_page::{EndpointRecord, PeerSnapshot, RailRecord, Snapshot};
use tasuki_switch::{PortSample, SwitchError, SwitchSample};

const FILE: &str = "[[host]]\nname = \"n1\"\nnic = [{ name = \"eth1\" }, { name = \"eth2\" }]\n[[host]]\n\
                    name = \"n2\"\n\
                    nic = [{ name = \"eth1\" }]\n[[switch]]\nname = \"sw1\"\nports = 4\n[[cable]]\nends = \
                    [\"n1:eth1\", \"n2:eth1\"]\n[[cable]]\nends = [\"n1:eth2\", \"sw1:3\"]\n";

fn switches() -> Vec<SwitchAnswer> {
    let port = PortSample {
        port: 3,
        interface: "g\"3".into(),
        uptime: 12_345,
        up: Some(true),
        rate: Some(1_000_000_000),
        received_bytes: Some(1 << 40),
        receive_errors: Some(u32::MAX),
        ..PortSample::default()
    };
    let sample = SwitchSample { ports: vec![port], problems: Vec::new() };
    let silent = SwitchError::Silent { address: "192.168.1.2".into() };
    vec![
        SwitchAnswer { switch: "sw1".into(), answer: Ok(sample) },
        SwitchAnswer { switch: "sw2".into(), answer: Err(silent) },
    ]
}

fn sample() -> HostSample {
    let nic = |name: &str| NicSample { name: name.into(), up: true, sent_bytes: 77, ..NicSample::default() };
    let rail = |nic: &str, lost| RailRecord { nic: nic.into(), lost, ..RailRecord::default() };
    let page = Snapshot {
        pid: 41,
        program: "a \"quoted\\ \nname".into(),
        rank: Some(3),
        endpoint: EndpointRecord { bytes_sent: 1 << 40, ..EndpointRecord::default() },
        peers: vec![PeerSnapshot { rails: vec![rail("eth1", 2), rail("eth1", 3)], ..Default::default() }],
        ..Snapshot::default()
    };
    HostSample {
        processors: Processors { count: 4, busy_ns: 123_450_000_000, all_ns: 999_990_000_000, load: 0.5 },
        nics: vec![nic("eth1"), nic("docker0")],
        processes: vec![ProcessSample { page, cpu_ns: Some(1_500_000_000), ..ProcessSample::default() }],
        ..HostSample::default()
    }
}

fn text() -> String {
    let cluster = Cluster::parse(FILE, None).expect("a cluster");
    let answers = vec![("n1".into(), Ok(sample())), ("n2".into(), Err("it is off".into()))];
    openmetrics(answers, switches(), Some(&cluster)).expect("a text")
}

#[test]
fn values_stand_behind_their_names_and_labels() {
    let text = text();
    for line in [
        "# TYPE tasuki_rail_transmit_bytes counter",
        "# UNIT tasuki_rail_transmit_bytes bytes",
        "tasuki_host_answers{host=\"n1\"} 1",
        "tasuki_host_answers{host=\"n2\"} 0",
        "tasuki_host_busy_seconds_total{host=\"n1\"} 123.45",
        "tasuki_rail_up{host=\"n1\",nic=\"eth1\",to=\"n2:eth1\"} 1",
        "tasuki_rail_transmit_bytes_total{host=\"n1\",nic=\"eth1\",to=\"n2:eth1\"} 77",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} is missing in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
    assert!(!text.contains("docker0"), "NICs are those of the cluster file:\n{text}");
    assert!(!text.contains("temperature_celsius{"), "what is not known has no value:\n{text}");
}

#[test]
fn a_programs_name_cannot_make_lines_of_its_own() {
    let named = "host=\"n1\",pid=\"41\",program=\"a \\\"quoted\\\\ \\nname\",rank=\"3\"";
    let text = text();
    let sent = format!("tasuki_rank_sent_bytes_total{{{named}}} 1099511627776");
    let lost = format!("tasuki_rank_lost_packets_total{{{named},nic=\"eth1\"}} 5");
    for line in [sent, lost] {
        assert!(text.lines().any(|one| one == line), "{line} is missing in\n{text}");
    }
    assert!(text.lines().all(|line| line.starts_with("tasuki_") || line.starts_with("# ")), "{text}");
}

/// OpenMetrics, section "Metric": labels of the values of a metric differ.
#[test]
fn each_endpoint_of_a_process_has_labels_of_its_own_and_the_process_counts_once() {
    let mut host = sample();
    let first = &mut host.processes[0];
    (first.page.process, first.page.number, first.memory) = (Some(410), Some(0), Some(500));
    for number in [Some(3), Some(2), Some(2), None] {
        let mut other = host.processes[0].clone();
        other.page.number = number;
        host.processes.insert(0, other);
    }
    let text = openmetrics(vec![("n1".into(), Ok(host))], Vec::new(), None).expect("a text");
    let values = text.lines().filter(|line| !line.starts_with('#'));
    let mut known = BTreeSet::new();
    for line in values {
        let (name, _) = line.rsplit_once(' ').expect("a value");
        assert!(known.insert(name), "twice: {name}\n{text}");
    }
    let of = |metric: &str| known.iter().filter(|name| name.starts_with(metric)).count();
    assert_eq!(of("tasuki_rank_memory_bytes{"), 1);
    assert_eq!(of("tasuki_rank_cpu_seconds_total{"), 1);
    assert_eq!(of("tasuki_rank_sent_bytes_total{"), 5);
    let program = "program=\"a \\\"quoted\\\\ \\nname\"";
    let plain = format!("tasuki_rank_sent_bytes_total{{host=\"n1\",pid=\"410\",{program},rank=\"3\"");
    for end in ["}", ",endpoint=\"2\"}", ",endpoint=\"3\"}"] {
        assert!(known.contains(format!("{plain}{end}").as_str()), "{plain}{end} is missing in\n{text}");
    }
}

#[test]
fn ports_of_switches_stand_beside_what_they_lead_to() {
    let text = text();
    let port = "switch=\"sw1\",port=\"3\",interface=\"g\\\"3\",to=\"n1:eth2\"";
    for line in [
        "tasuki_switch_answers{switch=\"sw1\"} 1".to_owned(),
        "tasuki_switch_answers{switch=\"sw2\"} 0".to_owned(),
        "tasuki_switch_uptime_seconds{switch=\"sw1\"} 123.45".to_owned(),
        format!("tasuki_switch_port_up{{{port}}} 1"),
        format!("tasuki_switch_port_speed_bytes{{{port}}} 125000000"),
        format!("tasuki_switch_port_receive_bytes_total{{{port}}} 1099511627776"),
        format!("tasuki_switch_port_receive_errors_total{{{port}}} 4294967295"),
    ] {
        assert!(text.lines().any(|one| one == line), "{line} is missing in\n{text}");
    }
    assert!(
        !text.contains("tasuki_switch_port_crc_errors_total{"),
        "what is not counted has no value:\n{text}"
    );
}

/// Names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("tasuki_")).map(str::to_owned).collect()
}

/// Names of all metrics that can be printed: a counter's has `_total` behind what its family is called.
fn printed() -> BTreeSet<String> {
    let text = text();
    let family = |line: &str| {
        let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        Some(if kind == "counter" { format!("{name}_total") } else { name.to_owned() })
    };
    text.lines().filter_map(family).collect()
}

#[test]
fn dashboard_and_rules_ask_for_what_there_is() {
    let printed = printed();
    assert!(printed.len() > 30, "{printed:?}");
    for (what, text) in [("the dashboard", DASHBOARD), ("the rules", ALERT_RULES)] {
        let unknown: Vec<_> = named(text).difference(&printed).cloned().collect();
        assert!(unknown.is_empty(), "{what}: {unknown:?}");
    }
}

#[test]
fn the_dashboard_is_one_that_grafana_imports() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().expect("an id")).collect();
    assert_eq!(ids.len(), panels.len(), "every panel has an id of its own");
    let mut used = BTreeSet::new();
    for panel in panels {
        let at = |key: &str| panel["gridPos"][key].as_u64().expect("a place");
        for cell in
            (at("x")..at("x") + at("w")).flat_map(|x| (at("y")..at("y") + at("h")).map(move |y| (x, y)))
        {
            assert!(cell.0 < 24 && used.insert(cell), "{} lies over another panel", panel["title"]);
        }
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().expect("an expression");
            assert!(!named(expression).is_empty(), "{}: {expression}", panel["title"]);
        }
    }
}
