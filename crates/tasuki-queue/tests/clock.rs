//! Somebody sets the clock of the machine that keeps the queue: nothing runs or waits longer or shorter.

mod support;

use support::{CLIENT, ask, finish, queue, state, user, work};
use tasuki_control::{State, Terms, Work};
use tasuki_queue::PATIENCE;

const HOUR: i64 = 3600;

fn timeout(seconds: u64) -> Terms {
    Terms { timeout: Some(seconds), ..Terms::default() }
}

#[test]
fn a_job_runs_as_long_as_it_may_and_begins_at_its_time_of_the_day() {
    let mut queue = queue(2);
    let long = ask(&mut queue, 0, 1, timeout(600)).unwrap();
    let later = ask(&mut queue, 0, 1, Terms { begin: Some(1800), ..Terms::default() }).unwrap();
    queue.handle_time(1);
    assert_eq!([long, later].map(|job| state(&queue, job)), [State::Running, State::Waiting]);
    queue.set_ahead(HOUR);
    queue.handle_time(2);
    assert_eq!([long, later].map(|job| state(&queue, job)), [State::Running; 2]);
    // What is shown is the time of the day.
    assert_eq!(queue.view(long).map(|view| view.begun), Some(Some(0)));
    assert_eq!(queue.view(later).map(|view| view.begun), Some(Some(3602)));
    let new = ask(&mut queue, 3, 1, Terms::default()).unwrap();
    assert_eq!(queue.view(new).map(|view| view.submitted), Some(3603));
    queue.handle_time(599);
    assert_eq!(state(&queue, long), State::Running);
    queue.handle_time(600);
    finish(&mut queue, 601, long, 0);
    let view = queue.view(long).unwrap();
    assert_eq!((view.reason.as_deref(), view.ended), (Some("ran longer than 10m"), Some(4201)));
}

#[test]
fn hosts_that_are_away_and_their_commands_are_waited_for_as_long() {
    let mut queue = queue(2);
    let attended = Work { attended: true, ..work(1) };
    let there = queue.submit(0, &user("anna"), work(1), Terms::default(), CLIENT).unwrap();
    let of_command = queue.submit(0, &user("anna"), attended, Terms::default(), CLIENT).unwrap();
    queue.host_away(10, 0, "it is gone");
    queue.set_ahead(HOUR);
    queue.handle_time(11);
    queue.handle_time(10 + PATIENCE - 1);
    assert_eq!([there, of_command].map(|job| state(&queue, job)), [State::Running; 2]);
    queue.handle_time(10 + PATIENCE);
    assert_eq!(state(&queue, there), State::Failed);
    finish(&mut queue, 11 + PATIENCE, of_command, 0);
    assert_eq!(state(&queue, of_command), State::Cancelled);
}

#[test]
fn jobs_keep_their_order() {
    for ahead in [HOUR, -HOUR] {
        let mut queue = queue(1);
        let first = ask(&mut queue, 10_000, 1, Terms::default()).unwrap();
        let second = ask(&mut queue, 10_001, 1, Terms::default()).unwrap();
        queue.set_ahead(ahead);
        let third = ask(&mut queue, 10_002, 1, Terms::default()).unwrap();
        finish(&mut queue, 10_003, first, 0);
        assert_eq!([second, third].map(|job| state(&queue, job)), [State::Running, State::Waiting]);
    }
}
