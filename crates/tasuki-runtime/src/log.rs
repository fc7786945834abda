//! The output of jobs, on disk until a job is forgotten: a file of records per job, each of which is a frame.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};
use tasuki_control::{Bytes, Frames, JobId, Record, Stream};

/// Most bytes of a job's output that are kept.
const KEPT_MAX: u64 = 256 << 20;
/// The file beside a log that says how much of what is told is in it.
pub(crate) const TOLD: &str = "told";
/// Most bytes that are read at a time.
const PIECE: usize = 256 << 10;

/// A log that is written to.
struct Log {
    file: File,
    length: u64,
    is_full: bool,
    told: Told,
}

impl Log {
    /// Opens the log of the job whose folder this is, or begins it.
    fn open(folder: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path(folder))?;
        let told = Told::open(folder)?;
        let mut length = file.metadata()?.len();
        if let Some(known) = told.length.filter(|known| *known < length) {
            // What is behind it was being written when the daemon was killed, and is told again.
            file.set_len(known)?;
            length = known;
        }
        Ok(Self { file, length, is_full: length >= KEPT_MAX, told })
    }
}

/// The logs of jobs that run.
#[derive(Default)]
pub(crate) struct Logs {
    open: BTreeMap<JobId, Log>,
}

/// How much of what each host of a job tells is in the log, on disk beside it, so that after a restart of the
/// daemon nothing is missing and nothing is there twice.
struct Told {
    file: File,
    /// Length of the log; `None`: nothing was written down.
    length: Option<u64>,
    /// Number of the last record of each host, by its place among the job's.
    numbers: Vec<u64>,
}

impl Told {
    fn open(folder: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(folder.join(TOLD))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (words, _) = bytes.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        Ok(Self { file, length: words.next(), numbers: words.collect() })
    }

    fn number(&mut self, part: usize) -> &mut u64 {
        self.numbers.resize(self.numbers.len().max(part + 1), 0);
        &mut self.numbers[part]
    }

    /// Writes all down at once: a process that is killed has made such a write or has not.
    fn save(&mut self, length: u64) -> io::Result<()> {
        self.length = Some(length);
        let words = [length].into_iter().chain(self.numbers.iter().copied());
        self.file.write_all_at(&words.flat_map(u64::to_le_bytes).collect::<Vec<u8>>(), 0)
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("log")
}

impl Logs {
    /// The log of a job whose folder this is, which goes on where an earlier daemon has ended.
    fn log(&mut self, job: JobId, folder: &Path) -> io::Result<&mut Log> {
        match self.open.entry(job) {
            Entry::Occupied(log) => Ok(log.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(Log::open(folder)?)),
        }
    }

    /// Goes on with the log of a job that has outlived an earlier daemon.
    pub fn resume(&mut self, job: JobId, folder: &Path) -> io::Result<()> {
        self.log(job, folder).map(drop)
    }

    /// Appends output that the host with this place among the job's tells; `first`: number of the first
    /// record. Records that are there are left out. What is beyond [`KEPT_MAX`] is left out as well, which
    /// the log says.
    pub fn append(
        &mut self,
        job: JobId,
        folder: &Path,
        part: usize,
        first: u64,
        records: &[Record],
    ) -> io::Result<()> {
        let log = self.log(job, folder)?;
        let known = *log.told.number(part);
        let fresh = records.iter().zip(first..).filter(|(_, number)| *number > known);
        let fresh: Vec<&Record> = fresh.map(|(record, _)| record).collect();
        let last = (first + records.len() as u64).saturating_sub(1).max(known);
        log.write(&fresh)?;
        *log.told.number(part) = last;
        log.told.save(log.length)
    }

    /// Closes the log of a job that is over.
    pub fn close(&mut self, job: JobId) {
        self.open.remove(&job);
    }
}

impl Log {
    fn write(&mut self, records: &[&Record]) -> io::Result<()> {
        let log = self;
        if log.is_full || records.is_empty() {
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
        if let Err(error) = log.file.write_all(&bytes) {
            // A full disk takes a part of it. Readers would take half a record for the end of the log.
            log.file.set_len(log.length)?;
            return Err(error);
        }
        log.length += bytes.len() as u64;
        Ok(())
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
        for (records, first) in all.chunks(3).zip((1..).step_by(3)) {
            logs.append(5, folder.path(), 0, first, records).unwrap();
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
        for number in 1..4 {
            logs.append(1, folder.path(), 0, number, &[record(0, vec![b'x'; 200])]).unwrap();
        }
        let (records, _) = read(folder.path(), KEPT_MAX - 100).unwrap();
        assert_eq!(records.len(), 1, "{records:?}");
        assert!(String::from_utf8_lossy(&records[0].bytes).contains("left out"));
    }

    #[test]
    fn a_full_disk_leaves_whole_records() {
        if !nix::unistd::Uid::effective().is_root() {
            eprintln!("SKIPPED a_full_disk_leaves_whole_records: needs root");
            return;
        }
        // A disk of this thread's own, which goes with it.
        let disk = tempfile::tempdir().unwrap();
        tasuki_testkit::deaf::own_mounts().unwrap();
        let flags = nix::mount::MsFlags::empty();
        nix::mount::mount(Some("none"), disk.path(), Some("tmpfs"), flags, Some("size=64k")).unwrap();
        let mut logs = Logs::default();
        let first = record(0, vec![b'x'; 10_000]);
        logs.append(1, disk.path(), 0, 1, std::slice::from_ref(&first)).unwrap();
        let long = record(0, vec![b'x'; 200_000]);
        assert!(logs.append(1, disk.path(), 0, 2, &[long]).is_err(), "it has no room");
        let (records, next) = read(disk.path(), 0).unwrap();
        assert_eq!((records.len(), std::fs::metadata(path(disk.path())).unwrap().len()), (1, next));
        // What comes then has its place and its number.
        let short = record(0, b"short".to_vec());
        logs.append(1, disk.path(), 0, 2, std::slice::from_ref(&short)).unwrap();
        assert_eq!(read(disk.path(), 0).unwrap().0, [first, short]);
        drop(logs);
        nix::mount::umount(disk.path()).unwrap();
    }

    #[test]
    fn a_log_goes_on_without_gap_or_repetition_whenever_its_daemon_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let of = |part: u32, number: u64| record(part, format!("{part} {number}").into_bytes());
        let mut expected = Vec::new();
        for (round, part) in (0u64..20).zip([0u32, 1].into_iter().cycle()) {
            let mut logs = Logs::default();
            logs.resume(9, folder.path()).unwrap();
            // A host tells again what it does not know to be taken, and three records more.
            let first = (round / 2 * 3).saturating_sub(4).max(1);
            let last = (round / 2 + 1) * 3;
            let records: Vec<Record> = (first..=last).map(|number| of(part, number)).collect();
            logs.append(9, folder.path(), part as usize, first, &records).unwrap();
            expected.extend((last - 2..=last).map(|number| of(part, number)));
            // The daemon is killed while it writes: the log has more than was written down.
            let mut file = OpenOptions::new().append(true).open(path(folder.path())).unwrap();
            file.write_all(b"half a record").unwrap();
        }
        let mut logs = Logs::default();
        logs.resume(9, folder.path()).unwrap();
        assert_eq!(read(folder.path(), 0).unwrap().0, expected);
    }
}
