//! What the queue has written down of a job when a checkpoint of it was taken, in a folder for each
//! checkpoint beside what it knows of the job now.

use super::{FENCES, JOB, Journal, MODE, read};
use crate::log::TOLD;
use std::{
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};
use tasuki_control::{Checkpoint, Epoch, JobId, JobView, Work};
use tasuki_host::replace_file;
use tasuki_queue::Saved;

/// The beginning of the folder's name; the checkpoint's number follows.
const FOLDER: &str = "checkpoint-";

impl Journal {
    fn image_of(&self, job: JobId, epoch: Epoch) -> PathBuf {
        self.of(job).join(format!("{FOLDER}{epoch}"))
    }

    /// The folders of a job's checkpoints, the oldest first, also of one that was not written as a whole.
    fn folders(&self, job: JobId) -> Vec<Epoch> {
        let entries = fs::read_dir(self.of(job)).into_iter().flatten().flatten();
        let number = |name: &str| name.strip_prefix(FOLDER)?.parse().ok();
        let mut epochs: Vec<Epoch> =
            entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect();
        epochs.sort_unstable();
        epochs
    }

    /// The checkpoints of a job, the oldest first.
    fn epochs(&self, job: JobId) -> Vec<Epoch> {
        let is_whole = |epoch: &Epoch| self.image_of(job, *epoch).join(JOB).exists();
        self.folders(job).into_iter().filter(is_whole).collect()
    }

    /// Whether there are checkpoints of a job.
    pub fn has_images(&self, job: JobId) -> bool {
        !self.folders(job).is_empty()
    }

    /// Keeps what is known of a job whose processes stand still on all hosts. The one before is kept as well.
    pub fn keep_image(&self, epoch: Epoch, view: &JobView, work: &Work) -> io::Result<()> {
        let (job, folder) = (view.id, self.image_of(view.id, epoch));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let bytes = postcard::to_extend(work, Vec::new()).map_err(io::Error::other)?;
        replace_file(&folder.join("work"), &bytes, MODE).map_err(io::Error::other)?;
        // Of a job that has written nothing the log is empty, and is to be so again.
        let told = bytes_of(&self.of(job).join(TOLD))?.filter(|told| told.len() >= 8);
        replace_file(&folder.join(TOLD), &told.unwrap_or_else(|| vec![0; 8]), MODE)
            .map_err(io::Error::other)?;
        if let Some(fences) = bytes_of(&self.of(job).join(FENCES))? {
            replace_file(&folder.join(FENCES), &fences, MODE).map_err(io::Error::other)?;
        }
        // Without this file, which is written last, the checkpoint is none.
        replace_file(&folder.join(JOB), &serde_json::to_vec_pretty(view)?, MODE).map_err(io::Error::other)?;
        let mut older = self.epochs(job);
        older.retain(|one| *one < epoch);
        let before = older.pop();
        let old = self.folders(job).into_iter().filter(|old| *old < epoch && Some(*old) != before);
        old.for_each(|old| drop(fs::remove_dir_all(self.image_of(job, old))));
        Ok(())
    }

    /// What was known of a job when a checkpoint of it was taken; `None`: the last one. The second value says
    /// which one it is.
    ///
    /// # Errors
    /// Why it cannot be had, for the user.
    pub fn image(&self, job: JobId, epoch: Option<Epoch>) -> Result<(Saved, Epoch), String> {
        let known = self.epochs(job);
        let epoch = match epoch {
            Some(epoch) if known.contains(&epoch) => epoch,
            Some(epoch) => {
                let known: Vec<String> = known.iter().map(ToString::to_string).collect();
                return Err(format!("job {job} has no checkpoint {epoch}, but: {}", known.join(", ")));
            }
            None => *known.last().ok_or_else(|| {
                format!("job {job} has no checkpoint: `tasuki checkpoint` or `submit --checkpoint` takes one")
            })?,
        };
        let saved = read(&self.image_of(job, epoch));
        Ok((
            saved.map_err(|error| format!("checkpoint {epoch} of job {job} cannot be read: {error}"))?,
            epoch,
        ))
    }

    /// Has the job's output end, and its fences stand, as when the checkpoint was taken.
    pub fn put_back(&self, job: JobId, epoch: Epoch) -> io::Result<()> {
        for file in [TOLD, FENCES] {
            let now = self.of(job).join(file);
            match bytes_of(&self.image_of(job, epoch).join(file))? {
                // What is appended to is not replaced.
                Some(bytes) => fs::write(&now, bytes)?,
                None => drop(fs::remove_file(&now)),
            }
        }
        Ok(())
    }

    /// The checkpoint that was a job's last one when another was taken, if it is still here.
    pub fn before(&self, job: JobId, epoch: Epoch) -> Option<Checkpoint> {
        let before = read(&self.image_of(job, epoch)).ok()?.view.checkpoint?;
        self.epochs(job).contains(&before.epoch).then_some(before)
    }

    /// Removes what was kept for later checkpoints than one. Returns whether there were some, and what was
    /// known of that one when the next was taken.
    pub fn forget_newer(&self, job: JobId, epoch: Epoch) -> (bool, Option<Checkpoint>) {
        let newer: Vec<Epoch> = self.folders(job).into_iter().filter(|one| *one > epoch).collect();
        let known = newer.iter().find_map(|next| self.before(job, *next));
        newer.iter().for_each(|one| self.discard_image(job, *one));
        (!newer.is_empty(), known.filter(|known| known.epoch == epoch))
    }

    /// Removes what was kept for one checkpoint of a job.
    pub fn discard_image(&self, job: JobId, epoch: Epoch) {
        let folder = self.image_of(job, epoch);
        // Without this file, which goes first, the checkpoint is none, whatever stays of the others.
        let removed = fs::remove_file(folder.join(JOB));
        let removed = removed.or_else(|error| match error.kind() {
            // It was not written as a whole.
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
        if let Err(error) = removed.and_then(|()| fs::remove_dir_all(&folder)) {
            eprintln!("{} cannot be removed: {error}", folder.display());
        }
    }

    /// Removes what was kept for checkpoints of a job.
    pub fn discard_images(&self, job: JobId) {
        self.folders(job).into_iter().for_each(|one| drop(fs::remove_dir_all(self.image_of(job, one))));
    }
}

/// What is in a file, if there is one.
fn bytes_of(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_checkpoints_are_kept_and_output_ends_where_each_was_taken() {
        let tasuki_control::Report::Request { request: tasuki_control::Request::Submit { work, .. }, .. } =
            tasuki_control::Report::sample()
        else {
            panic!("the sample is a job")
        };
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        let client = tasuki_queue::Client { host: 0, session: 1 };
        let mut queue = tasuki_queue::Queue::new([("n1".to_owned(), Some(2))]);
        queue.host_up(0, 0, 2);
        let user = tasuki_control::User { name: "anna".into(), is_root: false };
        let job = queue.submit(0, &user, *work, tasuki_control::Terms::default(), client).unwrap();
        let (view, work) = queue.saved(job).unwrap();
        let work = work.unwrap();
        journal.save(view, Some(work)).unwrap();
        assert!(journal.image(job, None).unwrap_err().contains("has no checkpoint: "));
        let now = |file: &str| fs::read(journal.of(job).join(file)).ok();
        // Nothing was written before the first one, and there was no fence.
        journal.keep_image(10, view, work).unwrap();
        fs::write(journal.of(job).join(TOLD), [7; 24]).unwrap();
        fs::write(journal.of(job).join(FENCES), "second").unwrap();
        journal.keep_image(20, view, work).unwrap();
        assert_eq!(journal.epochs(job), [10, 20]);
        let (saved, epoch) = journal.image(job, None).unwrap();
        assert_eq!((saved.view, saved.work, epoch), (view.clone(), Some(work.clone()), 20));
        journal.put_back(job, 10).unwrap();
        assert_eq!((now(TOLD), now(FENCES)), (Some(vec![0; 8]), None));
        journal.put_back(job, 20).unwrap();
        assert_eq!((now(TOLD), now(FENCES)), (Some(vec![7; 24]), Some(b"second".to_vec())));
        journal.keep_image(30, view, work).unwrap();
        assert_eq!(journal.epochs(job), [20, 30]);
        assert_eq!(
            journal.image(job, Some(10)).unwrap_err(),
            format!("job {job} has no checkpoint 10, but: 20, 30")
        );
        // One that was being written is none, and the daemon reads the job as before.
        fs::remove_file(journal.image_of(job, 30).join(JOB)).unwrap();
        assert_eq!(journal.image(job, None).unwrap().1, 20);
        assert_eq!(journal.load().0.len(), 1);
        journal.discard_images(job);
        assert!(!journal.has_images(job));
    }
}
