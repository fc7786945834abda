//! `tasuki metrics`: text that another implementation reads, with the kernel's own figures.

use crate::support::{Background, TestLab, mpis::peers, ok, skip_without_root, skipped, tasuki};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
};

/// Prints every sample as a line of JSON: name, labels, value. It fails for text that is no OpenMetrics.
const PARSER: &str = "import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as families
for family in families(sys.stdin.read()):
    for sample in family.samples:
        print(json.dumps([sample.name, sample.labels, sample.value]))";

type Samples = BTreeMap<(String, String), f64>;

/// What Prometheus's own library for Python reads: values by name and by `HOST` or `HOST:NIC`.
fn parsed(text: &str) -> Samples {
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", PARSER]).env("PYTHONPATH", peers().join("openmetrics/usr/lib/python3/dist-packages"));
    let mut child =
        Background(python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python runs"));
    child.0.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("writes");
    let mut lines = String::new();
    child.0.stdout.take().expect("a pipe").read_to_string(&mut lines).expect("UTF-8");
    assert!(child.0.wait().expect("ends").success(), "it is no OpenMetrics:\n{text}");
    let sample = |line: &str| {
        let sample: Value = serde_json::from_str(line).expect("JSON");
        let label = |name: &str| sample[1][name].as_str().unwrap_or_default().to_owned();
        let of = [label("host"), label("nic")].join(":");
        (
            (sample[0].as_str().expect("a name").to_owned(), of.trim_end_matches(':').to_owned()),
            sample[2].as_f64(),
        )
    };
    lines.lines().map(sample).map(|(key, value)| (key, value.expect("a number"))).collect()
}

fn skip(test: &str) -> bool {
    if !peers().join("openmetrics").exists() {
        skipped(test, "scripts/oracles has not unpacked the parser");
        return true;
    }
    skip_without_root(test)
}

/// Bytes that the kernel says a NIC has sent.
fn sent(lab: &TestLab, host: &str, nic: &str) -> f64 {
    let said: Value =
        serde_json::from_str(&lab.run(host, &["ip", "-j", "-s", "link", "show", nic])).expect("JSON");
    said[0]["stats64"]["tx"]["bytes"].as_f64().expect("a number")
}

#[test]
fn another_implementation_reads_the_kernels_figures() {
    let test = "another_implementation_reads_the_kernels_figures";
    if skip(test) {
        return;
    }
    let lab = TestLab::up("metrics", &["--shape", "full:3"]);
    lab.fault("cut", &["n1-n2"]);
    ok(tasuki().args(["bench", "raw", "--lab", &lab.name, "--from", "n1", "--to", "n3", "--seconds", "0.2"]));
    let before = sent(&lab, "n1", "eth2");
    let text = ok(tasuki().args(["metrics", "--lab", &lab.name]));
    let after = sent(&lab, "n1", "eth2");
    let samples = parsed(&text);
    let of = |name: &str, of: &str| *samples.get(&(name.into(), of.into())).expect("the sample");
    let told = of("tasuki_rail_transmit_bytes_total", "n1:eth2");
    assert!(before > 100_000.0 && (before..=after).contains(&told), "{before} {told} {after}");
    assert_eq!((of("tasuki_rail_up", "n1:eth1"), of("tasuki_rail_up", "n1:eth2")), (0.0, 1.0));
    assert_eq!(of("tasuki_host_answers", "n3"), 1.0);
    assert!(text.contains("to=\"n3:eth1\""), "{text}");
    // A file appears whole, for every user, in the place of an older one.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tasuki.prom");
    fs::write(&file, "# HELP tasuki_older of an older version\n").expect("writes");
    ok(tasuki().args(["metrics", "--lab", &lab.name, "--output"]).arg(&file));
    assert_eq!(parsed(&fs::read_to_string(&file).expect("a file")).len(), samples.len());
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left");
}

/// Asks for a path; the answer's first line, and what follows its head.
fn ask(address: &str, request: &str) -> (String, String) {
    let mut connection = TcpStream::connect(address).expect("connects");
    connection.write_all(request.as_bytes()).expect("writes");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
}

/// `tasuki metrics --listen` for a lab, and its address.
pub fn serve(lab: &TestLab) -> (Background, String) {
    let mut command = tasuki();
    command.args(["metrics", "--lab", &lab.name, "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
    let mut server = Background(command.spawn().expect("it starts"));
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let (_, rest) = line.split_once("http://").expect("an address");
    let (address, _) = rest.split_once('/').expect("a path");
    (server, address.to_owned())
}

#[test]
fn it_is_served_whatever_others_ask() {
    let test = "it_is_served_whatever_others_ask";
    if skip(test) {
        return;
    }
    let lab = TestLab::up("scraped", &["--shape", "full:2"]);
    let (mut server, address) = serve(&lab);
    let address = address.as_str();
    // Clients that say nothing, half a request, or do not read what they asked for.
    let mut silent: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(address).expect("connects")).collect();
    silent[0].write_all(b"GET /metr").expect("writes");
    for client in &mut silent[1..4] {
        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("writes");
    }
    let get = |path: &str| ask(address, &format!("GET {path} HTTP/1.0\r\n\r\n"));
    let (status, body) = get("/metrics");
    assert!(status.contains("200"), "{status}");
    assert_eq!(parsed(&body).iter().filter(|((name, _), _)| name == "tasuki_rail_up").count(), 2);
    for path in
        ["/", "/etc/passwd", "/../../etc/passwd", "/metrics/../../x", &format!("/{}", "a".repeat(5000))]
    {
        let (status, body) = get(path);
        assert!(status.contains("404") && !body.contains("root:"), "{path}: {status}: {body}");
    }
    let (status, _) = ask(address, "DELETE /metrics HTTP/1.0\r\n\r\n");
    assert!(status.contains("405"), "{status}");
    assert!(get("/metrics?x=1").0.contains("200"));
    // A page of another site whose name leads here, and Prometheus, which asks by the address.
    let by = |host: &str| ask(address, &format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n")).0;
    assert!(by("evil.example").contains("421") && by(address).contains("200"));
    assert!(matches!(server.0.try_wait(), Ok(None)), "it still serves");
}
