//! What a host sends, written to files here.

use crate::order::{Found, Item};
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// The longest description of an item, in bytes.
const MOST: usize = 1 << 20;
/// How many bytes are read at once. Where they are all zero, the file has a hole.
const PIECE: usize = 64 << 10;
/// The names that are tried for a file, where there is one of that name already.
const NAMES: u32 = 1000;

/// Reads what one host sends until it says that this is all. Every core file is written to `folder` under a
/// name that is not there yet and given to `keep`; notes to `note`.
///
/// # Errors
/// If what comes has another form or ends too early, or a file cannot be written. What was kept before stays.
pub(crate) fn receive(
    from: &mut dyn Read,
    host: &str,
    folder: &Path,
    mut keep: impl FnMut(Found, PathBuf),
    mut note: impl FnMut(String),
) -> io::Result<()> {
    while let Some(item) = item(from)? {
        match item {
            Item::Note(text) => note(text),
            Item::Core(found) => {
                let path = write(from, &found, &name(host, &found), folder)?;
                keep(found, path);
            }
        }
    }
    Ok(())
}

fn item(from: &mut dyn Read) -> io::Result<Option<Item>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    match u32::from_le_bytes(length) as usize {
        0 => Ok(None),
        length if length > MOST => Err(io::Error::other("it answered oddly")),
        length => {
            let mut text = vec![0; length];
            from.read_exact(&mut text)?;
            Ok(Some(serde_json::from_slice(&text)?))
        }
    }
}

/// The name of a core file: host, rank and process, with `x` for what is not known.
fn name(host: &str, found: &Found) -> String {
    let number = |number: Option<u32>| number.map_or("x".into(), |number| number.to_string());
    format!("core.{host}.{}.{}", number(found.rank), number(found.process))
}

/// Writes the file that comes, and gives it its name once it is whole. Only its owner may read it.
fn write(from: &mut dyn Read, found: &Found, name: &str, folder: &Path) -> io::Result<PathBuf> {
    let at = |error: io::Error| io::Error::other(format!("{}: {error}", folder.join(name).display()));
    let mut file = tempfile::Builder::new().prefix(".core-").tempfile_in(folder).map_err(at)?;
    copy(from, file.as_file_mut(), found.bytes).map_err(at)?;
    named(file, name, folder).map_err(at)
}

/// Copies so many bytes, with holes in the place of pieces that are all zero.
fn copy(from: &mut dyn Read, to: &mut File, bytes: u64) -> io::Result<()> {
    let (mut piece, mut left) = (vec![0; PIECE], bytes);
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        from.read_exact(&mut piece[..length])?;
        match piece[..length].iter().all(|byte| *byte == 0) {
            true => drop(to.seek(SeekFrom::Current(length as i64))?),
            false => to.write_all(&piece[..length])?,
        }
        left -= length as u64;
    }
    to.set_len(bytes)
}

/// Gives a file its name, with a number behind it if there is one of that name.
fn named(mut file: NamedTempFile, name: &str, folder: &Path) -> io::Result<PathBuf> {
    for number in 0..NAMES {
        let suffix = if number == 0 { String::new() } else { format!(".{number}") };
        let path = folder.join(format!("{name}{suffix}"));
        match file.persist_noclobber(&path) {
            Ok(_) => return Ok(path),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => file = error.file,
            Err(error) => return Err(error.error),
        }
    }
    Err(io::Error::other(format!("there are {NAMES} files of that name already")))
}
