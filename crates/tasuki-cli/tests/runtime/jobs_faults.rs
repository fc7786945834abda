//! What ends jobs of the resident runtime against their users' will, and who may do what: ranks and daemons
//! that are killed, hosts that vanish, other users, strangers.

use crate::support::{
    eventually,
    jobs::{Cluster, JOB_MARK, parent, processes, tasuki_lab_program},
    ok, skip_without_root, text, unique,
};

#[test]
fn a_killed_rank_ends_its_job_with_a_reason() {
    let test = "a_killed_rank_ends_its_job_with_a_reason";
    if skip_without_root(test) {
        return;
    }
    let programs = crate::support::mpi::Programs::new();
    let cluster = Cluster::up("jobs-killed", 2);
    for mpi in crate::support::mpis::mpis(test).iter().filter(|mpi| !mpi.is_open_mpi()) {
        let mut run = cluster.command("run", &["--resident", "-n", "2", "--mpi", mpi.name]);
        let output = run.arg(programs.build("victim", mpi)).arg("receive").output().expect("runs");
        let said = text(&output);
        assert!(said.contains("rank 1 on n2 was killed by signal 9"), "{}: {said}", mpi.name);
        assert_eq!(output.status.code(), Some(137), "{}: {said}", mpi.name);
    }
}

/// Both clusters are on one machine, which shows the processes of each to the other, and have a job 1.
#[test]
fn what_ends_with_a_killed_shepherd_is_its_own_job_alone() {
    if skip_without_root("what_ends_with_a_killed_shepherd_is_its_own_job_alone") {
        return;
    }
    let clusters = ["jobs-own", "jobs-other"].map(|stem| Cluster::up(stem, 2));
    let [(own, own_mark), (other, other_mark)] =
        clusters.each_ref().map(|cluster| cluster.script(2, "exec sleep 1000"));
    assert_eq!(own, other);
    let both = [&own_mark, &other_mark];
    eventually("all ranks", || both.iter().all(|mark| processes(mark).len() == 2));
    let shepherd = processes(&own_mark).into_iter().filter_map(parent).min().expect("a shepherd");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(shepherd), nix::sys::signal::Signal::SIGKILL)
        .expect("it runs");
    clusters[0].until(&own, "failed");
    assert_eq!(processes(&own_mark), [0; 0]);
    assert_eq!(processes(&other_mark).len(), 2);
    assert_eq!(clusters[1].job(&other)["state"], "running");
}

#[test]
fn a_job_of_a_killed_daemon_can_be_cancelled_and_holds_up_no_other() {
    if skip_without_root("a_job_of_a_killed_daemon_can_be_cancelled_and_holds_up_no_other") {
        return;
    }
    let cluster = Cluster::up("jobs-daemon", 2);
    let (job, mark) = cluster.script(2, "sleep 1000");
    eventually("both ranks", || processes(&mark).len() >= 2);
    cluster.kill_daemon("n2");
    eventually("its reason", || cluster.job(&job)["reason"] == "goes on; the tasukid of n2 is awaited");
    assert_eq!(cluster.job(&job)["state"], "running");
    assert!(processes(&mark).len() >= 2);
    // Nobody waits for the daemon; the rank that it would end goes on until it is there.
    ok(&mut cluster.command("cancel", &[&job]));
    cluster.until(&job, "cancelled");
    let hosts = cluster.output("hosts", &[]);
    assert!(!hosts.status.success() && text(&hosts).contains("lost: its tasukid"), "{}", text(&hosts));

    // A job that wants the host waits for it, and says so.
    let (waiting, _) = cluster.script(2, "hostname");
    let shown = cluster.job(&waiting);
    let reason = shown["reason"].as_str().expect("a reason");
    assert!(reason.contains("waits for 2 slots, 1 are free: n2 is lost"), "{reason}");
    cluster.restart("n2");
    cluster.until(&waiting, "done");
    assert_eq!(processes(&mark), [0; 0], "it ends what is over before it takes a new job");
}

#[test]
fn a_job_whose_shepherd_stands_still_can_be_cancelled() {
    if skip_without_root("a_job_whose_shepherd_stands_still_can_be_cancelled") {
        return;
    }
    let cluster = Cluster::up("jobs-stuck", 2);
    let (job, mark) = cluster.script(2, "exec sleep 1000");
    eventually("both ranks", || processes(&mark).len() == 2);
    let shepherds: Vec<String> =
        processes(&mark).into_iter().map(|pid| parent(pid).expect("a shepherd").to_string()).collect();
    ok(std::process::Command::new("kill").arg("-STOP").args(&shepherds));
    ok(&mut cluster.command("cancel", &[&job]));
    cluster.until(&job, "cancelled");
    eventually("no rank", || processes(&mark).is_empty());
    let is_there = |pid: &String| std::path::Path::new("/proc").join(pid).exists();
    eventually("no shepherd", || !shepherds.iter().any(is_there));
    // The daemons go on, and nothing of it is in the way of others.
    let (next, _) = cluster.script(2, "hostname");
    cluster.until(&next, "done");
}

/// Becomes a user by number, without asking for any name, and runs a command.
const BECOME: &str = "import os, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
os.execv(sys.argv[1], sys.argv[1:])";

#[test]
fn a_database_of_users_that_does_not_answer_ends_no_job() {
    if skip_without_root("a_database_of_users_that_does_not_answer_ends_no_job") {
        return;
    }
    let cluster = Cluster::up("jobs-names", 2);
    let (job, mark) = cluster.script(2, "exec sleep 1000");
    eventually("both ranks", || processes(&mark).len() == 2);
    // What stands for Python may be a script of a shell, and some shells read the names as they begin.
    let python = cluster.lab.run("n2", &["python3", "-c", "import sys; print(sys.executable)"]);
    // To read the names is to wait for them.
    let silence =
        "cp /etc/passwd /run/known && mkfifo -m 644 /run/names && mount --bind /run/names /etc/passwd";
    cluster.lab.sh("n2", silence);
    let ask = ["timeout", "100", python.trim(), "-ISc", BECOME, tasuki_lab_program(), "jobs"];
    let begun = std::time::Instant::now();
    let asked = cluster.lab.exec("n2", &ask).output().expect("runs");
    let said = text(&asked);
    assert!(said.contains("user 65534 cannot be looked up") && said.contains("longer than 10 s"), "{said}");
    // A host that says nothing for ten seconds would be lost, with its jobs.
    std::thread::sleep(std::time::Duration::from_secs(15).saturating_sub(begun.elapsed()));
    assert_eq!(cluster.job(&job)["state"], "running");
    ok(&mut cluster.command("hosts", &[]));
    // Root is known without asking.
    ok(&mut cluster.lab.exec("n2", &[tasuki_lab_program(), "cancel", &job]));
    cluster.until(&job, "cancelled");
    // The names come.
    cluster.lab.sh("n2", "cat /run/known > /run/names || true");
    eventually("nobody reads the names", || {
        cluster.lab.exec("n2", &["umount", "/etc/passwd"]).status().is_ok_and(|ended| ended.success())
    });
    eventually("an answer", || {
        let asked = cluster.as_user("nobody", "n2", &["jobs"]).output().expect("runs");
        asked.status.success()
    });
}

#[test]
fn the_queue_goes_on_where_it_was() {
    if skip_without_root("the_queue_goes_on_where_it_was") {
        return;
    }
    let cluster = Cluster::up("jobs-queue", 2);
    let (over, _) = cluster.script(1, "echo old");
    cluster.until(&over, "done");
    let mut run = cluster.run(&["-n", "1", "sh", "-c", "until [ -e /run/gate ]; do sleep 0.01; done"]);
    eventually("the run", || cluster.jobs().as_array().is_some_and(|jobs| jobs.len() == 2));
    let (runs, mark) = cluster.script(1, "sleep 1000");
    let (waits, _) = cluster.script(2, "echo new");
    eventually("the rank", || !processes(&mark).is_empty());
    cluster.kill_daemon("n1");
    // On the other host commands say which host is missing, and do not wait.
    let asked = cluster.lab.exec("n2", &[tasuki_lab_program(), "jobs"]).output().expect("runs");
    assert!(
        !asked.status.success() && text(&asked).contains("n1, which keeps the queue"),
        "{}",
        text(&asked)
    );
    let asked = cluster.output("jobs", &[]);
    assert!(text(&asked).contains("no tasukid runs on this host"), "{}", text(&asked));
    cluster.restart("n1");
    eventually("both hosts", || cluster.output("hosts", &[]).status.success());
    assert_eq!(["2", runs.as_str()].map(|job| cluster.job(job)["state"].clone()), ["running", "running"]);
    ["n1", "n2"].iter().for_each(|host| drop(cluster.lab.sh(host, "touch /run/gate")));
    assert!(run.0.wait().expect("it ends with its job").success());
    assert_eq!(cluster.job("2")["state"], "done");
    ok(&mut cluster.command("cancel", &[&runs]));
    cluster.until(&waits, "done");
    assert_eq!(cluster.job(&over)["state"], "done");
    assert_eq!(processes(&mark), [0; 0]);
    assert_eq!(ok(&mut cluster.command("attach", &[&over])), "old\n", "output is kept");
    assert_eq!(ok(&mut cluster.command("attach", &[&waits])), "new\nnew\n");
}

#[test]
fn a_host_that_vanishes_ends_its_jobs_and_comes_back_clean() {
    if skip_without_root("a_host_that_vanishes_ends_its_jobs_and_comes_back_clean") {
        return;
    }
    let cluster = Cluster::up("jobs-vanish", 3);
    let (job, mark) = cluster.script(3, "sleep 1000");
    eventually("all ranks", || processes(&mark).len() >= 3);
    cluster.lab.run("n3", &["ip", "link", "set", "mgmt0", "down"]);
    let over = cluster.until(&job, "failed");
    assert_eq!(over["reason"], "n3: its tasukid is not connected any more: no answer for 10 s");
    // The host that vanished ends what it has of the job as soon as it hears of it.
    eventually("one is left", || processes(&mark).len() <= 2);
    cluster.lab.run("n3", &["ip", "link", "set", "mgmt0", "up"]);
    eventually("nothing is left", || processes(&mark).is_empty());
    let (job, _) = cluster.script(3, "hostname");
    cluster.until(&job, "done");
}

#[test]
fn a_job_is_its_users_alone() {
    if skip_without_root("a_job_is_its_users_alone") {
        return;
    }
    let cluster = Cluster::up("jobs-users", 2);
    let script = "id -un; id -Gn; while :; do sleep 0.1; done";
    let mark = unique("job");
    let mut submit = cluster.as_user("nobody", "n2", &["submit", "-n", "2", "sh", "-c", script]);
    let submitted = submit.env(JOB_MARK, &mark).output().expect("runs");
    assert!(submitted.status.success(), "{}", text(&submitted));
    let job = String::from_utf8(submitted.stdout).expect("UTF-8").trim().to_owned();
    cluster.until(&job, "running");
    let sleeps =
        |pid: &&i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n");
    eventually("both ranks to have said who they are", || {
        processes(&mark).iter().filter(sleeps).count() == 2
    });
    for verb in ["cancel", "hold", "resume", "attach"] {
        let asked = cluster.as_user("daemon", "n1", &[verb, &job]).output().expect("runs");
        let said = text(&asked);
        assert!(!asked.status.success() && said.contains("is nobody's, and daemon is neither"), "{said}");
    }
    assert_eq!(cluster.job(&job)["state"], "running");
    assert_eq!(cluster.job(&job)["user"], "nobody");
    // The owner may, from whichever host.
    assert!(cluster.as_user("nobody", "n1", &["hold", &job]).output().expect("runs").status.success());
    assert!(cluster.as_user("nobody", "n2", &["resume", &job]).output().expect("runs").status.success());
    assert!(cluster.as_user("nobody", "n1", &["cancel", &job]).output().expect("runs").status.success());
    cluster.until(&job, "cancelled");
    let output = cluster.as_user("nobody", "n1", &["attach", &job]).output().expect("runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // Each of the two ranks prints a user and a group; lines of different ranks come in any order.
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["nobody", "nobody", "nogroup", "nogroup"], "{}", text(&output));
    // Keys, jobs and output are root's.
    for file in ["bundle.json", "jobs"] {
        let path = format!("/run/tasuki-state/runtime/{file}");
        let words = ["setpriv", "--reuid", "nobody", "--clear-groups", "ls", &path];
        assert!(!cluster.lab.exec("n1", &words).output().expect("runs").status.success(), "{path}");
    }
}

#[test]
fn a_stranger_gets_nothing() {
    if skip_without_root("a_stranger_gets_nothing") {
        return;
    }
    let cluster = Cluster::up("jobs-stranger", 2);
    // Without TLS, with TLS and no key, and with a key of the stranger's own.
    let script = r#"
import os, socket, ssl, subprocess, sys
head = ("n1.tasuki.internal", sys.argv[1], int(sys.argv[2]))
def heard(connection):
    try:
        connection.settimeout(20)
        return connection.recv(4096)
    except (OSError, ssl.SSLError):
        return b""
plain = socket.create_connection(head[1:])
plain.sendall(b"tasukid\n\x01\x00\x050.1.0" * 50)
said = heard(plain)
assert b"tasukid" not in said, said
os.chdir(sys.argv[3])
subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
    "-keyout", "k", "-out", "c", "-subj", "/CN=n2", "-addext", "subjectAltName=DNS:n2.tasuki.internal"],
    check=True, capture_output=True)
for own in [False, True]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if own:
        context.load_cert_chain("c", "k")
    try:
        tls = context.wrap_socket(socket.create_connection(head[1:]), server_hostname=head[0])
    except (OSError, ssl.SSLError):
        continue
    said = heard(tls)
    assert said == b"", said
print("nothing")
"#;
    let file = tempfile::NamedTempFile::new_in("/tmp").expect("a file");
    std::fs::write(file.path(), script).expect("writes");
    let status = cluster.lab.status();
    let head = status["hosts"][0]["management"].as_str().expect("an address").to_owned();
    let name = file.path().to_string_lossy().into_owned();
    let mut command = cluster.lab.exec("n2", &["python3", "-", &head, "7714", "/run"]);
    let input = std::fs::File::open(&name).expect("opens");
    let output = command.stdin(input).output().expect("runs");
    assert!(text(&output).contains("nothing"), "{}", text(&output));
    // The daemons are as they were.
    ok(&mut cluster.command("hosts", &[]));
}
