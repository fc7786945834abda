//! Files that processes of a checkpoint have in their memory. A path may lead to another file at a restart,
//! which CRIU opens with root's rights, and of which a process may have no descriptor any more.

use super::outside::FileId;
use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, Metadata},
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::PathBuf,
};

/// A file with a name that a process has at an address.
#[derive(Serialize, Deserialize)]
pub(super) struct Mapped {
    pid: i32,
    start: u64,
    path: PathBuf,
    id: FileId,
    /// Whether what the process writes there goes to the file.
    is_written: bool,
    /// User, group and mode.
    rights: (u32, u32, u32),
}

fn rights(file: &Metadata) -> (u32, u32, u32) {
    (file.uid(), file.gid(), file.mode())
}

fn file(pid: i32, map: &MemoryMap) -> io::Result<Metadata> {
    fs::metadata(format!("/proc/{pid}/map_files/{:x}-{:x}", map.address.0, map.address.1))
}

impl Mapped {
    /// What a process has in a piece of its memory; `None`: no file, or one without a name, which CRIU takes
    /// along.
    pub fn look(pid: i32, map: &MemoryMap) -> io::Result<Option<Self>> {
        let MMapPath::Path(path) = &map.pathname else { return Ok(None) };
        let found = match file(pid, map) {
            // CRIU needs the right to look there, and has been at work by now; tests may lack it.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
            found => found?,
        };
        if !found.is_file() || found.nlink() == 0 {
            return Ok(None);
        }
        Ok(Some(Self {
            pid,
            start: map.address.0,
            path: path.clone(),
            id: (found.dev(), found.ino()),
            is_written: map.perms.contains(MMPermissions::WRITE | MMPermissions::SHARED),
            rights: rights(&found),
        }))
    }

    /// Whether a process that was made again has the file there that it had. Of one that it only reads, as a
    /// library, another one with the same rights does: a host may have got it anew.
    fn verify(&self, maps: &[MemoryMap], made: Option<&FileId>) -> Result<(), String> {
        let (name, pid) = (self.path.display(), self.pid);
        let here = maps.iter().find(|map| (map.address.0..map.address.1).contains(&self.start));
        let here = here.ok_or_else(|| format!("{name} is not in the memory of process {pid}"))?;
        let found = file(pid, here).map_err(|error| format!("{name} in the memory of {pid}: {error}"))?;
        let is_it = (found.dev(), found.ino()) == *made.unwrap_or(&self.id);
        match is_it || !self.is_written && rights(&found) == self.rights {
            true => Ok(()),
            false => Err(format!("{name} is another file now")),
        }
    }
}

/// Whether processes that were made again have the files in their memory that they had. `made`: those that
/// the restart has made.
pub(super) fn verify(all: &[Mapped], made: &BTreeMap<PathBuf, FileId>) -> Result<(), String> {
    for own in all.chunk_by(|one, next| one.pid == next.pid) {
        let Some(pid) = own.first().map(|one| one.pid) else { continue };
        let maps = Process::new(pid).and_then(|process| process.maps());
        let maps = maps.map_err(|error| format!("cannot look at process {pid}: {error}"))?.0;
        own.iter().try_for_each(|one| one.verify(&maps, made.get(&one.path)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_memory_must_be_the_very_one_if_it_is_written_to_and_have_the_same_rights_otherwise() {
        let process = Process::myself().expect("this one");
        // The program itself, which no test changes.
        let maps = process.maps().expect("it has memory").0;
        let looked = maps.iter().find_map(|map| Mapped::look(process.pid, map).expect("it is looked at"));
        let Some(mut mapped) = looked else { return eprintln!("SKIPPED: no right to look at memory") };
        let (right, wrong) = (mapped.id, (mapped.id.0, mapped.id.1 + 1));
        let verify = |mapped: &Mapped, made| mapped.verify(&maps, made).is_ok();
        mapped.is_written = true;
        assert!(verify(&mapped, None) && verify(&mapped, Some(&right)) && !verify(&mapped, Some(&wrong)));
        mapped.id = wrong;
        assert!(!verify(&mapped, None));
        mapped.is_written = false;
        assert!(verify(&mapped, None));
        mapped.rights.0 += 1;
        let all = [mapped];
        let why = super::verify(&all, &BTreeMap::new()).expect_err("it is another user's");
        assert!(why.ends_with("is another file now"), "{why}");
    }
}
