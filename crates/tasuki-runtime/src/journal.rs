//! What is known of jobs, on disk, so that it outlives the daemon: `jobs/NUMBER/` with `job.json`, with
//! `work` as long as the job is not over, and with the log of its output.

mod images;

use crate::{RuntimeError, log::TOLD};
use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};
use tasuki_control::{JobId, JobView, Work};
use tasuki_host::replace_file;
use tasuki_pmi::Results;
use tasuki_queue::Saved;

/// Mode of the files: a job's environment is its user's, and root's.
const MODE: u32 = 0o600;

/// The file with what is known of a job, which is written last: without it a job was never taken.
const JOB: &str = "job.json";
/// The file with what has come of a job's fences.
const FENCES: &str = "fences";
/// The file with the length of a slice.
const SLICE: &str = "slice";

/// Jobs on disk.
pub(crate) struct Journal {
    folder: PathBuf,
}

impl Journal {
    /// The jobs in a daemon's folder.
    pub fn open(folder: &Path) -> Result<Self, RuntimeError> {
        let folder = folder.join("jobs");
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|source| RuntimeError::File { doing: "make", path: folder.clone(), source })?;
        Ok(Self { folder })
    }

    /// All jobs that were written down, and the highest number of which there is anything: no further job may
    /// have one up to it, or it would find another user's work and output.
    ///
    /// What is left of a job that was not written down as a whole, and so never began, is removed. One that
    /// cannot be read, for instance because a full disk has cut it off, stays for people to look at.
    pub fn load(&self) -> (Vec<Saved>, JobId) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<JobId>().ok();
        let mut numbers: Vec<JobId> = entries.filter_map(number).collect();
        numbers.sort_unstable();
        let all = numbers.iter().filter_map(|job| self.load_job(*job)).collect();
        (all, numbers.last().copied().unwrap_or(0))
    }

    fn load_job(&self, job: JobId) -> Option<Saved> {
        let folder = self.of(job);
        match read(&folder) {
            Ok(saved) if saved.view.id == job => return Some(saved),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.forget(job),
            Ok(saved) => eprintln!("{}: it is about job {}", folder.join(JOB).display(), saved.view.id),
            Err(error) => eprintln!("{} cannot be read: {error}", folder.join(JOB).display()),
        }
        None
    }

    /// The length of a slice that was written down, ns.
    pub fn slice(&self) -> Option<u64> {
        fs::read_to_string(self.folder.join(SLICE)).ok()?.trim().parse().ok()
    }

    /// Writes the length of a slice down, ns.
    pub fn save_slice(&self, ns: u64) -> io::Result<()> {
        replace_file(&self.folder.join(SLICE), ns.to_string().as_bytes(), MODE).map_err(io::Error::other)
    }

    /// The folder of a job.
    pub fn of(&self, job: JobId) -> PathBuf {
        self.folder.join(job.to_string())
    }

    /// Writes a job down. The disk has it when this returns.
    pub fn save(&self, view: &JobView, work: Option<&Work>) -> io::Result<()> {
        let folder = self.of(view.id);
        let is_new = !folder.join(JOB).exists();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let work_file = folder.join("work");
        match work {
            // What stands there before a job is written down as a whole is not its own.
            Some(work) if is_new || !work_file.exists() => {
                let bytes = postcard::to_extend(work, Vec::new()).map_err(io::Error::other)?;
                replace_file(&work_file, &bytes, MODE)?;
            }
            None if work_file.exists() => {
                fs::remove_file(&work_file)?;
                // What a job that is over needs no more.
                [FENCES, TOLD].iter().for_each(|file| drop(fs::remove_file(folder.join(file))));
            }
            _ => {}
        }
        replace_file(&folder.join(JOB), &serde_json::to_vec_pretty(view)?, MODE)?;
        if is_new {
            File::open(&self.folder)?.sync_all()?;
        }
        Ok(())
    }

    /// Writes down what has come of a job's fences, so that it outlives this daemon.
    ///
    /// The kernel has it when this returns, the disk perhaps not: all ranks of a job wait meanwhile. If the
    /// power fails before the disk has it, the numbers of fences show that and the job ends with that reason.
    pub fn save_fences(&self, job: JobId, results: &Results) -> io::Result<()> {
        let bytes = postcard::to_extend(results, Vec::new()).map_err(io::Error::other)?;
        let file = self.of(job).join(FENCES);
        let new = file.with_extension("new");
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(MODE).open(&new)?.write_all(&bytes)?;
        fs::rename(new, file)
    }

    /// What has come of a job's fences.
    pub fn fences(&self, job: JobId) -> io::Result<Results> {
        match fs::read(self.of(job).join(FENCES)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Results::default()),
            read => postcard::from_bytes(&read?).map_err(io::Error::other),
        }
    }

    /// Removes what is known of a job.
    pub fn forget(&self, job: JobId) {
        // What stays is forgotten at the next start.
        let _ = fs::remove_dir_all(self.of(job));
    }
}

fn read(folder: &Path) -> io::Result<Saved> {
    let view: JobView = serde_json::from_slice(&fs::read(folder.join(JOB))?)?;
    let work = fs::read(folder.join("work")).ok().and_then(|bytes| postcard::from_bytes(&bytes).ok());
    Ok(Saved { view, work })
}

#[cfg(test)]
mod tests {
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
}
