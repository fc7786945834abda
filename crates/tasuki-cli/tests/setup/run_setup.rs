//! `tasuki run` on hosts that are not set up, or by another cluster file: over Tasuki it refuses, because the
//! messages would take the management network, and names the command that helps.

use crate::support::{
    TestLab,
    mpis::{build, mpis, peers, run_over},
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
        // Nothing was applied, and all is as it was set up.
        assert!(!ok(tasuki().args(["status", "--lab", &lab.name])).contains("nothing applied"));
    }
}

/// Names of hosts that lead nowhere are told with cause and remedy, before the launcher begins: Open MPI's
/// answer is a page about daemons, and MPICH's that of ssh.
#[test]
fn hosts_whose_names_lead_nowhere_are_named_before_the_launcher_begins() {
    let test = "hosts_whose_names_lead_nowhere_are_named_before_the_launcher_begins";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("my.toml");
    let cluster = ok(tasuki().args(["cluster", "new", "full:2", "--cores", "1"]));
    // RFC 6761: no name below "invalid" has an address; nor has a single unknown label.
    let cluster = cluster.replace("\"n1", "\"no-such-host-1").replace("\"n2", "\"no-such-host-2");
    std::fs::write(&file, cluster).expect("writes");
    for mpi in mpis(test) {
        let hello = build(&mpi, "hello.c", folder.path());
        let mut run = tasuki();
        run.env("TASUKI_PEERS", peers()).args(["run", "--transport", "tcp", "--mpi", mpi.name, "-n", "2"]);
        run.arg("--cluster").arg(&file).arg(&hello);
        let output = run.output().expect("runs");
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in ["no-such-host-1: no address: ", "no-such-host-2: no address: ", "/etc/hosts"] {
            assert!(said.contains(part), "{}: {part:?} is missing: {said}", mpi.name);
        }
        assert!(said.contains(&format!("`tasuki apply {}`", file.display())), "{said}");
        assert!(said.lines().count() < 8 && !said.contains("daemon"), "{}: {said}", mpi.name);
    }
}
