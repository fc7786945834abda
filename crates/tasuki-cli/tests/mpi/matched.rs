//! Messages that MPI_Mprobe has matched, received into types with gaps: Open MPI loses those over libfabric,
//! with any provider, and the library that `tasuki run` preloads corrects that (docs/guide/run.md).

use crate::support::{
    TestLab,
    mpi::Programs,
    mpis::{mpis, peers},
    ok,
    run::MpiRun,
    skip_without_root, tasuki,
};

#[test]
fn matched_messages_arrive_in_types_with_gaps() {
    let test = "matched_messages_arrive_in_types_with_gaps";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("matched", &["--shape", "full:2"]);
    let programs = Programs::new();
    for mpi in mpis(test) {
        let built = programs.build("mrecv", &mpi);
        let printed = MpiRun::new(&lab, &mpi, "tasuki", 2, &built).ok();
        assert!(printed.contains("mrecv ok"), "{}: {printed}", mpi.name);
        if mpi.is_open_mpi() {
            // Without the library messages are lost. If this passes one day, Open MPI has been corrected, and
            // the library is not needed any more.
            let argv =
                ["--lab", &lab.name, "--mpi", mpi.name, "--transport", "tasuki", "-n", "2", "--dry-run"];
            let line = ok(tasuki().arg("run").args(argv).arg(&built).env("TASUKI_PEERS", peers()));
            let bare: Vec<_> = line.split(' ').filter(|word| !word.starts_with("LD_PRELOAD=")).collect();
            let bare = bare.join(" ").replace(" -x LD_PRELOAD", "");
            assert_ne!(line, bare, "nothing was preloaded");
            let mut command = tasuki();
            let line = format!("env {bare}");
            command.args(["lab", "exec", "--lab", &lab.name, "--job", "n1", "--", "sh", "-c", &line]);
            let finished = MpiRun::of(command, &lab, format!("{} as it is", mpi.name)).finish();
            assert!(finished.stderr.contains("vector, 7 of 7, MPI_Mrecv: byte 0"), "{}", finished.report());
        }
    }
}
