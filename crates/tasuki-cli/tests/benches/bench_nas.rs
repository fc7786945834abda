//! `tasuki bench nas`: kernels on a lab, over TCP and over Tasuki, verified, compared with one host alone.

use crate::support::{mpis::peers, ok, skip_without_root, tasuki, text};

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

/// Runs `bench nas` with one repetition, expects success, and returns its records.
fn nas(arguments: &[&str]) -> Vec<serde_json::Value> {
    let mut command = tasuki();
    command
        .env("TASUKI_PEERS", peers())
        .args(["bench", "nas", "--repetitions", "1", "--json"])
        .args(arguments);
    serde_json::from_str(&ok(&mut command)).expect("an array of records")
}

#[test]
fn every_kernel_verifies_on_four_hosts_over_tcp_and_tasuki() {
    if skip_without_root("every_kernel_verifies_on_four_hosts_over_tcp_and_tasuki") {
        return;
    }
    let kernels = "is,ep,cg,mg,ft,lu";
    let records = nas(&["--shape", "full:4", "--unshaped", "--kernel", kernels, "--mpi", "openmpi-4.1"]);
    // One rank and four, TCP and Tasuki.
    assert_eq!(records.len(), 6 * 2 * 2);
    assert!(records.iter().all(|record| record["verified"] == true), "{records:#?}");
}

#[test]
#[ignore = "long: an hour on two cores"]
fn every_kernel_verifies_up_to_class_a_with_open_mpi_and_mpich() {
    if skip_without_root("every_kernel_verifies_up_to_class_a_with_open_mpi_and_mpich") {
        return;
    }
    let kernels = "is,ep,cg,mg,ft,lu";
    let mpis = ["--mpi", "openmpi-4.1", "--mpi", "mpich-5.0"];
    // Four hosts; then two hosts, on which ranks of one host communicate over shared memory.
    for (shape, ranks) in [("full:4", "1,2,4"), ("full:2", "4")] {
        let case = ["--shape", shape, "--unshaped", "--kernel", kernels, "--class", "S,W,A", "-n", ranks];
        let records = nas(&[&case[..], &mpis[..]].concat());
        assert!(records.len() >= 6 * 3 * 4, "{}", records.len());
        assert!(records.iter().all(|record| record["verified"] == true), "{records:#?}");
    }
}

#[test]
#[ignore = "long: minutes, and 2 GB of memory"]
fn class_b_verifies_over_tasuki() {
    if skip_without_root("class_b_verifies_over_tasuki") {
        return;
    }
    let case =
        ["--shape", "full:2", "--unshaped", "--kernel", "is,cg,mg", "--class", "B", "--transport", "tasuki"];
    let records = nas(&[&case[..], &["--mpi", "openmpi-4.1", "--limit", "900"]].concat());
    assert!(records.iter().all(|record| record["verified"] == true), "{records:#?}");
}

/// hpcc is linked with Debian's Open MPI. It runs a dozen programs before Linpack.
#[test]
#[ignore = "long: minutes"]
fn linpack_verifies_over_tcp_and_tasuki_and_is_a_share_of_the_peak() {
    if skip_without_root("linpack_verifies_over_tcp_and_tasuki_and_is_a_share_of_the_peak") {
        return;
    }
    if !std::process::Command::new("sh").args(["-c", "command -v hpcc"]).status().is_ok_and(|it| it.success())
    {
        eprintln!("skipped: no hpcc");
        return;
    }
    let records = nas(&["--shape", "full:2", "--unshaped", "--kernel", "linpack"]);
    // One rank and two, TCP and Tasuki.
    assert_eq!(records.len(), 4, "{records:#?}");
    for record in &records {
        assert_eq!((&record["kernel"], &record["verified"]), (&"LINPACK".into(), &true.into()), "{record:#}");
        let share = |key: &str| record[key].as_f64().is_some_and(|share| share > 0.0);
        assert!(share("of_peak") && share("of_dgemm"), "{record:#}");
        assert!(record["of_peak"].as_f64().is_some_and(|share| share < 1.0), "{record:#}");
    }
}

#[test]
fn cablings_are_compared_and_a_shape_may_have_its_own_rate() {
    if skip_without_root("cablings_are_compared_and_a_shape_may_have_its_own_rate") {
        return;
    }
    let case =
        ["--shape", "star:2@100M", "--shape", "planes:2x2@50M", "--kernel", "is", "--transport", "tcp"];
    let records = nas(&[&case[..], &["--mpi", "openmpi-4.1"]].concat());
    let names: Vec<_> = records.iter().map(|record| (&record["network"], record["ranks"].as_u64())).collect();
    let (star, planes) = (&"star:2@100M".into(), &"planes:2x2@50M".into());
    assert_eq!(names, [(star, Some(1)), (star, Some(2)), (planes, Some(2))]);
    assert_eq!(&records[2]["against"]["network"], star);
    assert!(records[2]["against"]["gain"].as_f64().is_some_and(|gain| gain > 0.0), "{:#}", records[2]);
}

#[test]
fn what_cannot_run_is_said_at_once() {
    for (arguments, argv) in [
        (&["-n", "3"][..], "3 ranks: the kernels run on powers of two up to 64"),
        (&["--kernel", "is", "--class", "XS"], "IS has none of the classes asked for, but S, W, A, B"),
        (&["--kernel", "bt"], "there is no NAS kernel 'bt'"),
        (&["--repetitions", "0"], "nothing would be measured"),
    ] {
        let output = tasuki().args(["bench", "nas", "--shape", "full:2"]).args(arguments).output();
        let output = output.expect("it starts");
        assert!(!output.status.success() && text(&output).contains(argv), "{}", text(&output));
    }
}
