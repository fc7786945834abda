//! `tasuki run --cores`: core files of ranks that crash on other hosts, for gdb here.

use crate::support::{
    MARK, TestLab,
    mpis::{build_for_debuggers, mpis, peers},
    ok, skip_without_root, tasuki, text,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Core files of a folder.
fn cores(folder: &Path) -> Vec<PathBuf> {
    let is_core =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains("core"));
    fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(is_core)
        .collect()
}

#[test]
fn the_core_file_of_a_rank_is_brought_here_and_gdb_says_where_it_died() {
    let test = "the_core_file_of_a_rank_is_brought_here_and_gdb_says_where_it_died";
    if skip_without_root(test) {
        return;
    }
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").expect("Linux has it");
    let lab = TestLab::up("cores", &["--shape", "full:2"]);
    for mpi in mpis(test).iter().filter(|mpi| ["mpich-5.0", "openmpi-4.1"].contains(&mpi.name)) {
        let folder = tempfile::tempdir().expect("a folder");
        let (ranks_run_in, to) = (folder.path().join("work"), folder.path().join("dumps"));
        fs::create_dir(&ranks_run_in).expect("a folder");
        let program = build_for_debuggers(mpi, "crash.c", folder.path());
        let run = |crashing: &str| {
            let mut command = tasuki();
            command.args(["run", "--lab", &lab.name, "--mpi", mpi.name, "-n", "2"]);
            command.arg(format!("--cores={}", to.display())).args([&program, Path::new(crashing)]);
            command.env("TASUKI_PEERS", peers()).env(MARK, &lab.name).current_dir(&ranks_run_in);
            let output = command.output().expect("starts");
            (output.status.success(), text(&output))
        };
        let (is_success, said) = run("-");
        assert!(is_success && cores(&to).is_empty(), "{}: {said}", mpi.name);
        let (is_success, said) = run("1");
        assert!(!is_success, "{}: {said}", mpi.name);
        if pattern.starts_with(['|', '/']) {
            eprintln!("{test}: this machine's core files go elsewhere: {pattern}");
            continue;
        }
        let found = cores(&to);
        let [core] = &found[..] else { panic!("{}: {found:?}: {said}", mpi.name) };
        let name = core.file_name().expect("a name").to_string_lossy();
        assert!(name.starts_with("core.n2.1."), "{}: {name}", mpi.name);
        let line = format!("died of SIGSEGV: gdb {} {}", program.display(), core.display());
        assert!(said.contains("rank 1 on n2") && said.contains(&line), "{}: {said}", mpi.name);
        let frames = ok(Command::new("gdb").args(["-batch", "-ex", "bt"]).args([&program, core]));
        assert!(frames.contains("crashes () at") && frames.contains("crash.c:"), "{}: {frames}", mpi.name);
        assert!(cores(&ranks_run_in).is_empty(), "{}: the host has kept some", mpi.name);
    }
    lab.down();
}
