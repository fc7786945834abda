//! OpenMP programs on several hosts, by `tasuki omp`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{
    eventually,
    jobs::{Cluster, JOB_MARK, joined, tasuki_lab_program},
    ok, skip_without_root, text, unique,
};

/// Compiles a program of tasuki-omp's tests. Hosts see it where it lies, which must not be below /tmp.
fn build(source: &str) -> (tempfile::TempDir, String) {
    build_by("gcc", source, &[])
}

fn build_by(compiler: &str, source: &str, options: &[&str]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let programs = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tasuki-omp/tests/programs"));
    let program = folder.path().join("program");
    ok(Command::new(compiler)
        .args(["-O2", "-fopenmp"])
        .args(options)
        .arg(programs.join(source))
        .arg("-o")
        .arg(&program)
        .arg("-lm"));
    let program = program.to_string_lossy().into_owned();
    (folder, program)
}

/// Makes a folder one that `TASUKI_PROVIDER` may name, for OpenMP programs alone.
fn provider(folder: &Path) {
    let library = std::env::current_exe().expect("its path").with_file_name("libtasuki_omp.so");
    std::fs::create_dir(folder.join("omp")).expect("a folder");
    std::fs::copy(library, folder.join("omp/libtasuki-omp.so")).expect("copies");
    std::fs::write(folder.join("libtasuki-fi.so"), "").expect("writes");
}

/// A program that lies in a folder of the first host alone runs on all, and nothing of it is left there.
#[test]
fn programs_of_one_host_are_sent_to_all() {
    if skip_without_root("programs_of_one_host_are_sent_to_all") {
        return;
    }
    let (folder, kernels) = build("kernels.c");
    let expected = ok(Command::new(&kernels).arg("2").env("OMP_NUM_THREADS", "2"));
    provider(folder.path());
    let cluster = Cluster::up("omp-copy", 2);
    // Commands in hosts of a lab begin in the folder in which they were typed.
    cluster.lab.sh("n2", "mkdir -p /tmp/own");
    cluster.lab.sh("n1", &format!("mkdir -p /tmp/own && cp {kernels} /tmp/own/mine"));
    let run = |options: &str| {
        let script = format!("cd /tmp/own && exec {} omp -n 2 {options} ./mine 2", tasuki_lab_program());
        let mut command = cluster.lab.exec("n1", &["sh", "-c", &script]);
        command.env("TASUKI_PROVIDER", folder.path()).output().expect("runs")
    };
    let alone = run("");
    assert!(!alone.status.success(), "the other host has no such program: {}", text(&alone));
    let sent = run("--copy");
    let told = text(&sent);
    assert_eq!(String::from_utf8_lossy(&sent.stdout), expected, "{told}");
    assert!(told.contains("sent 1 file, "), "{told}");
    for host in ["n1", "n2"] {
        let left = cluster.lab.sh(host, "ls -d /tmp/tasuki-job-* /tmp/tasuki-kept-* 2>/dev/null || true");
        assert_eq!(left, "", "on {host}");
    }
}

#[test]
fn openmp_programs_run_on_all_hosts_under_loss_and_cuts() {
    if skip_without_root("openmp_programs_run_on_all_hosts_under_loss_and_cuts") {
        return;
    }
    let (_folder, kernels) = build("kernels.c");
    let expected = ok(Command::new(&kernels).arg("8").env("OMP_NUM_THREADS", "8"));
    let cluster = Cluster::up("omp", 4);
    let run = || cluster.output("omp", &["-n", "4", "--threads", "2", &kernels, "8"]);
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let output = run();
    assert_eq!(said(&output), expected, "{}", text(&output));
    cluster.lab.fault("loss", &["all", "1%"]);
    let mark = unique("job");
    let mut command = cluster.command("omp", &["-n", "4", "--threads", "2", &kernels, "8"]);
    let cut = std::thread::scope(|scope| {
        let job = scope.spawn(|| command.env(JOB_MARK, &mark).output().expect("runs"));
        eventually("all processes", || joined(&mark).len() >= 4 || job.is_finished());
        // Nobody watches routes here: what goes over this cable waits until it is whole again.
        cluster.lab.fault("cut", &["n1-n2"]);
        std::thread::sleep(std::time::Duration::from_millis(700));
        cluster.lab.fault("heal", &["all"]);
        job.join().expect("no panic")
    });
    assert_eq!(said(&cut), expected, "{}", text(&cut));
}

/// Programs of clang run in the place of LLVM's library; one that calls what is not there is refused before
/// it starts.
#[test]
fn programs_of_clang_run_on_all_hosts() {
    if skip_without_root("programs_of_clang_run_on_all_hosts") {
        return;
    }
    let (_folder, kernels) = build_by("clang", "kernels.c", &[]);
    let expected = ok(Command::new(&kernels).arg("4").env("OMP_NUM_THREADS", "4"));
    let cluster = Cluster::up("omp-clang", 2);
    let output = cluster.output("omp", &["-n", "2", "--threads", "2", &kernels, "4"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{}", text(&output));
    // Without thread-local storage every use of a threadprivate variable is a call.
    let (_folder, called) = build_by("clang", "basics.c", &["-fnoopenmp-use-tls"]);
    let output = cluster.output("omp", &["-n", "2", &called, "2"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "good 2\n", "{}", text(&output));
    let (_folder, later) = build_by("clang", "later.c", &["-fopenmp-version=51"]);
    cluster.refused("omp", &["-n", "2", &later], "tasks that are over when it says so");
}

/// The program's exit code is the command's; programs that cannot be spread are refused by name.
#[test]
fn what_openmp_programs_return_and_what_is_none() {
    if skip_without_root("what_openmp_programs_return_and_what_is_none") {
        return;
    }
    let (folder, ends) = build("ends.c");
    let cluster = Cluster::up("omp-ends", 2);
    let output = cluster.output("omp", &["-n", "2", &ends, "return"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        (said.as_str(), output.status.code()),
        ("no end of linehandler 2\n", Some(7)),
        "{}",
        text(&output)
    );
    cluster.refused("omp", &["-n", "2", "/bin/true"], "true: it does not use OpenMP; build it with -fopenmp");
    // A profile is said at the end, and kept where the program runs; the program ends as it does without.
    let page = folder.path().join("profile.html");
    let output =
        cluster.output("omp", &["-n", "2", &format!("--profile={}", page.display()), &ends, "return"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(7) && told.contains("tasuki omp: program ran for"), "{told}");
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.starts_with("<!doctype html>") && page.contains("program ran for"), "{page}");
    cluster.refused("omp", &["-n", "2", "--profile=a.txt", &ends], "must end in .html or .json");
    // Users whose system calls would not find pages that are elsewhere are told so before the program begins.
    provider(folder.path());
    ok(Command::new("chmod").args(["-R", "o+rX"]).arg(folder.path()));
    let mut command = cluster.as_user("nobody", "n1", &["omp", "-n", "2", &ends, "return"]);
    let output = command.env("TASUKI_PROVIDER", folder.path()).output().expect("runs");
    let told = text(&output);
    let is_set = |value: String| value.trim() == "1";
    let is_open = |about: std::fs::Metadata| about.permissions().mode() & 0o6 == 0o6;
    let is_allowed = std::fs::read_to_string("/proc/sys/vm/unprivileged_userfaultfd").is_ok_and(is_set)
        || std::fs::metadata("/dev/userfaultfd").is_ok_and(is_open);
    let told_so = told.contains("this user may not answer page faults of system calls");
    assert!(if is_allowed { output.status.code() == Some(7) } else { told_so }, "{told}");
    let output = cluster.output("omp", &["-n", "2", &ends, "spin", "1"]);
    assert!(
        !output.status.success() && text(&output).contains("rank 1 on n2 was killed by signal 9"),
        "{}",
        text(&output)
    );
}
