//! The reader of a page.
//!
//! Root reads the pages of all users, and a page may be anything its owner has made of it, also while it is
//! being read. So a page is read, never mapped: a process that touches a mapping of a file that has become
//! shorter is ended by SIGBUS.

use std::io;
use std::path::{Path, PathBuf};

use super::encoding::{DropRecord, Origin};
use super::layout::{self, Places};
use super::seqlock::{self, Found};
use super::words::Words;
use super::writer::PREFIX;
use super::{EndpointRecord, Layout, PeerSnapshot, Snapshot};
use crate::file::{DIRECTORY, Holder, SharedFile};
use tasuki_tuning::pages;

/// Why a page could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Opening or mapping failed.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The page's process is making it at this moment: the page has no header yet.
    #[error("{path} is not finished yet", path = path.display())]
    Unfinished {
        /// The file.
        path: PathBuf,
    },
    /// The file does not hold a page of this version.
    #[error("{path} is no statistics page of this version: {what}", path = path.display())]
    Layout {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
}

/// A page opened for reading.
pub struct Reader {
    file: SharedFile,
    places: Places,
}

impl Reader {
    /// Opens the page at `path`.
    pub fn open(path: &Path) -> Result<Reader, ReadError> {
        let io = |source| ReadError::Io { path: path.to_path_buf(), source };
        let file = SharedFile::open(path, false).map_err(io)?;
        let places = check(&file)?;
        Ok(Reader { file, places })
    }

    /// Everything on the page, each record consistent in itself. What stood beyond the end of a page that has
    /// become shorter is missing.
    pub fn snapshot(&self) -> Snapshot {
        let mut look = Look { file: &self.file, page: vec![0; self.places.total()], torn: 0 };
        // What cannot be read stays zero, which is an empty record.
        let _ = self.file.read_at(0, &mut look.page);
        let origin: Origin = look.read(self.places.origin()).unwrap_or_default();
        let endpoint: EndpointRecord = look.read(self.places.endpoint()).unwrap_or_default();
        let listed = usize::try_from(endpoint.operations_listed).unwrap_or(usize::MAX);
        let operations = (0..listed.min(layout::OPERATIONS_MAX))
            .filter_map(|index| look.read(self.places.operation(index)))
            .collect();
        let drops = (0..self.places.drops).filter_map(|index| {
            look.read::<DropRecord>(self.places.drop(index)).map(|drop| (drop.name, drop.count))
        });
        let drops = drops.collect();
        let peers = (0..self.places.peers).filter_map(|index| {
            let peer = look.read(self.places.peer(index))?;
            let rails = (0..self.places.rails).filter_map(|place| look.read(self.places.rail(index, place)));
            Some(PeerSnapshot { index, peer, rails: rails.collect() })
        });
        let peers = peers.collect();
        let holder = self.holder();
        let process = match holder {
            Holder::This => Some(std::process::id()),
            Holder::Other(pid) => u32::try_from(pid).ok().filter(|pid| *pid > 0),
            Holder::Nobody => None,
        };
        let number = self.file.path().extension().and_then(|number| number.to_str()?.parse().ok());
        Snapshot {
            pid: origin.pid as u32,
            process,
            user: self.file.stat().ok().map(|stat| stat.st_uid),
            number,
            started: origin.started,
            program: origin.program,
            rank: origin.rank.checked_sub(1).and_then(|rank| u32::try_from(rank).ok()),
            host: origin.host,
            stale: holder == Holder::Nobody,
            identity: origin.identity,
            endpoint,
            carried: look.word(layout::AT_CARRIED),
            drops,
            operations,
            peers,
            peers_beyond: look.word(layout::AT_BEYOND),
            torn: look.torn,
        }
    }

    /// Whether the writer's process is gone.
    pub fn is_stale(&self) -> bool {
        self.holder() == Holder::Nobody
    }

    /// The size of the page, bytes.
    pub fn bytes(&self) -> usize {
        self.places.total()
    }

    /// The process that keeps the page. A writer of which the kernel cannot say anything is not held to be
    /// gone.
    fn holder(&self) -> Holder {
        self.file.holder(layout::LOCK).unwrap_or(Holder::Other(0))
    }
}

/// What a snapshot is made from.
struct Look<'a> {
    file: &'a SharedFile,
    /// The whole page, as it was when the snapshot began.
    page: Vec<u8>,
    /// Records that were being written at every try.
    torn: u64,
}

impl Look<'_> {
    fn word(&self, at: usize) -> u64 {
        let bytes = self.page.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    }

    fn read<T: Words>(&mut self, at: usize) -> Option<T> {
        let tries = if self.torn < pages::TORN_MAX { pages::TRIES_MAX } else { 1 };
        let (file, before) = (self.file, self.word(at));
        let read = |offset: usize, into: &mut [u8]| file.read_at((at + offset) as u64, into).is_ok();
        match seqlock::read(before, tries, read) {
            Found::Record(record) => Some(record),
            Found::Empty => None,
            Found::Torn => {
                self.torn += 1;
                None
            }
        }
    }
}

/// Checks that the file is a page of this version, and complete.
fn check(file: &SharedFile) -> Result<Places, ReadError> {
    let layout = |what| ReadError::Layout { path: file.path().to_path_buf(), what };
    let mut header = [0; layout::HEADER_WORDS * 8];
    let io = |source| ReadError::Io { path: file.path().to_path_buf(), source };
    let is_empty = file.stat().map_err(io)?.st_size == 0;
    if !is_empty {
        file.read_at(0, &mut header).map_err(|_| layout("it is too short"))?;
    }
    let word = |at: usize| u64::from_ne_bytes(header[at..at + 8].try_into().unwrap_or_default());
    match word(layout::AT_MAGIC) {
        layout::MAGIC => {}
        // A new file is empty, then gets its length, which makes it zeros, and its magic number last.
        0 => return Err(ReadError::Unfinished { path: file.path().to_path_buf() }),
        _ => return Err(layout("wrong magic number")),
    }
    if word(layout::AT_VERSION) != layout::VERSION {
        return Err(layout("another version; use the Tasuki that the program uses"));
    }
    let size = |at| usize::try_from(word(at)).unwrap_or(usize::MAX);
    let sizes = Layout {
        peers: size(layout::AT_PEERS),
        rails: size(layout::AT_RAILS),
        drops: size(layout::AT_DROPS),
        public: false,
    };
    let places = Places::new(&sizes).ok_or_else(|| layout("impossible sizes"))?;
    let stat = file.stat().map_err(io)?;
    if u64::try_from(stat.st_size).unwrap_or(0) < places.total() as u64 {
        return Err(layout("it is shorter than its sizes say"));
    }
    if places.total() > pages::BYTES_MAX {
        return Err(layout("it is larger than any program needs"));
    }
    Ok(places)
}

/// The pages in `/dev/shm`, sorted by name, stale ones too.
pub fn list() -> Vec<PathBuf> {
    list_in(Path::new(DIRECTORY))
}

/// Like [`list`], of the pages in another directory.
pub fn list_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let names = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let mut paths: Vec<PathBuf> = names.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
