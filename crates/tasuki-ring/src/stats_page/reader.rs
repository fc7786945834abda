//! The reader.

use std::io;
use std::path::{Path, PathBuf};

use std::sync::atomic::Ordering;

use super::layout::{self, Found, Places};
use super::words::{DropRecord, Origin, Words};
use super::writer::PREFIX;
use super::{Layout, PeerSnapshot, Snapshot};
use crate::file::{DIRECTORY, Holder, SharedFile};
use crate::map::Map;

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
    map: Map,
    file: SharedFile,
    places: Places,
}

impl Reader {
    /// Opens the page at `path`.
    pub fn open(path: &Path) -> Result<Reader, ReadError> {
        let io = |source| ReadError::Io { path: path.to_path_buf(), source };
        let file = SharedFile::open(path, false).map_err(io)?;
        let places = check(&file)?;
        let map = Map::new(file.fd(), places.total(), false).map_err(io)?;
        Ok(Reader { map, file, places })
    }

    /// Everything on it, each record consistent in itself.
    pub fn snapshot(&self) -> Snapshot {
        let mut torn = 0;
        let origin: Origin = self.read(self.places.origin(), &mut torn).unwrap_or_default();
        let endpoint = self.read(self.places.endpoint(), &mut torn).unwrap_or_default();
        let drops = (0..self.places.drops).filter_map(|index| {
            self.read::<DropRecord>(self.places.drop(index), &mut torn).map(|drop| (drop.name, drop.count))
        });
        let drops = drops.collect();
        let peers = (0..self.places.peers).filter_map(|index| {
            let peer = self.read(self.places.peer(index), &mut torn)?;
            let rails = (0..self.places.rails)
                .filter_map(|place| self.read(self.places.rail(index, place), &mut torn))
                .collect();
            Some(PeerSnapshot { index, peer, rails })
        });
        let peers = peers.collect();
        Snapshot {
            pid: origin.pid as u32,
            started: origin.started,
            program: origin.program,
            rank: origin.rank.checked_sub(1).and_then(|rank| u32::try_from(rank).ok()),
            host: origin.host,
            stale: self.is_stale(),
            identity: origin.identity,
            endpoint,
            drops,
            peers,
            peers_beyond: self.map.word(layout::AT_BEYOND).load(Ordering::Relaxed),
            torn,
        }
    }

    fn read<T: Words>(&self, at: usize, torn: &mut u64) -> Option<T> {
        match layout::read(&self.map, at) {
            Found::Record(record) => Some(record),
            Found::Empty => None,
            Found::Torn => {
                *torn += 1;
                None
            }
        }
    }

    /// Whether the writer's process is gone.
    pub fn is_stale(&self) -> bool {
        // If the kernel cannot say it, the writer is not held to be gone.
        self.file.holder(layout::LOCK).unwrap_or(Holder::This) == Holder::Nobody
    }
}

/// Checks that the file is a page of this version, and complete. Read, not mapped: its size is not known yet.
fn check(file: &SharedFile) -> Result<Places, ReadError> {
    let layout = |what| ReadError::Layout { path: file.path().to_path_buf(), what };
    let mut header = [0; layout::HEADER_WORDS * 8];
    file.read_at(0, &mut header).map_err(|_| layout("it is too short"))?;
    let word = |at: usize| u64::from_ne_bytes(header[at..at + 8].try_into().unwrap_or_default());
    if word(layout::AT_MAGIC) != layout::MAGIC {
        return Err(layout("wrong magic number"));
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
    let stat = file.stat().map_err(|source| ReadError::Io { path: file.path().to_path_buf(), source })?;
    if u64::try_from(stat.st_size).unwrap_or(0) < places.total() as u64 {
        return Err(layout("it is shorter than its sizes say"));
    }
    Ok(places)
}

/// The pages in `/dev/shm`, sorted by name, stale ones too.
pub fn list() -> Vec<PathBuf> {
    list_in(Path::new(DIRECTORY))
}

/// The pages in `directory`.
pub fn list_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let names = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let mut paths: Vec<PathBuf> = names.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
