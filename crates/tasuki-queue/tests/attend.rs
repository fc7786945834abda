//! Jobs that belong to a command: what becomes of them when it goes, or when a daemon does.

mod support;

use support::{CLIENT, ask, queue, reason, state, user, work};
use tasuki_control::{Presence, State, Terms, Work};
use tasuki_queue::{Client, PATIENCE, Queue, RETURN, Refusal, Saved};

#[test]
fn an_attended_job_ends_with_its_command() {
    let mut queue = queue(1);
    let attended = Work { attended: true, ..work(1) };
    let job = queue.submit(1, &user("anna"), attended, Terms::default(), CLIENT).unwrap();
    queue.client_gone(2, Client { host: 0, session: 2 });
    assert_eq!(state(&queue, job), State::Running);
    queue.client_gone(2, CLIENT);
    queue.left(3, 0, job);
    assert_eq!(state(&queue, job), State::Cancelled);
}

/// A job that belongs to a command on the first host, whose daemon then goes.
fn awaited() -> (Queue, u64) {
    let mut queue = queue(1);
    let attended = Work { attended: true, ..work(1) };
    let job = queue.submit(1, &user("anna"), attended, Terms::default(), CLIENT).unwrap();
    queue.host_away(10, 0, "it closed the connection");
    (queue, job)
}

#[test]
fn an_attended_job_waits_for_its_command_as_long_as_for_the_daemon_of_its_host() {
    let (mut queue, job) = awaited();
    let back = 10 + PATIENCE - 1;
    queue.handle_time(back);
    assert_eq!(state(&queue, job), State::Running);
    // The daemon is there again: the command has a moment.
    queue.host_back(back, 0, 8, &[job]);
    queue.handle_time(back + RETURN - 1);
    assert_eq!(state(&queue, job), State::Running);
    queue.handle_time(back + RETURN);
    queue.left(back + 90, 0, job);
    assert_eq!(state(&queue, job), State::Cancelled);
    assert_eq!(reason(&queue, job), "the command that attended it did not come back");
}

#[test]
fn a_command_that_comes_back_attends_its_job_again_and_nobody_elses() {
    let (mut queue, job) = awaited();
    queue.host_back(20, 0, 8, &[job]);
    let again = Client { host: 0, session: 9 };
    let other = queue.attend(&user("ben"), job, again).unwrap_err();
    assert!(matches!(other, Refusal::NotYours { .. }), "{other}");
    queue.attend(&user("anna"), job, again).unwrap();
    queue.handle_time(20 + RETURN);
    // The earlier connection is of no matter any more.
    queue.client_gone(90, CLIENT);
    assert_eq!(state(&queue, job), State::Running);
    queue.client_gone(91, again);
    queue.left(92, 0, job);
    assert_eq!(state(&queue, job), State::Cancelled);
    let late = queue.attend(&user("anna"), job, again).unwrap_err();
    assert!(matches!(late, Refusal::Over { .. }), "{late}");
    let free = ask(&mut queue, 93, 1, Terms::default()).unwrap();
    let unattended = queue.attend(&user("anna"), free, again).unwrap_err();
    assert!(matches!(unattended, Refusal::Unattended(_)), "{unattended}");
}

#[test]
fn a_lost_host_ends_the_jobs_of_its_commands_also_those_that_were_waited_for() {
    let (mut queue, job) = awaited();
    queue.host_lost(11, 0, Presence::Lost("it is silent".into()));
    assert_eq!(state(&queue, job), State::Failed, "its rank was there, too");
}

#[test]
fn a_queue_that_begins_anew_waits_for_the_commands_of_its_jobs() {
    let mut before = queue(1);
    let attended = || Work { attended: true, ..work(1) };
    let [runs, waits] =
        [1, 2].map(|now| before.submit(now, &user("anna"), attended(), Terms::default(), CLIENT).unwrap());
    let saved = [runs, waits].map(|job| {
        let (view, work) = before.saved(job).unwrap();
        Saved { view: view.clone(), work: work.cloned() }
    });
    let mut after = Queue::new([("n1".to_owned(), Some(1))]);
    after.restore(100, saved);
    after.host_back(101, 0, 1, &[runs]);
    assert_eq!([runs, waits].map(|job| state(&after, job)), [State::Running, State::Waiting]);
    after.attend(&user("anna"), runs, Client { host: 0, session: 4 }).unwrap();
    // The command of the other one has gone with the earlier daemon.
    after.handle_time(101 + RETURN);
    assert_eq!([runs, waits].map(|job| state(&after, job)), [State::Running, State::Cancelled]);
}

/// A command that was killed while a daemon was away does not come back. Its job keeps its slots for a
/// quarter of a minute once the command could have come, be it known on which host the command was or not.
#[test]
fn a_command_that_was_killed_while_a_daemon_was_away_keeps_its_job_for_a_moment() {
    let (mut queue, job) = awaited();
    queue.host_back(20, 0, 8, &[job]);
    queue.handle_time(34);
    assert_eq!(state(&queue, job), State::Running);
    queue.handle_time(35);
    queue.left(36, 0, job);
    assert_eq!(state(&queue, job), State::Cancelled);
    assert_eq!(reason(&queue, job), "the command that attended it did not come back");

    let mut before = support::queue(1);
    let attended = Work { attended: true, ..work(1) };
    let job = before.submit(1, &user("anna"), attended, Terms::default(), CLIENT).unwrap();
    let (view, work) = before.saved(job).unwrap();
    let saved = Saved { view: view.clone(), work: work.cloned() };
    // The command may be on a host whose daemon is not back yet, and has a minute as long as there is one.
    for (second, end) in [(105, 120), (150, 160), (200, 160)] {
        let mut after = Queue::new(["n1", "n2"].map(|name| (name.to_owned(), Some(1))));
        after.restore(100, [saved.clone()]);
        after.host_back(101, 0, 1, &[job]);
        for now in 102..end {
            if now == second {
                after.host_back(now, 1, 1, &[]);
            }
            after.handle_time(now);
            assert_eq!(state(&after, job), State::Running, "{second}: {now}");
        }
        after.handle_time(end);
        after.left(end, 0, job);
        assert_eq!(state(&after, job), State::Cancelled, "{second}");
    }
}
