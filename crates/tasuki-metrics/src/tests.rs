//! The text, as the OpenMetrics specification (version 1.0) has it.

use super::*;
use tasuki_load::{NicSample, ProcessSample, Processors};
use tasuki_ring::stats_page::{EndpointRecord, PeerSnapshot, RailRecord, Snapshot};

const FILE: &str = "[[host]]\nname = \"n1\"\nnic = [{ name = \"eth1\" }]\n[[host]]\nname = \"n2\"\n\
                    nic = [{ name = \"eth1\" }]\n[[cable]]\nends = [\"n1:eth1\", \"n2:eth1\"]\n";

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
    openmetrics(answers, Some(&cluster)).expect("a text")
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
