//! Copies of checkpoints on other hosts: a job goes on though disks were lost with what they had of it.

use crate::{
    checkpoints::{
        assert_verified, checkpoint, families, images, is_skipped, kill_all, lines, march, until_step,
    },
    support::{
        eventually,
        jobs::{Cluster, Marked, processes},
        mpi::Programs,
        ok,
    },
};
use std::fs;

/// Waits until the last checkpoint of a job is on another disk, too.
fn until_copied(cluster: &Cluster, job: &Marked) {
    eventually("copies", || {
        let view = cluster.job(&job.number);
        assert!(view["uncopied"].is_null(), "{view}");
        view["checkpoint"]["copied"] == true
    });
}

#[test]
fn a_host_that_has_lost_its_disk_gets_its_part_of_a_checkpoint_from_another_host() {
    let test = "a_host_that_has_lost_its_disk_gets_its_part_of_a_checkpoint_from_another_host";
    if is_skipped(test) {
        return;
    }
    let (programs, folder) = (Programs::new(), tempfile::tempdir_in("/var/tmp").expect("a folder"));
    let cluster = Cluster::up("image-copies", 2);
    let Some(mpi) = families(test).pop() else { return };
    let file = folder.path().join("file");
    let job = march(&cluster, &programs, &mpi, &file, &["1h", "--checkpoint-copy"]);
    until_step(&cluster, &job, &file, 10);
    let epoch = checkpoint(&cluster, &job);
    until_copied(&cluster, &job);
    assert!(ok(&mut cluster.command("jobs", &[])).contains(", copied, every 1h"));
    let saved = lines(&file);
    until_step(&cluster, &job, &file, saved + 10);
    // All of n2 but its keys, some bytes of what n1 has, and all processes of the job.
    ["n1", "n2"].iter().for_each(|host| cluster.kill_daemon(host));
    kill_all(&job);
    let stored = "/run/tasuki-state/runtime";
    let number = &job.number;
    cluster.lab.sh("n2", &format!("mkdir /run/lost; mv {stored}/images {stored}/copies /run/lost"));
    let pages = format!("{stored}/images/{number}/{epoch}/criu/pages-1.img");
    cluster.lab.sh("n1", &format!("printf damaged | dd of={pages} bs=1 seek=5000 conv=notrunc"));
    ["n1", "n2"].iter().for_each(|host| cluster.restart(host));
    eventually("its end", || cluster.job(number)["state"] == "failed");
    eventually("both hosts", || cluster.output("hosts", &[]).status.success());
    // What n1 has is damaged, and its copy was lost with n2.
    cluster.refused(
        "restart",
        &[number],
        "has other bytes than were written; no copy comes from n2: there is",
    );
    eventually("its end", || cluster.job(number)["state"] == "failed");
    assert_eq!(processes(&job.mark), [0; 0]);
    // The copy alone is found again.
    cluster.lab.sh("n2", &format!("rm -rf {stored}/copies; mv /run/lost/copies {stored}"));
    ok(&mut cluster.command("restart", &[number]));
    assert_verified(&cluster, &job, &file);
    eventually("no images", || ["n1", "n2"].iter().all(|host| images(&cluster, host).trim() == "0"));
}

#[test]
fn what_a_host_keeps_of_a_job_that_ended_while_it_was_away_is_removed_when_it_is_back() {
    let test = "what_a_host_keeps_of_a_job_that_ended_while_it_was_away_is_removed_when_it_is_back";
    if is_skipped(test) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let cluster = Cluster::up("image-away", 2);
    let over = folder.path().join("over");
    let script = format!("until [ -e {} ]; do sleep 0.1; done", over.display());
    let job = cluster.marked(&["-n", "1", "--checkpoint", "1h", "--checkpoint-copy", "sh", "-c", &script]);
    eventually("the job", || processes(&job.mark).len() == 1);
    ok(&mut cluster.command("checkpoint", &[&job.number]));
    until_copied(&cluster, &job);
    // One of the hosts has the job, and the other one the copy.
    let placed = cluster.job(&job.number)["parts"][0]["host"].as_str().expect("a host").to_owned();
    let other = if placed == "n1" { "n2" } else { "n1" };
    cluster.kill_daemon(other);
    fs::write(&over, "").expect("writes");
    let stored = |host: &str| images(&cluster, host).trim() != "0";
    if other == "n2" {
        cluster.until(&job.number, "done");
        eventually("no images", || !stored(&placed));
        assert!(stored(other), "nobody has told it");
    }
    cluster.restart(other);
    cluster.until(&job.number, "done");
    eventually("no copies", || !stored(other) && !stored(&placed));
}
