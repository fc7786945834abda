//! Which checkpoints of a job a host keeps, and how others go.
//!
//! What takes long is apart from what does not, since a daemon has one thread: a folder gets another name at
//! once, and the disk takes or gives up what is in it as long as that takes.

use super::{Images, PART};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};
use tasuki_control::{Epoch, JobId};

/// Waits until the disk has all of the file system in which a folder is.
pub(super) type Flush = Arc<dyn Fn(&Path) -> io::Result<()> + Send + Sync>;

/// What comes behind the name of a folder that is being removed.
const GONE: &str = ".gone";

impl Images {
    /// Another way to wait for the disk takes the place of syncfs(2), for tests.
    #[cfg(test)]
    pub fn with_flush(self, flush: impl Fn(&Path) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self { flush: Arc::new(flush), ..self }
    }

    /// A checkpoint is whole on all hosts. It is kept, and the one before it; older ones go.
    pub fn keep(&self, job: JobId, epoch: Epoch) -> io::Result<()> {
        self.name(job, epoch)?;
        self.tidy(job, epoch, None)
    }

    /// A checkpoint is whole on all hosts, and is called so from now on. It is to be [tidied](Self::tidy) up.
    pub fn name(&self, job: JobId, epoch: Epoch) -> io::Result<()> {
        fs::rename(self.part(job, epoch), self.whole(job, epoch))
    }

    /// Waits until the disk has a checkpoint that was named, and removes those that are older than the one
    /// before it. `read`: one that is being read stays until the next one comes.
    pub fn tidy(&self, job: JobId, epoch: Epoch, read: Option<Epoch>) -> io::Result<()> {
        (self.flush)(&self.of_job(job))?;
        let mut older: Vec<Epoch> = self.epochs(job).into_iter().filter(|one| *one < epoch).collect();
        older.pop();
        older.retain(|old| Some(*old) != read);
        older.iter().for_each(|old| drop(fs::remove_dir_all(self.whole(job, *old))));
        Ok(())
    }

    /// A checkpoint is not whole on all hosts. Nobody waits for its removal.
    pub fn drop_part(&self, job: JobId, epoch: Epoch) {
        Self::remove_later(&self.part(job, epoch));
    }

    /// A checkpoint is not whole on all hosts, or cannot be kept on one, which this host learns after it has
    /// named its own part. Nobody waits for its removal.
    pub fn drop_epoch(&self, job: JobId, epoch: Epoch) {
        [self.part(job, epoch), self.whole(job, epoch)].iter().for_each(|folder| Self::remove_later(folder));
    }

    /// A job goes on from a checkpoint, and the run that has saved later ones is given up.
    pub fn forget_newer(&self, job: JobId, epoch: Epoch) {
        let newer = self.epochs(job).into_iter().filter(|one| *one > epoch);
        newer.for_each(|one| self.drop_epoch(job, one));
    }

    /// Where these are copies for another host, which has the checkpoints that are `known`: others between
    /// them are of a run that was given up, and go. It may have lost those before them.
    pub fn forget_others(&self, job: JobId, known: &[Epoch]) {
        let Some(first) = known.iter().min() else { return };
        let others = self.epochs(job).into_iter().filter(|one| one > first && !known.contains(one));
        others.for_each(|one| self.drop_epoch(job, one));
    }

    /// Removes a folder, which is not found under its name any more when this returns.
    fn remove_later(folder: &Path) {
        let mut gone = folder.as_os_str().to_owned();
        gone.push(GONE);
        let gone = PathBuf::from(gone);
        // A daemon that ended in the midst has left a folder of that name.
        let renamed = fs::rename(folder, &gone).or_else(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty => {
                fs::remove_dir_all(&gone).and_then(|()| fs::rename(folder, &gone))
            }
            _ => Err(error),
        });
        match renamed {
            Ok(()) => {
                // What stays goes with the last checkpoint of the job.
                let remove = move || fs::remove_dir_all(gone);
                let _ = thread::Builder::new().name("remove".into()).spawn(remove);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => eprintln!("{} cannot be removed: {error}", folder.display()),
        }
    }

    /// Removes all checkpoints of a job.
    pub fn discard(&self, job: JobId) {
        let _ = fs::remove_dir_all(self.of_job(job));
    }

    /// Whether there is a checkpoint of a job that is whole on all hosts.
    pub fn has_any(&self, job: JobId) -> bool {
        !self.epochs(job).is_empty()
    }

    /// The checkpoints of a job that are whole, the oldest first.
    pub fn epochs(&self, job: JobId) -> Vec<Epoch> {
        let entries = fs::read_dir(self.of_job(job)).into_iter().flatten().flatten();
        let mut epochs: Vec<Epoch> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        epochs.sort_unstable();
        epochs
    }

    pub(super) fn parts(&self, job: JobId) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.of_job(job)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == PART)).collect()
    }
}
