//! Checkpoints of unmodified programs: a job goes on from its last one after everything of it was killed.

use crate::support::{
    eventually,
    jobs::{Cluster, Marked, processes},
    mpi::Programs,
    mpis::{Mpi, criu, mpis},
    ok, skip_without_root, text,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Whether these tests cannot run here: without root, without CRIU (which comes from another release of
/// Debian than all else, and is not always to be had), or on a kernel that lacks what CRIU needs.
pub fn is_skipped(test: &str) -> bool {
    if skip_without_root(test) {
        return true;
    }
    let checked = Command::new(criu()).arg("check").output();
    let serves = checked.is_ok_and(|checked| checked.status.success());
    if !serves {
        eprintln!("SKIPPED {test}: no CRIU here that serves on this kernel (scripts/oracles)");
    }
    !serves
}

/// The MPIs whose jobs can be saved.
pub fn families(test: &str) -> Vec<Mpi> {
    mpis(test).into_iter().filter(|mpi| !mpi.is_open_mpi()).collect()
}

/// The file that ends the program with this file.
fn over(file: &Path) -> PathBuf {
    file.with_extension("over")
}

/// Begins the program on two hosts, four ranks, with a file.
/// `saved`: how often it is saved, and other options.
pub fn march(cluster: &Cluster, programs: &Programs, mpi: &Mpi, file: &Path, saved: &[&str]) -> Marked {
    let program = programs.build("march", mpi);
    let words = ["-n", "4", "--mpi", mpi.name, "--transport", "tasuki", "--checkpoint"];
    let words = [&words[..], saved].concat();
    let program = [program.as_path(), file, &over(file)].map(|path| path.display().to_string());
    let program = program.each_ref().map(String::as_str);
    cluster.marked(&[&words[..], &program].concat())
}

pub fn lines(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

/// Waits until the program has made so many steps.
pub fn until_step(cluster: &Cluster, job: &Marked, file: &Path, steps: usize) {
    eventually("steps", || {
        let view = cluster.job(&job.number);
        assert!(view["ended"].is_null(), "it is over: {view}");
        lines(file) >= steps
    });
}

pub fn checkpoint(cluster: &Cluster, job: &Marked) -> u64 {
    let said = ok(&mut cluster.command("checkpoint", &[&job.number]));
    let view = cluster.job(&job.number);
    let epoch = view["checkpoint"]["epoch"].as_u64().expect("a checkpoint");
    assert!(said.contains(&format!("checkpoint {epoch}: ")), "{said}");
    assert!(view["checkpoint"]["bytes"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{view}");
    epoch
}

/// Kills all ranks of a job with SIGKILL, also those that a restart makes meanwhile. Their shepherds, which
/// have no mark of the job, end by themselves.
pub fn kill_all(job: &Marked) {
    eventually("no process", || {
        let all = processes(&job.mark);
        for pid in &all {
            // It may end with its shepherd.
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
        }
        all.is_empty()
    });
}

/// Has the job end. It must end well, and all steps must be in its output and in its file, once and in order.
pub fn assert_verified(cluster: &Cluster, job: &Marked, file: &Path) -> Value {
    fs::write(over(file), "").expect("writes");
    let view = cluster.until(&job.number, "done");
    let expected: String = (0..lines(file)).map(|step| format!("step {step}\n")).collect();
    assert_eq!(ok(&mut cluster.command("attach", &[&job.number])), expected);
    assert_eq!(fs::read_to_string(file).expect("the file"), expected);
    assert_eq!(processes(&job.mark), [0; 0]);
    view
}

pub fn images(cluster: &Cluster, host: &str) -> String {
    let folders = "/run/tasuki-state/runtime/images /run/tasuki-state/runtime/copies";
    cluster.lab.sh(host, &format!("find {folders} -type f 2>/dev/null | wc -l"))
}

#[test]
fn a_job_goes_on_from_its_checkpoint_after_everything_was_killed() {
    let test = "a_job_goes_on_from_its_checkpoint_after_everything_was_killed";
    if is_skipped(test) {
        return;
    }
    let (programs, folder) = (Programs::new(), tempfile::tempdir_in("/var/tmp").expect("a folder"));
    let cluster = Cluster::up("image", 2);
    for mpi in families(test) {
        let file = folder.path().join(mpi.name);
        let job = march(&cluster, &programs, &mpi, &file, &["1h"]);
        until_step(&cluster, &job, &file, 20);
        let first = checkpoint(&cluster, &job);
        // It goes on, and is saved again.
        let at_first = lines(&file);
        until_step(&cluster, &job, &file, at_first + 20);
        assert!(checkpoint(&cluster, &job) > first);
        let saved = lines(&file);
        until_step(&cluster, &job, &file, saved + 10);
        // The daemons, and all processes of the job.
        ["n1", "n2"].iter().for_each(|host| cluster.kill_daemon(host));
        kill_all(&job);
        ["n1", "n2"].iter().for_each(|host| cluster.restart(host));
        eventually("its end", || cluster.job(&job.number)["state"] == "failed");
        eventually("both hosts", || cluster.output("hosts", &[]).status.success());
        let said = ok(&mut cluster.command("restart", &[&job.number]));
        assert!(said.contains(&format!("job {} goes on from checkpoint ", job.number)), "{said}");
        let view = assert_verified(&cluster, &job, &file);
        assert_eq!(view["exit"], 0, "{}", mpi.name);
        // One that has ended well needs none.
        eventually("no images", || ["n1", "n2"].iter().all(|host| images(&cluster, host).trim() == "0"));
        cluster.refused("restart", &[&job.number], "has no checkpoint");
    }
}

#[test]
fn a_checkpoint_that_is_damaged_is_refused_and_the_one_before_is_used() {
    let test = "a_checkpoint_that_is_damaged_is_refused_and_the_one_before_is_used";
    if is_skipped(test) {
        return;
    }
    let (programs, folder) = (Programs::new(), tempfile::tempdir_in("/var/tmp").expect("a folder"));
    let cluster = Cluster::up("image-damaged", 2);
    let Some(mpi) = families(test).pop() else { return };
    let file = folder.path().join("file");
    let job = march(&cluster, &programs, &mpi, &file, &["1h"]);
    until_step(&cluster, &job, &file, 10);
    let first = checkpoint(&cluster, &job);
    let second = checkpoint(&cluster, &job);
    ok(&mut cluster.command("cancel", &[&job.number]));
    eventually("its end", || cluster.job(&job.number)["state"] == "cancelled");
    let of = format!("/run/tasuki-state/runtime/images/{}/{second}", job.number);
    // Some bytes in the midst of what CRIU has written of memory; a file that is short; one that is gone.
    let damages = [
        ("printf damaged | dd of=$f bs=1 seek=5000 conv=notrunc", "has other bytes than were written"),
        ("truncate -s -1 $f", "bytes of"),
        ("rm $f", "cannot be read"),
    ];
    for (damage, words) in damages {
        cluster.lab.sh("n2", &format!("f={of}/criu/pages-1.img; {damage}"));
        cluster.refused("restart", &[&job.number], words);
        eventually("its end", || cluster.job(&job.number)["state"] == "failed");
        assert_eq!(processes(&job.mark), [0; 0]);
    }
    cluster.refused("restart", &[&job.number, "--epoch", "1"], "has no checkpoint 1, but: ");
    ok(&mut cluster.command("restart", &[&job.number, "--epoch", &first.to_string()]));
    assert_verified(&cluster, &job, &file);
}

#[test]
fn a_job_is_saved_again_and_again_and_what_cannot_be_is_refused() {
    let test = "a_job_is_saved_again_and_again_and_what_cannot_be_is_refused";
    if is_skipped(test) {
        return;
    }
    let (programs, folder) = (Programs::new(), tempfile::tempdir_in("/var/tmp").expect("a folder"));
    let cluster = Cluster::up("image-every", 2);
    let Some(mpi) = families(test).pop() else { return };
    let file = folder.path().join("file");
    let job = march(&cluster, &programs, &mpi, &file, &["1s"]);
    let epoch = || cluster.job(&job.number)["checkpoint"]["epoch"].as_u64();
    eventually("a checkpoint", || epoch().is_some());
    let first = epoch();
    eventually("another one", || epoch() > first);
    cluster.refused("restart", &[&job.number], "it is running");
    ok(&mut cluster.command("hold", &[&job.number]));
    eventually("a refusal", || {
        // A checkpoint that had begun before the hold goes on.
        text(&cluster.output("checkpoint", &[&job.number])).contains("it is held")
    });
    ok(&mut cluster.command("resume", &[&job.number]));
    // A rank that is killed while the job is saved again and again.
    let pid = *processes(&job.mark).first().expect("a process");
    kill(Pid::from_raw(pid), Signal::SIGKILL).expect("it is there");
    eventually("its end", || cluster.job(&job.number)["ended"].is_u64());
    let other = cluster.as_user("nobody", "n1", &["restart", &job.number]).output().expect("runs");
    assert!(!other.status.success() && text(&other).contains("is root's"), "{}", text(&other));
    ok(&mut cluster.command("restart", &[&job.number]));
    assert_verified(&cluster, &job, &file);
    cluster.refused("checkpoint", &["99"], "there is no job 99");
    let young = cluster.submit(&["-n", "1", "--checkpoint", "1h", "sleep", "100000"]);
    cluster.refused("restart", &[&young], "has no checkpoint");
    ok(&mut cluster.command("cancel", &[&young]));
}

/// Whatever is killed while a job is saved or restarted, it ends verified, or says why not.
#[test]
fn whatever_is_killed_while_a_job_is_saved_or_restarted_no_result_is_wrong() {
    let test = "whatever_is_killed_while_a_job_is_saved_or_restarted_no_result_is_wrong";
    if is_skipped(test) {
        return;
    }
    let (programs, folder) = (Programs::new(), tempfile::tempdir_in("/var/tmp").expect("a folder"));
    let cluster = Cluster::up("image-killed", 2);
    let Some(mpi) = families(test).pop() else { return };
    let mut random = tasuki_random::Random::new(crate::support::seed(&format!("--test runtime {test}")));
    let rounds = std::env::var("TASUKI_TEST_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    for round in 0..rounds {
        let file = folder.path().join(round.to_string());
        let job = march(&cluster, &programs, &mpi, &file, &["1h"]);
        until_step(&cluster, &job, &file, 10);
        checkpoint(&cluster, &job);
        for verb in ["checkpoint", "restart"] {
            let mut asked = cluster.command(verb, &[&job.number]);
            let asked = std::thread::spawn(move || asked.output().expect("runs"));
            std::thread::sleep(std::time::Duration::from_millis(random.below(800)));
            let victim = random.below(3);
            println!("round {round}: {verb}, victim {victim}");
            match victim {
                0 | 1 => {
                    let host = format!("n{}", 1 + victim);
                    cluster.kill_daemon(&host);
                    cluster.restart(&host);
                }
                _ => kill_all(&job),
            }
            println!("{}", text(&asked.join().expect("it ends")));
            // What still runs is ended, so that it can be restarted.
            eventually("an answer", || cluster.output("jobs", &[]).status.success());
            if verb == "checkpoint" {
                let _ = cluster.output("cancel", &[&job.number]);
                eventually("its end", || cluster.job(&job.number)["ended"].is_u64());
            }
        }
        fs::write(over(&file), "").expect("writes");
        // A restart that was hit may be going on, or has ended with a reason and is tried again.
        eventually("a good end", || {
            let view = cluster.job(&job.number);
            if view["ended"].is_u64() && view["state"] != "done" {
                assert!(view["reason"].as_str().is_some_and(|why| !why.is_empty()), "{view}");
                let again = cluster.output("restart", &[&job.number]);
                println!("again, after {}: {}", view["reason"], text(&again));
            }
            view["state"] == "done"
        });
        assert_verified(&cluster, &job, &file);
    }
}
