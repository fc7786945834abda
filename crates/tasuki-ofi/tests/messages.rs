//! C programs use libfabric, which loads this provider: every call for messages and one-sided access over
//! each carrier, and what fi_getinfo promises.

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
    stage.run(["map", "gone-leaving-child"], true);
    stage.run(["map", "selective-gone"], true);
}

#[test]
fn over_udp() {
    let stage = Stage::new();
    stage.run(["table", "all"], false);
    stage.run(["map", "selective"], false);
    stage.run(["map", "gone"], false);
    stage.run(["map", "gone-leaving-child"], false);
    stage.run(["map", "selective-gone"], false);
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
fn atomic_operations_are_what_the_manual_page_says() {
    let stage = Stage::new();
    stage.run_program("atomics", ["table", "all"], true);
    stage.run_program("atomics", ["map", "all"], false);
}

#[test]
fn endpoints_meet_by_node_and_service() {
    let stage = Stage::new();
    stage.run_program("names", [], true);
    stage.run_program("names", [], false);
}

#[test]
fn what_is_promised_is_kept_and_the_rest_is_refused() {
    Stage::new().run_program("promises", [], true);
}

/// The exit status of a program that may have so many files open, which bash's ulimit sets, and what it says
/// on stderr.
fn with_files(stage: &Stage, files: u32, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = stage.command("bash");
    let program = stage.path().join("promises");
    command.arg("-c").arg(format!("ulimit -n {files} && exec {}", program.display()));
    command.envs(variables.iter().copied()).env("TASUKI_RAILS", stage.path().join("rails.json"));
    let output = command.output().expect("bash runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_process_without_descriptors_is_told_what_is_wrong() {
    let stage = Stage::new();
    // Three files are open from the beginning. Eight are enough for one endpoint, and not for a second.
    let (status, said) = with_files(&stage, 8, &[]);
    assert_eq!(status, Some(1), "{said}");
    // The program prints the text of the number that fi_endpoint returns: fi_errno(3), EMFILE.
    assert!(said.contains("fi_endpoint") && said.contains("Too many open files"), "{said}");
    let line = said.lines().find(|line| line.starts_with("tasuki-fi[")).expect("the provider says why");
    assert!(line.contains("; 8 files may be open") && line.contains("ulimit -n"), "{line}");
    let (_, said) = with_files(&stage, 8, &[("FI_LOG_LEVEL", "warn")]);
    let logged = said.lines().any(|line| line.starts_with("libfabric:") && line.contains("ulimit -n"));
    assert!(logged, "in libfabric's log: {said}");
}

/// The provider ends the process by SIGABRT; the program itself exits with 7.
#[test]
fn a_peers_death_ends_the_process_where_that_is_asked_for_and_nowhere_else() {
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
        // The default is for programs without an MPI: there is none in this one.
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
fn finds_a_libfabric_whose_symbols_are_hidden() {
    let stage = Stage::new();
    let program = stage.path().join("local");
    let output = stage.command(program.to_str().expect("text")).output().expect("the program runs");
    assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}
