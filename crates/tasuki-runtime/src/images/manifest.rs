//! What is written down of a checkpoint beside what CRIU writes.

use super::{
    CRIU, Flock, files,
    mapped::{self, Mapped},
    nics,
    outside::{FileId, Open, Surplus},
    shared::{Remade, Shared, is_shared},
};
use nix::sys::stat::makedev;
use procfs::process::{FDPermissions, FDTarget, MMapPath, Process};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};
use tasuki_control::JobId;
use tasuki_shepherd::Residence;

/// The file, within the folder of a checkpoint: a line with the CRC32C of all that follows, and JSON.
pub(super) const FILE: &str = "manifest";
/// The folder with copies of files in shared memory, which a restart of the machine, or the end of the job,
/// takes away.
pub(super) const SHARED: &str = "shared";
/// A file of the checkpoint.
#[derive(Serialize, Deserialize)]
struct Sum {
    name: PathBuf,
    len: u64,
    crc: u32,
}

/// What is written down.
#[derive(Serialize, Deserialize)]
pub(crate) struct Manifest {
    job: JobId,
    version: String,
    shepherd: i32,
    processes: Vec<i32>,
    /// The numbers of their threads, without the first of each process.
    #[serde(default)]
    threads: Vec<i32>,
    residence: Residence,
    proxies: BTreeMap<u32, Vec<u32>>,
    /// What the monotonic clock showed, ns.
    clock: u64,
    /// The interfaces that there were.
    #[serde(default)]
    nics: nics::Numbers,
    shared: Vec<Shared>,
    open: Vec<Open>,
    #[serde(default)]
    mapped: Vec<Mapped>,
    files: Vec<Sum>,
}

impl Manifest {
    /// Of processes that stand still. Copies what they have in shared memory into the folder.
    pub fn of(job: JobId, version: &str, flock: &Flock, all: &[i32], folder: &Path) -> Result<Self, String> {
        let nics = nics::present().map_err(|error| format!("interfaces cannot be listed: {error}"))?;
        let mut manifest = Self {
            job,
            version: version.into(),
            shepherd: flock.shepherd,
            processes: all.to_vec(),
            threads: Vec::new(),
            residence: flock.residence.clone(),
            proxies: flock.proxies.clone(),
            clock: tasuki_sys::clock::monotonic_ns(),
            nics,
            shared: Vec::new(),
            open: Vec::new(),
            mapped: Vec::new(),
            files: Vec::new(),
        };
        for pid in all {
            manifest.look_at(*pid).map_err(|error| format!("cannot look at process {pid}: {error}"))?;
        }
        let copies = folder.join(SHARED);
        let copied = fs::DirBuilder::new().mode(0o700).create(&copies);
        copied.map_err(|error| format!("cannot make {}: {error}", copies.display()))?;
        for shared in &manifest.shared {
            let saved = shared.save(&copies);
            saved.map_err(|error| format!("cannot copy {}: {error}", shared.path.display()))?;
        }
        manifest
            .sum_up(folder)
            .map_err(|error| format!("cannot read {} again: {error}", folder.display()))?;
        Ok(manifest)
    }

    /// Notes the files that a process has open or has in its memory.
    fn look_at(&mut self, pid: i32) -> Result<(), procfs::ProcError> {
        let process = Process::new(pid)?;
        for thread in process.tasks()? {
            self.threads.extend(Some(thread?.tid).filter(|number| *number != pid));
        }
        let user = process.status()?.euid;
        for map in process.maps()? {
            self.mapped.extend(Mapped::look(pid, &map)?);
            if let MMapPath::Path(path) = map.pathname {
                let device = makedev(map.dev.0 as u64, map.dev.1 as u64);
                self.note_shared(&path, (device, map.inode), user)?;
            }
        }
        for descriptor in process.fd()? {
            let descriptor = descriptor?;
            let FDTarget::Path(path) = &descriptor.target else { continue };
            let may_write = descriptor.mode().contains(FDPermissions::WRITE);
            if let Some(open) = Open::look(pid, descriptor.fd, path, may_write)? {
                self.note_shared(path, open.id, user)?;
                self.open.push(open);
            }
        }
        Ok(())
    }

    /// Notes a file that a process of a user has, if it is in shared memory and is to be copied.
    fn note_shared(&mut self, path: &Path, id: FileId, user: u32) -> io::Result<()> {
        if !is_shared(path) || self.shared.iter().any(|known| known.path == path) {
            return Ok(());
        }
        let noted = Shared::note(path, id, user, self.shared.len().to_string());
        self.shared.extend(
            noted.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?,
        );
        Ok(())
    }

    /// Notes the checksums of all files in the folder.
    fn sum_up(&mut self, folder: &Path) -> io::Result<()> {
        for below in [CRIU, SHARED] {
            for name in files::names(&folder.join(below))? {
                let name = Path::new(below).join(name);
                let (len, crc) = files::checksum(&folder.join(&name))?;
                self.files.push(Sum { name, len, crc });
            }
        }
        Ok(())
    }

    /// Bytes that the disk has of all files, without holes.
    pub fn bytes(&self, folder: &Path) -> io::Result<u64> {
        // The unit of st_blocks is 512 bytes, whatever the file system (stat(2)).
        self.files.iter().map(|file| Ok(fs::metadata(folder.join(&file.name))?.blocks() * 512)).sum()
    }

    /// Writes it down in a folder.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(folder.join(FILE))?;
        writeln!(file, "{:08x}", crc32c::crc32c(&text))?;
        file.write_all(&text)
    }

    /// Reads what was written down.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let text = fs::read(folder.join(FILE))?;
        let damaged = || io::Error::other(format!("the file {FILE} is damaged"));
        let (sum, json) = text.split_at_checked(9).ok_or_else(damaged)?;
        match sum == format!("{:08x}\n", crc32c::crc32c(json)).as_bytes() {
            true => Ok(serde_json::from_slice(json)?),
            false => Err(damaged()),
        }
    }

    /// The version that has written it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// All processes.
    pub fn processes(&self) -> &[i32] {
        &self.processes
    }

    /// The numbers that processes and threads have again.
    pub fn numbers(&self) -> Vec<i32> {
        self.processes.iter().chain(&self.threads).copied().collect()
    }

    /// The interfaces that there were.
    pub fn nics(&self) -> &nics::Numbers {
        &self.nics
    }

    /// What the monotonic clock showed, ns.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// What is known of the job's processes here.
    pub fn flock(&self) -> Flock {
        let (shepherd, proxies) = (self.shepherd, self.proxies.clone());
        Flock { shepherd, residence: self.residence.clone(), proxies }
    }

    /// Whether all files have the bytes that were written.
    pub fn check(&self, folder: &Path) -> Result<(), String> {
        for Sum { name, len, crc } in &self.files {
            let path = folder.join(name);
            match files::checksum(&path) {
                Ok(found) if found == (*len, *crc) => {}
                Ok((found, _)) if found != *len => {
                    return Err(format!("{} has {found} bytes of {len} that were written", path.display()));
                }
                Ok(_) => return Err(format!("{} has other bytes than were written", path.display())),
                Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
            }
        }
        Ok(())
    }

    /// Makes the files outside of the checkpoint as they were: those in shared memory anew, and those that
    /// have grown since as short as they were. Nothing is touched unless that can be done with all.
    pub(super) fn put_back(&self, folder: &Path, remade: &mut Remade) -> Result<(), String> {
        self.shared.iter().try_for_each(|shared| remade.check(shared))?;
        // Several processes may have one file open, which counts once: each is held open.
        let mut cuts = BTreeMap::new();
        for open in self.open.iter().filter(|open| !is_shared(&open.path)) {
            if !cuts.contains_key(&open.id) {
                cuts.extend(open.check()?.map(|surplus| (open.id, surplus)));
            }
        }
        self.shared.iter().try_for_each(|shared| remade.put_back(shared, &folder.join(SHARED)))?;
        cuts.values().try_for_each(Surplus::cut)
    }

    /// Whether processes that were made again, and have not run yet, have the very files open that they had,
    /// and not others that somebody has put in their places. `made`: the files in shared memory.
    pub(super) fn verify(&self, made: &BTreeMap<PathBuf, FileId>) -> Result<(), String> {
        self.open.iter().try_for_each(|open| open.verify(made.get(&open.path)))?;
        mapped::verify(&self.mapped, made)
    }
}

#[cfg(test)]
mod tests;
