//! `tasuki run --trace`: the trace of a program whose messages are known has these messages, and the fabric
//! simulator replays it.

use crate::support::{TestLab, mpi::Programs, mpis::mpis, run::MpiRun, skip_without_root, tasuki};
use std::fs;

const ROUNDS: usize = 20;

/// A line of a trace.
struct Line {
    rank: u32,
    event: String,
    peer: String,
    bytes: u64,
    compute_us: f64,
}

fn lines(trace: &str) -> Vec<Line> {
    let events = trace.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let line = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let number = |at: usize| fields[at].parse().unwrap_or_else(|_| panic!("{line}"));
        Line {
            rank: number(0) as u32,
            event: fields[1].into(),
            peer: fields[2].into(),
            bytes: number(3) as u64,
            compute_us: number(4),
        }
    };
    events.map(line).collect()
}

/// How often `rank` has this event with this peer and length.
fn count(lines: &[Line], rank: u32, event: &str, peer: &str, bytes: u64) -> usize {
    let is = |line: &&Line| (line.rank, &*line.event, &*line.peer, line.bytes) == (rank, event, peer, bytes);
    lines.iter().filter(is).count()
}

/// The lengths, of these two, of what rank 1 receives from rank 0, in order.
fn crossed(lines: &[Line]) -> Vec<u64> {
    let is = |line: &&Line| (line.rank, &*line.event, &*line.peer) == (1, "recv", "0");
    let lengths = lines.iter().filter(is).map(|line| line.bytes);
    lengths.filter(|bytes| [5_003, 7_001].contains(bytes)).collect()
}

#[test]
fn a_trace_has_the_messages_of_its_program_and_can_be_replayed() {
    let test = "a_trace_has_the_messages_of_its_program_and_can_be_replayed";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("trace", &["--shape", "full:2"]);
    let programs = Programs::new();
    let folder = tempfile::tempdir().expect("a folder");
    for mpi in mpis(test) {
        let built = programs.build("traced", &mpi);
        let file = folder.path().join(format!("{}.trace", mpi.name));
        let mut command = tasuki();
        command.args(["run", "--lab", &lab.name, "--mpi", mpi.name, "--transport", "tasuki", "-n", "2"]);
        let report = folder.path().join(format!("{}.json", mpi.name));
        command.arg("--trace").arg(&file).arg("--report").arg(&report);
        command.arg(&built).arg(ROUNDS.to_string());
        let printed = MpiRun::of(command, &lab, format!("traced, {}", mpi.name)).ok();
        let computed = printed.split_whitespace().nth(1).and_then(|us| us.parse::<f64>().ok());
        let computed = computed.unwrap_or_else(|| panic!("{}: {printed}", mpi.name));

        let text = fs::read_to_string(&file).expect("the trace");
        let lines = lines(&text);
        for (rank, peer) in [(0, "1"), (1, "0")] {
            for event in ["send", "recv"] {
                assert_eq!(count(&lines, rank, event, peer, 40_009), ROUNDS, "{}: {text}", mpi.name);
            }
        }
        // The format wants the order of sending.
        assert_eq!(crossed(&lines), [5_003, 7_001].repeat(ROUNDS), "{}", mpi.name);
        let traced: f64 = lines.iter().filter(|line| line.rank == 0).map(|line| line.compute_us).sum();
        // What was computed before the first message is not known.
        let known = computed * (ROUNDS - 1) as f64 / ROUNDS as f64;
        assert!(traced >= 0.99 * known, "{}: {traced} us traced, {computed} computed", mpi.name);

        let report = fs::read_to_string(&report).expect("the report");
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        check_report(&report, &lines, known / 1e6);

        let replay = ["topo", "simulate", "full:2", "--ethernet", "--bytes", "1500", "--json", "--trace"];
        let replayed = crate::support::ok(tasuki().args(replay).arg(&file));
        let replayed: serde_json::Value = serde_json::from_str(&replayed).expect("JSON");
        let sends = lines.iter().filter(|line| line.event == "send").count();
        assert_eq!(replayed["messages"].as_u64(), Some(sends as u64), "{replayed}");
        assert!(replayed["time_us"].as_f64().is_some_and(|us| us >= traced), "{replayed}");
    }
    let left =
        crate::support::ok(tasuki().args(["lab", "exec", "--lab", &lab.name, "n2", "--", "ls", "/tmp"]));
    assert!(!left.contains("tasuki-trace"), "{left}");
}

/// A report counts what the trace has; rank 0 has computed at least for as long as it says itself, and the
/// kernel has sent at least the messages' bytes over its NIC.
fn check_report(report: &serde_json::Value, lines: &[Line], computed: f64) {
    let find = |list: &str, is: &dyn Fn(&serde_json::Value) -> bool| {
        let found = report[list].as_array().into_iter().flatten().find(|item| is(item));
        found.unwrap_or_else(|| panic!("{list}: {report:#}")).clone()
    };
    let sent: Vec<u64> =
        lines.iter().filter(|line| (line.rank, &*line.event) == (0, "send")).map(|line| line.bytes).collect();
    let pair = find("pairs", &|pair| pair["from"] == 0 && pair["to"] == 1);
    let (messages, bytes) = (sent.len() as u64, sent.iter().sum::<u64>());
    assert_eq!((pair["messages"].as_u64(), pair["bytes"].as_u64()), (Some(messages), Some(bytes)));
    let rank = find("ranks", &|rank| rank["rank"] == 0);
    assert!(rank["computing"].as_f64().is_some_and(|seconds| seconds >= 0.99 * computed), "{rank}");
    let nic = find("nics", &|nic| nic["host"] == "n1");
    assert!(nic["sent_bytes"].as_u64().is_some_and(|sent| sent >= bytes), "{nic}");
}

#[test]
fn what_cannot_be_recorded_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let there = folder.path().join("there");
    fs::write(&there, "kept").expect("a file");
    let refused = |file: &std::path::Path| {
        let output =
            tasuki().args(["run", "-n", "2", "--trace"]).arg(file).arg("true").output().expect("tasuki");
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused(&there).contains("is there already; --force writes over it"), "{}", refused(&there));
    assert_eq!(fs::read_to_string(&there).expect("the file"), "kept");
}
