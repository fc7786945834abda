//! The rules of the queue, one by one.

use tasuki_control::{Bytes, Exit, Kind, Order, Presence, Spread, State, Terms, User, Work};
use tasuki_queue::{Action, Client, PATIENCE, Queue, Refusal, Saved};

fn user(name: &str) -> User {
    User { name: name.into(), is_root: name == "root" }
}

fn work(ranks: u32) -> Work {
    Work {
        ranks,
        argv: vec![Bytes::from(&b"/bin/true"[..])],
        env: Vec::new(),
        folder: Bytes::from(&b"/"[..]),
        umask: 0o22,
        limits: Vec::new(),
        kind: Kind::Pmi1,
        mpi: None,
        spread: Spread::ByNode,
        over_tasuki: false,
        attended: false,
    }
}

const CLIENT: Client = Client { host: 0, session: 1 };

/// A queue of so many hosts of one slot each, all up.
fn queue(hosts: usize) -> Queue {
    let mut queue = Queue::new((1..=hosts).map(|number| (format!("n{number}"), Some(1))));
    (0..hosts).for_each(|host| queue.host_up(0, host, 8));
    queue
}

fn submit(queue: &mut Queue, name: &str, ranks: u32) -> u64 {
    queue.submit(1, &user(name), work(ranks), Terms::default(), CLIENT).unwrap()
}

fn drain(queue: &mut Queue) -> Vec<Action> {
    std::iter::from_fn(|| queue.poll_action()).collect()
}

fn state(queue: &Queue, job: u64) -> State {
    queue.view(job).unwrap().state
}

fn reason(queue: &Queue, job: u64) -> String {
    queue.view(job).unwrap().reason.clone().unwrap_or_default()
}

/// The ends of all ranks of a job, all well.
fn finish(queue: &mut Queue, job: u64) {
    for part in queue.view(job).unwrap().parts.clone() {
        let host = part.host[1..].parse::<usize>().unwrap() - 1;
        part.ranks.iter().for_each(|&rank| queue.rank_ended(2, host, job, rank, Exit::Code(0)));
        queue.left(2, host, job);
    }
}

#[test]
fn a_job_is_written_down_before_its_hosts_are_told() {
    let mut queue = queue(2);
    let job = submit(&mut queue, "anna", 2);
    let actions = drain(&mut queue);
    let told = |host| {
        let is_it = |action: &Action| matches!(action, Action::Tell(to, Order::Start(_)) if *to == host);
        actions.iter().position(is_it).unwrap()
    };
    let saved = actions.iter().rposition(|action| *action == Action::Save(job)).unwrap();
    assert!(saved < told(0) && saved < told(1), "{actions:?}");
}

#[test]
fn jobs_begin_in_turn_and_say_what_they_wait_for() {
    let mut queue = queue(2);
    let (a, b, c) =
        (submit(&mut queue, "anna", 2), submit(&mut queue, "ben", 2), submit(&mut queue, "cy", 1));
    assert_eq!([a, b, c].map(|job| state(&queue, job)), [State::Running, State::Waiting, State::Waiting]);
    assert_eq!(reason(&queue, b), "waits for 2 slots, 0 are free");
    assert_eq!(reason(&queue, c), format!("waits for job {b}"));
    finish(&mut queue, a);
    assert_eq!([a, b, c].map(|job| state(&queue, job)), [State::Done, State::Running, State::Waiting]);
    assert_eq!(queue.view(a).unwrap().exit, Some(0));
}

#[test]
fn a_job_waits_for_a_lost_host_by_name() {
    let mut queue = queue(2);
    queue.host_lost(5, 1, Presence::Lost("no answer for 10 s".into()));
    let job = submit(&mut queue, "anna", 2);
    assert_eq!(reason(&queue, job), "waits for 2 slots, 1 are free: n2 is lost (no answer for 10 s)");
    queue.host_lost(6, 1, Presence::Other("tasuki 9".into()));
    assert!(reason(&queue, job).ends_with("n2 runs tasuki 9"), "{}", reason(&queue, job));
    queue.host_up(7, 1, 1);
    assert_eq!(state(&queue, job), State::Running);
}

#[test]
fn more_ranks_than_slots_take_the_whole_cluster() {
    let mut queue = queue(2);
    let (big, small) = (submit(&mut queue, "anna", 7), submit(&mut queue, "ben", 1));
    assert_eq!([big, small].map(|job| state(&queue, job)), [State::Running, State::Waiting]);
    let ranks: Vec<usize> = queue.view(big).unwrap().parts.iter().map(|part| part.ranks.len()).collect();
    assert_eq!(ranks, [4, 3]);
}

#[test]
fn only_the_owner_and_root_change_a_job() {
    let mut queue = queue(1);
    let job = submit(&mut queue, "anna", 1);
    let refused = Err(Refusal::NotYours { job, owner: "anna".into(), user: "ben".into() });
    let ben = user("ben");
    assert_eq!(queue.cancel(2, &ben, job), refused);
    assert_eq!(queue.hold(2, &ben, job), refused);
    assert_eq!(queue.resume(2, &ben, job), refused);
    assert_eq!(queue.permit(&ben, job), refused);
    assert_eq!(queue.hold(2, &user("anna"), job), Ok(()));
    assert_eq!(queue.resume(2, &user("root"), job), Ok(()));
    assert_eq!(queue.cancel(2, &user("root"), job), Ok(()));
    assert_eq!(queue.cancel(2, &user("root"), 77), Err(Refusal::NoJob(77)));
}

#[test]
fn a_cancelled_job_is_over_when_nothing_of_it_is_left() {
    let mut queue = queue(2);
    let job = submit(&mut queue, "anna", 2);
    drain(&mut queue);
    queue.cancel(3, &user("anna"), job).unwrap();
    // How it is going to end is written down before anybody ends it.
    let ends = (0..2).map(|host| Action::Tell(host, Order::End { job }));
    assert_eq!(drain(&mut queue), [Action::Save(job)].into_iter().chain(ends).collect::<Vec<_>>());
    assert_eq!(queue.cancel(3, &user("anna"), job), Err(Refusal::Ending(job)));
    queue.rank_ended(4, 0, job, 0, Exit::Signal(9));
    queue.left(4, 0, job);
    assert_eq!(state(&queue, job), State::Running);
    queue.left(5, 1, job);
    assert_eq!((state(&queue, job), queue.view(job).unwrap().exit), (State::Cancelled, Some(130)));
    assert_eq!(drain(&mut queue), [Action::Save(job), Action::Over(job)]);
    assert_eq!(queue.cancel(6, &user("anna"), job), Err(Refusal::Over { job, state: State::Cancelled }));
}

#[test]
fn the_first_failure_of_an_mpi_ends_the_job_with_its_reason() {
    let mut queue = queue(3);
    let job = submit(&mut queue, "anna", 3);
    queue.rank_ended(2, 1, job, 1, Exit::Code(7));
    queue.rank_ended(2, 0, job, 0, Exit::Signal(9));
    (0..3).for_each(|host| queue.left(3, host, job));
    let view = queue.view(job).unwrap();
    assert_eq!((view.state, view.exit), (State::Failed, Some(7)));
    assert_eq!(view.reason.as_deref(), Some("rank 1 on n2 ended with exit code 7"));
}

#[test]
fn plain_commands_go_on_when_one_fails() {
    let mut queue = queue(2);
    let plain = Work { kind: Kind::Plain, ..work(2) };
    let job = queue.submit(1, &user("anna"), plain, Terms::default(), CLIENT).unwrap();
    drain(&mut queue);
    queue.rank_ended(2, 0, job, 0, Exit::Code(3));
    assert_eq!(drain(&mut queue), [], "the other one is not ended");
    queue.left(2, 0, job);
    queue.rank_ended(2, 1, job, 1, Exit::Code(0));
    queue.left(2, 1, job);
    assert_eq!((state(&queue, job), queue.view(job).unwrap().exit), (State::Failed, Some(3)));
}

#[test]
fn a_lost_host_ends_its_jobs_with_its_name() {
    let mut queue = queue(2);
    let job = submit(&mut queue, "anna", 2);
    queue.host_lost(9, 1, Presence::Lost("its daemon ended".into()));
    queue.left(9, 0, job);
    assert_eq!((state(&queue, job), reason(&queue, job).as_str()), (State::Failed, "n2: its daemon ended"));
}

#[test]
fn a_held_job_lets_others_pass_and_a_frozen_one_keeps_its_slots() {
    let mut queue = queue(1);
    let (a, b, c) =
        (submit(&mut queue, "anna", 1), submit(&mut queue, "anna", 1), submit(&mut queue, "anna", 1));
    queue.hold(2, &user("anna"), b).unwrap();
    finish(&mut queue, a);
    assert_eq!([b, c].map(|job| state(&queue, job)), [State::Held, State::Running]);
    queue.hold(3, &user("anna"), c).unwrap();
    queue.resume(3, &user("anna"), b).unwrap();
    assert_eq!([b, c].map(|job| state(&queue, job)), [State::Waiting, State::Held]);
    drain(&mut queue);
    queue.resume(4, &user("anna"), c).unwrap();
    assert_eq!(drain(&mut queue)[1], Action::Tell(0, Order::Thaw { job: c }));
}

#[test]
fn what_was_written_down_goes_on() {
    let mut before = queue(1);
    let (ran, waits) = (submit(&mut before, "anna", 1), submit(&mut before, "anna", 1));
    let saved = [ran, waits].map(|job| {
        let (view, work) = before.saved(job).unwrap();
        Saved { view: view.clone(), work: work.cloned() }
    });
    let restored = || {
        let mut after = Queue::new([("n1".to_owned(), Some(1))]);
        after.restore(9, saved.clone());
        assert_eq!([ran, waits].map(|job| state(&after, job)), [State::Running, State::Waiting]);
        after
    };
    // The host comes back with the job, which goes on and keeps its slot.
    let mut after = restored();
    after.host_back(10, 0, 1, &[ran]);
    assert_eq!([ran, waits].map(|job| state(&after, job)), [State::Running, State::Waiting]);
    finish(&mut after, ran);
    assert_eq!([ran, waits].map(|job| state(&after, job)), [State::Done, State::Running]);
    assert_eq!(submit(&mut after, "anna", 1), waits + 1, "numbers are not used again");
    // It comes back without it.
    let mut after = restored();
    after.host_up(10, 0, 1);
    assert_eq!([ran, waits].map(|job| state(&after, job)), [State::Failed, State::Running]);
    assert!(reason(&after, ran).contains("came back without the job"), "{}", reason(&after, ran));
    // It does not come back.
    let mut after = restored();
    after.handle_time(9 + PATIENCE - 1);
    assert_eq!(state(&after, ran), State::Running);
    after.handle_time(9 + PATIENCE);
    assert_eq!(state(&after, ran), State::Failed);
    assert_eq!(reason(&after, ran), "n1: its tasukid was away for 10m");
}

#[test]
fn a_job_outlives_the_daemon_of_a_host() {
    let mut queue = queue(2);
    let (job, next) = (submit(&mut queue, "anna", 2), submit(&mut queue, "ben", 2));
    queue.host_away(5, 1, "it closed the connection");
    assert_eq!(state(&queue, job), State::Running);
    assert_eq!(reason(&queue, job), "goes on; the tasukid of n2 is awaited");
    queue.host_back(6, 1, 1, &[job]);
    assert_eq!((state(&queue, job), reason(&queue, job)), (State::Running, String::new()));
    // One that is cancelled meanwhile is over at once, and the host ends it before it takes another one.
    queue.host_away(7, 1, "it closed the connection");
    queue.cancel(8, &user("anna"), job).unwrap();
    queue.left(8, 0, job);
    assert_eq!([job, next].map(|job| state(&queue, job)), [State::Cancelled, State::Waiting]);
    std::iter::from_fn(|| queue.poll_action()).for_each(drop);
    queue.host_back(9, 1, 1, &[job]);
    let told: Vec<Action> = std::iter::from_fn(|| queue.poll_action()).collect();
    assert!(told.contains(&Action::Tell(1, Order::End { job })), "{told:?}");
    assert!(told.contains(&Action::Tell(1, Order::Forget { job })), "{told:?}");
    let why =
        format!("waits for 2 slots, 1 are free: n2 ends job {job}, which went on while its daemon was away");
    assert_eq!(reason(&queue, next), why);
    queue.left(10, 1, job);
    assert_eq!(state(&queue, next), State::Running);
    // A job whose end was decided and written down ends so, whatever daemon comes next.
    queue.broken(11, 0, next, "rank 0 called MPI_Abort", Some(7));
    let (view, work) = queue.saved(next).unwrap();
    let saved = Saved { view: view.clone(), work: work.cloned() };
    let mut after = Queue::new(["n1", "n2"].map(|name| (name.to_owned(), Some(1))));
    after.restore(12, [saved]);
    let view = after.view(next).unwrap();
    assert_eq!((view.state, view.exit), (State::Failed, Some(7)));
    assert_eq!(reason(&after, next), "n1: rank 0 called MPI_Abort");
}

#[test]
fn reports_of_hosts_about_jobs_of_others_change_nothing() {
    let mut queue = queue(2);
    let job = submit(&mut queue, "anna", 1);
    queue.rank_ended(2, 1, job, 0, Exit::Code(1));
    queue.left(2, 1, job);
    queue.broken(2, 1, job, "nonsense", None);
    assert_eq!(state(&queue, job), State::Running);
    queue.rank_ended(2, 0, job, 5, Exit::Code(1));
    assert_eq!(state(&queue, job), State::Running, "it has no rank 5");
}
