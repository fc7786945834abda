//! The processes of a job on one host, saved to its disk by CRIU and made again from there.
//!
//! A folder for each job, and in it one for each checkpoint: what CRIU wrote, the files in shared memory that
//! the processes had open, and what is written down of all that, with checksums. A folder that is being
//! written, or whose checkpoint is not known to be whole on all hosts, has the extension `part`.

mod cgroup;
mod criu;
mod files;
mod kept;
#[cfg(test)]
mod made_up;
mod manifest;
mod mapped;
mod nics;
mod outside;
mod processes;
mod restart;
mod shared;
mod transfer;

use kept::Flush;
pub(crate) use manifest::Manifest;
pub(crate) use processes::{go_on, of_shepherd};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, atomic::AtomicBool},
};
use tasuki_control::{Epoch, JobId};
use tasuki_shepherd::Residence;
pub(crate) use transfer::{hear, say};

/// Extension of the folder of a checkpoint that is not known to be whole on all hosts.
const PART: &str = "part";
/// The folder with what CRIU writes, within that of a checkpoint.
const CRIU: &str = "criu";
/// The file that whoever writes a checkpoint holds locked.
const LOCK: &str = "lock";
/// The file, in the folder of a job, that is there while its processes are being made again or stand still
/// after that. CRIU holds it locked as long as it works.
const RESTORING: &str = "restoring";

/// What a host knows of the part of a job whose processes are to be saved.
pub(crate) struct Flock {
    /// The shepherd's process.
    pub shepherd: i32,
    /// How the processes are held together.
    pub residence: Residence,
    /// The ranks that each process stands for.
    pub proxies: BTreeMap<u32, Vec<u32>>,
}

/// The checkpoints on this host's disk.
#[derive(Clone)]
pub(crate) struct Images {
    folder: PathBuf,
    version: String,
    /// Waits until the disk has all of the file system in which a folder is.
    flush: Flush,
}

impl Images {
    /// Below a folder that root alone may enter.
    pub fn below(folder: &Path, version: &str) -> Self {
        Self { folder: folder.join("images"), version: version.into(), flush: Arc::new(files::sync) }
    }

    fn of_job(&self, job: JobId) -> PathBuf {
        self.folder.join(job.to_string())
    }

    fn whole(&self, job: JobId, epoch: Epoch) -> PathBuf {
        self.of_job(job).join(epoch.to_string())
    }

    fn part(&self, job: JobId, epoch: Epoch) -> PathBuf {
        self.whole(job, epoch).with_extension(PART)
    }

    /// Saves the processes of a job, which stand still when this returns without an error, and go on
    /// otherwise. Returns how many bytes the disk has.
    pub fn save(&self, job: JobId, epoch: Epoch, flock: &Flock, stop: &AtomicBool) -> Result<u64, String> {
        let folder = self.part(job, epoch);
        let saved = self.write(&folder, job, flock, stop);
        if saved.is_err() {
            // The processes may be left standing still where what came after CRIU failed.
            go_on(flock.shepherd);
            let _ = fs::remove_dir_all(&folder);
        }
        saved
    }

    fn write(&self, folder: &Path, job: JobId, flock: &Flock, stop: &AtomicBool) -> Result<u64, String> {
        let at = |path: &Path, error: io::Error| format!("cannot write {}: {error}", path.display());
        let criu = criu::Criu::find()?;
        let images = folder.join(CRIU);
        let _ = fs::remove_dir_all(folder);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&images).map_err(|e| at(&images, e))?;
        let lock = files::lock(&folder.join(LOCK)).map_err(|error| at(folder, error))?;
        criu.dump(flock.shepherd, &images, Stdio::from(lock), stop)?;
        if processes::has_lost(flock.shepherd) {
            return Err("a rank had ended when its processes were saved".into());
        }
        let members = of_shepherd(flock.shepherd);
        let manifest = Manifest::of(job, &self.version, flock, &members, folder)?;
        manifest.write(folder).map_err(|error| at(folder, error))?;
        (self.flush)(folder).map_err(|error| at(folder, error))?;
        manifest.bytes(folder).map_err(|error| at(folder, error))
    }

    /// Jobs that were being saved, or had been and stood still, when an earlier daemon ended.
    pub fn interrupted(&self) -> Vec<JobId> {
        self.jobs().into_iter().filter(|job| !self.parts(*job).is_empty()).collect()
    }

    /// Waits until nobody writes a checkpoint of a job any more, and removes what was written of one that is
    /// not whole.
    pub fn clear(&self, job: JobId) {
        for part in self.parts(job) {
            let _ = files::lock(&part.join(LOCK));
            let _ = fs::remove_dir_all(part);
        }
    }

    /// The processes of a job that were made again go on, or are gone.
    pub fn restored(&self, job: JobId) {
        let _ = fs::remove_file(self.of_job(job).join(RESTORING));
    }

    /// Jobs whose processes were being made again, or stood still after that, when an earlier daemon ended.
    pub fn restoring(&self) -> Vec<JobId> {
        self.jobs().into_iter().filter(|job| self.of_job(*job).join(RESTORING).exists()).collect()
    }

    /// Waits until nobody makes the processes of a job again.
    pub fn wait_restored(&self, job: JobId) {
        let _ = files::lock(&self.of_job(job).join(RESTORING));
    }

    /// Jobs of which something is here.
    pub fn jobs(&self) -> Vec<JobId> {
        let jobs = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        jobs.filter_map(|entry| entry.file_name().to_str()?.parse::<JobId>().ok()).collect()
    }

    /// What is written down of a checkpoint, if it is here as it was written, by this version.
    pub fn sound(&self, job: JobId, epoch: Epoch) -> Result<Manifest, String> {
        let folder = self.whole(job, epoch);
        if !folder.join(manifest::FILE).exists() {
            let others: Vec<String> = self.epochs(job).iter().rev().map(ToString::to_string).collect();
            let other = if others.is_empty() { "none".into() } else { others.join(", ") };
            return Err(format!("there is no checkpoint {epoch} here, but {other}"));
        }
        self.sound_in(&folder)
    }

    fn sound_in(&self, folder: &Path) -> Result<Manifest, String> {
        let read = Manifest::read(folder);
        let manifest = read.map_err(|error| format!("{}: {error}", folder.display()))?;
        if manifest.version() != self.version {
            let (theirs, ours) = (manifest.version(), &self.version);
            return Err(format!("the checkpoint was taken by tasuki {theirs}, and this is {ours}"));
        }
        manifest.check(folder)?;
        Ok(manifest)
    }

    /// Writes all files of a checkpoint that is whole.
    pub fn send(&self, job: JobId, epoch: Epoch, to: &mut impl Write, stop: &AtomicBool) -> io::Result<()> {
        transfer::send(&self.whole(job, epoch), to, stop)
    }

    /// Takes a checkpoint that another host sends, and keeps it if it is sound.
    pub fn receive(
        &self,
        job: JobId,
        epoch: Epoch,
        from: &mut impl Read,
        stop: &AtomicBool,
    ) -> Result<Manifest, String> {
        let part = self.part(job, epoch);
        let taken = self.take((job, epoch), from, stop);
        if taken.is_err() {
            let _ = fs::remove_dir_all(&part);
        }
        taken
    }

    fn take(
        &self,
        (job, epoch): (JobId, Epoch),
        from: &mut impl Read,
        stop: &AtomicBool,
    ) -> Result<Manifest, String> {
        let (part, whole) = (self.part(job, epoch), self.whole(job, epoch));
        let write = |error: io::Error| format!("cannot write {}: {error}", part.display());
        let _ = fs::remove_dir_all(&part);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&part).map_err(write)?;
        let _lock = files::lock(&part.join(LOCK)).map_err(write)?;
        let taken = transfer::receive(&part, from, stop);
        taken.map_err(|error| format!("it cannot be taken to {}: {error}", part.display()))?;
        let manifest = self.sound_in(&part)?;
        (self.flush)(&part).map_err(write)?;
        // One that is damaged may be there.
        let _ = fs::remove_dir_all(&whole);
        self.keep(job, epoch).map_err(|error| format!("cannot make {}: {error}", whole.display()))?;
        Ok(manifest)
    }
}
