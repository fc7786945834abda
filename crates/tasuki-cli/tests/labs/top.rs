//! `tasuki top`: what it says of hosts, cables and ranks of a lab, and that it leaves the terminal as it was.

use crate::support::{
    Background, TestLab, background, eventually,
    mpis::{build, mpis, run_over},
    ok, skip_without_root, tasuki,
};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
};

/// One look.
fn look(lab: &TestLab) -> Value {
    let mut top = tasuki();
    top.args(["top", "--json", "--interval", "0.2", "--lab", &lab.name]);
    let mut child = background(&mut top);
    let mut line = String::new();
    let output = child.0.stdout.take().expect("a pipe");
    BufReader::new(output).read_line(&mut line).expect("a line");
    serde_json::from_str(&line).expect("JSON")
}

fn nic<'a>(look: &'a Value, host: &str, name: &str) -> &'a Value {
    let nics = look["nics"].as_array().expect("NICs");
    nics.iter().find(|nic| nic["host"] == host && nic["nic"] == name).expect("the NIC")
}

#[test]
fn cables_are_named_by_their_ends_counted_by_the_kernel_and_down_when_cut() {
    let test = "cables_are_named_by_their_ends_counted_by_the_kernel_and_down_when_cut";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("top", &["--shape", "full:3", "--rate", "100M"]);
    let first = look(&lab);
    assert_eq!(first["hosts"].as_array().map(Vec::len), Some(3), "{first:#}");
    let one = nic(&first, "n1", "eth1");
    assert_eq!((one["to"].as_str(), one["up"].as_bool()), (Some("n2:eth1"), Some(true)), "{first:#}");
    assert_eq!(one["bits_per_second"], 100_000_000, "the lab's rate, not the file's");
    // The kernel's own list of interfaces says how many frames found no room.
    let kernel: Value =
        serde_json::from_str(&lab.run("n1", &["ip", "-j", "-s", "link", "show", "eth1"])).expect("JSON");
    let of = |side: &str, what: &str| kernel[0]["stats64"][side][what].as_u64().expect("a number");
    assert_eq!(one["errors_total"], of("rx", "errors") + of("tx", "errors"));
    lab.fault("cut", &["n1-n2"]);
    eventually("both ends of the cut cable to be down", || {
        let look = look(&lab);
        let is_up = |host: &str, name: &str| nic(&look, host, name)["up"] == true;
        !is_up("n1", "eth1") && !is_up("n2", "eth1") && is_up("n1", "eth2")
    });
    let text = ok(tasuki().args(["top", "--once", "--interval", "0.1", "--lab", &lab.name]));
    for part in ["1 of 2", "2 of 2", "n2:eth1", "DOWN", "no process uses Tasuki"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn ranks_and_their_job_are_shown_with_what_they_send() {
    let test = "ranks_and_their_job_are_shown_with_what_they_send";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("topranks", &["--shape", "full:2"]);
    let folder = tempfile::tempdir().expect("a folder");
    let mpis = mpis(test);
    let Some(mpi) = mpis.iter().find(|mpi| mpi.name == "mpich-4.3") else { return };
    let traffic = build(mpi, "traffic.c", folder.path());
    let mut job = background(&mut run_over("tasuki", &lab, mpi.name, 2, &traffic));
    eventually("two ranks to send over the cable", || {
        let look = look(&lab);
        let ranks = look["ranks"].as_array().expect("ranks");
        let all = |what: &str| ranks.iter().all(|rank| rank[what].as_f64().is_some_and(|rate| rate > 0.0));
        let cable = nic(&look, "n1", "eth1")["sent"].as_f64().unwrap_or(0.0);
        let job = &look["jobs"][0];
        ranks.len() == 2
            && all("sent")
            && all("busy")
            && cable > 0.0
            && job["ranks"] == 2
            && job["hosts"] == 2
    });
    job.0.kill().expect("kills");
    job.0.wait().expect("ends");
}

#[test]
fn the_terminal_is_as_before_however_one_leaves() {
    if skip_without_root("the_terminal_is_as_before_however_one_leaves") {
        return;
    }
    let lab = TestLab::up("topkeys", &["--shape", "full:2"]);
    // `q`, Ctrl-C, and a filter that is being typed.
    for keys in ["2\n?xq", "\u{3}", "/n1\u{3}"] {
        let line = format!(
            "stty cols 80 rows 24; \"$TASUKI\" top --interval 0.1 --lab {}; echo left $?; stty -a",
            lab.name
        );
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env("TASUKI", env!("CARGO_BIN_EXE_tasuki"));
        script.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Background(script.spawn().expect("script runs"));
        let mut input = child.0.stdin.take().expect("a pipe");
        let mut output = child.0.stdout.take().expect("a pipe");
        let mut shown = Vec::new();
        // Keys are for the display, so they wait until it is there. script(1) sends the end of its own input
        // on, as a key, so that this end comes after the command's.
        let mut until = |text: &str| {
            while !String::from_utf8_lossy(&shown).contains(text) {
                let mut part = [0; 4096];
                let count = output.read(&mut part).expect("reads");
                assert!(count > 0, "it ended: {:?}", String::from_utf8_lossy(&shown));
                shown.extend(&part[..count]);
            }
        };
        until("hosts");
        input.write_all(keys.as_bytes()).expect("writes");
        until("left 0");
        drop(input);
        output.read_to_end(&mut shown).expect("reads");
        let all = String::from_utf8_lossy(&shown).into_owned();
        // The usual screen (xterm's list of control sequences), and lines that the terminal edits and echoes.
        let (back, after) = all.rsplit_once("\u{1b}[?1049l").expect("the usual screen is shown again");
        assert!(
            back.contains("\u{1b}[?1049h") && after.contains(" icanon") && after.contains(" echo "),
            "{after}"
        );
    }
}
