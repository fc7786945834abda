//! `tasuki bench tune`: a real program with a fixed delay and with the controller, and nothing left behind.

use crate::support::{eventually, labs, skip_without_root, tasuki, text};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::process::{Child, Output, Stdio};

fn start(argv: &[&str]) -> Child {
    let mut command = tasuki();
    command.args(["bench", "tune", "--json"]).args(argv).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts")
}

fn report(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(output)))
}

#[test]
fn a_long_delay_takes_many_packets_at_once_and_lets_a_program_wait() {
    if skip_without_root("a_long_delay_takes_many_packets_at_once_and_lets_a_program_wait") {
        return;
    }
    // Delays off, 10 us, ... 10 ms. The first program waits for answers, the second receives a stream.
    let child = start(&[
        "--level",
        "0,7",
        "--most",
        "10ms",
        "--repetitions",
        "1",
        "--seconds",
        "0.3",
        "--settle",
        "1",
    ]);
    let id = child.id();
    let output = child.wait_with_output().expect("ends");
    let report = report(&output);
    assert!(output.status.success() && report["failures"] == serde_json::json!([]), "{}", text(&output));
    let of = |row: usize, delay: usize, what: &str| {
        let value = &report["rows"][row]["fixed"][delay]["runs"][0][0][what];
        value.as_f64().unwrap_or_else(|| panic!("no {what} of row {row}, delay {delay}: {report:#}"))
    };
    let longest = report["rows"][0]["fixed"].as_array().expect("delays").len() - 1;
    assert_eq!(report["rows"][0]["fixed"][longest]["us"], 10_000);
    // A program that only waits cannot get more answers than there are polls, and those are 10 ms apart: 100
    // per second, and as many again where the first answer after a pause is received at once.
    assert!(of(0, longest, "turns") <= 205.0, "{}", of(0, longest, "turns"));
    assert!(of(0, 0, "turns") > of(0, longest, "turns"));
    // So many packets of the stream arrive between two polls that there are few of these.
    assert!(of(1, longest, "packets") > 4.0 * of(1, longest, "interrupts"), "{report:#}");
    for row in 0..2 {
        let log = report["rows"][row]["logs"][0].as_array().expect("a log");
        assert!(log.iter().all(|period| period["us"].is_u64() && period["sent"].is_number()), "{log:?}");
        assert!(report["rows"][row]["controlled"][0][0]["turns"].as_f64() > Some(0.0), "{report:#}");
    }
    assert_eq!(labs(id), Vec::<String>::new());
}

#[test]
fn an_interrupted_measurement_leaves_nothing() {
    if skip_without_root("an_interrupted_measurement_leaves_nothing") {
        return;
    }
    let child = start(&["--pair", "0:7", "--repetitions", "1000"]);
    let id = child.id();
    eventually("its lab is up", || !labs(id).is_empty());
    // The time is arbitrary: it may be at any point from setting up to measuring.
    std::thread::sleep(std::time::Duration::from_secs(3));
    kill(Pid::from_raw(id.cast_signed()), Signal::SIGINT).expect("it runs");
    let output = child.wait_with_output().expect("ends");
    let report = report(&output);
    assert!(
        report["interrupted"] == true && report["failures"] == serde_json::json!([]),
        "{}",
        text(&output)
    );
    assert_eq!(labs(id), Vec::<String>::new());
}

#[test]
fn what_cannot_be_measured_is_said_at_once() {
    for (argv, said) in [
        (&["--level", "8"][..], "8 is not in 0..8"),
        (&["--pair", "0:9"], "two levels of 0 to 7"),
        (&["--repetitions", "0"], "nothing would be measured"),
        (&["--seconds", "0"], "--seconds: 0.1 to 600"),
        (&["--most", "off"], "--most is a time"),
    ] {
        let output = tasuki().args(["bench", "tune"]).args(argv).output().expect("starts");
        assert!(!output.status.success() && text(&output).contains(said), "{argv:?}: {}", text(&output));
    }
}
