//! What does not answer: file servers, databases of users, processes that sleep in the kernel. The shepherd
//! says so, and goes on as soon as it can. Files of which there are too few.

mod support;

use nix::mount::{MsFlags, mount};
use std::{ffi::OsString, fs, path::Path, process};
use support::{Job, assert_nothing_left, processes, run, script, shepherd, without_cgroup};
use tasuki_shepherd::{Command, End, Event, JobSpec, Shepherd, State, User};
use tasuki_testkit::deaf::{Deaf, own_mounts};

/// A job that looks at a file of a server that does not answer, after so many calls to the server.
fn asleep(deaf: &Deaf, spec: JobSpec, calls: usize) -> (Job, State, String) {
    let (job, state) = Job::started(&spec);
    deaf.wait_until_asked(calls);
    (job, state, spec.id)
}

fn look(deaf: &Deaf, stem: &str) -> JobSpec {
    script(stem, 1, &format!("exec ls {}", deaf.path().join(stem).display()))
}

#[test]
fn a_job_that_sleeps_in_the_kernel_can_be_held() {
    let Some(deaf) = Deaf::new("a_job_that_sleeps_in_the_kernel_can_be_held") else { return };
    let (mut job, state, id) = asleep(&deaf, look(&deaf, "held"), 1);
    job.send(Command::Freeze);
    let told = job.until(|event| matches!(event, Event::Frozen { .. } | Event::Failed { .. }));
    assert!(matches!(told, Event::Frozen { .. }), "{told:?}");
    // The server is gone, its call is over, and the rank stands still until it may go on.
    drop(deaf);
    job.send(Command::Query);
    let Event::State(held) = job.until(|event| matches!(event, Event::State(_))) else { unreachable!() };
    assert_eq!((held.frozen, held.ranks[0].end), (true, None));
    job.send(Command::Thaw);
    job.run_out();
    assert!(matches!(job.ends[&0], End::Exit(code) if code > 0), "{}", job.said());
    assert_nothing_left(&id, &state.residence);
}

#[test]
fn what_does_not_even_end_when_it_is_killed_is_named() {
    let Some(deaf) = Deaf::new("what_does_not_even_end_when_it_is_killed_is_named") else { return };
    let alone = asleep(&deaf, without_cgroup(look(&deaf, "alone")), 1);
    let mut all = [asleep(&deaf, look(&deaf, "held-together"), 2), alone];
    all.iter().for_each(|(job, ..)| job.send(Command::End { grace_ms: 0 }));
    for (job, state, _) in &mut all {
        let Event::Remains { what } = job.until(|event| matches!(event, Event::Remains { .. })) else {
            unreachable!()
        };
        assert_eq!(what, format!("process {} (ls) sleeps in the kernel", state.ranks[0].pid));
    }
    drop(deaf);
    for (mut job, state, id) in all {
        job.run_out();
        assert_eq!(job.ends[&0], End::Signal(9));
        let told = job.events.iter().filter(|event| matches!(event, Event::Remains { .. })).count();
        assert_eq!(told, 1, "{}", job.said());
        assert_nothing_left(&id, &state.residence);
    }
}

/// Has all that this thread starts find another file in a place; false where that takes more rights.
fn replace(place: &str, file: &Path) -> bool {
    if !nix::unistd::Uid::effective().is_root() {
        eprintln!("SKIPPED a test that replaces {place}: needs root");
        return false;
    }
    own_mounts().expect("mounts of its own");
    mount(Some(file), place, None::<&str>, MsFlags::MS_BIND, None::<&str>).expect("it is mounted");
    true
}

fn of_user(name: &str, text: &str) -> JobSpec {
    JobSpec {
        user: Some(User { name: name.into(), ids: None, limits: Vec::new() }),
        ..script("of-user", 1, text)
    }
}

#[test]
fn a_user_is_looked_up_by_name_and_nobody_else_is_taken_for_root() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let known = fs::read_to_string("/etc/passwd").unwrap();
    let more = "toor2:x:0:0::/:/bin/sh\nanna2:x:4711:65534::/:/bin/sh\n";
    fs::write(file.path(), known + more).unwrap();
    if !replace("/etc/passwd", file.path()) {
        return;
    }
    for (name, ids) in [("anna2", "4711\n65534\n"), ("root", "0\n0\n")] {
        let ran = run(&of_user(name, "id -u; id -g"));
        assert_eq!(ran.out(0), ids, "{}", ran.said());
    }
    for (name, expected) in [
        ("toor2", "user toor2 has root's number on this host"),
        ("nobody2", "there is no user nobody2 on this host"),
    ] {
        let job = of_user(name, "id -u");
        let ran = run(&job);
        let is_it = |event: &&Event| matches!(event, Event::NotStarted { why, .. } if why == expected);
        assert!(ran.events.iter().any(|event| is_it(&event)) && ran.out(0).is_empty(), "{}", ran.said());
        assert_eq!(processes(&job.id), Vec::<String>::new());
    }
}

#[test]
fn who_starts_a_job_does_not_wait_for_the_database_of_users() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("passwd");
    assert!(process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    if !replace("/etc/passwd", &pipe) {
        return;
    }
    // To open the file with the names is to wait until another end is opened.
    let mut job = Job::start(&of_user("nobody", "echo up"));
    drop(fs::File::options().write(true).open(&pipe).unwrap());
    // There was no name in it; another database may have it.
    job.run_out();
    let is_missed = |event: &Event| matches!(event, Event::NotStarted { why, .. } if why.contains("nobody"));
    assert!(job.events.iter().any(is_missed) || job.out(0) == "up\n", "{}", job.said());
}

#[test]
fn a_job_may_have_more_ranks_than_the_soft_limit_has_files() {
    let few = "ulimit -Sn 64; exec \"$0\"";
    let command: Vec<OsString> =
        ["/bin/sh", "-c", few].map(OsString::from).into_iter().chain(shepherd()).collect();
    let spec = script("files", 60, "exit 0");
    let mut job = Job::with(Shepherd::start(&command, &spec).unwrap());
    job.run_out();
    assert_eq!(job.ends.values().filter(|end| **end == End::Exit(0)).count(), 60, "{}", job.said());
}
