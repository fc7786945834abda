//! Tests of jobs that stand still, without processes.

use super::*;
use crate::{copies::tests::stored_below, images::Images, shelter::Shelter};
use std::{
    os::unix::net::UnixListener,
    path::Path,
    sync::{Mutex, mpsc},
    time::Instant,
};
use tasuki_control::Order;

/// Far longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

/// A worker with one job that stands still for a checkpoint, or because it was made again, and the socket at
/// which its shepherd waits. `change`: what is another way in the store of checkpoints.
fn with_still(
    folder: &Path,
    job: JobId,
    what: What,
    change: impl FnOnce(Images) -> Images,
) -> (Worker, UnixListener) {
    let shelter = Shelter::open(&folder.join("jobs"), "1").unwrap();
    let listener = UnixListener::bind(shelter.socket(job)).unwrap();
    let (images, copies) = stored_below(folder);
    let mut worker = Worker::new("n1", shelter, Vec::new(), (change(images), copies));
    let mut still = Still::begin(what, BTreeMap::new(), |_| Err("it does nothing".into()));
    still.working = None;
    worker.still.insert(job, still);
    (worker, listener)
}

fn settle(job: JobId, epoch: Epoch, keep: bool) -> Order {
    Order::Image(ImageOrder::Settle { job, epoch, keep, copy: None })
}

/// Waits for a report that a thread has the daemon send.
fn told(worker: &mut Worker) -> Option<Report> {
    for _ in 0..LIMIT.as_millis() {
        worker.report_still();
        if let Some(report) = worker.poll_report() {
            return Some(report);
        }
        thread::sleep(Duration::from_millis(1));
    }
    None
}

#[test]
fn a_job_goes_on_while_the_disk_takes_its_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let (release, blocked) = mpsc::channel::<()>();
    let (begin, has_begun) = mpsc::channel();
    let (blocked, begin) = (Mutex::new(blocked), Mutex::new(begin));
    let slow = move |images: Images| {
        images.with_flush(move |_| {
            begin.lock().unwrap().send(()).unwrap();
            // An end that is gone releases it as well: the test has failed then.
            blocked.lock().unwrap().recv().map_err(io::Error::other)
        })
    };
    let (mut worker, _shepherd) = with_still(folder.path(), 7, What::Save(40), slow);
    stored_below(folder.path()).0.make_up_part(7, 40);
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        worker.obey(settle(7, 40, true));
        done.send(worker).map_err(|_| "nobody waits").unwrap();
    });
    let mut worker = is_done.recv_timeout(LIMIT).expect("the daemon goes on");
    has_begun.recv_timeout(LIMIT).expect("the disk takes it");
    assert!(worker.jobs.contains_key(&7) && worker.images.sound(7, 40).is_ok());
    assert_eq!(worker.poll_report(), Some(Report::Image(ImageReport::Back { job: 7 })));
    // The disk fails in the end.
    drop(release);
    let Some(Report::Image(ImageReport::Saved { job: 7, epoch: 40, outcome: Err(why) })) = told(&mut worker)
    else {
        panic!("the queue is not told")
    };
    assert!(why.contains("cannot be kept"), "{why}");
}

#[test]
fn a_checkpoint_that_cannot_be_named_is_told_and_the_job_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (mut worker, _shepherd) = with_still(folder.path(), 7, What::Save(40), |images| images);
    // There is nothing of it here.
    worker.obey(settle(7, 40, true));
    let told: Vec<Report> = std::iter::from_fn(|| worker.poll_report()).collect();
    let [
        Report::Image(ImageReport::Saved { job: 7, epoch: 40, outcome: Err(why) }),
        Report::Image(ImageReport::Back { job: 7 }),
    ] = &told[..]
    else {
        panic!("{told:?}")
    };
    assert!(why.contains("cannot be kept"), "{why}");
}

#[test]
fn a_checkpoint_that_another_host_cannot_keep_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (mut worker, _shepherd) = with_still(folder.path(), 7, What::Save(40), |images| images);
    stored_below(folder.path()).0.make_up(7, 40);
    worker.obey(settle(7, 40, false));
    assert!(worker.jobs.contains_key(&7) && worker.images.sound(7, 40).is_err());
}

// What a thread fetches, or waits for, before CRIU makes processes again is not wanted any more then.
#[test]
fn a_restart_that_is_cancelled_stops() {
    let ways: [fn(&mut Worker); 2] = [Worker::let_go, |worker| worker.obey(Order::End { job: 8 })];
    for lose in ways {
        let folder = tempfile::tempdir().unwrap();
        let (mut worker, _shepherd) = with_still(folder.path(), 7, What::Wait, |images| images);
        let work = |stop: &AtomicBool| {
            let end = Instant::now() + LIMIT;
            while !stop.load(Ordering::Relaxed) && Instant::now() < end {
                thread::sleep(Duration::from_millis(1));
            }
            Err(if stop.load(Ordering::Relaxed) { "stopped" } else { "went on" }.to_owned())
        };
        worker.still.insert(8, Still::begin(What::Restore(40), BTreeMap::new(), work));
        lose(&mut worker);
        let Some(Report::Broken { job: 8, why, .. }) = told(&mut worker) else { panic!("it is not told") };
        assert_eq!(why, "stopped");
    }
}

#[test]
fn a_copy_that_takes_longer_than_to_the_next_checkpoint_goes_on_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut worker, _shepherd) = with_still(folder.path(), 7, What::Save(40), |images| images);
    let images = worker.images.clone();
    for epoch in [10, 20] {
        images.make_up(7, epoch);
    }
    // The copy of the first one is on its way.
    worker.copying.insert(7, 10);
    for epoch in [30, 40] {
        images.make_up_part(7, epoch);
        let copy = Some("n2".to_owned());
        worker.obey(Order::Image(ImageOrder::Settle { job: 7, epoch, keep: true, copy }));
        let busy = ImageReport::Copied { job: 7, epoch, outcome: Err(BUSY.into()) };
        assert_eq!(worker.poll_report(), Some(Report::Image(busy)));
        worker.poll_report();
        // A thread removes the older ones.
        let older: &[Epoch] = if epoch == 30 { &[] } else { &[20] };
        for _ in 0..LIMIT.as_millis() {
            if older.iter().all(|old| images.sound(7, *old).is_err()) {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    assert_eq!([10, 20, 30, 40].map(|epoch| images.sound(7, epoch).is_ok()), [true, false, true, true]);
    // Once it is there the next one is copied.
    worker.told.0.send(ImageReport::Copied { job: 7, epoch: 10, outcome: Ok(()) }).unwrap();
    assert!(told(&mut worker).is_some() && worker.copying.is_empty());
    images.make_up_part(7, 50);
    worker.obey(Order::Image(ImageOrder::Settle { job: 7, epoch: 50, keep: true, copy: Some("n9".into()) }));
    assert_eq!(worker.copying.get(&7), Some(&50));
}

// What a run saved that was given up for an older checkpoint is not the state of the one that goes on.
#[test]
fn later_checkpoints_go_when_a_job_goes_on_from_an_older_one() {
    let folder = tempfile::tempdir().unwrap();
    let (mut worker, _shepherd) = with_still(folder.path(), 7, What::Restore(40), |images| images);
    let images = worker.images.clone();
    [40, 50].iter().for_each(|epoch| images.make_up(7, *epoch));
    worker.obey(Order::Image(ImageOrder::GoOn { job: 7 }));
    assert!(worker.jobs.contains_key(&7));
    assert_eq!([40, 50].map(|epoch| images.sound(7, epoch).is_ok()), [true, false]);
}
