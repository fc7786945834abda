//! Two C programs speak through libfabric, which loads this provider: every call for messages and one-sided access, over each carrier.

mod stage;

use std::os::unix::process::ExitStatusExt;

use stage::Stage;

#[test]
fn over_shared_memory() {
    let stage = Stage::new();
    stage.run(["map", "all"], true);
    stage.run(["table", "all"], true);
    stage.run(["map", "selective"], true);
    stage.run(["map", "gone"], true);
}

#[test]
fn over_udp() {
    let stage = Stage::new();
    stage.run(["table", "all"], false);
    stage.run(["map", "selective"], false);
    stage.run(["map", "gone"], false);
}

#[test]
fn one_sided_access() {
    let stage = Stage::new();
    for shm in [true, false] {
        stage.run_program("remote", ["table", "all"], shm);
        stage.run_program("remote", ["map", "selective"], shm);
        stage.run_program("remote", ["map", "gone"], shm);
    }
}

/// What ends the process is SIGABRT; 7 is the program's own end.
#[test]
fn a_peer_that_dies_takes_along_whoever_wants_that_and_nobody_else() {
    let stage = Stage::new();
    for shm in [true, false] {
        let end = |wanted: &str| {
            let mut program = stage.program("death", shm);
            program.arg(if wanted == "abort" { "60" } else { "4" });
            let output = program.env("TASUKI_PEER_FAILURE", wanted).output().expect("the program runs");
            (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let (status, said) = end("abort");
        assert_eq!(status.signal(), Some(6), "shm {shm}: {said}");
        assert!(said.contains("has died") && said.contains("TASUKI_PEER_FAILURE=report"), "{said}");
        let (status, said) = end("report");
        assert_eq!(status.code(), Some(7), "shm {shm}: {said}");
        // There is no MPI in this program.
        let (status, said) = end("");
        assert_eq!(status.code(), Some(7), "shm {shm}: {said}");
        let (status, said) = end("never");
        assert_eq!(status.code(), Some(1), "shm {shm}: {said}");
        assert!(said.contains("TASUKI_PEER_FAILURE=never: must be abort or report"), "{said}");
    }
}

#[test]
fn is_listed() {
    let stage = Stage::new();
    let output =
        stage.command("fi_info").args(["-p", "tasuki"]).output().expect("fi_info runs: see scripts/setup");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("FI_EP_RDM"), "{said}");
}

#[test]
fn finds_a_libfabric_that_is_out_of_sight() {
    let stage = Stage::new();
    let program = stage.path().join("local");
    let output = stage.command(program.to_str().expect("text")).output().expect("the program runs");
    assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}
