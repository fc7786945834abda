//! What becomes of jobs whose owner goes, and of what a shepherd leaves that was killed.

mod support;

use std::time::{Duration, Instant};
use support::{Job, LIMIT, assert_nothing_left, both, processes, script};
use tasuki_shepherd::{Command, End, Event, JobSpec, OwnerEnd, Shepherd, ShepherdError, sweep};

/// Longer than these tests take, milliseconds.
const PATIENCE: u64 = 600_000;

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
    job.owner = OwnerEnd::Survive { socket: socket.clone(), patience_ms: PATIENCE };
    let (first, state) = Job::started(&job);
    drop(first);
    let mut second = Job::with(Shepherd::attach(&socket).unwrap());
    let Event::State(now) = second.step(LIMIT).unwrap().unwrap() else { panic!("{}", second.said()) };
    assert_eq!((now.pid, now.ranks[0].pid), (state.pid, state.ranks[0].pid));
    // A third may not while the second is there.
    assert!(Shepherd::attach(&socket).unwrap().next(Some(LIMIT)).is_err());
    second.send(Command::Input { at: 0, bytes: b"two\n".to_vec() });
    second.run_out();
    // What the first owner has not said it took is told again.
    assert_eq!(second.out(0), "one\ntwo\n");
    assert_eq!(second.ends[&0], End::Exit(4));
    // The door closes once the end was taken.
    assert!(socket.exists());
    second.send(Command::Taken(second.shepherd.heard()));
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

#[test]
fn input_that_an_earlier_owner_has_sent_is_not_read_twice() {
    let (_folder, socket, job) = surviving("input", "cat; exit 6", PATIENCE);
    let (mut owner, state) = Job::started(&job);
    let whole = (0..2000).map(|number| format!("line {number}\n")).collect::<String>().into_bytes();
    let mut taken = state.input as usize;
    assert_eq!(taken, 0);
    // Each owner sends from what was taken on, and some of that again, and goes without waiting.
    for number in 1.. {
        let end = (number * 3000).min(whole.len());
        let at = taken.saturating_sub(100);
        owner.send(Command::Input { at: at as u64, bytes: whole[at..end].to_vec() });
        if end == whole.len() {
            owner.send(Command::InputEnd);
            break;
        }
        drop(owner);
        owner = Job::with(Shepherd::attach(&socket).unwrap());
        let Event::State(state) = owner.step(LIMIT).unwrap().unwrap() else { panic!("{}", owner.said()) };
        taken = state.input as usize;
        assert!(taken <= end, "{taken} of {end}");
    }
    owner.run_out();
    assert_eq!(owner.out(0).into_bytes(), whole);
    assert_eq!(owner.ends[&0], End::Exit(6));
    owner.send(Command::Taken(u64::MAX));
    drop(owner);
    until_closed(&socket);
    assert_nothing_left(&job.id, &state.residence);
}

/// A shepherd that reads slowly has everything that its owner has told it before the owner parts: input that
/// was lost then would be a gap.
#[test]
fn what_waits_for_a_shepherd_reaches_it_before_its_owner_parts() {
    let (_folder, socket, job) = surviving("part", "cat; exit 6", PATIENCE);
    let (owner, state) = Job::started(&job);
    let shepherd = nix::unistd::Pid::from_raw(state.pid as i32);
    let signal = |number| nix::sys::signal::kill(shepherd, number).unwrap();
    signal(nix::sys::signal::SIGSTOP);
    // Far more than a socket takes; commands that change nothing come before the input.
    let commands = owner.shepherd.commands();
    while commands.waiting() < 1 << 20 {
        commands.post(&Command::Input { at: 0, bytes: Vec::new() }).unwrap();
    }
    commands.post(&Command::Input { at: 0, bytes: b"one\n".to_vec() }).unwrap();
    let parting = std::thread::spawn(move || owner.shepherd.part(LIMIT));
    signal(nix::sys::signal::SIGCONT);
    parting.join().unwrap().unwrap();
    let mut next = Job::with(Shepherd::attach(&socket).unwrap());
    next.send(Command::Input { at: 4, bytes: b"two\n".to_vec() });
    next.send(Command::InputEnd);
    next.run_out();
    assert_eq!((next.out(0).as_str(), next.ends[&0]), ("one\ntwo\n", End::Exit(6)));
    next.send(Command::Taken(u64::MAX));
    drop(next);
    until_closed(&socket);
    assert_nothing_left(&job.id, &state.residence);
}

#[test]
fn input_with_a_gap_is_refused() {
    let mut job = Job::start(&script("gap", 1, "cat"));
    job.send(Command::Input { at: 3, bytes: b"x".to_vec() });
    job.until(|event| matches!(event, Event::Failed { .. }));
    job.send(Command::Input { at: 0, bytes: b"abc\n".to_vec() });
    job.send(Command::InputEnd);
    job.run_out();
    assert_eq!(job.out(0), "abc\n");
}

/// A job that survives its owner, at a socket in a new folder.
fn surviving(stem: &str, text: &str, patience_ms: u64) -> (tempfile::TempDir, std::path::PathBuf, JobSpec) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("job");
    let owner = OwnerEnd::Survive { socket: socket.clone(), patience_ms };
    (folder, socket, JobSpec { owner, ..script(stem, 1, text) })
}

#[test]
fn what_an_owner_has_taken_is_not_told_to_the_next_one_and_nothing_else_is_lost() {
    // More than a socket's queue holds, and less than the shepherd keeps.
    let text = "i=0; while [ $i -lt 40000 ]; do echo line $i; i=$((i+1)); done; exit 5";
    let (_folder, socket, job) = surviving("taken", text, PATIENCE);
    let (mut owner, state) = Job::started(&job);
    let (mut whole, mut owners) = (String::new(), 1);
    let end = loop {
        // Each owner takes a few outputs, leaves others untaken, and goes.
        let mut since = 0;
        let event = owner.step(LIMIT).unwrap();
        match event {
            Some(Event::Output { bytes, .. }) => {
                since += 1;
                whole.push_str(std::str::from_utf8(&bytes).unwrap());
                owner.send(Command::Taken(owner.shepherd.heard()));
            }
            Some(Event::Ended { .. }) => break owner.ends[&0],
            _ => {}
        }
        if since > 0 && owners < 20 {
            // These were told, and not taken: they count for nothing.
            (0..3).for_each(|_| drop(owner.step(Duration::from_millis(1)).unwrap()));
            drop(owner);
            owner = Job::with(Shepherd::attach(&socket).unwrap());
            owners += 1;
        }
    };
    // What comes late is not answered: a word after the last one would never be taken.
    [Command::Thaw, Command::Freeze, Command::InputEnd].into_iter().for_each(|late| owner.send(late));
    owner.send(Command::Taken(u64::MAX));
    let expected: String = (0..40_000).map(|i| format!("line {i}\n")).collect();
    assert!(whole == expected, "{} of {} bytes after {owners} owners", whole.len(), expected.len());
    assert_eq!(end, End::Exit(5));
    drop(owner);
    until_closed(&socket);
    assert_nothing_left(&job.id, &state.residence);
}

/// Waits until a shepherd has gone.
fn until_closed(socket: &std::path::Path) {
    let end = Instant::now() + LIMIT;
    while socket.exists() {
        assert!(Instant::now() < end, "its shepherd stays");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_job_that_nobody_comes_for_ends() {
    let (_folder, socket, job) = surviving("forsaken", "setsid sleep 1000 & sleep 1000", 300);
    let (owner, state) = Job::started(&job);
    drop(owner);
    until_gone(&job.id);
    until_closed(&socket);
    assert_nothing_left(&job.id, &state.residence);
}

#[test]
fn a_signal_ends_a_job_that_waits_for_an_owner_and_says_where_it_lived() {
    let (_folder, socket, job) = surviving("signalled", "sleep 1000", PATIENCE);
    let (owner, state) = Job::started(&job);
    let text = std::fs::read(socket.with_extension(tasuki_shepherd::RESIDENCE)).unwrap();
    assert_eq!(serde_json::from_slice::<tasuki_shepherd::Residence>(&text).unwrap(), state.residence);
    drop(owner);
    let pid = nix::unistd::Pid::from_raw(state.pid as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    until_gone(&job.id);
    until_closed(&socket);
    assert_nothing_left(&job.id, &state.residence);
}
