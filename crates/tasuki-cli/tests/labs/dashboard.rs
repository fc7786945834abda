//! `tasuki dashboard`: what it says to whom, beside the kernel's own figures.

use crate::support::{Background, TestLab, background, eventually, ok, skip_without_root, tasuki, text};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Stdio,
    time::Duration,
};

/// A dashboard that runs.
pub struct Served {
    pub process: Background,
    /// What to open.
    pub url: String,
    /// Its address, as `127.0.0.1:4711`.
    pub address: String,
    /// The token of its address.
    pub token: String,
}

impl Served {
    /// The dashboard of a lab, with these further options.
    pub fn of(lab: &TestLab, options: &[&str]) -> Self {
        let mut command = tasuki();
        command.args(["dashboard", "--json", "--lab", &lab.name]).args(options).stdout(Stdio::piped());
        let mut process = Background(command.spawn().expect("it starts"));
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let opened: Value = serde_json::from_str(&line).expect("JSON");
        let url = opened["url"].as_str().expect("an address").to_owned();
        let (address, token) =
            url.strip_prefix("http://").and_then(|rest| rest.split_once("/#")).expect("parts");
        Self { process, address: address.into(), token: token.into(), url: url.clone() }
    }

    fn connect(&self) -> TcpStream {
        let connection = TcpStream::connect(&self.address).expect("connects");
        connection.set_read_timeout(Some(Duration::from_secs(30))).expect("a time limit");
        connection
    }

    /// The whole answer to a request with these headers.
    fn ask(&self, line: &str, headers: &str) -> String {
        let mut connection = self.connect();
        let request = format!("{line} HTTP/1.1\r\n{headers}\r\n");
        connection.write_all(request.as_bytes()).expect("writes");
        let mut answer = Vec::new();
        // A server that refuses closes without having read all.
        let _ = connection.read_to_end(&mut answer);
        String::from_utf8(answer).expect("UTF-8")
    }

    /// Headers of a browser that has the token.
    fn allowed(&self) -> String {
        format!("Host: {}\r\nAuthorization: Bearer {}\r\n", self.address, self.token)
    }

    /// Events as they come, until one is as wanted.
    fn until(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut connection = self.connect();
        let request = format!("GET /data/events HTTP/1.1\r\n{}\r\n", self.allowed());
        connection.write_all(request.as_bytes()).expect("writes");
        let lines = BufReader::new(connection).lines().map(|line| line.expect("an event in time"));
        let events = lines.filter_map(|line| Some(line.strip_prefix("data: ")?.to_owned())).take(60);
        let mut parsed = events.map(|event| serde_json::from_str::<Value>(&event).expect("JSON"));
        parsed.find(|event| wanted(event)).unwrap_or_else(|| panic!("60 events were not so: {what}"))
    }
}

/// Half of a line of 100 Mbit/s from n1 to n2, for as long as the test runs.
pub fn load(lab: &TestLab) -> Background {
    let listens = "until ss -Hltn sport = :5201 | grep -q .; do sleep 0.02; done";
    lab.sh("n2", &format!("iperf3 -s -D -1 && timeout 60 sh -c '{listens}'"));
    background(&mut lab.exec("n1", &["iperf3", "-c", "n2", "-u", "-b", "50M", "-t", "600"]))
}

/// What an event says of a NIC's sending, bytes per second.
fn sent(event: &Value, host: &str, name: &str) -> f64 {
    let nics = event["load"]["nics"].as_array().cloned().unwrap_or_default();
    let nic = nics.iter().find(|nic| nic["host"] == host && nic["nic"] == name);
    nic.and_then(|nic| nic["sent"].as_f64()).unwrap_or(0.0)
}

#[test]
fn live_figures_and_history_are_the_kernels_and_a_cut_cable_is_a_problem() {
    let test = "live_figures_and_history_are_the_kernels_and_a_cut_cable_is_a_problem";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("dash", &["--shape", "full:3", "--rate", "100M"]);
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("check.json");
    let findings = report.display().to_string();
    let served = Served::of(&lab, &["--listen", "127.0.0.1:0", "--findings", &findings]);
    let _load = load(&lab);
    // 50 Mbit/s are 6.25 MB/s, and a little more with headers.
    let load_of = || served.until("n1 to send half a line to n2", |event| sent(event, "n1", "eth1") > 5e6);
    let loaded = load_of();
    assert!(sent(&loaded, "n1", "eth2") < 1e6, "the cable to n3 is idle: {loaded:#}");
    let problems = loaded["problems"].as_array().expect("a list");
    assert!(problems.iter().all(|problem| problem["severity"] != "bad"), "{problems:?}");
    let layout = served.ask("GET /data/layout", &served.allowed());
    assert!(layout.contains("[\"n1:eth1\",\"n2:eth1\"]"), "{layout}");
    // A look that is late by half a second has the number of the next one, and of two the history keeps one.
    eventually("a figure that was told to be kept", || {
        let told = sent(&load_of(), "n1", "eth1");
        let history = served.ask("GET /data/history?of=n1:eth1&span=hour", &served.allowed());
        let (_, body) = history.split_once("\r\n\r\n").expect("a body");
        let history: Value = serde_json::from_str(body).expect("JSON");
        let kept = history["series"][0]["mean"].as_array().expect("figures");
        // The history keeps 24 bits of a figure, which are half a byte per second here, and tells whole ones.
        kept.iter().any(|one| one.as_f64().is_some_and(|kept| (kept - told).abs() <= 1.0))
    });
    lab.fault("cut", &["n1-n3"]);
    let is_cut = |event: &Value| event["problems"][0]["part"] == "n1:eth2 - n3:eth1";
    let cut = served.until("the cut cable to be a problem", is_cut);
    assert_eq!(cut["problems"][0]["severity"], "bad");
    // What a check of the same lab finds is told beside it, once its report is there.
    let mut check = tasuki();
    check.args(["check", "--lab", &lab.name, "--stages", "1", "--json"]);
    let check = check.output().expect("runs");
    fs::write(&report, &check.stdout).expect("writes");
    served.until("the check's finding", |event| {
        let problems = event["problems"].as_array().cloned().unwrap_or_default();
        problems.iter().any(|problem| {
            problem["part"] == "n1:eth2 - n3:eth1"
                && problem["advice"].as_str().is_some_and(|advice| advice.starts_with("tasuki check, "))
        })
    });
}

#[test]
fn detours_of_watches_are_told() {
    let test = "detours_of_watches_are_told";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("dashwatch", &["--shape", "full:3", "--bare"]);
    ok(tasuki().args(["apply", "--lab", &lab.name]));
    let served = Served::of(&lab, &["--listen", "127.0.0.1:0"]);
    let has = |event: &Value, part: &str, says: &str| {
        let problems = event["problems"].as_array().cloned().unwrap_or_default();
        problems.iter().any(|problem| problem["part"] == part && problem["says"] == says)
    };
    // A cable that has a signal and carries nothing: only the watch can know.
    lab.fault("loss", &["n1-n2", "100%"]);
    served.until("the detour", |event| {
        has(event, "n1", "reaches n2 by n3")
            && has(event, "n1:eth1 - n2:eth1", "tasuki watch hears nothing over it")
            && !has(event, "n1:eth1 - n2:eth1", "no signal at n1:eth1 and n2:eth1")
    });
}

#[test]
fn nothing_is_said_to_those_without_the_token_or_by_another_name() {
    let test = "nothing_is_said_to_those_without_the_token_or_by_another_name";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("dashlocked", &["--shape", "full:2"]);
    let mut served = Served::of(&lab, &["--listen", "127.0.0.1:0"]);
    // Clients that say nothing keep nobody waiting.
    let silent: Vec<TcpStream> = (0..16).map(|_| served.connect()).collect();
    let own = format!("Host: {}\r\n", served.address);
    let status = |line: &str, headers: &str| served.ask(line, headers)[9..12].to_owned();
    assert_eq!(status("GET /data/layout", &served.allowed()), "200");
    for path in ["/data/layout", "/data/history", "/data/events"] {
        assert_eq!(status(&format!("GET {path}"), &own), "401", "{path}");
    }
    let foreign = format!("Host: evil.example\r\nAuthorization: Bearer {}\r\n", served.token);
    assert_eq!(status("GET /data/layout", &foreign), "421", "a name that another site may have bound to us");
    assert_eq!(status("POST /data/layout", &served.allowed()), "405");
    assert_eq!(status("GET /../../etc/passwd", &served.allowed()), "404");
    let page = served.ask("GET /", &own);
    assert!(page.starts_with("HTTP/1.1 200") && !page.contains(&served.token) && !page.contains(&lab.name));
    drop(silent);
    assert!(matches!(served.process.0.try_wait(), Ok(None)), "it still serves");
    // Nobody finds the token in its arguments or its environment.
    for file in ["cmdline", "environ"] {
        let bytes = fs::read(format!("/proc/{}/{file}", served.process.0.id())).expect("readable by root");
        assert!(!String::from_utf8_lossy(&bytes).contains(&served.token), "{file}");
    }
}

/// A file with a token that only its owner may read.
pub fn token_file(folder: &Path) -> String {
    let path = folder.join("token");
    fs::write(&path, "0123456789abcdef0123\n").expect("writes");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("changes");
    path.display().to_string()
}

#[test]
fn an_address_that_others_reach_needs_a_token_file_which_is_not_printed() {
    let test = "an_address_that_others_reach_needs_a_token_file_which_is_not_printed";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("dashopen", &["--shape", "full:2"]);
    let open = ["dashboard", "--lab", &lab.name, "--listen", "0.0.0.0:0"];
    let refused = tasuki().args(open).output().expect("runs");
    assert!(!refused.status.success() && text(&refused).contains("--token-file"), "{}", text(&refused));
    let folder = tempfile::tempdir().expect("a folder");
    let file = token_file(folder.path());
    let served = Served::of(&lab, &["--listen", "0.0.0.0:0", "--token-file", &file]);
    assert_eq!(served.token, "TOKEN", "its address is printed without the token of the file");
    let port = served.address.rsplit(':').next().expect("a port");
    let inside =
        Served { address: format!("127.0.0.1:{port}"), token: "0123456789abcdef0123".into(), ..served };
    eventually("data for the one who has the token", || {
        inside.ask("GET /data/layout", &inside.allowed()).starts_with("HTTP/1.1 200")
    });
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("changes");
    let refused =
        tasuki().args(["dashboard", "--lab", &lab.name, "--token-file", &file]).output().expect("runs");
    assert!(!refused.status.success() && text(&refused).contains("chmod 600"), "{}", text(&refused));
}
