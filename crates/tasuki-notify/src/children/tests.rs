//! Tests of processes that tell users, and of those that do not end.

use super::*;
use std::{fs, io::Write, thread};
use tasuki_testkit::deaf::Deaf;
use tempfile::{NamedTempFile, TempPath};

/// Far longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// The record of a job, which stays as long as the value.
fn record(text: &str) -> TempPath {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.into_temp_path()
}

fn task(job: JobId, user: &str, record: &TempPath) -> Task {
    Task { job, user: user.into(), path: None, record: record.to_path_buf() }
}

fn all(notifiers: &mut Notifiers, script: &str, count: usize) -> Vec<(JobId, Notice)> {
    let command = ["sh", "-c", script].map(OsString::from);
    let (mut known, end) = (Vec::new(), Instant::now() + LONG);
    while known.len() < count {
        known.extend(notifiers.poll(&command));
        assert!(Instant::now() < end, "{known:?}");
        thread::sleep(Duration::from_millis(5));
    }
    known.sort_by_key(|(job, _)| *job);
    known
}

#[test]
fn each_process_is_told_who_and_where_and_its_end_is_known() {
    let mut notifiers = Notifiers::default();
    let [good, bad] = ["good\n", "bad\n"].map(record);
    // In a script of sh -c the first word behind it is $0.
    let script = "read where; case $where in good) exit 0;; esac
        echo noise >&2; echo tasuki: not $where of $0 >&2; exit 1";
    (0..20).for_each(|job| notifiers.add(task(job, "anna", if job % 2 == 0 { &good } else { &bad })));
    let known = all(&mut notifiers, script, 20);
    for (job, notice) in known {
        let expected = match job % 2 {
            0 => Notice::Told,
            _ => Notice::Failed("not bad of anna".into()),
        };
        assert_eq!(notice, expected, "{job}");
    }
}

#[test]
fn a_user_whose_server_is_silent_delays_nobody_else() {
    let mut notifiers = Notifiers::default();
    let [slow, good] = ["slow\n", "good\n"].map(record);
    (0..5).for_each(|job| notifiers.add(task(job, "anna", &slow)));
    notifiers.add(task(9, "berta", &good));
    let known = all(&mut notifiers, "read where; [ $where = good ] || sleep 1000", 1);
    assert_eq!(known, [(9, Notice::Told)]);
    assert_eq!((notifiers.running.len(), notifiers.waiting.len()), (OF_USER_MAX, 3));
    // As if their time were up.
    notifiers.waiting.clear();
    notifiers.running.iter_mut().for_each(|running| running.until = Instant::now());
    let known = all(&mut notifiers, "", OF_USER_MAX);
    assert!(known.iter().all(|(_, notice)| *notice == Notice::Failed("took longer than 120 s".into())));
}

#[test]
fn a_process_that_cannot_be_killed_holds_up_its_user_alone() {
    let Some(deaf) = Deaf::new("a_process_that_cannot_be_killed_holds_up_its_user_alone") else { return };
    let mut notifiers = Notifiers::default();
    let good = record("/\n");
    let stuck = ["x", "y", "z"].map(|name| record(&format!("{}\n", deaf.path().join(name).display())));
    (0..).zip(&stuck).for_each(|(job, record)| notifiers.add(task(job, "anna", record)));
    let script = "read where; exec ls $where > /dev/null";
    let command = ["sh", "-c", script].map(OsString::from);
    assert_eq!(notifiers.poll(&command), []);
    let pids: Vec<u32> = notifiers.running.iter().map(|running| running.child.id()).collect();
    let lives = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(name, rest)| name.ends_with("(ls") && !rest.starts_with('Z'))
    };
    deaf.wait_until_asked(pids.len());
    assert!(pids.len() == OF_USER_MAX && pids.iter().all(lives), "{pids:?}");
    notifiers.running.iter_mut().for_each(|running| running.until = Instant::now());
    let mut known = all(&mut notifiers, script, 2);
    notifiers.dying.iter_mut().for_each(|dying| dying.until = Instant::now());
    known.extend(all(&mut notifiers, script, 1));
    let whys: Vec<_> = known.iter().map(|(_, notice)| format!("{notice:?}")).collect();
    assert!(whys[..2].iter().all(|why| why.contains("took longer than 120 s")), "{whys:?}");
    assert!(whys[2].contains("cannot be ended"), "{whys:?}");
    assert!(pids.iter().all(lives), "they were killed, and sleep on");
    notifiers.add(task(4, "berta", &good));
    assert_eq!(all(&mut notifiers, script, 1), [(4, Notice::Told)]);
    // The file server is gone, and they can end.
    drop(deaf);
    let end = Instant::now() + LONG;
    while !notifiers.dying.is_empty() && Instant::now() < end {
        assert_eq!(notifiers.poll(&command), []);
        thread::sleep(Duration::from_millis(5));
    }
    notifiers.add(task(5, "anna", &good));
    assert_eq!(all(&mut notifiers, script, 1), [(5, Notice::Told)]);
}

#[test]
fn a_user_with_many_jobs_takes_nobodys_place() {
    let (mut notifiers, good) = (Notifiers::default(), record("good\n"));
    let many = WAITING_MAX as JobId;
    (0..=many).for_each(|job| notifiers.add(task(job, "anna", &good)));
    notifiers.add(task(1000, "berta", &good));
    assert!(matches!(&notifiers.over[..], [(job, Notice::Failed(_))] if *job == many));
    assert_eq!(notifiers.waiting.len(), WAITING_MAX + 1);
}

#[test]
fn what_cannot_be_started_is_known_too() {
    let (mut notifiers, good) = (Notifiers::default(), record("good\n"));
    notifiers.add(task(1, "anna", &good));
    let gone = record("");
    let path = gone.to_path_buf();
    drop(gone);
    notifiers.add(Task { job: 2, user: "anna".into(), path: None, record: path });
    let known = notifiers.poll(&[OsString::from("/no/such/program")]);
    let is_failed =
        |(_, notice): &(JobId, Notice)| matches!(notice, Notice::Failed(why) if why.contains("cannot start"));
    assert!(known.len() == 2 && known.iter().all(is_failed), "{known:?}");
}
