//! The resident runtime in labs: jobs start on all hosts without ssh, wait for their turn, and give output
//! and exit codes back; their users hold, resume and cancel them.

use crate::support::{
    eventually,
    jobs::{Cluster, JOB_MARK, processes, tasuki_lab_program},
    mpis::{build, mpis},
    ok, skip_without_root, text, unique,
};
use std::{io::Write, process::Stdio};

#[test]
fn mpis_start_on_all_hosts_over_both_transports() {
    let test = "mpis_start_on_all_hosts_over_both_transports";
    if skip_without_root(test) {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let mpis = mpis(test);
    for hosts in [2, 4] {
        let cluster = Cluster::up("jobs-mpi", hosts);
        for mpi in &mpis {
            let hello = build(mpi, "hello.c", folder.path());
            for (ranks, transport) in [(hosts, "tasuki"), (hosts, "tcp"), (2 * hosts, "tasuki")] {
                let mut run = cluster.command("run", &["--resident", "-n", &ranks.to_string()]);
                run.args(["--mpi", mpi.name, "--transport", transport]).arg(&hello);
                let said = ok(&mut run);
                for rank in 0..ranks {
                    let line = format!("rank {rank} of {ranks} on n{}\n", 1 + rank % hosts);
                    assert!(said.contains(&line), "{} {transport}: {line}{said}", mpi.name);
                }
                assert!(said.contains("ring ok"), "{} {transport}: {said}", mpi.name);
            }
            let ranks = hosts.to_string();
            let mut run = cluster.command("run", &["--resident", "-n", &ranks, "--mpi", mpi.name]);
            let output = run.arg(&hello).arg("7").output().expect("runs");
            let reason = match mpi.is_open_mpi() {
                true => "mpirun on n1 ended with exit code 7".to_owned(),
                false => format!("rank {} on n{hosts} ended with exit code 7", hosts - 1),
            };
            assert!(output.status.code() == Some(7) && text(&output).contains(&reason), "{}", text(&output));
        }
    }
}

#[test]
fn programs_without_an_mpi_are_started_too() {
    if skip_without_root("programs_without_an_mpi_are_started_too") {
        return;
    }
    let cluster = Cluster::up("jobs-plain", 3);
    let output = cluster.output("run", &["--resident", "--label", "-n", "3", "hostname"]);
    let mut lines: Vec<_> = std::str::from_utf8(&output.stdout).expect("UTF-8").lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0] n1", "[1] n2", "[2] n3"], "{}", text(&output));
    assert!(text(&output).contains("uses no MPI that is known"), "{}", text(&output));

    // What torchrun would tell each, so that PyTorch's init_method="env://" works.
    let said =
        "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GLOO_SOCKET_IFNAME $MASTER_ADDR $MASTER_PORT";
    let output = cluster.output("run", &["--resident", "-n", "3", "sh", "-c", said]);
    let mut lines: Vec<_> = std::str::from_utf8(&output.stdout).expect("UTF-8").lines().collect();
    lines.sort_unstable();
    let port = lines[0].rsplit(' ').next().expect("a port").to_owned();
    assert!((29_500..30_000).contains(&port.parse().expect("a number")), "{lines:?}");
    let first = cluster.lab.sh("n1", "ip -4 -o address show tasuki0 | grep -o 'inet [0-9.]*'");
    let first = first.trim().trim_start_matches("inet ");
    let expected = [0, 1, 2].map(|rank| format!("{rank} 3 0 1 tasuki0 {first} {port}"));
    assert_eq!(lines, expected, "{}", text(&output));
    let own = ["--resident", "-n", "1", "-x", "MASTER_ADDR=192.0.2.9", "sh", "-c", "echo $MASTER_ADDR"];
    assert_eq!(String::from_utf8_lossy(&cluster.output("run", &own).stdout), "192.0.2.9\n");

    // The user's own environment, folder, umask and limits; both streams; the exit code.
    let script = "ulimit -n; umask; pwd; echo $A; echo complaint >&2; exit 3";
    let shell = format!(
        "ulimit -n 333; umask 027; cd /usr; A='b c' {} run --resident -n 1 sh -c '{script}'",
        tasuki_lab_program()
    );
    let output = cluster.lab.exec("n2", &["sh", "-c", &shell]).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "333\n0027\n/usr\nb c\n", "{}", text(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("complaint\n"), "{}", text(&output));
    assert_eq!(output.status.code(), Some(3));

    // Standard input of more than any buffer on the way goes to rank 0, and ends.
    let mut run = cluster.command("run", &["--resident", "-n", "2", "sh", "-c", "wc -c"]);
    let mut child = run.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    child.stdin.take().expect("a pipe").write_all(&vec![b'x'; 3_000_000]).expect("is read");
    let said = String::from_utf8(child.wait_with_output().expect("ends").stdout).expect("UTF-8");
    let mut counts: Vec<_> = said.split_whitespace().collect();
    counts.sort_unstable();
    assert_eq!(counts, ["0", "3000000"]);
}

#[test]
fn jobs_wait_for_their_turn_and_are_listed() {
    if skip_without_root("jobs_wait_for_their_turn_and_are_listed") {
        return;
    }
    let cluster = Cluster::up("jobs-turn", 2);
    let gate = "/run/gate";
    let wait = format!("until [ -e {gate} ]; do sleep 0.02; done; echo through");
    let (first, _) = cluster.script(2, &wait);
    let (second, _) = cluster.script(2, "echo second");
    cluster.until(&first, "running");
    let waiting = cluster.until(&second, "waiting");
    assert_eq!(waiting["reason"], "waits for 2 slots, 0 are free");
    let listed = ok(&mut cluster.command("jobs", &[]));
    assert!(listed.contains("running") && listed.contains("waiting"), "{listed}");
    cluster.lab.sh("n1", &format!("touch {gate}"));
    cluster.lab.sh("n2", &format!("touch {gate}"));
    assert_eq!(ok(&mut cluster.command("attach", &[&first])), "through\nthrough\n");
    assert_eq!(ok(&mut cluster.command("attach", &[&second])), "second\nsecond\n");
    assert_eq!(cluster.until(&second, "done")["exit"], 0);
    assert_eq!(ok(&mut cluster.command("jobs", &["--json"])).trim(), "[]", "both are over");
    let hosts = ok(&mut cluster.command("hosts", &["--json"]));
    let hosts: serde_json::Value = serde_json::from_str(&hosts).expect("JSON");
    let shown: Vec<_> = hosts.as_array().expect("a list").iter().map(|host| &host["presence"]).collect();
    assert_eq!(shown, ["up", "up"]);
    // The first host of the file keeps the queue (docs/guide/jobs.md).
    assert!(hosts[0]["queue"]["user_limits"].is_object() && hosts[1]["queue"].is_null(), "{hosts}");
}

#[test]
fn a_cancelled_job_leaves_no_process() {
    if skip_without_root("a_cancelled_job_leaves_no_process") {
        return;
    }
    let cluster = Cluster::up("jobs-cancel", 2);
    // A child in a session of its own, and one that does not listen to SIGTERM.
    let script = "trap '' TERM; setsid sleep 1000 & sleep 1000 & wait; sleep 1000";
    let (job, mark) = cluster.script(2, script);
    eventually("all processes", || processes(&mark).len() >= 6);
    ok(&mut cluster.command("cancel", &[&job]));
    let over = cluster.until(&job, "cancelled");
    assert_eq!((&over["exit"], &over["reason"]), (&130.into(), &"cancelled by root".into()));
    assert_eq!(processes(&mark), [0; 0], "when a job is over nothing of it is left");
    cluster.refused("cancel", &[&job], "is cancelled already");
    cluster.refused("hold", &["99"], "there is no job 99");
    // One that waits ends at once.
    let (first, _) = cluster.script(2, "sleep 1000");
    let (second, _) = cluster.script(1, "true");
    ok(&mut cluster.command("cancel", &[&second, &first]));
    cluster.until(&second, "cancelled");
    cluster.until(&first, "cancelled");
}

#[test]
fn a_run_ends_with_its_command() {
    if skip_without_root("a_run_ends_with_its_command") {
        return;
    }
    let cluster = Cluster::up("jobs-run", 2);
    for signal in [nix::sys::signal::Signal::SIGINT, nix::sys::signal::Signal::SIGKILL] {
        let mark = unique("job");
        let mut command = cluster.command("run", &["--resident", "-n", "2", "sleep", "1000"]);
        let mut run = crate::support::background(command.env(JOB_MARK, &mark));
        eventually("both ranks", || {
            processes(&mark).iter().filter(|pid| is_called(**pid, "sleep")).count() == 2
        });
        let pid = nix::unistd::Pid::from_raw(run.0.id() as i32);
        nix::sys::signal::kill(pid, signal).expect("it lives");
        run.0.wait().expect("it ends");
        eventually("no rank", || !processes(&mark).iter().any(|pid| is_called(*pid, "sleep")));
    }
}

fn is_called(pid: i32, name: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
}

#[test]
fn a_held_job_stands_still_and_goes_on() {
    if skip_without_root("a_held_job_stands_still_and_goes_on") {
        return;
    }
    let cluster = Cluster::up("jobs-hold", 2);
    let (job, _) = cluster.script(2, "i=0; while :; do i=$((i+1)); echo $i > /run/count; done");
    let count = |host: &str| cluster.lab.sh(host, "cat /run/count 2>/dev/null || echo 0");
    let is_moving = |host: &str| {
        let before = count(host);
        (0..20).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            count(host) != before
        })
    };
    for host in ["n1", "n2"] {
        eventually("it counts", || is_moving(host));
    }
    ok(&mut cluster.command("hold", &[&job]));
    assert_eq!(cluster.job(&job)["state"], "held");
    for host in ["n1", "n2"] {
        eventually("it stands still", || !is_moving(host));
    }
    cluster.refused("hold", &[&job], "is held already");
    ok(&mut cluster.command("resume", &[&job]));
    for host in ["n1", "n2"] {
        eventually("it goes on", || is_moving(host));
    }
    ok(&mut cluster.command("hold", &[&job]));
    ok(&mut cluster.command("cancel", &[&job]));
    cluster.until(&job, "cancelled");
}
