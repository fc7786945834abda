//! Checkpoints, rule by rule: what can be saved and when, and jobs that go on after their end.

mod support;

use support::{CLIENT, ask, drain, finish, queue, state, user, work};
use tasuki_control::{Checkpoint, Exit, Kind, Order, Presence, Sharing, State, Terms, Work};
use tasuki_queue::{Action, Queue, Refusal, Saved, begin_save, due_for_save, job_back, keeper, revive};

fn every(seconds: u64) -> Terms {
    Terms { checkpoint: Some(seconds), ..Terms::default() }
}

fn taken(epoch: u64) -> Checkpoint {
    Checkpoint { epoch, taken: epoch, bytes: 1 << 20, millis: 200, copied: false }
}

/// A job as it is kept beside a checkpoint that is taken now.
fn keep(queue: &mut Queue, job: u64, epoch: u64) -> Saved {
    let (view, work) = queue.saved(job).unwrap();
    let saved = Saved { view: view.clone(), work: work.cloned() };
    queue.saved_as(job, Ok(taken(epoch)));
    saved
}

#[test]
fn what_does_not_run_by_itself_is_not_saved() {
    let mut queue = queue(2);
    let anna = user("anna");
    let why = |queue: &mut Queue, job| begin_save(queue, 1, job, Some(&anna)).unwrap_err().to_string();
    assert_eq!(why(&mut queue, 9), "there is no job 9; `tasuki jobs --history` lists all");
    let job = ask(&mut queue, 0, 2, every(1000)).unwrap();
    let other = ask(&mut queue, 0, 1, Terms::default()).unwrap();
    assert!(why(&mut queue, other).contains("submitted without --checkpoint"));
    queue.cancel(1, &anna, other).unwrap();
    let waits = ask(&mut queue, 0, 1, every(1000)).unwrap();
    assert_eq!(why(&mut queue, waits), format!("job {waits} cannot be saved now: it has not begun"));
    let otto = begin_save(&mut queue, 1, job, Some(&user("otto"))).unwrap_err().to_string();
    assert!(otto.contains("anna's"), "{otto}");
    assert_eq!(begin_save(&mut queue, 1, job, Some(&anna)).unwrap().1, [0, 1]);
    queue.hold(2, &anna, job).unwrap();
    assert!(why(&mut queue, job).contains("it is held"));
    queue.resume(3, &anna, job).unwrap();
    queue.host_away(4, 1, "gone");
    assert!(why(&mut queue, job).ends_with("is away"), "{}", why(&mut queue, job));
    queue.host_back(5, 1, 1, &[job]);
    queue.rank_ended(6, 1, job, 1, Exit::Code(0));
    queue.left(6, 1, job);
    assert!(why(&mut queue, job).ends_with("have ended already"), "{}", why(&mut queue, job));
    queue.cancel(7, &anna, job).unwrap();
    assert_eq!(why(&mut queue, job), format!("job {job} is being ended"));
    finish(&mut queue, 8, job, 0);
    assert_eq!(why(&mut queue, job), format!("job {job} is cancelled already"));
}

// Its user counts on the checkpoints: that there will never be one must be said before the job begins.
#[test]
fn a_job_that_can_never_be_saved_is_not_taken_with_checkpoints() {
    let mut queue = queue(2);
    let anna = user("anna");
    let refused = |outcome: Result<u64, Refusal>| match outcome {
        Err(Refusal::Terms(why)) => why,
        other => panic!("{other:?}"),
    };
    let open_mpi = || Work { kind: Kind::OpenMpi { launcher: 1 }, ..work(1) };
    let why = refused(queue.submit(0, &anna, open_mpi(), every(1000), CLIENT));
    assert!(why.contains("Open MPI"), "{why}");
    let sharing = Sharing { share: true, ..Sharing::default() };
    let why = refused(ask(&mut queue, 0, 1, Terms { sharing, ..every(1000) }));
    assert!(why.contains("--share"), "{why}");
    // Without checkpoints both are taken.
    queue.submit(0, &anna, open_mpi(), Terms::default(), CLIENT).unwrap();
    ask(&mut queue, 0, 1, Terms { sharing, ..Terms::default() }).unwrap();
}

#[test]
fn a_job_whose_time_has_come_says_why_it_is_not_saved() {
    let mut queue = queue(2);
    let anna = user("anna");
    let job = ask(&mut queue, 0, 2, every(60)).unwrap();
    let unsaved = |queue: &Queue| queue.view(job).unwrap().unsaved.clone().unwrap_or_default();
    queue.hold(1, &anna, job).unwrap();
    drain(&mut queue);
    assert_eq!((due_for_save(&mut queue, 59), unsaved(&queue)), (vec![], String::new()));
    assert_eq!(due_for_save(&mut queue, 60), []);
    assert!(unsaved(&queue).contains("it is held"), "{}", unsaved(&queue));
    assert_eq!(drain(&mut queue), [Action::Save(job)]);
    // It is not written down again and again.
    assert_eq!((due_for_save(&mut queue, 61), drain(&mut queue)), (vec![], vec![]));
    queue.resume(62, &anna, job).unwrap();
    assert_eq!(due_for_save(&mut queue, 62), [job]);
    begin_save(&mut queue, 62, job, None).unwrap();
    queue.saved_as(job, Ok(taken(62)));
    assert_eq!(unsaved(&queue), "");
    // What is left of it after the end of some ranks is never saved.
    queue.rank_ended(70, 1, job, 1, Exit::Code(0));
    queue.left(70, 1, job);
    assert_eq!(due_for_save(&mut queue, 122), []);
    assert!(unsaved(&queue).contains("have ended already"), "{}", unsaved(&queue));
}

#[test]
fn a_job_is_due_again_so_long_after_it_was_saved_and_numbers_grow() {
    let mut queue = queue(1);
    let job = ask(&mut queue, 100, 1, every(60)).unwrap();
    assert_eq!((due_for_save(&mut queue, 159), due_for_save(&mut queue, 160)), (vec![], vec![job]));
    let (first, _) = begin_save(&mut queue, 160, job, None).unwrap();
    assert_eq!((first, due_for_save(&mut queue, 219)), (160, vec![]));
    // One that failed is tried again as late, and with another number, also within one second.
    queue.saved_as(job, Err("n1: the disk is full".into()));
    assert_eq!(queue.view(job).unwrap().unsaved.as_deref(), Some("n1: the disk is full"));
    assert_eq!(begin_save(&mut queue, 160, job, None).unwrap().0, 161);
    queue.saved_as(job, Ok(taken(161)));
    assert_eq!(queue.view(job).unwrap().unsaved, None);
    assert_eq!(
        begin_save(&mut queue, 10, job, None).unwrap().0,
        162,
        "also if somebody has set the clock back"
    );
}

// The machine fails once a day: by Daly's formula 416 s after the beginning, as nothing is known of what a
// checkpoint takes, 185 s after one of 0.2 s has begun, and 3240 s after one of a minute.
#[test]
fn a_job_without_a_time_is_due_when_what_its_checkpoint_took_is_worth_it() {
    let mut queue = queue(1);
    let terms = Terms { failures: Some(86_400), ..Terms::default() };
    let job = ask(&mut queue, 0, 1, terms.clone()).unwrap();
    let kept = queue.saved(job).and_then(|(_, work)| work).expect("it runs");
    assert!(kept.env.iter().any(|(name, _)| name == b"TASUKI_FRAMING"), "it is not prepared");
    let due = |queue: &mut Queue, at: u64| [at - 1, at].map(|now| due_for_save(queue, now));
    assert_eq!(due(&mut queue, 416), [vec![], vec![job]]);
    begin_save(&mut queue, 416, job, None).unwrap();
    queue.saved_as(job, Ok(taken(416)));
    assert_eq!(queue.view(job).unwrap().interval(), Some(185));
    assert_eq!(due(&mut queue, 416 + 185), [vec![], vec![job]]);
    begin_save(&mut queue, 601, job, None).unwrap();
    queue.saved_as(job, Ok(Checkpoint { millis: 60_000, ..taken(601) }));
    assert_eq!(due(&mut queue, 601 + 3240), [vec![], vec![job]]);
    // What a try took that failed is not known.
    begin_save(&mut queue, 3841, job, None).unwrap();
    queue.saved_as(job, Err("n1: the disk is full".into()));
    assert_eq!(due(&mut queue, 3841 + 3240), [vec![], vec![job]]);
    finish(&mut queue, 9000, job, 0);
    assert_eq!(due_for_save(&mut queue, 100_000), []);
    // What is refused with a time is refused without one.
    let why = |refused: Result<u64, Refusal>| refused.unwrap_err().to_string();
    let sharing = Sharing { share: true, ..Sharing::default() };
    assert!(why(ask(&mut queue, 0, 1, Terms { sharing, ..terms.clone() })).contains("--share"));
    assert!(why(ask(&mut queue, 0, 1, Terms { checkpoint: Some(60), ..terms.clone() })).contains("not both"));
    assert!(why(ask(&mut queue, 0, 1, Terms { failures: Some(0), ..terms })).contains("at least 1 s"));
}

// A host's disk may be lost with the host: its part is never kept where it was made, and no host keeps more
// parts than it has.
#[test]
fn every_host_of_a_job_has_another_one_for_its_copies() {
    let keepers = |hosts: &[usize]| hosts.iter().map(|host| keeper(hosts, *host, 8)).collect::<Vec<_>>();
    assert_eq!(keepers(&[0, 1]), [Some(1), Some(0)]);
    assert_eq!(keepers(&[7, 2, 4]), [Some(2), Some(4), Some(7)]);
    assert_eq!((keepers(&[6]), keepers(&[7])), (vec![Some(7)], vec![Some(0)]));
    assert_eq!((keeper(&[0], 0, 1), keeper(&[0, 1], 2, 8)), (None, None));
}

#[test]
fn copies_count_for_the_last_checkpoint_alone_and_are_asked_for_with_checkpoints() {
    let mut queue = queue(2);
    let terms = Terms { copied: true, ..every(1000) };
    let job = ask(&mut queue, 0, 2, terms.clone()).unwrap();
    keep(&mut queue, job, 40);
    let copied = |queue: &Queue| queue.view(job).unwrap().checkpoint.unwrap().copied;
    let uncopied = |queue: &Queue| queue.view(job).unwrap().uncopied.clone();
    assert!(!copied(&queue), "before any host has said so");
    queue.copied_as(job, 40, Err("n2: the disk is full".into()));
    assert_eq!((copied(&queue), uncopied(&queue)), (false, Some("n2: the disk is full".into())));
    keep(&mut queue, job, 50);
    assert_eq!(uncopied(&queue), None, "of another checkpoint");
    queue.copied_as(job, 40, Ok(()));
    assert!(!copied(&queue));
    queue.copied_as(job, 50, Ok(()));
    assert!(copied(&queue));
    let why = |refused: Result<u64, Refusal>| refused.unwrap_err().to_string();
    let unsaved = ask(&mut queue, 0, 2, Terms { checkpoint: None, ..terms.clone() });
    assert!(why(unsaved).contains("without --checkpoint"));
    assert!(why(ask(&mut self::queue(1), 0, 1, terms)).contains("no other one"));
}

// A host that was away when a job ended asks what to do with what it has of it.
#[test]
fn checkpoints_of_jobs_that_ended_well_or_are_forgotten_are_of_no_use() {
    let mut queue = queue(1);
    let (good, bad) =
        (ask(&mut queue, 0, 1, every(1000)).unwrap(), ask(&mut queue, 0, 1, every(1000)).unwrap());
    let useless = |queue: &Queue| [good, bad, bad + 1].map(|job| queue.needs_nothing_of(job));
    assert_eq!(useless(&queue), [false; 3]);
    finish(&mut queue, 10, good, 0);
    assert_eq!(useless(&queue), [true, false, false]);
    queue.broken(20, 0, bad, "it was killed", None);
    finish(&mut queue, 20, bad, 1);
    assert_eq!(useless(&queue), [true, false, false], "one that failed can be restarted");
    queue.forget(0);
    assert_eq!(useless(&queue), [true, true, false], "and not one of another queue");
}

#[test]
fn a_job_that_is_over_goes_on_where_its_hosts_have_room() {
    let mut queue = queue(2);
    let anna = user("anna");
    let job = ask(&mut queue, 0, 2, Terms { timeout: Some(100), ..Terms::default() }).unwrap();
    let saved = keep(&mut queue, job, 40);
    assert_eq!(
        revive(&mut queue, 50, &anna, saved.clone(), 40).unwrap_err().to_string(),
        format!("job {job} cannot be restarted now: it is running")
    );
    queue.broken(60, 1, job, "it was killed", None);
    finish(&mut queue, 60, job, 1);
    assert_eq!(state(&queue, job), State::Failed);
    // Another job has a slot that it needs.
    let other = ask(&mut queue, 70, 1, Terms::default()).unwrap();
    let refused = revive(&mut queue, 80, &anna, saved.clone(), 40).unwrap_err().to_string();
    assert!(refused.ends_with("has 0 free slots of 1 that it needs"), "{refused}");
    finish(&mut queue, 90, other, 0);
    queue.host_lost(90, 1, Presence::Lost("no answer".into()));
    let refused = revive(&mut queue, 95, &anna, saved.clone(), 40).unwrap_err().to_string();
    assert!(refused.contains("does not take jobs") && refused.contains("no answer"), "{refused}");
    queue.host_up(96, 1, 1);
    assert!(revive(&mut queue, 97, &user("otto"), saved.clone(), 40).is_err());
    drain(&mut queue);
    let start = revive(&mut queue, 100, &anna, saved, 40).unwrap();
    assert_eq!((start.job, start.parts.len()), (job, 2));
    assert_eq!(drain(&mut queue), [Action::Save(job)]);
    let view = queue.view(job).unwrap().clone();
    assert_eq!((view.state, view.ended, view.exit, view.reason), (State::Running, None, None, None));
    assert_eq!(view.checkpoint, Some(taken(40)));
    // Of its 100 seconds 40 were over when it was saved.
    queue.handle_time(159);
    assert_eq!(drain(&mut queue), []);
    queue.handle_time(160);
    assert!(drain(&mut queue).contains(&Action::Tell(0, Order::End { job })));
    finish(&mut queue, 161, job, 0);
    assert_eq!(queue.view(job).unwrap().exit, Some(124));
}

// A job that goes on from an older checkpoint has no later one, whose number is not given again all the same.
#[test]
fn numbers_of_checkpoints_grow_also_if_somebody_sets_the_clock_back() {
    let mut queue = queue(1);
    let anna = user("anna");
    let job = ask(&mut queue, 0, 1, every(1000)).unwrap();
    let old = keep(&mut queue, job, 40);
    keep(&mut queue, job, 5000);
    queue.cancel(50, &anna, job).unwrap();
    finish(&mut queue, 60, job, 0);
    revive(&mut queue, 100, &anna, old, 40).unwrap();
    queue.saved_before(job, Some(taken(40)), None);
    assert_eq!(queue.view(job).unwrap().checkpoint, Some(taken(40)));
    assert_eq!(begin_save(&mut queue, 110, job, Some(&anna)).unwrap().0, 5001);
}

#[test]
fn a_host_is_told_again_what_it_did_not_hear_while_a_job_stood_still() {
    let mut queue = queue(1);
    let anna = user("anna");
    let job = ask(&mut queue, 0, 1, Terms::default()).unwrap();
    let told = |queue: &mut Queue| {
        drain(queue);
        job_back(queue, 0, job);
        drain(queue)
    };
    assert_eq!(told(&mut queue), [Action::Tell(0, Order::Thaw { job })]);
    queue.hold(1, &anna, job).unwrap();
    assert_eq!(told(&mut queue), [Action::Tell(0, Order::Freeze { job })]);
    queue.cancel(2, &anna, job).unwrap();
    assert_eq!(told(&mut queue), [Action::Tell(0, Order::End { job })]);
    finish(&mut queue, 3, job, 0);
    assert_eq!(told(&mut queue), [Order::End { job }, Order::Forget { job }].map(|o| Action::Tell(0, o)));
}
