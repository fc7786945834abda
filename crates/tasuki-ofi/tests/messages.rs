//! Two C programs speak through libfabric, which loads this provider: every call for messages and one-sided access, over each carrier.

mod stage;

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
