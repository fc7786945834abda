//! Tests of the daemon that keeps the queue, with hosts whose words are made up.

use super::*;
use crate::copies::tests::bundles;
use tasuki_control::{Epoch, ImageOrder, ImageReport, Kind, State};

/// The queue of two hosts that are here, in a folder.
struct Cluster {
    head: Head,
    folder: tempfile::TempDir,
}

impl Cluster {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut head = Head::open(&bundles()[0], folder.path()).unwrap();
        for host in [0, 1] {
            head.report(host, Report::Present { cores: 1, memory: 1 << 30, jobs: Vec::new() });
        }
        Self { head, folder }
    }

    /// What hosts are told, without tables.
    fn orders(&mut self) -> Vec<(HostIndex, Order)> {
        let all = std::iter::from_fn(|| self.head.poll_order());
        all.filter(|(_, order)| !matches!(order, Order::Table(_))).collect()
    }

    fn ask(&mut self, request: Request) -> Vec<(HostIndex, Order)> {
        let user = User { name: "root".into(), is_root: true };
        self.head.report(0, Report::Request { session: 1, user, request });
        self.orders()
    }

    /// A job that has a rank on each host, and begins at once.
    fn submit(&mut self, ranks: u32, terms: Terms) -> JobId {
        let Report::Request { request: Request::Submit { work, .. }, .. } = Report::sample() else {
            panic!("the sample is a job")
        };
        let work = Box::new(Work { ranks, kind: Kind::Plain, over_tasuki: false, mpi: None, ..*work });
        let orders = self.ask(Request::Submit { work, terms: Box::new(terms) });
        let job = orders.iter().find_map(|(_, order)| match order {
            Order::Answer { reply: Reply::Submitted(job), .. } => Some(*job),
            _ => None,
        });
        job.unwrap_or_else(|| panic!("{orders:?}"))
    }

    fn image(&mut self, host: HostIndex, report: ImageReport) -> Vec<(HostIndex, Order)> {
        self.head.report(host, Report::Image(report));
        self.orders()
    }

    /// Has both hosts save a job.
    fn save(&mut self, job: JobId) -> Epoch {
        let orders = self.ask(Request::Checkpoint { job });
        let Some((_, Order::Image(ImageOrder::Save { epoch, .. }))) = orders.first() else {
            panic!("{orders:?}")
        };
        let epoch = *epoch;
        for host in [0, 1] {
            let settled = self.image(host, ImageReport::Saved { job, epoch, outcome: Ok(1) });
            assert_eq!(settled.is_empty(), host == 0, "{settled:?}");
        }
        [0, 1].iter().for_each(|host| drop(self.image(*host, ImageReport::Back { job })));
        assert_eq!(self.last(job), Some(epoch));
        epoch
    }

    /// Has a job of two ranks cancelled.
    fn cancel(&mut self, job: JobId) {
        self.ask(Request::Cancel { job });
        [0, 1].iter().for_each(|host| self.head.report(*host, Report::Left { job }));
        assert_eq!(self.head.queue.view(job).map(|view| view.state), Some(State::Cancelled));
        self.orders();
    }

    /// The last checkpoint of a job.
    fn last(&self, job: JobId) -> Option<Epoch> {
        self.head.queue.view(job)?.checkpoint.map(|last| last.epoch)
    }
}

// Of an urgent job that began meanwhile the processes have heard nothing.
#[test]
fn a_job_that_stood_still_hears_of_an_urgent_one_before_it_goes_on() {
    let mut cluster = Cluster::new();
    let job = cluster.submit(2, saved_often());
    let orders = cluster.ask(Request::Checkpoint { job });
    assert!(matches!(orders[0].1, Order::Image(ImageOrder::Save { .. })), "{orders:?}");
    let sharing = tasuki_control::Sharing { urgent: true, ..Default::default() };
    cluster.submit(2, Terms { sharing, ..Terms::default() });
    cluster.head.report(1, Report::Image(ImageReport::Back { job }));
    let told: Vec<_> = std::iter::from_fn(|| cluster.head.poll_order()).collect();
    let [(1, Order::Table(table)), (1, Order::Thaw { .. })] = &told[..] else { panic!("{told:?}") };
    assert_eq!(table.paused, [job]);
}

#[test]
fn a_job_that_went_on_from_an_older_checkpoint_has_no_later_one() {
    let mut cluster = Cluster::new();
    let job = cluster.submit(2, saved_often());
    let (first, second) = (cluster.save(job), cluster.save(job));
    cluster.cancel(job);
    cluster.ask(Request::Restart { job, epoch: Some(first) });
    cluster.image(0, ImageReport::Restored { job });
    assert_eq!(cluster.head.journal.image(job, None).unwrap().1, second, "it may still fail");
    let told = cluster.image(1, ImageReport::Restored { job });
    assert_eq!(told[0], (0, Order::Image(ImageOrder::GoOn { job })));
    assert_eq!(cluster.head.journal.image(job, None).unwrap().1, first);
    assert_eq!(cluster.last(job), Some(first));
    assert!(cluster.save(job) > second);
    cluster.cancel(job);
    assert!(cluster.head.journal.image(job, Some(second)).is_err());
    assert!(cluster.head.journal.image(job, Some(first)).is_ok());
}

#[test]
fn the_output_of_a_job_stays_until_all_hosts_can_restart_it() {
    let mut cluster = Cluster::new();
    let job = cluster.submit(2, saved_often());
    let write = |cluster: &mut Cluster, first| {
        let bytes = tasuki_control::Bytes::from(&b"a line"[..]);
        let records = vec![tasuki_control::Record { rank: 0, stream: tasuki_control::Stream::Out, bytes }];
        cluster.head.report(0, Report::Output { job, first, records });
        cluster.orders();
    };
    let lines = |cluster: &Cluster| {
        crate::log::read(&cluster.head.journal.of(job), 0).map(|(records, _)| records.len()).unwrap()
    };
    write(&mut cluster, 1);
    let epoch = cluster.save(job);
    write(&mut cluster, 2);
    cluster.cancel(job);
    // One host has its processes again, and the other cannot make them.
    cluster.ask(Request::Restart { job, epoch: None });
    cluster.image(0, ImageReport::Restored { job });
    cluster.head.report(1, Report::Broken { job, why: "a number is taken".into(), code: None });
    [1, 0].iter().for_each(|host| cluster.head.report(*host, Report::Left { job }));
    assert_eq!(cluster.head.queue.view(job).map(|view| view.state), Some(State::Failed));
    assert_eq!(lines(&cluster), 2);
    // A command that follows a job which is being restarted hears what is in front of where it goes on.
    cluster.orders();
    cluster.ask(Request::Restart { job, epoch: None });
    let told = cluster.ask(Request::Follow { job, from: 0 });
    assert_eq!(told, []);
    cluster.image(0, ImageReport::Restored { job });
    assert_eq!(lines(&cluster), 2);
    let told = cluster.image(1, ImageReport::Restored { job });
    let heard = told.iter().find_map(|(_, order)| match order {
        Order::Answer { reply: Reply::Output { records, .. }, .. } => Some(records.len()),
        _ => None,
    });
    assert_eq!((heard, lines(&cluster)), (Some(1), 1), "{told:?}");
    let restarted = Order::Answer { session: 1, reply: Reply::Restarted(epoch) };
    assert!(told.contains(&(0, restarted)), "{told:?}");
    // What comes then has its place.
    write(&mut cluster, 2);
    assert_eq!(lines(&cluster), 2);
}

fn saved_often() -> Terms {
    Terms { checkpoint: Some(100_000), ..Terms::default() }
}

#[test]
fn a_checkpoint_that_a_host_cannot_keep_does_not_count() {
    let mut cluster = Cluster::new();
    let job = cluster.submit(2, saved_often());
    let (first, second) = (cluster.save(job), cluster.save(job));
    let why = "the disk is full".to_owned();
    let told = cluster.image(1, ImageReport::Saved { job, epoch: second, outcome: Err(why) });
    let gone = ImageOrder::Settle { job, epoch: second, keep: false, copy: None };
    assert_eq!(told, [0, 1].map(|host| (host, Order::Image(gone.clone()))));
    assert_eq!(cluster.last(job), Some(first));
    let unsaved = cluster.head.queue.view(job).and_then(|view| view.unsaved.clone());
    assert_eq!(unsaved.as_deref(), Some("n2: the disk is full"));
    assert_eq!(cluster.head.journal.image(job, None).unwrap().1, first);
    // The one before cannot be kept either, which a host says late.
    let why = "the disk is gone".to_owned();
    cluster.image(0, ImageReport::Saved { job, epoch: first, outcome: Err(why) });
    assert_eq!(cluster.last(job), None);
    assert!(cluster.head.journal.image(job, None).is_err());
    assert_eq!(cluster.head.queue.view(job).map(|view| view.state), Some(State::Running));
}

/// Ends a job of one rank, whose end cannot be written down: a folder stands where the file is to be. Returns
/// the file, and where it is now.
fn end_unwritten(cluster: &mut Cluster, job: JobId) -> [std::path::PathBuf; 2] {
    let file = cluster.head.journal.record(job);
    let aside = cluster.folder.path().join("aside");
    std::fs::rename(&file, &aside).unwrap();
    std::fs::create_dir(&file).unwrap();
    cluster.head.report(0, Report::Exited { job, rank: 0, exit: tasuki_control::Exit::Code(0) });
    cluster.head.report(0, Report::Left { job });
    assert_eq!(cluster.head.queue.view(job).map(|view| view.state), Some(State::Done));
    [file, aside]
}

#[test]
fn the_end_of_a_job_is_told_once_it_is_written_down() {
    let mut cluster = Cluster::new();
    let job = cluster.submit(1, Terms::default());
    let [file, aside] = end_unwritten(&mut cluster, job);
    let forget = (0, Order::Forget { job });
    assert!(!cluster.orders().contains(&forget));
    // Its host goes and comes back with it, and the shepherd still knows of its end.
    cluster.head.host_away(0, "gone");
    cluster.head.report(0, Report::Present { cores: 1, memory: 1 << 30, jobs: vec![job] });
    cluster.head.handle_time();
    let orders = cluster.orders();
    assert!(!orders.contains(&forget) && !orders.contains(&(0, Order::End { job })), "{orders:?}");
    std::fs::remove_dir(&file).unwrap();
    std::fs::rename(&aside, &file).unwrap();
    let state = |cluster: &Cluster| cluster.head.journal.load().0[0].view.state;
    assert_eq!(state(&cluster), State::Running);
    // It is tried once in a second.
    for _ in 0..60_000 {
        cluster.head.handle_time();
        if !cluster.head.unwritten.has(job) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(state(&cluster), State::Done);
    assert!(cluster.orders().contains(&forget));
}

#[test]
fn nobody_is_told_of_an_end_that_is_not_written_down() {
    let mut cluster = Cluster::new();
    let job = cluster.submit(1, Terms { notify: Some("mailto:anna@example.org".into()), ..Terms::default() });
    end_unwritten(&mut cluster, job);
    assert!(cluster.head.unwritten.remove(job).is_some(), "that is for later");
}
