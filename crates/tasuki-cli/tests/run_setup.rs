//! `tasuki run` on hosts that are not set up, or by another cluster file: over Tasuki it refuses, because the
//! messages would take the management network, and names the command that helps.

mod support;

use support::{
    TestLab,
    mpis::{build, mpis, run_over},
    ok, skip_without_root, tasuki, text,
};

#[test]
fn hosts_that_are_not_set_up_are_refused() {
    let test = "hosts_that_are_not_set_up_are_refused";
    if skip_without_root(test) {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let all = mpis(test);
    let Some(mpi) = all.first() else { return };
    let hello = build(mpi, "hello.c", folder.path());
    let lab = TestLab::up("unset", &["--shape", "full:2", "--bare"]);
    let run = || run_over("tasuki", &lab, mpi.name, 2, &hello).output().expect("runs");
    let refused = |remedy: &str| {
        let output = run();
        let said = text(&output);
        assert!(output.status.code() == Some(1) && said.contains(remedy), "{said}");
        assert!(said.contains("--transport tcp") && !said.contains("ring ok"), "{said}");
    };
    refused(&format!("n1, n2 are not set up: `tasuki apply --lab {}`", lab.name));
    let doctor = tasuki().args(["doctor", "--lab", &lab.name]).output().expect("runs");
    assert!(!doctor.status.success() && text(&doctor).contains("tasuki apply"), "{}", text(&doctor));

    ok(tasuki().args(["apply", "--no-watch", "--lab", &lab.name]));
    let output = run();
    assert!(output.status.success() && text(&output).contains("ring ok"), "{}", text(&output));

    // Another cluster file: other addresses.
    let file = folder.path().join("other.toml");
    let other = ok(tasuki().args(["cluster", "new", "full:2"]));
    let other = other.replacen("[cluster]\n", "[cluster]\nidentity = \"10.90.0.0/24\"\n", 1);
    std::fs::write(&file, other).expect("writes");
    ok(tasuki().arg("apply").arg(&file).args(["--no-watch", "--lab", &lab.name]));
    refused("n1, n2 are set up by another cluster file");
    // The doctor says of each of these hosts the same, and names the command that mends it.
    let doctor = tasuki().args(["doctor", "--lab", &lab.name]).output().expect("runs");
    let said = text(&doctor);
    assert!(!doctor.status.success(), "{said}");
    assert_eq!(said.matches("set up by another cluster file").count(), 2, "{said}");
    assert_eq!(said.matches(&format!("tasuki apply --lab {}", lab.name)).count(), 2, "{said}");

    ok(tasuki().args(["undo", "--lab", &lab.name]));
    refused("n1, n2 are not set up");
}

#[test]
fn a_lab_that_lab_up_has_set_up_runs() {
    let test = "a_lab_that_lab_up_has_set_up_runs";
    if skip_without_root(test) {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let all = mpis(test);
    let Some(mpi) = all.first() else { return };
    let hello = build(mpi, "hello.c", folder.path());
    for more in [&[][..], &["--rate", "100M"], &["--unshaped"]] {
        let arguments = [&["--shape", "ring:3"], more].concat();
        let lab = TestLab::up("ready", &arguments);
        let printed = ok(&mut run_over("tasuki", &lab, mpi.name, 3, &hello));
        assert!(printed.contains("ring ok"), "{more:?}: {printed}");
    }
}
