//! `tasuki bench startup`: the time that a start takes, over TCP and over Tasuki.

use crate::support::{mpis::peers, ok, skip_without_root, tasuki, text};

#[test]
fn starts_are_measured_over_one_and_two_rails() {
    if skip_without_root("starts_are_measured_over_one_and_two_rails") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = tasuki();
    command.env("TASUKI_PEERS", peers()).args(["bench", "startup", "-n", "2,4", "--mpi", "openmpi-4.1"]);
    command.args(["--repetitions", "1", "--json", "--output"]).arg(folder.path());
    let records: serde_json::Value = serde_json::from_str(&ok(&mut command)).expect("JSON");
    let records = records.as_array().expect("an array");
    let what: Vec<_> =
        records.iter().map(|record| (record["rails"].as_u64(), record["ranks"].as_u64())).collect();
    let one_network = |rails| [2, 2, 4, 4].map(|ranks| (Some(rails), Some(ranks)));
    assert_eq!(what, [one_network(1), one_network(2)].concat(), "{records:#?}");
    for record in records {
        let seconds = |key: &str| record[key].as_f64().unwrap_or(f64::NAN);
        let phases: f64 = ["launch_s", "init_s", "meeting_s", "end_s"].map(seconds).iter().sum();
        assert!((phases - seconds("median")).abs() < 1e-6 && phases > 0.0, "{record:#}");
    }
    for name in ["startup.txt", "startup.json"] {
        assert!(folder.path().join(name).is_file(), "{name} was not written");
    }
}

#[test]
fn what_cannot_be_measured_is_said_at_once() {
    for (arguments, argv) in [
        (&["-n", "1"][..], "1 ranks: give numbers from 2"),
        (&["--repetitions", "0"], "nothing would be measured"),
        (&["--shape", "star:2@100M", "--unshaped"], "has a rate"),
    ] {
        let output = tasuki().args(["bench", "startup"]).args(arguments).output().expect("it starts");
        assert!(!output.status.success() && text(&output).contains(argv), "{}", text(&output));
    }
}
