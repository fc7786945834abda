//! `tasuki metrics` and its alert rules, as Debian's Prometheus takes them.

use super::metrics::serve;
use crate::support::{
    Background, TestLab, eventually, mpis::peers, ok, skip_without_root, skipped, tasuki, text,
};
use serde_json::Value;
use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A program of the package, or a note that it is missing.
fn program(test: &str, name: &str) -> Option<PathBuf> {
    let path = peers().join("prometheus/usr/bin").join(name);
    if path.exists() {
        return Some(path);
    }
    skipped(test, "scripts/oracles --full has not unpacked Prometheus");
    None
}

#[test]
#[ignore = "needs Prometheus, 19 MB: make test-full"]
fn the_rules_alert_when_they_should() {
    let Some(promtool) = program("the_rules_alert_when_they_should", "promtool") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("writes");
    write("tasuki.rules.yml", &ok(tasuki().args(["metrics", "--rules"])));
    let tests = "../tasuki-metrics/share/tasuki.rules.test.yml";
    write(
        "tests.yml",
        &fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(tests)).expect("tests"),
    );
    let run =
        |argv: &[&str]| Command::new(&promtool).args(argv).current_dir(folder.path()).output().expect("runs");
    for argv in [["check", "rules", "tasuki.rules.yml"], ["test", "rules", "tests.yml"]] {
        let output = run(&argv);
        assert!(output.status.success(), "{argv:?}: {}", text(&output));
    }
}

#[test]
#[ignore = "needs Prometheus, 19 MB: make test-full"]
fn the_dashboard_asks_what_prometheus_understands() {
    let Some(promtool) = program("the_dashboard_asks_what_prometheus_understands", "promtool") else {
        return;
    };
    let dashboard: Value =
        serde_json::from_str(&ok(tasuki().args(["metrics", "--dashboard"]))).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().cloned().unwrap_or_default());
    // What Grafana puts in the place of its variables.
    let rule = |(number, target): (usize, Value)| {
        let expression = target["expr"].as_str().expect("an expression");
        let expression = expression.replace("$__rate_interval", "5m").replace("$host", ".*");
        format!("      - {{ record: number_{number}, expr: {expression:?} }}\n")
    };
    let rules: Vec<String> = targets.enumerate().map(rule).collect();
    assert!(rules.len() > 20, "{rules:?}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rules.yml");
    fs::write(&file, format!("groups:\n  - name: dashboard\n    rules:\n{}", rules.concat()))
        .expect("writes");
    let output = Command::new(promtool).args(["check", "rules"]).arg(&file).output().expect("runs");
    assert!(output.status.success(), "{}", text(&output));
}

/// What Prometheus at `address` answers to a query of its API.
fn ask(address: &str, path: &str) -> Option<Value> {
    let mut connection = TcpStream::connect(address).ok()?;
    connection.write_all(format!("GET /api/v1/{path} HTTP/1.0\r\n\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    serde_json::from_str(body).ok()
}

/// The values of a query, with their labels.
fn values(address: &str, query: &str) -> Vec<(Value, String)> {
    let Some(answer) = ask(address, &format!("query?query={query}")) else { return Vec::new() };
    let results = answer["data"]["result"].as_array().cloned().unwrap_or_default();
    let value =
        |result: Value| (result["metric"].clone(), result["value"][1].as_str().unwrap_or_default().into());
    results.into_iter().map(value).collect()
}

#[test]
#[ignore = "needs Prometheus, 19 MB: make test-full"]
fn a_real_server_collects_and_sees_the_dead_cable() {
    let test = "a_real_server_collects_and_sees_the_dead_cable";
    let Some(prometheus) = program(test, "prometheus") else { return };
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("prometheus", &["--shape", "full:2"]);
    let (_metrics, target) = serve(&lab);
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("tasuki.rules.yml"), ok(tasuki().args(["metrics", "--rules"])))
        .expect("writes");
    let config = format!(
        "global: {{ scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }}\n\
         rule_files: [tasuki.rules.yml]\n\
         scrape_configs:\n  - job_name: tasuki\n    static_configs: [{{ targets: [\"{target}\"] }}]\n"
    );
    fs::write(folder.path().join("prometheus.yml"), config).expect("writes");
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let address = free.to_string();
    let log = fs::File::create(folder.path().join("log")).expect("a file");
    let mut server = Command::new(prometheus);
    server.args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"]);
    server.arg(format!("--web.listen-address={address}")).current_dir(folder.path());
    let _server = Background(server.stdout(Stdio::null()).stderr(log).spawn().expect("it starts"));

    eventually("Prometheus to collect", || values(&address, "up").iter().any(|(_, value)| value == "1"));
    let rails = values(&address, "tasuki_rail_up");
    let of = |label: &str| rails.iter().map(|(labels, _)| labels[label].clone()).collect::<Vec<_>>();
    assert_eq!(
        (of("host"), of("to")),
        (vec!["n1".into(), "n2".into()], vec!["n2:eth1".into(), "n1:eth1".into()])
    );
    // It keeps the labels `job` and `instance` for itself, and renames others' of these names.
    assert!(rails.iter().all(|(labels, _)| labels.get("exported_job").is_none()), "{rails:?}");
    lab.fault("cut", &["n1-n2"]);
    eventually("both ends to have an alert", || {
        let dead = values(&address, "ALERTS{alertname=\"TasukiCableDead\"}");
        dead.len() == 2 && dead.iter().all(|(labels, _)| labels["alertstate"] == "pending")
    });
}
