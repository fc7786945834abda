//! What shepherds tell, as it is reported to the queue.

use super::{Worker, late::without_finalize};
use std::time::Instant;
use tasuki_control::{Bytes, Exit, Fence, JobId, Punctuality, Record, Report, Stream};
use tasuki_shepherd::{End, Event, Kept, State};

/// Bytes of output that go into one report, which must stay below what a message may have.
const OUTPUT_MAX: usize = 1 << 20;
/// Bytes that a piece of output has in a report besides its text, at most: rank, stream and length.
const RECORD: usize = 16;

impl Worker {
    /// Takes what a job's shepherd tells, and reports that it has a number.
    pub(super) fn handle(&mut self, job: JobId, event: Event) {
        let Some(running) = self.jobs.get_mut(&job) else { return };
        // Output says itself what number it has, and what comes after the end is nothing to write down.
        let is_numbered = event.is_kept() && !matches!(event, Event::Output { .. } | Event::Ended { .. });
        let number = running.shepherd.heard();
        self.report(job, event);
        if is_numbered {
            self.out.push_back(Report::Heard { job, number });
        }
    }

    fn report(&mut self, job: JobId, event: Event) {
        let Some(running) = self.jobs.get_mut(&job) else { return };
        let broken = |why: String, code| Report::Broken { job, why, code };
        match event {
            Event::Started(state) | Event::State(state) => self.state(job, state),
            Event::NotStarted { why, .. } => self.out.push_back(broken(why, None)),
            Event::Output { rank, stream, bytes, .. } => self.output(job, rank, stream, bytes),
            Event::InputTaken(bytes) => self.out.push_back(Report::InputTaken { job, bytes }),
            Event::InputClosed => self.out.push_back(Report::InputClosed { job }),
            Event::Fence(fence) => {
                let fence = Fence { group: fence.group, number: fence.number, puts: fence.puts };
                self.out.push_back(Report::Fence { job, fence });
            }
            Event::Abort { rank, code, message } => {
                self.out.push_back(broken(format!("rank {rank} called MPI_Abort: {message}"), Some(code)));
            }
            Event::Gone { rank } => self.out.push_back(Report::Absent { job, rank }),
            Event::Stuck { rank, awaits } => {
                let why = format!("rank {rank} waits for rank {awaits}, which has ended or has left its MPI");
                self.out.push_back(broken(why, None));
            }
            Event::Lost { rank } if !running.ended.contains(&rank) => {
                running.lost.insert(rank, Instant::now());
            }
            Event::Lost { rank } => self.out.push_back(broken(without_finalize(rank), None)),
            Event::Refused { rank, why } => self.out.push_back(broken(format!("rank {rank}: {why}"), None)),
            Event::RankEnded { rank, end } => self.rank_ended(job, rank, end),
            Event::Failed { what } => self.out.push_back(broken(what, None)),
            Event::Note { what } => eprintln!("tasukid: job {job}: {what}"),
            Event::Remains { what } => {
                // The host goes on without it, as it does where a job has lost its shepherd.
                let why = format!("what is left of it cannot be ended: {what}");
                running.is_over = true;
                self.out.extend([broken(why, None), Report::Left { job }]);
                if running.is_forgotten {
                    self.forget(job);
                }
            }
            Event::Ended { .. } => {
                running.is_over = true;
                self.out.push_back(Report::Left { job });
                if running.is_forgotten {
                    self.forget(job);
                }
            }
            Event::Kept(Kept { switches, late, missed, worst }) => {
                self.out.push_back(Report::Turns(Punctuality { switches, late, missed, worst_ns: worst }));
            }
            Event::Frozen { .. } | Event::Thawed { .. } => {}
        }
    }

    /// How a job is that has just begun, or that was taken over: ranks may have ended meanwhile.
    fn state(&mut self, job: JobId, state: State) {
        if let Some(running) = self.jobs.get_mut(&job) {
            (running.residence, running.pid) = (Some(state.residence), Some(state.pid));
        }
        self.out.push_back(Report::InputTaken { job, bytes: state.input });
        for rank in state.ranks {
            if let Some(end) = rank.end {
                self.rank_ended(job, rank.rank, end);
            }
        }
    }

    fn rank_ended(&mut self, job: JobId, rank: u32, end: End) {
        let Some(running) = self.jobs.get_mut(&job) else { return };
        running.ended.insert(rank);
        let exit = match end {
            End::Exit(code) => Exit::Code(code),
            End::Signal(signal) => Exit::Signal(signal),
        };
        if running.lost.remove(&rank).is_some() && exit == Exit::Code(0) {
            self.out.push_back(Report::Broken { job, why: without_finalize(rank), code: None });
        }
        let ranks = running.proxies.get(&rank).cloned().unwrap_or_else(|| vec![rank]);
        self.out.extend(ranks.into_iter().map(|rank| Report::Exited { job, rank, exit }));
    }

    fn output(&mut self, job: JobId, rank: u32, stream: tasuki_shepherd::Stream, bytes: Vec<u8>) {
        let stream = match stream {
            tasuki_shepherd::Stream::Out => Stream::Out,
            tasuki_shepherd::Stream::Err => Stream::Error,
        };
        let record = Record { rank, stream, bytes: Bytes::from(bytes) };
        let number = self.jobs.get(&job).map_or(0, |running| running.shepherd.heard());
        self.written(job, number, record);
    }

    /// Puts what a rank has written behind what was written before, in one report as long as that is short.
    fn written(&mut self, job: JobId, number: u64, record: Record) {
        let size = record.bytes.len() + RECORD;
        match self.out.back_mut() {
            Some(Report::Output { job: last, first, records })
                if *last == job
                    && *first + records.len() as u64 == number
                    && self.written + size <= OUTPUT_MAX =>
            {
                self.written += size;
                records.push(record);
            }
            _ => {
                self.written = size;
                self.out.push_back(Report::Output { job, first: number, records: vec![record] });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{copies::tests::stored_below, shelter::Shelter, worker::Running};
    use std::{
        collections::BTreeMap,
        os::unix::net::{UnixListener, UnixStream},
    };
    use tasuki_control::Order;
    use tasuki_shepherd::Shepherd;

    /// A worker with a job, whose shepherd is at the other end of the socket.
    fn with_job(folder: &tempfile::TempDir, job: JobId) -> (Worker, UnixStream) {
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let shepherd = Shepherd::attach(&path).unwrap();
        let shelter = Shelter::open(&folder.path().join("jobs"), "1").unwrap();
        let mut worker = Worker::new("n1", shelter, Vec::new(), stored_below(folder.path()));
        worker.jobs.insert(job, Running::new(shepherd, BTreeMap::new()));
        (worker, listener.accept().unwrap().0)
    }

    #[test]
    fn what_cannot_be_ended_is_given_up_with_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let (mut worker, _shepherd) = with_job(&folder, 7);
        worker.handle(7, Event::Remains { what: "process 4711 (ls) sleeps in the kernel".into() });
        let told: Vec<Report> = std::iter::from_fn(|| worker.poll_report()).collect();
        let [Report::Broken { why, code: None, .. }, Report::Left { job: 7 }, Report::Heard { .. }] =
            &told[..]
        else {
            panic!("{told:?}")
        };
        assert!(why.contains("cannot be ended: process 4711 (ls) sleeps in the kernel"), "{why}");
        // The host takes other jobs, and the queue may forget this one.
        worker.obey(Order::Forget { job: 7 });
        assert!(worker.jobs.is_empty());
    }

    #[test]
    fn what_changes_nothing_for_a_job_does_not_end_it() {
        let folder = tempfile::tempdir().unwrap();
        let (mut worker, _shepherd) = with_job(&folder, 7);
        worker.handle(7, Event::Note { what: "the job's cgroup stays: Device or resource busy".into() });
        worker.handle(7, Event::Ended { swept: 0 });
        let told: Vec<Report> = std::iter::from_fn(|| worker.poll_report()).collect();
        let is_broken = |report: &Report| matches!(report, Report::Broken { .. });
        assert!(!told.iter().any(is_broken) && told.contains(&Report::Left { job: 7 }), "{told:?}");
    }

    #[test]
    fn what_ranks_write_is_told_in_pieces_that_fit_a_message() {
        let folder = tempfile::tempdir().unwrap();
        let shelter = Shelter::open(&folder.path().join("jobs"), "1").unwrap();
        let mut worker = Worker::new("n1", shelter, Vec::new(), stored_below(folder.path()));
        // Few long records, and many short ones.
        for (count, long) in [(100, 64 << 10), (300_000, 1)] {
            for number in 1..=count {
                let record = Record { rank: 4095, stream: Stream::Out, bytes: Bytes::from(vec![b'x'; long]) };
                worker.written(7, number, record);
            }
            let (mut next, mut reports) = (1, 0);
            while let Some(report) = worker.poll_report() {
                let mut message = Vec::new();
                tasuki_control::write(&report, &mut message).expect("it fits");
                assert!(message.len() <= OUTPUT_MAX + 100, "{}", message.len());
                let Report::Output { job: 7, first, records } = report else { panic!("{report:?}") };
                assert_eq!(first, next);
                (next, reports) = (first + records.len() as u64, reports + 1);
            }
            assert_eq!(next, count + 1);
            assert!(reports < 10, "{reports} reports");
        }
    }
}
