//! Jobs that share slots on lab hosts: they take turns, all ranks of one at once; an urgent one stops the
//! others; whoever ends them, nothing is left.

use crate::support::{
    eventually,
    jobs::{Cluster, JOB_MARK, parent, processes},
    mpi::Programs,
    mpis::mpis,
    ok, skip_without_root, unique,
};
use std::{process::Command, thread, time::Duration};

/// Counts in a file of its own on each host, without end.
fn counter(cluster: &Cluster, ranks: u32, name: &str, how: &[&str]) -> (String, String) {
    let mark = unique("job");
    let script = format!("i=0; while :; do i=$((i+1)); echo $i > /run/{name}; done");
    let ranks = ranks.to_string();
    let mut arguments = how.to_vec();
    arguments.extend(["-n", &ranks, "sh", "-c", &script]);
    let mut submit = cluster.command("submit", &arguments);
    (ok(submit.env(JOB_MARK, &mark)).trim().to_owned(), mark)
}

/// Which jobs count on a host.
fn moves<const N: usize>(cluster: &Cluster, host: &str, names: [&str; N]) -> [bool; N] {
    let read: String = names.iter().map(|name| format!("echo $(cat /run/{name} 2>/dev/null); ")).collect();
    let said = cluster.lab.sh(host, &format!("{read} sleep 0.05; {read}"));
    let counts: Vec<&str> = said.lines().collect();
    std::array::from_fn(|at| counts[at] != counts[at + N])
}

/// Which of the jobs a and b count on the first host, and which on the second.
fn pattern(cluster: &Cluster) -> [bool; 4] {
    let [on_1, on_2] = ["n1", "n2"].map(|host| moves(cluster, host, ["a", "b"]));
    [on_1[0], on_1[1], on_2[0], on_2[1]]
}

#[test]
fn jobs_take_turns_and_an_urgent_one_has_precedence() {
    if skip_without_root("jobs_take_turns_and_an_urgent_one_has_precedence") {
        return;
    }
    let cluster = Cluster::up("jobs-share", 2);
    ok(&mut cluster.command("jobs", &["--slice", "2s"]));
    let (first, mark_1) = counter(&cluster, 2, "a", &["--share"]);
    let (second, mark_2) = counter(&cluster, 2, "b", &["--share"]);
    let reason = || cluster.job(&second)["reason"].clone();
    eventually("turns", || reason() == "takes turns: runs in 1 of 2 slices");
    let pattern = || pattern(&cluster);
    eventually("the turn of job 1", || pattern() == [true, false, true, false]);
    eventually("the turn of job 2", || pattern() == [false, true, false, true]);

    // One that is alone waits; an urgent one does not, and the others stand still.
    let (alone, _) = cluster.script(1, "true");
    let (urgent, _) = counter(&cluster, 2, "c", &["--urgent"]);
    let words = format!("stands still for job {urgent}, which is urgent");
    eventually("stands still", || reason() == words.as_str());
    eventually("the urgent job alone", || pattern() == [false; 4] && moves(&cluster, "n2", ["c"]) == [true]);
    assert_eq!(cluster.job(&alone)["state"], "waiting");
    ok(&mut cluster.command("cancel", &[&alone, &urgent]));
    eventually("turns again", || pattern() == [true, false, true, false]);

    // A held job gives its slices to the other, and takes part again.
    ok(&mut cluster.command("hold", &[&first]));
    eventually("job 2 alone", || pattern() == [false, true, false, true]);
    ok(&mut cluster.command("resume", &[&first]));
    eventually("the turn of job 1 again", || pattern() == [true, false, true, false]);
    let hosts = ok(&mut cluster.command("hosts", &["--json"]));
    let hosts: serde_json::Value = serde_json::from_str(&hosts).expect("JSON");
    let switches = |host: usize| hosts[host]["turns"]["switches"].as_u64().expect("a number");
    assert!(switches(0) > 2 && switches(1) > 2, "both hosts tell of their switches: {hosts}");

    // Nothing is left of jobs that stand still half of the time and are cancelled; they take turns without a
    // daemon, too.
    ok(&mut cluster.command("cancel", &[&first]));
    cluster.until(&first, "cancelled");
    assert_eq!(processes(&mark_1), [0; 0]);
    let (third, mark_3) = counter(&cluster, 2, "d", &["--share"]);
    eventually("job 3", || processes(&mark_3).len() >= 2);
    cluster.kill_daemon("n2");
    let turns = || ["b", "d"].map(|name| moves(&cluster, "n2", [name])) == [[true], [false]];
    eventually("a turn", turns);
    eventually("the other turn", || !turns());
    ok(&mut cluster.command("cancel", &[&second, &third]));
    [&second, &third].iter().for_each(|job| drop(cluster.until(job, "cancelled")));
    // The host ends its part when its daemon is back.
    cluster.restart("n2");
    for mark in [&mark_2, &mark_3] {
        eventually("nothing left", || processes(mark).is_empty());
    }
}

#[test]
fn jobs_that_stand_still_end_all_the_same() {
    if skip_without_root("jobs_that_stand_still_end_all_the_same") {
        return;
    }
    let cluster = Cluster::up("jobs-still", 2);
    let [first, second, third] = ["a", "b", "d"].map(|name| counter(&cluster, 2, name, &["--share"]));
    let jobs = [&first, &second, &third];
    for (_, mark) in jobs {
        eventually("its ranks", || processes(mark).len() >= 2);
    }
    let (urgent, mark) = counter(&cluster, 2, "c", &["--urgent"]);
    eventually("the urgent job alone", || {
        let moving = ["n1", "n2"].map(|host| moves(&cluster, host, ["a", "b", "c", "d"]));
        moving == [[false, false, true, false]; 2]
    });

    // Held and resumed, a job stands still as long as the urgent one is there.
    for what in ["hold", "resume"] {
        ok(&mut cluster.command(what, &[&second.0]));
    }
    assert_eq!(cluster.job(&second.0)["state"], "running");
    for _ in 0..5 {
        assert_eq!(pattern(&cluster), [false; 4]);
    }
    ok(&mut cluster.command("cancel", &[&first.0]));
    cluster.until(&first.0, "cancelled");
    assert_eq!(processes(&first.1), [0; 0]);
    // Its shepherd is killed, which alone could have it go on.
    let shepherd = parent(processes(&second.1)[0]).expect("a shepherd");
    ok(Command::new("kill").args(["-KILL", &shepherd.to_string()]));
    cluster.until(&second.0, "failed");
    eventually("nothing of job 2", || processes(&second.1).is_empty());
    // The daemon that keeps the queue is killed.
    cluster.kill_daemon("n1");
    cluster.restart("n1");
    // Jobs stand still as before, and end when they are told to.
    eventually("both hosts", || cluster.output("hosts", &[]).status.success());
    eventually("its reason", || {
        cluster.job(&third.0)["reason"] == format!("stands still for job {urgent}, which is urgent")
    });
    eventually("the urgent job alone", || moves(&cluster, "n2", ["c", "d"]) == [true, false]);
    ok(&mut cluster.command("cancel", &[&third.0, &urgent]));
    cluster.until(&third.0, "cancelled");
    cluster.until(&urgent, "cancelled");
    eventually("nothing at all", || processes(&third.1).is_empty() && processes(&mark).is_empty());
    assert_eq!(
        ok(&mut cluster.command("run", &["--resident", "--share", "-n", "2", "echo", "on"])),
        "on\non\n"
    );
}

#[test]
fn mpis_that_take_turns_compute_the_same() {
    let test = "mpis_that_take_turns_compute_the_same";
    if skip_without_root(test) {
        return;
    }
    let programs = Programs::new();
    let cluster = Cluster::up("jobs-turns", 2);
    ok(&mut cluster.command("jobs", &["--slice", "10ms"]));
    for mpi in mpis(test) {
        let halo = programs.build("halo", &mpi);
        let halo = halo.to_string_lossy();
        let submit = |seed: &str| {
            let how = ["--share", "-n", "2", "--mpi", mpi.name, "--transport", "tasuki"];
            cluster.submit(&[&how[..], &[&halo, "60", seed]].concat())
        };
        let jobs = ["1", "2"].map(submit);
        for job in &jobs {
            eventually("the end", || {
                thread::sleep(Duration::from_millis(20));
                let state = cluster.job(job)["state"].clone();
                assert_ne!(state, "failed", "{}: {}", mpi.name, cluster.job(job));
                state == "done"
            });
            assert_eq!(ok(&mut cluster.command("attach", &[job])), "halo ok\n");
        }
    }
}
