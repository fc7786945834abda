//! A checkpoint's folder as a stream of bytes, by which another host gets a copy of it.
//!
//! For each file a word with its name and length, and its bytes in pieces behind a header of four bytes; the
//! manifest comes last, and a word that there is no more file. A piece of zero bytes is its header alone.

use super::{CRIU, files, manifest};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Component, Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};
use tasuki_control::Frames;

/// Bytes of a piece, at most.
const PIECE: usize = 64 << 10;
/// In a piece's header: its bytes are zero and do not follow.
const HOLE: u32 = 1 << 31;
/// Bytes of a word, at most.
const WORD_MAX: u32 = 16 << 10;

/// A file that follows.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// Its path within the folder.
    name: PathBuf,
    /// Its length, bytes.
    len: u64,
}

/// Writes a word.
pub(crate) fn say(to: &mut impl Write, word: &impl Serialize) -> io::Result<()> {
    let mut bytes = Vec::new();
    tasuki_control::write(word, &mut bytes).map_err(io::Error::other)?;
    to.write_all(&bytes)
}

/// Reads a word.
pub(crate) fn hear<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let length = header(from)?;
    if length > WORD_MAX {
        return Err(io::Error::other(format!("a word of {length} bytes is too long")));
    }
    let mut body = vec![0; length as usize];
    from.read_exact(&mut body)?;
    let mut frames = Frames::default();
    frames.feed(&length.to_le_bytes());
    frames.feed(&body);
    frames.take().map_err(io::Error::other)?.ok_or_else(|| io::Error::other("it is cut off"))
}

fn header(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Fails if what is being done is not wanted any more.
fn go_on(stop: &AtomicBool) -> io::Result<()> {
    match stop.load(Ordering::Relaxed) {
        true => Err(io::Error::other("it was given up")),
        false => Ok(()),
    }
}

/// Writes all files of a checkpoint's folder.
pub(super) fn send(folder: &Path, to: &mut impl Write, stop: &AtomicBool) -> io::Result<()> {
    for below in [CRIU, manifest::SHARED] {
        for name in files::names(&folder.join(below))? {
            send_file(folder, Path::new(below).join(name), to, stop)?;
        }
    }
    send_file(folder, manifest::FILE.into(), to, stop)?;
    say(to, &None::<Entry>)?;
    to.flush()
}

fn send_file(folder: &Path, name: PathBuf, to: &mut impl Write, stop: &AtomicBool) -> io::Result<()> {
    let mut file = File::open(folder.join(&name))?;
    let mut left = file.metadata()?.len();
    say(to, &Some(Entry { name, len: left }))?;
    let mut piece = vec![0; PIECE];
    while left > 0 {
        go_on(stop)?;
        let count = left.min(PIECE as u64) as usize;
        file.read_exact(&mut piece[..count])?;
        if piece[..count].iter().all(|byte| *byte == 0) {
            to.write_all(&(count as u32 | HOLE).to_le_bytes())?;
        } else {
            to.write_all(&(count as u32).to_le_bytes())?;
            to.write_all(&piece[..count])?;
        }
        left -= count as u64;
    }
    Ok(())
}

/// Reads the files of a checkpoint into a folder, in which there are none yet.
pub(super) fn receive(folder: &Path, from: &mut impl Read, stop: &AtomicBool) -> io::Result<()> {
    for below in [CRIU, manifest::SHARED] {
        DirBuilder::new().mode(0o700).create(folder.join(below))?;
    }
    while let Some(Entry { name, len }) = hear::<Option<Entry>>(from)? {
        if !is_allowed(&name) {
            return Err(io::Error::other(format!("{name:?} is no file of a checkpoint")));
        }
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(folder.join(name))?;
        receive_file(file, len, from, stop)?;
    }
    Ok(())
}

fn receive_file(mut file: File, len: u64, from: &mut impl Read, stop: &AtomicBool) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < len {
        go_on(stop)?;
        let header = header(from)?;
        let count = (header & !HOLE) as usize;
        if count == 0 || count > PIECE || count as u64 > len - at {
            return Err(io::Error::other(format!("a piece of {count} bytes does not belong there")));
        }
        if header & HOLE == 0 {
            from.read_exact(&mut piece[..count])?;
            file.seek(SeekFrom::Start(at))?;
            file.write_all(&piece[..count])?;
        }
        at += count as u64;
    }
    file.set_len(len)
}

/// Whether a path is that of a file of a checkpoint, and leads nowhere else.
fn is_allowed(name: &Path) -> bool {
    let parts: Vec<Component> = name.components().collect();
    match parts[..] {
        [Component::Normal(file)] => file == manifest::FILE,
        [Component::Normal(below), Component::Normal(_)] => below == CRIU || below == manifest::SHARED,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    /// What is wanted for ever.
    fn wanted() -> AtomicBool {
        AtomicBool::new(false)
    }

    /// The folder of a checkpoint, of which one file has a hole.
    fn checkpoint() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        [CRIU, manifest::SHARED].iter().for_each(|below| fs::create_dir(at(below)).expect("a folder"));
        fs::write(at("manifest"), "what is written down").expect("writes");
        fs::write(at("criu/empty"), "").expect("writes");
        fs::write(at("criu/pages"), vec![7; 3 * PIECE + 1]).expect("writes");
        let mut file = File::create(at("shared/0")).expect("a file");
        file.seek(SeekFrom::Start(20 << 20)).expect("seeks");
        file.write_all(b"end").expect("writes");
        file.set_len((21 << 20) + 1).expect("a length");
        folder
    }

    #[test]
    fn a_copy_has_the_same_bytes_and_keeps_holes() {
        let (from, to, mut stream) = (checkpoint(), tempfile::tempdir().expect("a folder"), Vec::new());
        send(from.path(), &mut stream, &wanted()).expect("it is read");
        assert!(stream.len() < 1 << 20, "{} bytes for holes", stream.len());
        receive(to.path(), &mut &stream[..], &wanted()).expect("it is taken");
        for name in ["manifest", "criu/empty", "criu/pages", "shared/0"] {
            let [sent, taken] = [&from, &to].map(|folder| files::checksum(&folder.path().join(name)));
            assert_eq!(sent.expect("a sum"), taken.expect("a sum"), "{name}");
        }
        assert!(fs::metadata(to.path().join("shared/0")).expect("it is there").blocks() * 512 < 1 << 20);
    }

    #[test]
    fn a_stream_that_ends_early_is_an_error_wherever_it_ends() {
        let (from, mut stream) = (checkpoint(), Vec::new());
        send(from.path(), &mut stream, &wanted()).expect("it is read");
        for length in (0..stream.len()).step_by(997) {
            let to = tempfile::tempdir().expect("a folder");
            let taken = receive(to.path(), &mut &stream[..length], &wanted());
            assert!(taken.is_err(), "{length} of {} bytes", stream.len());
        }
    }

    #[test]
    fn no_file_is_written_but_those_of_a_checkpoint() {
        let entry = |name: &str| {
            let mut stream = Vec::new();
            say(&mut stream, &Some(Entry { name: name.into(), len: 0 })).expect("it is written");
            say(&mut stream, &None::<Entry>).expect("it is written");
            let to = tempfile::tempdir().expect("a folder");
            receive(to.path(), &mut &stream[..], &wanted())
        };
        for name in ["manifest", "criu/pages-1.img", "shared/0"] {
            entry(name).expect(name);
        }
        for name in ["", "lock", "/etc/passwd", "../manifest", "criu/../../x", "criu/a/b", "criu", "other/a"]
        {
            assert!(entry(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_piece_that_is_longer_than_its_file_is_refused() {
        for header in [0, 6, HOLE | 6, PIECE as u32 + 1] {
            let mut stream = Vec::new();
            say(&mut stream, &Some(Entry { name: "manifest".into(), len: 5 })).expect("it is written");
            stream.extend(header.to_le_bytes());
            stream.extend([1; 2 * PIECE]);
            let to = tempfile::tempdir().expect("a folder");
            let why = receive(to.path(), &mut &stream[..], &wanted()).expect_err("it is wrong").to_string();
            assert!(why.contains("does not belong"), "{why}");
        }
        assert!(hear::<u64>(&mut &[0xff; 64][..]).is_err());
    }

    #[test]
    fn what_is_not_wanted_any_more_ends() {
        let from = checkpoint();
        let why = send(from.path(), &mut io::sink(), &AtomicBool::new(true)).expect_err("it ends");
        assert!(why.to_string().contains("given up"));
    }
}
