//! Jobs of an Open MPI under the runtime: its launcher starts the ranks, and the runtime starts its daemons.

use crate::support::{
    eventually,
    jobs::{Cluster, JOB_MARK, processes},
    mpi::Programs,
    mpis::{Mpi, build, mpis, peers},
    ok, skip_without_root, skip_without_way_in, text, unique,
};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

/// The Open MPIs of this machine; none without root.
fn open_mpis(test: &str) -> Vec<Mpi> {
    if skip_without_root(test) {
        return Vec::new();
    }
    mpis(test).into_iter().filter(|mpi| mpi.is_open_mpi()).collect()
}

#[test]
fn what_a_rank_is_killed_by_ends_its_job() {
    let programs = Programs::new();
    for mpi in open_mpis("what_a_rank_is_killed_by_ends_its_job") {
        let cluster = Cluster::up("jobs-ompi-killed", 2);
        let mut run = cluster.command("run", &["--resident", "-n", "2", "--mpi", mpi.name]);
        let output = run.arg(programs.build("victim", &mpi)).arg("receive").output().expect("runs");
        let said = text(&output);
        assert!(said.contains("mpirun on n1 ended with exit code"), "{}: {said}", mpi.name);
        // Of Open MPI 5 a neighbour may report first, and abort with 14 (docs/reference/exit-codes.md).
        match output.status.code() {
            Some(137) => {
                assert!(said.contains("signal 9"), "{}: mpirun says of which rank: {said}", mpi.name)
            }
            code => assert_eq!((code, mpi.name), (Some(14), "openmpi-5.0"), "{said}"),
        }
    }
}

#[test]
fn a_cancelled_job_of_an_open_mpi_leaves_nothing() {
    let programs = Programs::new();
    for mpi in open_mpis("a_cancelled_job_of_an_open_mpi_leaves_nothing") {
        let cluster = Cluster::up("jobs-ompi-cancel", 2);
        let mark = unique("job");
        let mut submit = cluster.command("submit", &["-n", "4", "--mpi", mpi.name]);
        submit.arg(programs.build("busy", &mpi)).arg("1000").env(JOB_MARK, &mark);
        let job = ok(&mut submit).trim().to_owned();
        // Two processes of the runtime, mpirun, a daemon, and four ranks.
        eventually("all ranks", || processes(&mark).len() >= 8);
        ok(&mut cluster.command("hold", &[&job]));
        ok(&mut cluster.command("resume", &[&job]));
        ok(&mut cluster.command("cancel", &[&job]));
        cluster.until(&job, "cancelled");
        assert_eq!(processes(&mark), [0; 0], "{}: when a job is over nothing of it is left", mpi.name);
        for host in ["n1", "n2"] {
            let left = cluster.lab.sh(host, "ls /tmp | grep tasuki-openmpi || true");
            assert_eq!(left.trim(), "", "{}", mpi.name);
        }
    }
}

#[test]
fn a_daemon_that_cannot_be_run_ends_the_job() {
    for mpi in open_mpis("a_daemon_that_cannot_be_run_ends_the_job") {
        let cluster = Cluster::up("jobs-ompi-missing", 2);
        let folder = tempfile::tempdir_in("/tmp").expect("a folder");
        let hello = build(&mpi, "hello.c", folder.path());
        let mut run = cluster.command("run", &["--resident", "-n", "2", "--mpi", mpi.name]);
        for name in ["OMPI_MCA_orte_launch_agent", "PRTE_MCA_prte_launch_agent"] {
            run.env(name, "/no/such/daemon");
        }
        let output = run.arg(&hello).output().expect("runs");
        let said = text(&output);
        assert!(said.contains("Open MPI's daemon on n2 ended with exit code 127"), "{}: {said}", mpi.name);
        assert!(!output.status.success(), "{}: {said}", mpi.name);
    }
}

#[test]
fn an_ordinary_user_runs_an_open_mpi() {
    let test = "an_ordinary_user_runs_an_open_mpi";
    if skip_without_way_in(test) {
        return;
    }
    for mpi in open_mpis(test) {
        let cluster = Cluster::up("jobs-ompi-user", 2);
        // Hosts see the machine's files but for a few folders, and everybody may read these.
        let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("sets them");
        let hello = build(&mpi, "hello.c", folder.path());
        let hello = hello.to_string_lossy();
        let asked = ["run", "--resident", "-n", "2", "--mpi", mpi.name, &hello];
        let said = ok(cluster.as_user("nobody", "n2", &asked).env("TASUKI_PEERS", peers()));
        assert!(said.contains("rank 1 of 2 on n2") && said.contains("ring ok"), "{}: {said}", mpi.name);
    }
}

/// All output comes through one mpirun, which says which rank it is of where it is asked to.
#[test]
fn every_line_gets_the_label_of_its_rank() {
    let test = "every_line_gets_the_label_of_its_rank";
    for mpi in open_mpis(test) {
        let cluster = Cluster::up("jobs-ompi-label", 2);
        // Parts of lines, and more than mpirun reads at a time.
        let script = "r=$OMPI_COMM_WORLD_RANK; printf 'I '; sleep 0.2; echo am $r; echo no $r >&2; \
                      head -c 9000 /dev/zero | tr '\\0' x; echo; printf end";
        let words = ["--resident", "--label", "-n", "4", "--mpi", mpi.name, "sh", "-c", script];
        let output = cluster.output("run", &words);
        let of = |bytes: &[u8], word: &str| {
            let said = String::from_utf8_lossy(bytes).replace("[", "\n[");
            let mut lines: Vec<_> =
                said.lines().filter(|line| line.contains(word)).map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        let wanted = |what: &str| (0..4).map(|rank| format!("[{rank}] {what}")).collect::<Vec<_>>();
        let with_rank = |what: &str| (0..4).map(|rank| format!("[{rank}] {what} {rank}")).collect::<Vec<_>>();
        assert_eq!(of(&output.stdout, "am"), with_rank("I am"), "{}: {}", mpi.name, text(&output));
        assert_eq!(of(&output.stderr, "no "), with_rank("no"), "{}: {}", mpi.name, text(&output));
        assert_eq!(of(&output.stdout, "xx"), wanted(&"x".repeat(9000)), "{}", mpi.name);
        assert_eq!(of(&output.stdout, "end"), wanted("end"), "{}", mpi.name);
        // Without labels its lines are those that the ranks wrote.
        let plain = cluster.output("attach", &["1"]);
        let said = text(&plain);
        assert!(!said.contains("<std") && said.contains("I am 3\n") && said.contains("no 3\n"), "{said}");
    }
}
