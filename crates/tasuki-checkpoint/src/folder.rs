//! The folder of a host in which images lie: `EPOCH-DRAWN/rank-N`, owned by the program's user alone.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::image::{Bad, Head};
use crate::own::{is_the_users, to_write};

/// The file that marks an epoch as finished.
const MARK: &str = "finished";
/// The file that lists the lines of epochs that are over.
const OVER: &str = "over";
/// Lines that are listed at most; the oldest ones are left out.
const OVER_MAX: usize = 4096;

/// An epoch, and the number that was drawn for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// Counted from 1 over all runs of the program.
    pub epoch: u64,
    /// Drawn at random, so that two tries of one epoch differ: the line in the upper half, and the try.
    pub drawn: u64,
}

/// What epochs have in common that were saved by one run of the program, or by others that went on from it. A
/// run that begins anew draws another one.
pub type Line = u32;

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08}-{:016x}", self.epoch, self.drawn)
    }
}

impl Stamp {
    /// Its line.
    pub(crate) fn line(&self) -> Line {
        (self.drawn >> 32) as Line
    }

    fn parse(text: &str) -> Option<Stamp> {
        let (epoch, drawn) = text.split_once('-')?;
        let stamp = Stamp { epoch: epoch.parse().ok()?, drawn: u64::from_str_radix(drawn, 16).ok()? };
        (stamp.to_string() == text).then_some(stamp)
    }
}

/// A host's folder, as one process uses it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    rank: usize,
    /// As long as it is locked no other process of this rank may use the folder.
    lock: File,
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A child of the program has a copy of the descriptor until it runs another program, so closing it is
        // not enough. A lock that stays all the same ends with these processes.
        let _ = self.lock.unlock();
    }
}

impl Folder {
    /// Opens the folder, which is made if it is not there.
    ///
    /// # Errors
    /// It cannot be made, another user could put files there, or another process of this rank has it.
    pub fn open(path: &Path, rank: usize) -> Result<Folder, Error> {
        let make = DirBuilder::new().recursive(true).mode(0o700).create(path);
        make.map_err(Error::file("make the folder", path))?;
        is_the_users(path)?;
        let lock = path.join(format!("rank-{rank}.lock"));
        let opened = to_write().append(true).open(&lock);
        let file = opened.map_err(Error::file("open", &lock))?;
        match file.try_lock() {
            Ok(()) => Ok(Folder { path: path.to_owned(), rank, lock: file }),
            Err(TryLockError::WouldBlock) => Err(Error::InUse { path: path.to_owned(), rank }),
            Err(TryLockError::Error(error)) => Err(Error::file("lock", &lock)(error)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the image of a process in an epoch is or should be.
    pub fn image(&self, stamp: Stamp, rank: usize) -> PathBuf {
        self.epoch(stamp).join(format!("rank-{rank}"))
    }

    fn epoch(&self, stamp: Stamp) -> PathBuf {
        self.path.join(stamp.to_string())
    }

    /// The epochs that have a folder here.
    fn stamps(&self) -> Result<Vec<Stamp>, Error> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(Error::file("read the folder", &self.path))? {
            let entry = entry.map_err(Error::file("read the folder", &self.path))?;
            found.extend(entry.file_name().to_str().and_then(Stamp::parse));
        }
        Ok(found)
    }

    /// The images that are here and whole as far as their heads and lengths tell, and what is wrong with the
    /// others. What another process removes meanwhile is not here.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn find(&self) -> Result<(Vec<Head>, Vec<String>), Error> {
        let (mut found, mut complaints) = (Vec::new(), Vec::new());
        for stamp in self.stamps()? {
            let Ok(files) = fs::read_dir(self.epoch(stamp)) else { continue };
            for file in files.flatten() {
                let name = file.file_name();
                let number = name.to_str().and_then(|name| name.strip_prefix("rank-"));
                let Some(rank) = number.and_then(|number| number.parse::<u32>().ok()) else { continue };
                match open(&file.path()) {
                    Ok((_, head)) if head.stamp == stamp && head.rank == rank => found.push(head),
                    Ok(_) => {
                        complaints.push(format!("{}: of another process or epoch", file.path().display()))
                    }
                    Err(bad) => complaints.push(format!("{}: {bad}", file.path().display())),
                }
            }
        }
        found.sort_by_key(|head| (head.stamp, head.rank));
        Ok((found, complaints))
    }

    /// Begins to write the image of a process. Whatever goes wrong is told by [`Draft::keep`].
    pub fn draft(&self, stamp: Stamp, rank: usize) -> Draft {
        let path = self.image(stamp, rank);
        // Processes that share a folder may write the same image, each under a name of its own at first.
        let aside = self.epoch(stamp).join(format!("new-{rank}-by-{}", self.rank));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(self.epoch(stamp));
        let opened = made.and_then(|()| to_write().truncate(true).open(&aside));
        Draft { file: opened.map_err(Error::file("write", &aside)), aside, path }
    }

    /// Notes that all processes have said that their images of this epoch are on the disk. If images are
    /// missing later, it is known by this that they were lost.
    pub fn mark(&self, stamp: Stamp) {
        // Without the mark an epoch that loses images counts as one that was never finished.
        let _ = to_write().open(self.epoch(stamp).join(MARK));
    }

    /// Takes the marks of all epochs away.
    pub fn unmark(&self) {
        for stamp in self.stamps().unwrap_or_default() {
            let _ = fs::remove_file(self.epoch(stamp).join(MARK));
        }
    }

    /// The epochs that are marked.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn marked(&self) -> Result<Vec<Stamp>, Error> {
        let mut stamps = self.stamps()?;
        stamps.retain(|stamp| self.epoch(*stamp).join(MARK).exists());
        Ok(stamps)
    }

    /// The lines that are known here to be over, the oldest first.
    pub fn over(&self) -> Vec<Line> {
        let text = fs::read_to_string(self.path.join(OVER)).unwrap_or_default();
        text.lines().filter_map(|line| Line::from_str_radix(line, 16).ok()).collect()
    }

    /// Notes that lines are over, for when a host comes back that was away and has epochs of them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn end(&self, lines: &BTreeSet<Line>) -> Result<(), Error> {
        let mut over = self.over();
        let news: Vec<Line> = lines.iter().copied().filter(|line| !over.contains(line)).collect();
        if news.is_empty() {
            return Ok(());
        }
        over.extend(news);
        over.drain(..over.len().saturating_sub(OVER_MAX));
        let text: String = over.iter().map(|line| format!("{line:08x}\n")).collect();
        // All processes that share a folder write the same, each under a name of its own at first.
        let (aside, path) = (self.path.join(format!("new-over-by-{}", self.rank)), self.path.join(OVER));
        let opened = to_write().truncate(true).open(&aside);
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()).and(file.sync_all()));
        let named = written.and_then(|()| fs::rename(&aside, &path));
        named.and_then(|()| File::open(&self.path)?.sync_all()).map_err(Error::file("write", &path))
    }

    /// Removes the epochs of lines. What cannot be removed is known to be over.
    pub fn remove(&self, lines: &BTreeSet<Line>) {
        for stamp in self.stamps().unwrap_or_default() {
            if lines.contains(&stamp.line()) {
                let _ = fs::remove_dir_all(self.epoch(stamp));
            }
        }
    }

    /// Removes all epochs but these. What cannot be removed stays, and is tried again after the next epoch.
    pub fn keep_only(&self, kept: &[Stamp]) {
        for stamp in self.stamps().unwrap_or_default() {
            if !kept.contains(&stamp) {
                let _ = fs::remove_dir_all(self.epoch(stamp));
            }
        }
    }
}

/// Opens an image and reads its head, and demands that the file has the length that follows from it.
pub fn open(path: &Path) -> Result<(File, Head), Bad> {
    let mut file = File::open(path)?;
    let head = Head::read(&mut file)?;
    let length = file.metadata()?.len();
    if length != head.image_bytes() {
        let text = format!("it has {length} bytes and should have {}", head.image_bytes());
        return Err(Bad::Damaged(text));
    }
    Ok((file, head))
}

/// An image that is being written, under another name until it is whole and on the disk.
#[derive(Debug)]
pub struct Draft {
    file: Result<File, Error>,
    aside: PathBuf,
    path: PathBuf,
}

impl Draft {
    /// Adds bytes. After an error nothing more is written.
    pub fn write(&mut self, bytes: &[u8]) {
        let Ok(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(bytes) {
            self.file = Err(Error::file("write", &self.aside)(error));
        }
    }

    /// Gives the image its name, once the disk has all of it.
    ///
    /// # Errors
    /// The first thing that went wrong since the beginning.
    pub fn keep(mut self) -> Result<(), Error> {
        let file = std::mem::replace(&mut self.file, Err(Error::Order("the image is kept already")))?;
        file.sync_all().map_err(Error::file("write", &self.aside))?;
        drop(file);
        fs::rename(&self.aside, &self.path).map_err(Error::file("write", &self.path))?;
        let folder = self.path.parent().expect("an image lies in the folder of its epoch");
        // The name of the epoch's folder, and that of the file in it.
        for folder in [folder, folder.parent().expect("an epoch lies in a folder")] {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(Error::file("write", folder))?;
        }
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After `keep` there is no file of this name any more.
        let _ = fs::remove_file(&self.aside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_free_when_it_is_closed_though_a_child_has_a_copy_of_its_descriptors() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path(), 0).unwrap();
        assert!(matches!(Folder::open(place.path(), 0), Err(Error::InUse { .. })));
        let child = folder.lock.try_clone().unwrap();
        drop(folder);
        assert!(Folder::open(place.path(), 0).is_ok());
        drop(child);
    }
}
