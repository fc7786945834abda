//! What becomes of jobs whose owner goes, and of what a shepherd leaves that was killed.

mod support;

use std::time::{Duration, Instant};
use support::{Job, LIMIT, assert_nothing_left, both, processes, script};
use tasuki_shepherd::{Command, End, Event, OwnerEnd, Shepherd, ShepherdError, sweep};

/// Waits until a job has no process.
fn until_gone(id: &str) {
    let end = Instant::now() + LIMIT;
    while !processes(id).is_empty() {
        assert!(Instant::now() < end, "{:?} stay", processes(id));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_job_dies_with_its_owner() {
    for job in both("owner", 2, "setsid sleep 1000 & sleep 1000") {
        let (ran, _) = Job::started(&job);
        drop(ran);
        until_gone(&job.id);
    }
}

#[test]
fn a_job_outlives_its_owner_if_it_is_told_to_and_another_takes_it_over() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("job");
    let mut job = script("survive", 1, "echo one; read x; echo $x; exit 4");
    job.owner = OwnerEnd::Survive { socket: socket.clone() };
    let (first, state) = Job::started(&job);
    drop(first);
    let mut second = Job::with(Shepherd::attach(&socket).unwrap());
    let Event::State(now) = second.step(LIMIT).unwrap().unwrap() else { panic!("{}", second.said()) };
    assert_eq!((now.pid, now.ranks[0].pid), (state.pid, state.ranks[0].pid));
    // A third may not while the second is there.
    assert!(Shepherd::attach(&socket).unwrap().next(Some(LIMIT)).is_err());
    second.send(Command::Input(b"two\n".to_vec()));
    second.run_out();
    assert!(second.out(0).ends_with("two\n"));
    assert_eq!(second.ends[&0], End::Exit(4));
    // The door closes once the end was told.
    let limit = std::time::Instant::now() + LIMIT;
    while socket.exists() {
        assert!(std::time::Instant::now() < limit, "{} is left behind", socket.display());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_nothing_left(&job.id, &state.residence);
}

#[test]
fn what_a_killed_shepherd_leaves_is_swept() {
    for job in both("sweep", 2, "setsid sleep 1000 & echo up; sleep 1000") {
        let (mut ran, state) = Job::started(&job);
        (0..2).for_each(|rank| ran.until_written(rank, "up"));
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(state.pid as i32), nix::sys::signal::SIGKILL)
            .unwrap();
        let gone = loop {
            match ran.step(LIMIT) {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(gone, ShepherdError::Gone), "{gone}");
        let swept = sweep(&job.id, &state.residence).unwrap();
        assert!(swept >= 2, "the daemons of both ranks, not {swept}");
        assert_nothing_left(&job.id, &state.residence);
        assert_eq!(sweep(&job.id, &state.residence).unwrap(), 0, "once more changes nothing");
    }
}
