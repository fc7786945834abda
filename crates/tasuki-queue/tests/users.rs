//! What the jobs of one user may take, and who is told of a job's end.

mod support;

use support::{CLIENT, ask, drain, finish, queue, reason, state, user, work};
use tasuki_control::{Array, Bytes, Notice, State, Terms, UserLimits};
use tasuki_queue::{Action, Queue, Refusal, Saved};

fn limited(hosts: usize, limits: UserLimits) -> Queue {
    queue(hosts).with_limits(limits)
}

fn submit(queue: &mut Queue, name: &str, ranks: u32) -> Result<u64, Refusal> {
    queue.submit(0, &user(name), work(ranks), Terms::default(), CLIENT)
}

#[test]
fn a_users_jobs_wait_for_each_other_and_hold_up_nobody() {
    let mut queue = limited(8, UserLimits { jobs: Some(2), slots: Some(4), ..UserLimits::default() });
    let anna: Vec<u64> = [2, 3, 1, 1].map(|ranks| submit(&mut queue, "anna", ranks).unwrap()).into();
    let states = |queue: &Queue| anna.iter().map(|job| state(queue, *job)).collect::<Vec<_>>();
    use State::{Running, Waiting};
    assert_eq!(states(&queue), [Running, Waiting, Running, Waiting]);
    assert_eq!(reason(&queue, anna[1]), "anna has 2 jobs running, of 2 that a user may have");
    let berta = submit(&mut queue, "berta", 4).unwrap();
    assert_eq!(state(&queue, berta), Running, "others have limits of their own");
    let root = submit(&mut queue, "root", 1).unwrap();
    assert_eq!(state(&queue, root), Running);
    finish(&mut queue, 1, anna[2], 0);
    assert_eq!(states(&queue)[1..], [Waiting, State::Done, Running], "one rank fits, three do not");
    let words = "waits for 3 slots: jobs of anna hold 2, of 4 that a user may have";
    assert_eq!(reason(&queue, anna[1]), words);
    finish(&mut queue, 2, anna[3], 0);
    assert_eq!(reason(&queue, anna[1]), words);
    finish(&mut queue, 3, anna[0], 0);
    finish(&mut queue, 4, berta, 0);
    assert_eq!(state(&queue, anna[1]), Running);
}

#[test]
fn what_can_never_begin_is_refused() {
    let limits = UserLimits { jobs: None, slots: Some(2), waiting: Some(1), time: Some(3600) };
    let mut queue = limited(4, limits);
    let refused = |result: Result<u64, Refusal>| result.unwrap_err().to_string();
    let said = refused(submit(&mut queue, "anna", 3));
    assert!(said.contains("3 slots are more than the 2") && said.contains("hold 0)"), "{said}");
    let long = Terms { timeout: Some(7200), ..Terms::default() };
    let said = refused(queue.submit(0, &user("anna"), work(1), long.clone(), CLIENT));
    assert!(said.contains("2h is longer than the 1h that a job may run"), "{said}");
    let job = submit(&mut queue, "anna", 2).unwrap();
    assert_eq!(queue.view(job).unwrap().terms.timeout, Some(3600), "the longest time, if it says none");
    let waits = submit(&mut queue, "anna", 1).unwrap();
    assert_eq!(state(&queue, waits), State::Waiting);
    let said = refused(submit(&mut queue, "anna", 1));
    assert!(said.contains("anna has 1 jobs waiting, of 1 that a user may have"), "{said}");
    submit(&mut queue, "berta", 2).unwrap();
    let root = queue.submit(0, &user("root"), work(4), long, CLIENT).unwrap();
    assert_eq!(queue.view(root).unwrap().terms.timeout, Some(7200), "root has no such limits");
}

#[test]
fn tasks_of_an_array_count_as_jobs() {
    let mut queue = limited(4, UserLimits { jobs: Some(2), ..UserLimits::default() });
    let array = Some(Array { first: 0, last: 3, step: 1, limit: None });
    let array = ask(&mut queue, 0, 1, Terms { array, ..Terms::default() }).unwrap();
    let running = |queue: &Queue| {
        let views = queue.views(false);
        views.iter().filter(|view| view.task.is_some() && view.state == State::Running).count()
    };
    assert_eq!(running(&queue), 2);
    assert_eq!(reason(&queue, array), "anna has 2 jobs running, of 2 that a user may have");
    for job in array + 1..=array + 4 {
        finish(&mut queue, 1, job, 0);
    }
    assert_eq!(state(&queue, array), State::Done);
}

fn told_of(queue: &mut Queue) -> Vec<(u64, Option<Bytes>)> {
    let notify = |action| match action {
        Action::Notify(job, path) => Some((job, path)),
        _ => None,
    };
    drain(queue).into_iter().filter_map(notify).collect()
}

fn with_notify() -> Terms {
    Terms { notify: Some("mailto:anna@example.org".into()), ..Terms::default() }
}

#[test]
fn the_user_of_a_job_is_told_once_of_its_end() {
    let mut queue = queue(2);
    let path = Bytes::from(&b"/home/anna/bin:/bin"[..]);
    let mut with_path = work(1);
    with_path.env.push((Bytes::from(&b"PATH"[..]), path.clone()));
    let job = queue.submit(0, &user("anna"), with_path, with_notify(), CLIENT).unwrap();
    let quiet = ask(&mut queue, 0, 1, Terms::default()).unwrap();
    assert_eq!(told_of(&mut queue), []);
    finish(&mut queue, 1, job, 3);
    finish(&mut queue, 1, quiet, 0);
    assert_eq!(told_of(&mut queue), [(job, Some(path))]);
    let why = Notice::Failed("no answer".into());
    queue.told(job, why.clone());
    assert_eq!(drain(&mut queue), [Action::Save(job)]);
    assert_eq!(queue.view(job).unwrap().notice, Some(why));
    // Of an array it is the end of all tasks, told once.
    let array = Some(Array { first: 0, last: 1, step: 1, limit: None });
    let array = ask(&mut queue, 2, 1, Terms { array, ..with_notify() }).unwrap();
    finish(&mut queue, 3, array + 1, 0);
    assert_eq!(told_of(&mut queue), []);
    finish(&mut queue, 3, array + 2, 0);
    assert_eq!(told_of(&mut queue), [(array, None)]);
    let bad = Terms { notify: Some("file:///etc/passwd".into()), ..Terms::default() };
    assert!(matches!(ask(&mut queue, 4, 1, bad), Err(Refusal::Terms(why)) if why.contains("mailto:")));
}

#[test]
fn what_was_over_first_is_forgotten_first() {
    let mut queue = queue(2);
    let long = ask(&mut queue, 0, 1, Terms::default()).unwrap();
    let mut short = Vec::new();
    for _ in 0..1000 {
        let job = ask(&mut queue, 1, 1, Terms::default()).unwrap();
        finish(&mut queue, 1, job, 0);
        short.push(job);
    }
    // All in one second, so that the times tell nothing; somebody sets the clock back.
    finish(&mut queue, 1, long, 0);
    queue.set_ahead(-1000);
    let last = ask(&mut queue, 1, 1, Terms::default()).unwrap();
    finish(&mut queue, 1, last, 0);
    assert_eq!(queue.forget(1000), short[..2]);
    assert_eq!([long, last].map(|job| state(&queue, job)), [State::Done; 2]);
    // After a restart the times are all that is known of it.
    let saved = queue.views(true).into_iter().map(|view| Saved { view, work: None });
    let mut after = Queue::new([("n1".to_owned(), Some(1))]);
    after.restore(9, saved.collect::<Vec<_>>());
    assert_eq!(after.forget(999), [last], "its end has the earliest time");
    assert_eq!(after.forget(998), [long]);
}

#[test]
fn a_job_is_not_forgotten_before_its_user_was_told() {
    let mut queue = queue(1);
    let job = ask(&mut queue, 0, 1, with_notify()).unwrap();
    drain(&mut queue);
    finish(&mut queue, 1, job, 0);
    // What forgets jobs comes after what has their users told.
    assert_eq!(drain(&mut queue), [Action::Save(job), Action::Notify(job, None), Action::Over(job)]);
    assert_eq!(queue.forget(0), [0; 0]);
    queue.told(job, Notice::Told);
    assert_eq!(queue.forget(0), [job]);
}

#[test]
fn a_restart_tells_what_was_not_known_to_be_told() {
    let mut earlier = queue(1);
    let runs = ask(&mut earlier, 0, 1, with_notify()).unwrap();
    let waits = ask(&mut earlier, 0, 1, with_notify()).unwrap();
    let saved = |queue: &Queue, job| {
        let (view, work) = queue.saved(job).unwrap();
        Saved { view: view.clone(), work: work.cloned() }
    };
    let mut all = vec![saved(&earlier, runs), saved(&earlier, waits)];
    let mut over = all[0].clone();
    (over.view.id, over.view.state, over.work) = (7, State::Done, None);
    let mut known = over.clone();
    (known.view.id, known.view.notice) = (8, Some(Notice::Told));
    all.extend([over, known]);
    let mut queue = Queue::new([("n1".to_owned(), Some(1))]);
    queue.restore(9, all);
    assert_eq!(told_of(&mut queue), [(7, None)], "not of one that goes on, that waits, or was told");
    // Its host comes back without it.
    queue.host_up(10, 0, 1);
    assert_eq!(told_of(&mut queue), [(runs, None)]);
}
