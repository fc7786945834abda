//! What is known of jobs, on disk, so that it outlives the daemon: `jobs/NUMBER/` with `job.json`, with
//! `work` as long as the job is not over, and with the log of its output.

mod images;
#[cfg(test)]
mod tests;

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
/// The file with what is to be run.
const WORK: &str = "work";
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
            Ok(saved) if saved.view.id == job => {
                if saved.view.state.is_over() {
                    // A daemon that ended in the midst has left it. What stays is for root's eyes alone.
                    let _ = remove_needless(&folder);
                }
                return Some(saved);
            }
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

    /// The file with what is known of a job.
    pub fn record(&self, job: JobId) -> PathBuf {
        self.of(job).join(JOB)
    }

    /// Writes a job down. The disk has it when this returns.
    pub fn save(&self, view: &JobView, work: Option<&Work>) -> io::Result<()> {
        let folder = self.of(view.id);
        let is_new = !folder.join(JOB).exists();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let work_file = folder.join(WORK);
        // What stands there before a job is written down as a whole is not its own.
        if let Some(work) = work.filter(|_| is_new || !work_file.exists()) {
            let bytes = postcard::to_extend(work, Vec::new()).map_err(io::Error::other)?;
            replace_file(&work_file, &bytes, MODE)?;
        }
        replace_file(&folder.join(JOB), &serde_json::to_vec_pretty(view)?, MODE)?;
        if is_new {
            File::open(&self.folder)?.sync_all()?;
        }
        // A job without its work that was not written down to be over counts as one that cannot be read.
        if work.is_none() { remove_needless(&folder) } else { Ok(()) }
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

/// Removes what a job that is over needs no more: what was to be run, with its environment, and what a daemon
/// would need to go on with it.
fn remove_needless(folder: &Path) -> io::Result<()> {
    let remove = |file: &&str| match fs::remove_file(folder.join(file)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    [WORK, FENCES, TOLD].iter().map(remove).fold(Ok(()), Result::and)
}

fn read(folder: &Path) -> io::Result<Saved> {
    let view: JobView = serde_json::from_slice(&fs::read(folder.join(JOB))?)?;
    let work = fs::read(folder.join(WORK)).ok().and_then(|bytes| postcard::from_bytes(&bytes).ok());
    Ok(Saved { view, work })
}
