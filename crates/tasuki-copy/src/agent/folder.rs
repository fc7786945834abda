//! The folder of a job on a host: made for one user, locked while the job lives, and removed afterwards.

use super::relay::Trouble;
use crate::protocol::{Item, Kept};
use nix::{
    fcntl::{Flock, FlockArg, OFlag},
    sys::statvfs::statvfs,
    unistd::Uid,
};
use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Component, Path, PathBuf},
};

/// Names of folders of living jobs begin with this.
const LIVING: &str = "tasuki-job-";
/// The name of a folder before it is locked.
const NEW: &str = "tasuki-new-";
/// Names of folders in which something was kept of jobs that have ended.
const KEPT: &str = "tasuki-kept-";
/// The file that lists what was sent, below the folder.
const SENT: &str = "sent";
/// Below the folder: the working folder of the program, with the program and the files that were named.
pub const WORK: &str = "files";
/// Compiled modules of Python, which nobody needs to keep.
const CACHE: &str = "__pycache__";
/// Largest number of names of kept files that are told.
const NAMES_MAX: usize = 1000;

/// A job's folder. Dropping it removes it.
pub struct JobFolder {
    path: PathBuf,
    /// Held as long as the job lives: a process that gets the lock knows that the job is gone.
    lock: Option<Flock<File>>,
}

impl JobFolder {
    /// Makes the folder of a job in `place`, with room for so many bytes.
    pub fn make(place: &Path, job: &str, bytes: u64) -> Result<Self, Trouble> {
        let path = place.join(format!("{LIVING}{job}"));
        if !job.bytes().all(|byte| byte.is_ascii_alphanumeric()) || job.is_empty() {
            return Err(Trouble::own("the job has an odd number".into()));
        }
        check_room(place, bytes)?;
        // It gets its name when it is locked: nobody sweeps it in between.
        let new = place.join(format!("{NEW}{job}"));
        let made = DirBuilder::new().mode(0o700).create(&new);
        made.map_err(|error| at(&new, "cannot make", &error))?;
        let lock = lock(&new).ok_or_else(|| Trouble::own(format!("cannot lock {}", new.display())));
        let folder = Self { path: new.clone(), lock: Some(lock?) };
        let named = match path.exists() {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => fs::rename(&new, &path),
        };
        named.map_err(|error| {
            let remedy = "hosts that share /tmp are one host: give each a /tmp of its own";
            at(&path, "cannot make", &error).helped(remedy)
        })?;
        let folder = Self { path, lock: folder.release() };
        for below in [WORK, "lib"] {
            let made = DirBuilder::new().mode(0o700).create(folder.path.join(below));
            made.map_err(|error| at(&folder.path, "cannot write below", &error))?;
        }
        Ok(folder)
    }

    /// Gives the lock away without removing the folder.
    fn release(mut self) -> Option<Flock<File>> {
        self.lock.take()
    }

    /// Removes folders of this user's jobs that were left by a crash.
    pub fn sweep(place: &Path) {
        let own = Uid::effective().as_raw();
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let is_job = entry.file_name().to_str().is_some_and(|name| name.starts_with(LIVING));
            let is_own = entry.metadata().is_ok_and(|data| data.is_dir() && data.uid() == own);
            if let Some(lock) = (is_job && is_own).then(|| lock(&entry.path())).flatten() {
                // What cannot be removed stays for the next start.
                let _ = Self { path: entry.path(), lock: Some(lock) }.end();
            }
        }
    }

    /// Writes down what will be sent, so that it can be told from what the program writes.
    pub fn announce(&self, items: &[Item]) -> Result<(), Trouble> {
        let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
        let text = serde_json::to_string(&names).map_err(|error| Trouble::own(error.to_string()))?;
        let file = self.path.join(SENT);
        fs::write(&file, text).map_err(|error| at(&file, "cannot write", &error))
    }

    /// Makes a file of the job, and the folders above it.
    pub fn create(&self, item: &Item) -> Result<File, Trouble> {
        let name = Path::new(&item.name);
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(Trouble::own(format!("a file has an odd name: {}", name.display())));
        }
        let path = self.path.join(name);
        let above = path.parent().unwrap_or(&self.path);
        let made = DirBuilder::new().mode(0o700).recursive(true).create(above);
        made.map_err(|error| at(above, "cannot make", &error))?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(item.mode & 0o700);
        options.open(&path).map_err(|error| at(&path, "cannot write", &error))
    }

    /// Where a file of the job is.
    pub fn path_of(&self, item: &Item) -> PathBuf {
        self.path.join(&item.name)
    }

    /// Removes the folder; what the program has written into its working folder is kept.
    pub fn end(mut self) -> Result<Option<Kept>, Trouble> {
        let ended = clean(&self.path);
        self.lock.take();
        ended.map_err(|error| at(&self.path, "cannot remove", &error))
    }
}

impl Drop for JobFolder {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // What cannot be removed is swept by the next start.
            let _ = clean(&self.path);
        }
    }
}

/// Removes a job's folder, unless the program has written something into its working folder: that is kept
/// under another name, by which it is not swept.
fn clean(path: &Path) -> io::Result<Option<Kept>> {
    let list = fs::read_to_string(path.join(SENT)).unwrap_or_default();
    let sent: BTreeSet<PathBuf> = serde_json::from_str(&list).unwrap_or_default();
    let mut files = Vec::new();
    written(path, Path::new(WORK), &sent, &mut files)?;
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(LIVING));
    let Some(job) = name.filter(|_| !files.is_empty()) else {
        fs::remove_dir_all(path)?;
        return Ok(None);
    };
    // The program may have removed any of this.
    let _ = fs::remove_file(path.join(SENT));
    sent.iter().for_each(|name| remove_sent(path, name));
    let _ = fs::remove_dir_all(path.join("lib"));
    let kept = path.with_file_name(format!("{KEPT}{job}"));
    fs::rename(path, &kept)?;
    let folder = kept.join(WORK);
    files.truncate(NAMES_MAX);
    Ok(Some(Kept { folder: folder.display().to_string(), files }))
}

/// Removes a file that was sent, and the folders that it was sent in if they are empty then.
fn remove_sent(root: &Path, name: &Path) {
    let _ = fs::remove_file(root.join(name));
    let folders =
        name.ancestors().skip(1).take_while(|folder| folder.starts_with(WORK) && *folder != Path::new(WORK));
    for folder in folders {
        // A folder in which something is left stays.
        let _ = fs::remove_dir(root.join(folder));
    }
}

/// Collects the files of a folder that were not sent, by their names below the working folder.
fn written(root: &Path, folder: &Path, sent: &BTreeSet<PathBuf>, files: &mut Vec<String>) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if entry.file_name() != CACHE {
                written(root, &name, sent, files)?;
            }
        } else if !sent.contains(&name) {
            files.push(name.strip_prefix(WORK).unwrap_or(&name).display().to_string());
        }
    }
    Ok(())
}

/// The lock of a folder, unless somebody has it or it is no folder.
fn lock(path: &Path) -> Option<Flock<File>> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path).ok()?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

/// Refuses what does not fit, before it fills the disk or the memory of others.
fn check_room(place: &Path, bytes: u64) -> Result<(), Trouble> {
    let Ok(disk) = statvfs(place) else { return Ok(()) };
    let room = disk.blocks_available().saturating_mul(disk.fragment_size());
    if bytes <= room {
        return Ok(());
    }
    let why = format!("{} has room for {room} bytes, and {bytes} are to come", place.display());
    Err(Trouble::own(why).helped("make room there, or send less with --files"))
}

fn at(path: &Path, what: &str, error: &io::Error) -> Trouble {
    Trouble::own(format!("{what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
