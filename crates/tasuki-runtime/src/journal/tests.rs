//! Tests of what is on disk.

use super::*;
use tasuki_control::{Array, Sharing, Task, Terms};

/// What an earlier version wrote, which knew nothing of terms and tasks.
const OLD: &str = r#"{ "id": 7, "state": "waiting", "user": "anna", "ranks": 2, "command": "/bin/true",
    "mpi": "mpich-5.0", "parts": [], "submitted": 1795676400, "begun": null, "ended": null, "exit": null,
    "reason": "waits for job 6" }"#;

fn journal() -> (tempfile::TempDir, Journal) {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path()).unwrap();
    (folder, journal)
}

#[test]
fn jobs_of_an_earlier_version_are_read() {
    let (_folder, journal) = journal();
    fs::create_dir(journal.of(7)).unwrap();
    fs::write(journal.of(7).join("job.json"), OLD).unwrap();
    let (all, last) = journal.load();
    assert_eq!(last, 7);
    assert_eq!((all.len(), all[0].view.id, all[0].view.task), (1, 7, None));
    assert_eq!(all[0].view.terms, Terms::default());
    // One that knew terms, and nothing of jobs that share slots.
    let terms = r#""terms": { "name": "night", "priority": -1, "timeout": null, "begin": null,
        "after": [], "after_any": [], "array": null }, "reason""#;
    fs::write(journal.of(7).join("job.json"), OLD.replace(r#""reason""#, terms)).unwrap();
    let expected = Terms { name: Some("night".into()), priority: -1, ..Terms::default() };
    assert_eq!(journal.load().0[0].view.terms, expected);
}

#[test]
fn the_length_of_a_slice_is_kept() {
    let (_folder, journal) = journal();
    assert_eq!(journal.slice(), None);
    journal.save_slice(50_000_000).unwrap();
    assert_eq!((journal.slice(), journal.load()), (Some(50_000_000), (Vec::new(), 0)));
}

#[test]
fn what_a_user_wants_of_the_queue_is_kept() {
    let (_folder, journal) = journal();
    let mut view: JobView = serde_json::from_str(OLD).unwrap();
    view.terms = Terms {
        name: Some("a \"name\"".into()),
        priority: -3,
        timeout: Some(600),
        begin: Some(1_795_755_600),
        after: vec![1, 2],
        after_any: vec![3],
        array: Some(Array { first: 0, last: 9, step: 2, limit: Some(4) }),
        sharing: Sharing { share: true, urgent: false, memory: Some(1 << 31) },
        notify: Some("mailto:anna@example.org".into()),
        checkpoint: Some(600),
        failures: Some(86_400),
        copied: true,
        labelled: true,
    };
    view.task = Some(Task { array: 5, index: 6 });
    view.held = 17;
    view.notice = Some(tasuki_control::Notice::Failed("no mailer".into()));
    journal.save(&view, None).unwrap();
    let (all, _) = journal.load();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].view, view);
}

fn work(program: &str) -> Work {
    let tasuki_control::Report::Request { request: tasuki_control::Request::Submit { work, .. }, .. } =
        tasuki_control::Report::sample()
    else {
        panic!("the sample is a job")
    };
    Work { argv: vec![tasuki_control::Bytes::from(program.as_bytes())], ..*work }
}

fn user(name: &str) -> tasuki_control::User {
    tasuki_control::User { name: name.into(), is_root: false }
}

/// A daemon that dies while it writes a job down leaves the job's work: no other user's job may run it.
#[test]
fn what_is_left_of_a_job_that_was_not_taken_is_not_run_by_another() {
    let (_folder, journal) = journal();
    let left = postcard::to_extend(&work("/home/anna/theirs"), Vec::new()).unwrap();
    fs::create_dir(journal.of(7)).unwrap();
    fs::write(journal.of(7).join("work"), &left).unwrap();
    // A job's own work takes the place of such work.
    let mut view: JobView = serde_json::from_str(OLD).unwrap();
    journal.save(&view, Some(&work("/home/otto/own"))).unwrap();
    assert_eq!(journal.load().0[0].work, Some(work("/home/otto/own")));
    // What is known of a job changes, and its work does not.
    view.reason = None;
    journal.save(&view, Some(&work("/never"))).unwrap();
    assert_eq!(journal.load().0[0], Saved { view, work: Some(work("/home/otto/own")) });
    journal.forget(7);
    // The next daemon removes it, and gives its number to nobody.
    fs::create_dir(journal.of(7)).unwrap();
    fs::write(journal.of(7).join("work"), &left).unwrap();
    let mut queue = tasuki_queue::Queue::new([("n1".to_owned(), Some(1))]);
    let (saved, last) = journal.load();
    queue.reserve(last);
    queue.restore(5, saved);
    assert!(!journal.of(7).exists());
    let client = tasuki_queue::Client { host: 0, session: 1 };
    let job = queue.submit(5, &user("otto"), work("/own"), Terms::default(), client).unwrap();
    assert_eq!(job, 8);
    let (view, own) = queue.saved(job).unwrap();
    journal.save(view, own).unwrap();
    let (all, last) = journal.load();
    assert_eq!((all.len(), last), (1, 8));
    assert_eq!((&all[0].view.user[..], &all[0].work), ("otto", &Some(work("/own"))));
}

/// A daemon that dies at any moment leaves a job that is over as one that is, or one that can go on.
#[test]
fn what_is_to_be_run_stays_until_the_end_of_the_job_is_written_down() {
    let (_folder, journal) = journal();
    let mut view: JobView = serde_json::from_str(OLD).unwrap();
    journal.save(&view, Some(&work("/own"))).unwrap();
    let files = ["work", FENCES, TOLD].map(|file| journal.of(7).join(file));
    files[1..].iter().for_each(|file| fs::write(file, "x").unwrap());
    // The end cannot be written down: what is written at first stands in the way.
    let hindrance = journal.of(7).join("job.json.tasuki-new");
    fs::create_dir(&hindrance).unwrap();
    view.state = tasuki_control::State::Done;
    assert!(journal.save(&view, None).is_err());
    assert!(files.iter().all(|file| file.exists()));
    let saved = &journal.load().0[0];
    assert_eq!((saved.view.state, &saved.work), (tasuki_control::State::Waiting, &Some(work("/own"))));
    fs::remove_dir(hindrance).unwrap();
    journal.save(&view, None).unwrap();
    assert!(!files.iter().any(|file| file.exists()));
    // A daemon that died between the two left more than a job needs that is over.
    files.iter().for_each(|file| fs::write(file, "x").unwrap());
    assert_eq!(journal.load().0[0].view.state, tasuki_control::State::Done);
    assert!(!files.iter().any(|file| file.exists()));
}

#[test]
fn a_job_that_cannot_be_read_keeps_its_number_and_its_files() {
    let (_folder, journal) = journal();
    for (job, text) in [(3, &OLD[..40]), (9, OLD)] {
        fs::create_dir(journal.of(job)).unwrap();
        fs::write(journal.of(job).join(JOB), text).unwrap();
    }
    // Neither the one that is cut off nor the one that is about another job is taken or given away.
    assert_eq!(journal.load(), (Vec::new(), 9));
    assert!(journal.of(3).join(JOB).exists() && journal.of(9).join(JOB).exists());
}
