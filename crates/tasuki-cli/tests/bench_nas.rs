//! `tasuki bench nas`: kernels on a lab, over TCP and over Tasuki, verified, beside one host alone.

mod support;

use support::{mpis::peers, ok, skip_without_root, tasuki, text};

#[test]
fn kernels_verify_over_tcp_and_tasuki_and_are_compared_with_one_host() {
    if skip_without_root("kernels_verify_over_tcp_and_tasuki_and_are_compared_with_one_host") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = tasuki();
    command.env("TASUKI_PEERS", peers()).args(["bench", "nas", "--shape", "full:2", "--kernel", "is,mg"]);
    command.args(["--mpi", "openmpi-4.1", "--repetitions", "2", "--json", "--output"]).arg(folder.path());
    let records: serde_json::Value = serde_json::from_str(&ok(&mut command)).expect("JSON");
    let records = records.as_array().expect("an array");
    // Two kernels, one rank and two, TCP and Tasuki.
    assert_eq!(records.len(), 8, "{records:#?}");
    for record in records {
        assert_eq!(record["verified"], true, "{record:#}");
        assert_eq!((&record["class"], &record["unit"]), (&"S".into(), &"Mop/s".into()));
        assert_eq!(record["samples"].as_array().map(Vec::len), Some(2), "{record:#}");
        let alone = record["ranks"] == 1;
        assert_eq!(record["speedup"].is_null(), alone, "{record:#}");
    }
    for name in ["nas.txt", "nas.json", "nas-IS-S.svg", "nas-MG-S.svg"] {
        assert!(folder.path().join(name).is_file(), "{name} was not written");
    }
}

#[test]
fn what_cannot_run_is_said_at_once() {
    for (arguments, words) in [
        (&["-n", "3"][..], "3 ranks: the kernels run on powers of two up to 64"),
        (&["--kernel", "is", "--class", "XS"], "IS has none of the classes asked for, but S, W, A, B"),
        (&["--kernel", "bt"], "there is no NAS kernel 'bt'"),
        (&["--repetitions", "0"], "nothing would be measured"),
    ] {
        let output = tasuki().args(["bench", "nas", "--shape", "full:2"]).args(arguments).output();
        let output = output.expect("it starts");
        assert!(!output.status.success() && text(&output).contains(words), "{}", text(&output));
    }
}
