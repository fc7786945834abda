//! Stages 3 and 4 of `tasuki check`: random messages and the burn-in. They keep all cores busy, so they are
//! not in the file of the trials, which measure.

use crate::support::{MARK, TestLab, mpis::peers, ok, skip_without_root, tasuki, text};
use std::{path::Path, process::Command};

#[test]
fn random_messages_arrive_whole_and_the_page_shows_them() {
    if skip_without_root("random_messages_arrive_whole_and_the_page_shows_them") {
        return;
    }
    let lab = TestLab::up("messages", &["--shape", "ring:4", "--rate", "100M"]);
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("check.html");
    let mut check = tasuki();
    check
        .args([
            "check", "--lab", &lab.name, "--stages", "3", "--time", "3s", "--seed", "7", "--json", "--report",
        ])
        .arg(&page);
    let report: serde_json::Value = serde_json::from_str(&ok(&mut check)).expect("JSON");
    assert_eq!(report["seed"], 7);
    let tables = report["tables"].as_array().expect("tables");
    let messages = tables.iter().find(|table| table[0] == "Random messages").expect("a table");
    for row in messages[2].as_array().expect("rows") {
        let number = |column: usize| row[column].as_str().expect("text").parse::<u64>().expect("a number");
        assert!(number(1) > 0 && number(3) > 0 && number(4) == 0 && number(6) == 0, "{row}");
    }
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("Nothing was found") && page.contains("<td>n4"), "{page}");
}

/// Runs the programs of the burn-in. Returns the exit code and the report.
fn burn_in(lab: &TestLab, argv: &[&str], path: Option<&Path>) -> (Option<i32>, serde_json::Value) {
    let mut check = tasuki();
    check.args(["check", "--lab", &lab.name, "--stages", "4", "--json"]).args(argv);
    check.env("TASUKI_PEERS", peers()).env(MARK, &lab.name);
    if let Some(folder) = path {
        let others = std::env::var("PATH").expect("a path");
        check.env("PATH", format!("{}:{others}", folder.display()));
    }
    let output = check.output().expect("runs");
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    (output.status.code(), report)
}

/// Demands that these programs have run, with right results.
fn all_right(report: &serde_json::Value, programs: &[&str]) {
    let rows = report["tables"].as_array().expect("tables").iter().find(|table| table[0] == "Burn-in");
    let rows = rows.expect("a table")[2].as_array().expect("rows");
    let names: Vec<_> = rows.iter().map(|row| row[0].as_str().expect("a name")).collect();
    assert_eq!(names, programs);
    let is_right = |row: &serde_json::Value| {
        row[2].as_str().is_some_and(|verdict| verdict.starts_with("its results are right"))
    };
    assert!(rows.iter().all(is_right), "{report}");
}

/// The kernels were built beforehand, as on real machines.
#[test]
fn the_burn_in_runs_the_kernels_of_a_folder() {
    let test = "the_burn_in_runs_the_kernels_of_a_folder";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("kernels", &["--shape", "full:3"]);
    let folder = tempfile::tempdir().expect("a folder");
    let argv = ["--nas", folder.path().to_str().expect("UTF-8")];
    let (build, faulty) = ("/../../bench/nas/build.sh", "/tests/programs/badhpcc.c");
    let [build, faulty] = [build, faulty].map(|path| format!("{}{path}", env!("CARGO_MANIFEST_DIR")));
    let empty =
        tasuki().args(["check", "--lab", &lab.name, "--stages", "4"]).args(argv).output().expect("runs");
    assert_eq!(empty.status.code(), Some(3));
    assert!(text(&empty).contains("bench/nas/build.sh mpicc"), "{}", text(&empty));
    ok(Command::new("sh").arg(build).arg("mpicc.openmpi").arg(folder.path()).args(["is", "mg"]));
    let (code, report) = burn_in(&lab, &argv, None);
    assert_eq!(code, Some(0), "{report}");
    all_right(&report, &["NAS IS", "NAS MG", "HPCC"]);
    // A kernel whose verification fails ends with an exit code. Another program is in the place of hpcc,
    // which takes long.
    let instead = tempfile::tempdir().expect("a folder");
    for file in [folder.path().join("mg"), instead.path().join("hpcc")] {
        ok(Command::new("mpicc.openmpi").args(["-O1", "-DFAILING", &faulty, "-o"]).arg(file));
    }
    let (code, report) = burn_in(&lab, &argv, Some(instead.path()));
    assert_eq!(code, Some(2), "{report}");
    // What fails on the same hosts is one finding, named by the first program.
    let [finding] = &report["findings"].as_array().expect("findings")[..] else { panic!("{report}") };
    assert!(finding["says"].as_str().is_some_and(|says| says.starts_with("NAS MG failed")), "{finding}");
}

#[test]
fn the_burn_in_runs_programs_and_reads_their_results() {
    let test = "the_burn_in_runs_programs_and_reads_their_results";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("burn", &["--shape", "full:2"]);
    let (code, report) = burn_in(&lab, &[], None);
    assert_eq!((code, &report["findings"]), (Some(0), &serde_json::json!([])), "{report}");
    all_right(&report, &["NAS IS", "NAS CG", "NAS EP", "HPCC"]);

    // Programs in the place of hpcc: one that ends well with wrong results; one that writes no results; one
    // that fails. One kernel, which is built once, stands for those that run before it.
    let folder = tempfile::tempdir().expect("a folder");
    let kernels = folder.path().join("nas");
    let build = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/nas/build.sh");
    ok(Command::new("sh").args([build, "mpicc.openmpi"]).arg(&kernels).arg("is"));
    let argv = ["--nas", kernels.to_str().expect("UTF-8")];
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/badhpcc.c");
    for (what, says) in
        [("WRONG", "verifications do not hold"), ("SILENT", "it wrote no results"), ("FAILING", "exit code")]
    {
        let define = format!("-D{what}");
        let hpcc = folder.path().join("hpcc");
        ok(Command::new("mpicc.openmpi").args(["-O1", &define, source, "-o"]).arg(&hpcc));
        let (code, report) = burn_in(&lab, &argv, Some(folder.path()));
        assert_eq!(code, Some(2), "{report}");
        let [finding] = &report["findings"].as_array().expect("findings")[..] else { panic!("{report}") };
        let said = finding["says"].as_str().expect("text");
        assert!(finding["kind"] == "burn-in" && finding["stage"] == 4, "{finding}");
        assert!(said.starts_with("HPCC failed") && said.contains(says), "{what}: {finding}");
        assert!(what != "WRONG" || finding["evidence"].to_string().contains("HPL residual"), "{finding}");
    }
}
