//! Jobs outlive daemons: those of their hosts, and that of the queue. What they have written is whole, and
//! nothing of them is left when they are over.

use crate::support::{
    eventually,
    jobs::{Cluster, JOB_MARK, Marked, parent, processes, tasuki_lab_program},
    mpi::Programs,
    mpis::{mpis, peers},
    ok, skip_without_root, text, unique,
};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

/// Lines that a rank of [`counter`] writes.
const LINES: usize = 300;

/// A job whose ranks count for some seconds; the last word of each line is the rank's own count.
/// `half`: what it does at half of them.
fn counter(cluster: &Cluster, ranks: u32, half: &str) -> Marked {
    let half = format!("[ $i != {} ] || {half}", LINES / 2);
    let script =
        format!("i=0; while [ $i -lt {LINES} ]; do echo $RANK $i; i=$((i+1)); {half}; sleep 0.01; done");
    cluster.marked(&["-n", &ranks.to_string(), "sh", "-c", &script])
}

/// Demands that the output of such a job is whole: every line of every rank once, in its order.
fn assert_whole(cluster: &Cluster, job: &str, ranks: u32) {
    let said = ok(&mut cluster.command("attach", &[job]));
    for rank in 0..ranks {
        let prefix = format!("{rank} ");
        let own: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix(&prefix)).collect();
        let expected: Vec<String> = (0..LINES).map(|line| line.to_string()).collect();
        assert_eq!(own, expected, "rank {rank}");
    }
    assert_eq!(said.lines().count(), LINES * ranks as usize);
}

/// Demands that shepherds, sockets, cgroups and shared memory of jobs are gone from all hosts.
fn assert_clean(cluster: &Cluster, hosts: u32) {
    // The brackets keep the pattern from matching the shell that looks.
    let look = "ls -A /run/tasukid.jobs; ls /dev/shm | grep -i tasuki; pgrep -fa '[e]xe shepherd'; true";
    for host in 1..=hosts {
        let host = format!("n{host}");
        eventually(&format!("nothing on {host}"), || {
            let left = cluster.lab.sh(&host, look);
            if !left.trim().is_empty() {
                println!("{host}: {left}");
            }
            left.trim().is_empty()
        });
    }
}

#[test]
fn a_job_outlives_the_daemon_of_any_of_its_hosts() {
    if skip_without_root("a_job_outlives_the_daemon_of_any_of_its_hosts") {
        return;
    }
    let cluster = Cluster::up("outlive", 2);
    // The other host's daemon, that of the queue, and both at once; killed, and started anew in order.
    for victims in [&["n2"][..], &["n1"], &["n1", "n2"]] {
        let job = counter(&cluster, 2, "until [ -e /run/go-on ]; do sleep 0.01; done");
        eventually("both ranks", || ranks(&job.mark).len() == 2);
        victims.iter().for_each(|host| cluster.kill_daemon(host));
        if victims == ["n2"] {
            eventually("its reason", || {
                cluster.job(&job.number)["reason"] == "goes on; the tasukid of n2 is awaited"
            });
        }
        // SIGTERM ends a daemon that still runs.
        ["n1", "n2"].iter().for_each(|host| cluster.restart(host));
        ["n1", "n2"].iter().for_each(|host| drop(cluster.lab.sh(host, "touch /run/go-on")));
        let over = cluster.until(&job.number, "done");
        assert_eq!(over["exit"], 0);
        assert_whole(&cluster, &job.number, 2);
        assert_eq!(processes(&job.mark), [0; 0]);
        ["n1", "n2"].iter().for_each(|host| drop(cluster.lab.sh(host, "rm /run/go-on")));
    }
    // A rank that fails while nobody listens is what ended its job.
    let fails = "[ $RANK = 0 ] || { touch /run/there; until [ -e /run/gate ]; do sleep 0.01; done; exit 9; }";
    let (job, mark) = cluster.script(2, fails);
    eventually("the second rank", || {
        cluster.lab.exec("n2", &["test", "-e", "/run/there"]).status().is_ok_and(|found| found.success())
    });
    ["n1", "n2"].iter().for_each(|host| cluster.kill_daemon(host));
    cluster.lab.sh("n2", "touch /run/gate");
    eventually("its end", || processes(&mark).is_empty());
    ["n2", "n1"].iter().for_each(|host| cluster.restart(host));
    let over = cluster.until(&job, "failed");
    assert_eq!((&over["exit"], &over["reason"]), (&9.into(), &"rank 1 on n2 ended with exit code 9".into()));
    assert_clean(&cluster, 2);
}

/// A daemon that stood still finds more than it handles in one turn, and then nothing more is told to it. It
/// is less than the socket holds: what waits for room in it would make the daemon look again.
#[test]
fn a_job_that_ended_while_a_daemon_stood_still_is_told_whole() {
    if skip_without_root("a_job_that_ended_while_a_daemon_stood_still_is_told_whole") {
        return;
    }
    let cluster = Cluster::up("outlive-still", 2);
    let wait = "until [ -e /run/gate ]; do sleep 0.01; done";
    let lines = r#"$| = 1; for (0 .. 149) { print "$ENV{RANK} $_\n"; select(undef, undef, undef, 0.004) }"#;
    let script = format!("{wait}; exec perl -e '{lines}'");
    let mut hosts = vec!["n1", "n2"];
    while let Some(host) = hosts.pop() {
        ["n1", "n2"].iter().for_each(|host| drop(cluster.lab.sh(host, "rm -f /run/gate")));
        let (job, mark) = cluster.script(2, &script);
        eventually("both ranks", || ranks(&mark).len() == 2);
        let daemon = cluster.daemon(host);
        cluster.lab.run(host, &["kill", "-STOP", &daemon]);
        ["n1", "n2"].iter().for_each(|host| drop(cluster.lab.sh(host, "touch /run/gate")));
        eventually("the ranks' end", || processes(&mark).is_empty());
        cluster.lab.run(host, &["kill", "-CONT", &daemon]);
        eventually("its end", || cluster.job(&job)["ended"].is_u64());
        let over = cluster.job(&job);
        if over["reason"].as_str().is_some_and(|why| why.contains("no answer for")) {
            eprintln!("{host} stood still for longer than a host may be silent: again");
            hosts.push(host);
            continue;
        }
        assert_eq!(over["state"], "done", "{over}");
        assert_eq!(ok(&mut cluster.command("attach", &[&job])).lines().count(), 300);
    }
    assert_clean(&cluster, 2);
}

#[test]
fn a_job_of_an_mpi_outlives_daemons_whatever_it_is_about() {
    let test = "a_job_of_an_mpi_outlives_daemons_whatever_it_is_about";
    if skip_without_root(test) {
        return;
    }
    let programs = Programs::new();
    let cluster = Cluster::up("outlive-mpi", 2);
    let mut random = tasuki_random::Random::new(crate::support::seed("--test runtime jobs_outlive"));
    for mpi in mpis(test) {
        let halo = programs.build("halo", &mpi);
        for victim in ["n1", "n2"] {
            let words =
                ["-n", "2", "--mpi", mpi.name, "--transport", "tasuki", &halo.to_string_lossy(), "400", "7"];
            let job = cluster.marked(&words);
            // At its start, while its ranks find each other, or later: the part that is hit is drawn.
            eventually("a process", || !processes(&job.mark).is_empty());
            std::thread::sleep(std::time::Duration::from_millis(random.below(400)));
            if cluster.job(&job.number)["state"] == "running" {
                cluster.kill_daemon(victim);
                cluster.restart(victim);
            }
            eventually("its end", || cluster.job(&job.number)["ended"].is_u64());
            let over = cluster.job(&job.number);
            // The order to start may have been on its way to the daemon that was killed.
            let is_late =
                over["reason"].as_str().is_some_and(|why| why.contains("came back without the job"));
            assert!(over["state"] == "done" || is_late, "{} {victim}: {over}", mpi.name);
            if !is_late {
                assert_eq!(ok(&mut cluster.command("attach", &[&job.number])), "halo ok\n", "{}", mpi.name);
            }
            assert_eq!(processes(&job.mark), [0; 0], "{}", mpi.name);
        }
    }
    assert_clean(&cluster, 2);
}

#[test]
fn whatever_is_killed_jobs_go_on_or_end_with_a_reason() {
    let test = "whatever_is_killed_jobs_go_on_or_end_with_a_reason";
    if skip_without_root(test) {
        return;
    }
    let cluster = Cluster::up("outlive-any", 3);
    let mut random = tasuki_random::Random::new(crate::support::seed(&format!("--test runtime {test}")));
    for round in 0..rounds() {
        let job = counter(&cluster, 3, "true");
        let attended = (random.below(3) == 0).then(|| cluster.run(&["-n", "1", "sleep", "0.5"]));
        eventually("all ranks", || ranks(&job.mark).len() == 3);
        std::thread::sleep(std::time::Duration::from_millis(random.below(2500)));
        let host = format!("n{}", 1 + random.below(3));
        let ranks = ranks(&job.mark);
        let mut goes_on = true;
        let what = random.below(4);
        match what {
            0 | 1 => {
                cluster.kill_daemon(&host);
                std::thread::sleep(std::time::Duration::from_millis(random.below(700)));
                cluster.restart(&host);
            }
            // A rank, or its shepherd.
            2 | 3 if !ranks.is_empty() => {
                goes_on = false;
                let (rank, shepherd) = ranks[random.index(ranks.len())];
                let victim = nix::unistd::Pid::from_raw(if what == 2 { rank } else { shepherd });
                // It may have ended just now.
                let _ = nix::sys::signal::kill(victim, nix::sys::signal::Signal::SIGKILL);
            }
            _ => {}
        }
        drop(attended);
        eventually("its end", || cluster.job(&job.number)["ended"].is_u64());
        let over = cluster.job(&job.number);
        println!("round {round}: {what} on {host}: {} {}", over["state"], over["reason"]);
        match over["state"].as_str() {
            Some("done") => assert_whole(&cluster, &job.number, 3),
            state => {
                assert!(!goes_on && state == Some("failed"), "{over}");
                assert!(over["reason"].as_str().is_some_and(|why| !why.is_empty()), "{over}");
            }
        }
        assert_eq!(processes(&job.mark), [0; 0]);
    }
    eventually("no job", || ok(&mut cluster.command("jobs", &["--json"])).trim() == "[]");
    assert_clean(&cluster, 3);
}

/// The ranks of a job that are there, with their shepherds: processes whose parent is not of the job.
fn ranks(mark: &str) -> Vec<(i32, i32)> {
    let all = processes(mark);
    let with_parents = all.iter().filter_map(|pid| Some((*pid, parent(*pid)?)));
    with_parents.filter(|(_, above)| *above > 1 && !all.contains(above)).collect()
}

/// Rounds of the test that kills at random: TASUKI_TEST_ROUNDS, or a few.
fn rounds() -> u64 {
    std::env::var("TASUKI_TEST_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

#[test]
fn three_users_share_four_hosts_and_compute_the_same() {
    let test = "three_users_share_four_hosts_and_compute_the_same";
    if skip_without_root(test) {
        return;
    }
    let programs = Programs::new();
    let cluster = Cluster::up("outlive-users", 4);
    ok(&mut cluster.command("jobs", &["--slice", "20ms"]));
    // Hosts see the machine's files but for a few folders, and everybody may read these.
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("sets them");
    for mpi in mpis(test).iter().filter(|mpi| !mpi.is_open_mpi()) {
        let halo = folder.path().join(format!("halo-{}", mpi.name));
        fs::copy(programs.build("halo", mpi), &halo).expect("copies");
        let halo = halo.to_string_lossy().into_owned();
        // Each from a host of its own, so that no one's job is a child of another's.
        let jobs = [("nobody", "n1"), ("daemon", "n2"), ("bin", "n4")].map(|(user, host)| {
            // The machine's own program has a provider beside it, that of a lab's hosts has none.
            let rights = ["setpriv", "--reuid", user, "--regid", "nogroup", "--clear-groups"];
            let words = ["submit", "--share", "-n", "4", "--mpi", mpi.name, "--transport", "tasuki"];
            let submit = [&[env!("CARGO_BIN_EXE_tasuki")], &words[..], &[&halo, "150", "5"]].concat();
            let mut command = cluster.lab.exec(host, &[&rights[..], &submit].concat());
            command.env("TASUKI_PEERS", peers()).current_dir("/");
            (user, ok(&mut command).trim().to_owned())
        });
        let mut turns = false;
        for (user, job) in &jobs {
            eventually("its end", || {
                turns |= cluster.job(job)["reason"].as_str().is_some_and(|why| why.contains("takes turns"));
                cluster.job(job)["ended"].is_u64()
            });
            let over = cluster.job(job);
            assert_eq!(
                (&over["state"], &over["user"]),
                (&"done".into(), &(*user).into()),
                "{}: {over}",
                mpi.name
            );
            let attached = cluster.as_user(user, "n3", &["attach", job]).output().expect("runs");
            assert_eq!(String::from_utf8_lossy(&attached.stdout), "halo ok\n", "{}", text(&attached));
        }
        assert!(turns, "{}: they ran at the same time, in turns", mpi.name);
    }
    assert_clean(&cluster, 4);
}

#[test]
fn undo_ends_jobs_that_wait_for_a_daemon() {
    if skip_without_root("undo_ends_jobs_that_wait_for_a_daemon") {
        return;
    }
    let cluster = Cluster::up("outlive-undo", 2);
    let mark = unique("job");
    let mut submit = cluster.command("submit", &["-n", "2", "sh", "-c", "setsid sleep 1000 & sleep 1000"]);
    ok(submit.env(JOB_MARK, &mark));
    eventually("all processes", || processes(&mark).len() >= 4);
    cluster.kill_daemon("n2");
    assert!(processes(&mark).len() >= 4);
    ok(crate::support::tasuki().args(["undo", "--lab", &cluster.lab.name]));
    assert_eq!(processes(&mark), [0; 0]);
    let said = cluster.lab.exec("n2", &[tasuki_lab_program(), "jobs"]).output().expect("runs");
    assert!(text(&said).contains("no tasukid runs on this host"), "{}", text(&said));
    assert_clean(&cluster, 2);
}
