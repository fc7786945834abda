//! The output of jobs, on disk until a job is forgotten: a file of records per job, each of which is a frame.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};
use tasuki_control::{Bytes, Frames, JobId, Record, Stream};

/// Most bytes of a job's output that are kept.
const KEPT_MAX: u64 = 256 << 20;
/// Most bytes that are read at a time.
const PIECE: usize = 256 << 10;

/// A log that is written to.
struct Log {
    file: File,
    length: u64,
    is_full: bool,
}

impl Log {
    /// Opens the log of the job whose folder this is, or begins it.
    fn open(folder: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path(folder))?;
        let length = file.metadata()?.len();
        Ok(Self { file, length, is_full: length >= KEPT_MAX })
    }
}

/// The logs of jobs that run.
#[derive(Default)]
pub(crate) struct Logs {
    open: BTreeMap<JobId, Log>,
}

fn path(folder: &Path) -> PathBuf {
    folder.join("log")
}

impl Logs {
    /// Appends output of a job whose folder this is. What is beyond [`KEPT_MAX`] is left out, which the log
    /// says.
    pub fn append(&mut self, job: JobId, folder: &Path, records: &[Record]) -> io::Result<()> {
        let log = match self.open.entry(job) {
            Entry::Occupied(log) => log.into_mut(),
            Entry::Vacant(place) => place.insert(Log::open(folder)?),
        };
        if log.is_full {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for record in records {
            tasuki_control::write(record, &mut bytes).map_err(io::Error::other)?;
        }
        if log.length + bytes.len() as u64 > KEPT_MAX {
            log.is_full = true;
            let text = format!("tasuki: output of more than {} MiB is left out\n", KEPT_MAX >> 20);
            let note = Record { rank: 0, stream: Stream::Error, bytes: Bytes::from(text.into_bytes()) };
            bytes.clear();
            tasuki_control::write(&note, &mut bytes).map_err(io::Error::other)?;
        }
        log.file.write_all(&bytes)?;
        log.length += bytes.len() as u64;
        Ok(())
    }

    /// Closes the log of a job that is over.
    pub fn close(&mut self, job: JobId) {
        self.open.remove(&job);
    }
}

/// The records of a log from a place on, some 256 KiB of them at most, and the place behind them. A job that
/// has written nothing has no log.
pub(crate) fn read(folder: &Path, from: u64) -> io::Result<(Vec<Record>, u64)> {
    let mut file = match File::open(path(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), from)),
        opened => opened?,
    };
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    let (mut records, mut frames, mut next) = (Vec::new(), Frames::default(), from);
    // A record may be longer than a piece.
    while records.is_empty() && Read::by_ref(&mut file).take(PIECE as u64).read_to_end(&mut bytes)? > 0 {
        frames.feed(&bytes);
        bytes.clear();
        let before = frames.rest().len();
        while let Some(record) = frames.take().map_err(io::Error::other)? {
            records.push(record);
        }
        next += (before - frames.rest().len()) as u64;
    }
    Ok((records, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(rank: u32, bytes: Vec<u8>) -> Record {
        Record { rank, stream: Stream::Out, bytes: Bytes::from(bytes) }
    }

    #[test]
    fn a_log_is_read_in_pieces_from_any_place_that_was_told() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path(), 0).unwrap(), (Vec::new(), 0));
        let all: Vec<Record> = (0..40).map(|rank| record(rank, vec![b'x'; 20_000 * rank as usize])).collect();
        let mut logs = Logs::default();
        for records in all.chunks(3) {
            logs.append(5, folder.path(), records).unwrap();
        }
        logs.close(5);
        let (mut found, mut from) = (Vec::new(), 0);
        loop {
            let (mut records, next) = read(folder.path(), from).unwrap();
            if records.is_empty() {
                assert_eq!(next, from);
                break;
            }
            found.append(&mut records);
            from = next;
        }
        assert_eq!(found, all);
    }

    #[test]
    fn a_log_is_full_at_its_limit_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(path(folder.path())).unwrap();
        file.set_len(KEPT_MAX - 100).unwrap();
        let mut logs = Logs::default();
        for _ in 0..3 {
            logs.append(1, folder.path(), &[record(0, vec![b'x'; 200])]).unwrap();
        }
        let (records, _) = read(folder.path(), KEPT_MAX - 100).unwrap();
        assert_eq!(records.len(), 1, "{records:?}");
        assert!(String::from_utf8_lossy(&records[0].bytes).contains("left out"));
    }
}
