//! Files outside of a checkpoint that its processes have open, where programs read and write.

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// A file, whatever its name is: device and inode.
pub(super) type FileId = (u64, u64);

/// A file that a process has open.
#[derive(Serialize, Deserialize)]
pub(super) struct Open {
    pub pid: i32,
    pub descriptor: i32,
    pub path: PathBuf,
    pub id: FileId,
    /// Its length, if the process may write to it.
    pub written: Option<u64>,
    /// It has no name any more. CRIU takes such a file along, and makes another one of it.
    #[serde(default)]
    pub nameless: bool,
}

impl Open {
    /// What a process has open by a descriptor; `None`: no file on a disk or in shared memory.
    pub fn look(pid: i32, descriptor: i32, path: &Path, may_write: bool) -> io::Result<Option<Self>> {
        let found = fs::metadata(format!("/proc/{pid}/fd/{descriptor}"))?;
        if !found.is_file() || path.starts_with("/proc") || path.starts_with("/sys") {
            return Ok(None);
        }
        Ok(Some(Self {
            pid,
            descriptor,
            path: path.into(),
            id: (found.dev(), found.ino()),
            written: may_write.then_some(found.len()),
            nameless: found.nlink() == 0,
        }))
    }

    /// Whether the process, which was made again and has not run yet, has the very file open that it had.
    /// `made`: the one that the restart has made for it.
    pub fn verify(&self, made: Option<&FileId>) -> Result<(), String> {
        let name = self.path.display();
        let found = fs::metadata(format!("/proc/{}/fd/{}", self.pid, self.descriptor));
        let found = found.map_err(|error| format!("{name}: {error}"))?;
        let is_it = match self.nameless {
            true => found.is_file() && found.nlink() == 0,
            false => (found.dev(), found.ino()) == *made.unwrap_or(&self.id),
        };
        if is_it { Ok(()) } else { Err(format!("{name} is another file now")) }
    }

    /// Whether the file is there as it was but for what was written to it after the checkpoint. Returns the
    /// end that is to be cut off, since the program writes that again; `None`: there is none.
    pub fn check(&self) -> Result<Option<Surplus>, String> {
        let name = self.path.display();
        let wrong = |why: String| Err(format!("{name}, which the job had open, {why}"));
        let Some(len) = self.written.filter(|_| !self.nameless) else { return Ok(None) };
        // Somebody may have put another kind of file in its place, of which an opening waits.
        let mut options = fs::OpenOptions::new();
        options.write(true).custom_flags(O_NOFOLLOW | O_NONBLOCK);
        let file: File = match options.open(&self.path) {
            Ok(file) => file,
            Err(error) => return wrong(format!("cannot be opened: {error}")),
        };
        let Ok(found) = file.metadata() else { return wrong("cannot be looked at".into()) };
        if (found.dev(), found.ino()) != self.id {
            return wrong("is another file now".into());
        }
        match found.len() {
            now if now < len => wrong(format!("has {now} bytes now, and had {len}")),
            now if now == len => Ok(None),
            _ => Ok(Some(Surplus { file, path: self.path.clone(), len })),
        }
    }
}

/// What was written to a file after the checkpoint.
pub(super) struct Surplus {
    file: File,
    path: PathBuf,
    /// The length that the file had.
    len: u64,
}

impl Surplus {
    /// Cuts it off.
    pub fn cut(&self) -> Result<(), String> {
        let cut = self.file.set_len(self.len);
        cut.map_err(|error| {
            format!("{}, which the job had open, cannot be shortened: {error}", self.path.display())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Write, os::fd::AsRawFd, process};

    /// What this process has open, and stands for what CRIU makes again.
    fn look(file: &File) -> Open {
        let (pid, descriptor) = (process::id() as i32, file.as_raw_fd());
        let path = fs::read_link(format!("/proc/self/fd/{descriptor}")).expect("it is open");
        Open::look(pid, descriptor, &path, true).expect("it is open").expect("it is a file")
    }

    #[test]
    fn a_file_without_a_name_may_be_made_again_as_another_one() {
        let mut files = [(); 2].map(|()| tempfile::tempfile().expect("a file without a name"));
        files[0].write_all(b"of the job").expect("writes");
        let open = look(&files[0]);
        // CRIU makes another file, which has no name either, and puts it at the descriptor.
        let again = Open { descriptor: files[1].as_raw_fd(), ..look(&files[0]) };
        assert_eq!((open.verify(None), again.verify(None)), (Ok(()), Ok(())));
        assert!(open.check().expect("it is not asked for").is_none(), "there is none to be cut");
        // A file with a name is none of that.
        let named = tempfile::NamedTempFile::new().expect("a file");
        let other = Open { descriptor: named.as_file().as_raw_fd(), ..look(&files[0]) };
        assert!(other.verify(None).expect_err("it has a name").contains("is another file now"));
    }

    #[test]
    fn a_file_with_a_name_must_be_the_very_one_also_if_its_name_ends_as_of_one_that_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("output (deleted)");
        fs::write(&path, "saved").expect("writes");
        let file = File::open(&path).expect("it is there");
        let open = look(&file);
        let other = tempfile::tempfile().expect("a file");
        let wrong = Open { descriptor: other.as_raw_fd(), ..look(&file) };
        assert_eq!((open.verify(None), wrong.verify(None).is_err()), (Ok(()), true));
        fs::write(&path, "saved, and more").expect("writes");
        open.check().expect("it is the very one").expect("it is longer").cut().expect("it is ours");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "saved");
    }
}
