//! Files of a checkpoint: copies that keep holes, checksums, locks, and what the disk has for certain.

use nix::unistd::syncfs;
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Bytes that are copied at a time.
const PIECE: usize = 64 << 10;

/// Opens a file and locks it, for as long as it, or a descriptor that was made of it, is open. Waits for
/// whoever has it locked.
pub(super) fn lock(path: &Path) -> io::Result<File> {
    let file = fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Waits until the disk has all of the file system in which a folder is.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    Ok(syncfs(File::open(folder)?)?)
}

/// Makes a file that root alone may open.
pub(super) fn new(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)
}

/// Copies what a file has to one that is empty, and leaves pieces of zero bytes as holes.
pub(super) fn pour(source: &mut File, target: &mut File) -> io::Result<u64> {
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    loop {
        let count = source.read(&mut piece)?;
        if count == 0 {
            target.set_len(at)?;
            return Ok(at);
        }
        if piece[..count].iter().any(|byte| *byte != 0) {
            target.seek(SeekFrom::Start(at))?;
            target.write_all(&piece[..count])?;
        }
        at += count as u64;
    }
}

/// The length of a file, and the CRC32C of its bytes.
pub(super) fn checksum(path: &Path) -> io::Result<(u64, u32)> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; PIECE];
    let (mut len, mut sum) = (0, 0);
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok((len, sum));
        }
        sum = crc32c::crc32c_append(sum, &piece[..count]);
        len += count as u64;
    }
}

/// All files in a folder, by their names, the smallest first.
pub(super) fn names(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(PathBuf::from(entry.file_name()));
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn copies_have_the_same_bytes_and_keep_holes() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        let mut file = File::create(&from).unwrap();
        file.write_all(b"begin").unwrap();
        file.seek(SeekFrom::Start(50 << 20)).unwrap();
        file.write_all(b"end").unwrap();
        file.set_len((60 << 20) + 1).unwrap();
        let mut target = new(&to).unwrap();
        assert_eq!(pour(&mut File::open(&from).unwrap(), &mut target).unwrap(), (60 << 20) + 1);
        assert_eq!(checksum(&from).unwrap(), checksum(&to).unwrap());
        assert!(fs::metadata(&to).unwrap().blocks() * 512 < 1 << 20);
        assert!(new(&to).is_err(), "nothing that is there is written over");
        // Of the standard's check value, "123456789" (RFC 3720, B.4).
        fs::write(&from, "123456789").unwrap();
        assert_eq!(checksum(&from).unwrap(), (9, 0xe306_9283));
    }

    #[test]
    fn a_lock_is_free_when_all_that_have_it_are_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = lock(&path).unwrap();
        let other = held.try_clone().unwrap();
        drop(held);
        let again = File::open(&path).unwrap();
        assert!(again.try_lock().is_err());
        drop(other);
        assert!(again.try_lock().is_ok());
    }
}
