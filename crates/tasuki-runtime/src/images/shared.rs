//! Files in shared memory that processes of a checkpoint have: copied beside it, and made again from there.
//!
//! Users may put links in the places of their folders at any time, and root reads and writes there. So no
//! link below the folder of all shared memory is followed, and files are opened, made and removed in the
//! folder that was opened, by its descriptor.

use super::{files, outside::FileId};
use nix::{
    errno::Errno,
    fcntl::{OFlag, OpenHow, ResolveFlag, openat, openat2},
    sys::stat::{Mode, fchmod},
    unistd::{Gid, Uid, UnlinkatFlags, fchown, unlinkat},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File},
    io::{self, ErrorKind},
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Where programs have files in shared memory.
const FOLDER: &str = "/dev/shm";
/// The file, in the folder of a job, that names the files that its restarts have made.
const NOTE: &str = "remade";

/// Which file it is. Shared memory numbers its files anew after a start of the machine: where the kernel says
/// when a file was made, that tells apart those of the same number.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    id: FileId,
    made: Option<SystemTime>,
}

/// A file in shared memory that processes have.
#[derive(Serialize, Deserialize)]
pub(super) struct Shared {
    pub path: PathBuf,
    /// Name of the copy.
    copy: String,
    identity: Identity,
    mode: u32,
    uid: u32,
    gid: u32,
}

/// The files in shared memory that restarts of a job have made.
pub(super) struct Remade {
    /// Where they are written down, so that the next restart of the job knows them for its own.
    note: PathBuf,
    known: Vec<(PathBuf, Identity)>,
    /// Those of this restart.
    new: BTreeMap<PathBuf, FileId>,
}

/// Whether a file is in shared memory.
pub(super) fn is_shared(path: &Path) -> bool {
    path.starts_with(FOLDER)
}

/// Opens the folder of a file in shared memory.
fn place(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let below = path.strip_prefix(FOLDER).map_err(io::Error::other)?;
    let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else {
        return Err(ErrorKind::InvalidFilename.into());
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let how = OpenHow::new().flags(OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC);
    let how = how.resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(File::open(FOLDER)?, parent, how) {
        Ok(folder) => Ok((folder, name)),
        Err(Errno::ELOOP) => Err(io::Error::other("a folder of its path is a symbolic link")),
        Err(error) => Err(error.into()),
    }
}

/// Opens what has a name in a folder, which may be a link itself; `None`: nothing has it.
fn open(folder: &OwnedFd, name: &OsStr, how: OFlag) -> io::Result<Option<File>> {
    let how = how | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    match openat(folder, name, how, Mode::empty()) {
        Ok(found) => Ok(Some(found.into())),
        Err(Errno::ENOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn identity(file: &File) -> io::Result<Identity> {
    let found = file.metadata()?;
    Ok(Identity { id: (found.dev(), found.ino()), made: found.created().ok() })
}

impl Shared {
    /// Notes a file that a process of a user has, by the name of its copy. `None`: CRIU takes it along, since
    /// it has no name any more; or it is another user's, which no restart makes or removes.
    pub fn note(path: &Path, id: FileId, user: u32, copy: String) -> io::Result<Option<Self>> {
        let (folder, name) = match place(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        let Some(file) = open(&folder, name, OFlag::O_PATH)? else { return Ok(None) };
        let (found, identity) = (file.metadata()?, identity(&file)?);
        if !found.is_file() || found.uid() != user || identity.id != id {
            return Ok(None);
        }
        let (mode, uid, gid) = (found.mode() & 0o7777, found.uid(), found.gid());
        Ok(Some(Self { path: path.into(), copy, identity, mode, uid, gid }))
    }

    /// Copies it to a folder.
    pub fn save(&self, copies: &Path) -> io::Result<()> {
        let (folder, name) = place(&self.path)?;
        let file = open(&folder, name, OFlag::O_RDONLY)?;
        let mut file = file.ok_or(ErrorKind::NotFound)?;
        if identity(&file)? != self.identity {
            return Err(io::Error::other("it is another file now"));
        }
        files::pour(&mut file, &mut files::new(&copies.join(&self.copy))?).map(drop)
    }
}

impl Remade {
    /// Those of a job with this folder.
    pub fn of(folder: &Path) -> Result<Self, String> {
        let note = folder.join(NOTE);
        let known = match fs::read(&note) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            text => text.and_then(|text| Ok(serde_json::from_slice(&text)?)),
        };
        let known = known.map_err(|error| format!("cannot read {}: {error}", note.display()))?;
        Ok(Self { note, known, new: BTreeMap::new() })
    }

    /// The files that this restart has made.
    pub fn files(&self) -> &BTreeMap<PathBuf, FileId> {
        &self.new
    }

    /// Whether a file may be made: what has its name is the one that was saved, one that an earlier restart
    /// made, or nothing.
    pub fn check(&self, shared: &Shared) -> Result<(), String> {
        let checked = place(&shared.path).and_then(|(folder, name)| self.check_in(&folder, name, shared));
        checked.map_err(|error| cannot_make(shared, &error))
    }

    fn check_in(&self, folder: &OwnedFd, name: &OsStr, shared: &Shared) -> io::Result<()> {
        let Some(found) = open(folder, name, OFlag::O_PATH)? else { return Ok(()) };
        let found = identity(&found)?;
        let is_own = |(path, identity): &(PathBuf, Identity)| *path == shared.path && *identity == found;
        if found == shared.identity || self.known.iter().any(is_own) {
            return Ok(());
        }
        Err(io::Error::other(
            "is another file now, which may be another job's: remove it if nobody needs it, and restart the \
             job again",
        ))
    }

    /// Makes a file anew from its copy.
    pub fn put_back(&mut self, shared: &Shared, copies: &Path) -> Result<(), String> {
        self.make(shared, copies).map_err(|error| cannot_make(shared, &error))
    }

    fn make(&mut self, shared: &Shared, copies: &Path) -> io::Result<()> {
        let (folder, name) = place(&shared.path)?;
        self.check_in(&folder, name, shared)?;
        match unlinkat(&folder, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let how = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut file = File::from(openat(&folder, name, how, Mode::S_IRUSR | Mode::S_IWUSR)?);
        let identity = identity(&file)?;
        self.new.insert(shared.path.clone(), identity.id);
        self.known.retain(|(path, _)| *path != shared.path);
        self.known.push((shared.path.clone(), identity));
        self.write_down()?;
        files::pour(&mut File::open(copies.join(&shared.copy))?, &mut file)?;
        fchown(&file, Some(Uid::from_raw(shared.uid)), Some(Gid::from_raw(shared.gid)))?;
        Ok(fchmod(&file, Mode::from_bits_truncate(shared.mode))?)
    }

    /// Removes the files that this restart has made and nobody has replaced. Returns what stays, and why.
    pub fn take_back(&mut self) -> Vec<String> {
        let mut stays = Vec::new();
        for (path, id) in std::mem::take(&mut self.new) {
            match remove(&path, id) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    stays.push(format!("{} ({error})", path.display()));
                }
                _ => {}
            }
        }
        stays
    }

    fn write_down(&self) -> io::Result<()> {
        let at =
            |error: io::Error| io::Error::other(format!("cannot write {}: {error}", self.note.display()));
        let new = self.note.with_extension("new");
        fs::write(&new, serde_json::to_vec(&self.known)?).map_err(at)?;
        fs::rename(&new, &self.note).map_err(at)
    }
}

/// Removes a file in shared memory, if it is this one.
fn remove(path: &Path, id: FileId) -> io::Result<()> {
    let (folder, name) = place(path)?;
    match open(&folder, name, OFlag::O_PATH)? {
        Some(found) if identity(&found)?.id == id => Ok(unlinkat(&folder, name, UnlinkatFlags::NoRemoveDir)?),
        _ => Ok(()),
    }
}

fn cannot_make(shared: &Shared, error: &io::Error) -> String {
    format!("cannot make {}, which the job had in shared memory: {error}", shared.path.display())
}

#[cfg(test)]
mod tests;
