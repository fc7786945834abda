//! What is known of jobs, on disk, so that it outlives the daemon: `jobs/NUMBER/` with `job.json`, with
//! `work` as long as the job is not over, and with the log of its output.

use crate::RuntimeError;
use std::{
    fs::{self, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};
use tasuki_control::{JobId, JobView, Work};
use tasuki_host::replace_file;
use tasuki_queue::Saved;

/// Mode of the files: a job's environment is its user's, and root's.
const MODE: u32 = 0o600;

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

    /// All jobs that were written down. Those that cannot be read are passed over: a file may have been cut
    /// off by a full disk.
    pub fn load(&self) -> Vec<Saved> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut all: Vec<Saved> = entries.filter_map(|entry| read(&entry.path())).collect();
        all.sort_by_key(|saved| saved.view.id);
        all
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
        let is_new = !folder.exists();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let work_file = folder.join("work");
        match work {
            Some(work) if !work_file.exists() => {
                let bytes = postcard::to_extend(work, Vec::new()).map_err(io::Error::other)?;
                replace_file(&work_file, &bytes, MODE)?;
            }
            None if work_file.exists() => fs::remove_file(&work_file)?,
            _ => {}
        }
        replace_file(&folder.join("job.json"), &serde_json::to_vec_pretty(view)?, MODE)?;
        if is_new {
            File::open(&self.folder)?.sync_all()?;
        }
        Ok(())
    }

    /// Removes what is known of a job.
    pub fn forget(&self, job: JobId) {
        // What stays is forgotten at the next start.
        let _ = fs::remove_dir_all(self.of(job));
    }
}

fn read(folder: &Path) -> Option<Saved> {
    let view: JobView = serde_json::from_slice(&fs::read(folder.join("job.json")).ok()?).ok()?;
    let work = fs::read(folder.join("work")).ok().and_then(|bytes| postcard::from_bytes(&bytes).ok());
    Some(Saved { view, work })
}
