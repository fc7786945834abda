//! What users may want of the queue, rule by rule: timeouts, priorities, predecessors, times, arrays.

mod support;

use support::{CLIENT, ask, drain, finish, queue, reason, state, user, work};
use tasuki_control::{Array, Order, Sharing, State, Task, Terms};
use tasuki_queue::{Action, Queue, Refusal, Saved};

fn timeout(seconds: u64) -> Terms {
    Terms { timeout: Some(seconds), ..Terms::default() }
}

fn array(first: u32, last: u32, limit: Option<u32>) -> Terms {
    Terms { array: Some(Array { first, last, step: 1, limit }), ..Terms::default() }
}

#[test]
fn a_job_that_runs_too_long_is_ended_with_a_reason() {
    let mut queue = queue(2);
    let job = ask(&mut queue, 10, 2, timeout(600)).unwrap();
    drain(&mut queue);
    queue.handle_time(609);
    assert_eq!(drain(&mut queue), []);
    queue.handle_time(610);
    // The reason is written down before anything is ended.
    let tell = |host| Action::Tell(host, Order::End { job });
    assert_eq!(drain(&mut queue), [Action::Save(job), tell(0), tell(1)]);
    queue.handle_time(611);
    assert_eq!(drain(&mut queue), [], "it is ended once");
    finish(&mut queue, 612, job, 0);
    let view = queue.view(job).unwrap();
    assert_eq!((view.state, view.exit), (State::Failed, Some(124)));
    assert_eq!(view.reason.as_deref(), Some("ran longer than 10m"));
}

#[test]
fn time_that_a_job_stands_still_does_not_count() {
    let mut queue = queue(1);
    let job = ask(&mut queue, 0, 1, timeout(100)).unwrap();
    queue.hold(50, &user("anna"), job).unwrap();
    queue.handle_time(500);
    assert_eq!(state(&queue, job), State::Held);
    queue.resume(1000, &user("anna"), job).unwrap();
    drain(&mut queue);
    queue.handle_time(1049);
    assert_eq!(drain(&mut queue), []);
    queue.handle_time(1050);
    assert_eq!(drain(&mut queue), [Action::Save(job), Action::Tell(0, Order::End { job })]);
}

#[test]
fn only_root_puts_a_job_before_others() {
    let mut queue = queue(1);
    let first = ask(&mut queue, 0, 1, Terms::default()).unwrap();
    let with = |priority| Terms { priority, ..Terms::default() };
    assert!(matches!(ask(&mut queue, 0, 1, with(1)), Err(Refusal::Terms(why)) if why.contains("only root")));
    let low = ask(&mut queue, 0, 1, with(-2)).unwrap();
    let plain = ask(&mut queue, 10, 1, Terms::default()).unwrap();
    let high = queue.submit(20, &user("root"), work(1), with(1), CLIENT).unwrap();
    // Two points are two hours: a job that comes later than that comes after.
    let late = ask(&mut queue, 7300, 1, Terms::default()).unwrap();
    let mut order = vec![first];
    for _ in 0..4 {
        finish(&mut queue, 7400, order[order.len() - 1], 0);
        let runs = [low, plain, high, late].into_iter().find(|job| state(&queue, *job) == State::Running);
        order.push(runs.expect("one begins"));
    }
    assert_eq!(order, [first, high, plain, low, late]);
}

#[test]
fn a_job_begins_after_others_or_never() {
    let mut queue = queue(3);
    let (good, bad) =
        (ask(&mut queue, 0, 1, Terms::default()).unwrap(), ask(&mut queue, 0, 1, Terms::default()).unwrap());
    let after = |job| Terms { after: vec![job], ..Terms::default() };
    let then = ask(&mut queue, 0, 1, after(good)).unwrap();
    let never = ask(&mut queue, 0, 1, after(bad)).unwrap();
    let never_too = ask(&mut queue, 0, 1, after(never)).unwrap();
    let any = Terms { after_any: vec![good, bad], ..Terms::default() };
    let any = ask(&mut queue, 0, 1, any).unwrap();
    assert_eq!(ask(&mut queue, 0, 1, after(99)), Err(Refusal::NoJob(99)));
    assert_eq!(reason(&queue, then), format!("waits for the end of job {good}"));
    let free = ask(&mut queue, 0, 1, Terms::default()).unwrap();
    assert_eq!(state(&queue, free), State::Running, "those that wait for others hold up nobody");
    finish(&mut queue, 5, bad, 3);
    assert_eq!([never, never_too].map(|job| state(&queue, job)), [State::Cancelled; 2]);
    assert_eq!(reason(&queue, never), format!("it was to come after job {bad}, which is failed"));
    assert_eq!(state(&queue, any), State::Waiting);
    finish(&mut queue, 6, good, 0);
    assert_eq!([then, any].map(|job| state(&queue, job)), [State::Running; 2]);
}

#[test]
fn a_job_waits_for_its_time() {
    let mut queue = queue(1);
    let job = ask(&mut queue, 0, 1, Terms { begin: Some(100), ..Terms::default() }).unwrap();
    assert_eq!(reason(&queue, job), "waits for its time");
    let other = ask(&mut queue, 1, 1, Terms::default()).unwrap();
    assert_eq!(state(&queue, other), State::Running);
    finish(&mut queue, 50, other, 0);
    queue.handle_time(99);
    assert_eq!(state(&queue, job), State::Waiting);
    queue.handle_time(100);
    assert_eq!(state(&queue, job), State::Running);
}

/// The tasks of an array that have begun, as index and number.
fn tasks(queue: &Queue, array: u64) -> Vec<(u32, u64)> {
    let of = |task: Option<Task>| task.filter(|task| task.array == array).map(|task| task.index);
    queue.views(true).iter().filter_map(|view| Some((of(view.task)?, view.id))).collect()
}

#[test]
fn tasks_of_an_array_begin_one_after_the_other_and_know_their_index() {
    let mut queue = queue(3);
    let whole = ask(&mut queue, 0, 1, array(5, 8, Some(2))).unwrap();
    let begun = tasks(&queue, whole);
    assert_eq!(begun.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [5, 6]);
    assert_eq!(reason(&queue, whole), "2 of its tasks run, and no more may");
    let starts = drain(&mut queue).into_iter().filter_map(|action| match action {
        Action::Tell(_, Order::Start(start)) => Some((start.job, start.work.env)),
        _ => None,
    });
    for ((job, env), (index, number)) in starts.zip(&begun) {
        let value = |name: &str| {
            let found = env.iter().find(|(known, _)| known.as_slice() == name.as_bytes());
            String::from_utf8(found.expect("it is set").1.to_vec()).unwrap()
        };
        assert_eq!(job, *number);
        assert_eq!(value("TASUKI_ARRAY_INDEX"), index.to_string());
        assert_eq!(value("TASUKI_ARRAY_JOB"), whole.to_string());
    }
    let after = ask(&mut queue, 0, 1, Terms { after_any: vec![whole], ..Terms::default() }).unwrap();
    finish(&mut queue, 1, begun[0].1, 0);
    finish(&mut queue, 2, begun[1].1, 4);
    assert_eq!((tasks(&queue, whole).len(), state(&queue, whole)), (4, State::Running));
    assert_eq!(state(&queue, after), State::Waiting);
    for (_, task) in &tasks(&queue, whole)[2..] {
        finish(&mut queue, 3, *task, 0);
    }
    assert_eq!((state(&queue, whole), queue.view(whole).unwrap().exit), (State::Failed, Some(4)));
    assert_eq!(reason(&queue, whole), format!("1 of 4 tasks did not end well: {whole}_6"));
    assert_eq!(state(&queue, after), State::Running);
}

#[test]
fn an_array_is_held_and_cancelled_as_one() {
    let mut queue = queue(2);
    let whole = ask(&mut queue, 0, 1, array(0, 9, None)).unwrap();
    let anna = user("anna");
    queue.hold(1, &anna, whole).unwrap();
    let begun = tasks(&queue, whole);
    assert_eq!(begun.len(), 2);
    assert!(begun.iter().all(|(_, task)| state(&queue, *task) == State::Held));
    queue.resume(2, &anna, whole).unwrap();
    queue.cancel(3, &anna, begun[0].1).unwrap();
    finish(&mut queue, 4, begun[0].1, 0);
    assert_eq!(tasks(&queue, whole).len(), 3, "one task is cancelled, the others go on");
    queue.cancel(5, &anna, whole).unwrap();
    for (_, task) in tasks(&queue, whole) {
        finish(&mut queue, 6, task, 0);
    }
    assert_eq!((tasks(&queue, whole).len(), state(&queue, whole)), (3, State::Cancelled));
    // One of which no task has begun ends at once.
    let busy = ask(&mut queue, 7, 2, Terms::default()).unwrap();
    let none = ask(&mut queue, 7, 1, array(0, 1, None)).unwrap();
    queue.cancel(8, &anna, none).unwrap();
    assert_eq!([busy, none].map(|job| state(&queue, job)), [State::Running, State::Cancelled]);
}

/// All jobs as they are written down.
fn written(queue: &Queue) -> Vec<Saved> {
    let saved = |job| {
        let (view, work) = queue.saved(job).expect("a job");
        Saved { view: view.clone(), work: work.cloned() }
    };
    queue.views(true).iter().map(|view| saved(view.id)).collect()
}

#[test]
fn an_array_that_was_cancelled_stays_so_after_a_restart() {
    let mut before = queue(2);
    let whole = ask(&mut before, 0, 1, array(0, 9, None)).unwrap();
    drain(&mut before);
    before.cancel(3, &user("anna"), whole).unwrap();
    let actions = drain(&mut before);
    assert!(actions.contains(&Action::Save(whole)), "{actions:?}");
    // The daemon ends before the tasks have.
    assert_eq!(state(&before, whole), State::Waiting);
    let mut after = Queue::new(["n1", "n2"].map(|name| (name.to_owned(), Some(1))));
    after.restore(5, written(&before));
    (0..2).for_each(|host| after.host_up(6, host, 1));
    assert_eq!((state(&after, whole), reason(&after, whole)), (State::Cancelled, "cancelled by anna".into()));
    let begun = tasks(&after, whole);
    assert_eq!(begun.len(), 2, "no further task begins: {begun:?}");
    assert!(begun.iter().all(|(_, task)| state(&after, *task) == State::Cancelled), "{begun:?}");
}

#[test]
fn time_that_a_job_was_held_counts_over_a_restart() {
    let mut before = queue(1);
    let job = ask(&mut before, 0, 1, timeout(60)).unwrap();
    before.hold(10, &user("anna"), job).unwrap();
    let mut after = Queue::new([("n1".to_owned(), Some(1))]);
    after.restore(10_000, written(&before));
    after.host_back(10_001, 0, 1, &[job]);
    after.handle_time(10_002);
    assert_eq!(state(&after, job), State::Held);
    after.resume(10_100, &user("anna"), job).unwrap();
    // It has run for 10 seconds of the 60.
    after.handle_time(10_149);
    drain(&mut after);
    assert_eq!((state(&after, job), after.view(job).unwrap().held), (State::Running, 10_090));
    after.handle_time(10_150);
    assert!(drain(&mut after).contains(&Action::Tell(0, Order::End { job })));
}

#[test]
fn time_that_a_job_stood_still_for_an_urgent_one_counts_over_a_restart() {
    let mut before = queue(1);
    let job = ask(&mut before, 0, 1, timeout(60)).unwrap();
    drain(&mut before);
    let sharing = Sharing { urgent: true, ..Sharing::default() };
    let terms = Terms { sharing, ..Terms::default() };
    let urgent = before.submit(10, &user("root"), work(1), terms, CLIENT).unwrap();
    assert!(drain(&mut before).contains(&Action::Save(job)), "that it stands still is written down");
    let mut after = Queue::new([("n1".to_owned(), Some(1))]);
    after.restore(10_000, written(&before));
    after.host_back(10_001, 0, 1, &[job, urgent]);
    after.handle_time(10_002);
    finish(&mut after, 10_100, urgent, 0);
    drain(&mut after);
    after.handle_time(10_149);
    assert_eq!((state(&after, job), drain(&mut after)), (State::Running, Vec::new()));
    after.handle_time(10_150);
    assert!(drain(&mut after).contains(&Action::Tell(0, Order::End { job })));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut queue = queue(1);
    let name = |name: &str| Terms { name: Some(name.into()), ..Terms::default() };
    let many = Terms { after: vec![1; 65], ..Terms::default() };
    ask(&mut queue, 0, 1, Terms::default()).unwrap();
    let long = "x".repeat(65);
    let late = Terms { begin: Some(u64::MAX), ..Terms::default() };
    let all = [name("a\nb"), name(""), name(&long), many, late, timeout(0), timeout(u64::MAX)];
    let arrays = [array(0, 1000, None), array(1, 0, None), array(0, u32::MAX, None), array(0, 1, Some(0))];
    for terms in all.into_iter().chain(arrays) {
        let refused = ask(&mut queue, 0, 1, terms.clone());
        assert!(matches!(refused, Err(Refusal::Terms(_))), "{terms:?}: {refused:?}");
    }
}

#[test]
fn an_array_that_was_written_down_goes_on() {
    let mut before = queue(1);
    let whole = ask(&mut before, 0, 1, array(0, 2, None)).unwrap();
    let first = tasks(&before, whole)[0].1;
    finish(&mut before, 1, first, 0);
    let mut after = Queue::new([("n1".to_owned(), Some(1))]);
    after.restore(5, written(&before));
    after.host_up(6, 0, 1);
    let begun = tasks(&after, whole);
    // The first is done, the second ended with the daemon, the third begins.
    let states: Vec<State> = begun.iter().map(|(_, task)| state(&after, *task)).collect();
    assert_eq!(states, [State::Done, State::Failed, State::Running]);
    finish(&mut after, 7, begun[2].1, 0);
    assert_eq!(reason(&after, whole), format!("1 of 3 tasks did not end well: {whole}_1"));
}
