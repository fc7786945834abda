//! The writer of a page.

use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::time::{SystemTime, UNIX_EPOCH};

use super::encoding::{DropRecord, Origin};
use super::layout::{self, Places};
use super::seqlock::{self, Sequence};
use super::words::Words;
use super::{EndpointRecord, Identity, OperationRecord, PeerRecord, RailRecord};
use crate::RingError;
use crate::create::{map_file, new_file};
use crate::file::{DIRECTORY, SharedFile, sweep};
use crate::map::Map;
use crate::sync::Ordering;

/// How the names of pages' files begin.
pub(crate) const PREFIX: &str = "tasuki-stats.";
/// Environment variables in which launchers put a process's rank: Open MPI, Hydra, PMIx, Slurm.
pub const RANK_VARIABLES: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"];

/// How much room a page has.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Peers (default 256, at most 65536).
    pub peers: usize,
    /// Rails per peer, each lane counted (default 20, at most 64). A peer takes 176 bytes and 112 more per
    /// rail.
    pub rails: usize,
    /// Reasons for drops (default 48, at most 1024).
    pub drops: usize,
    /// Whether other users may read the page (mode 0644 and not 0600; default false).
    pub public: bool,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { peers: 256, rails: 20, drops: 48, public: false }
    }
}

/// Keeps a page. Every call is a few plain stores. Indices beyond the layout are ignored. The page is removed
/// on drop.
pub struct Writer {
    map: Map,
    file: SharedFile,
    places: Places,
    origin: Origin,
    sequence: Sequence,
    /// One more than the largest index of a peer that had no room.
    beyond: usize,
}

impl Writer {
    /// Makes `/dev/shm/tasuki-stats.<uid>.<pid>.<n>` and removes pages of this user's dead processes.
    pub fn create(layout: &Layout, identity: &Identity) -> Result<Writer, RingError> {
        Writer::create_in(Path::new(DIRECTORY), layout, identity)
    }

    /// Like [`Writer::create`], with the file in another directory than `/dev/shm`.
    pub fn create_in(directory: &Path, layout: &Layout, identity: &Identity) -> Result<Writer, RingError> {
        let places = Places::new(layout).ok_or_else(|| {
            let [peers, rails, drops] = layout::SIZES_MAX;
            let sizes = [
                ("peers", layout.peers, peers),
                ("rails", layout.rails, rails),
                ("drops", layout.drops, drops),
            ];
            let (what, value, high) = sizes.into_iter().find(|size| size.1 > size.2).unwrap_or(sizes[0]);
            RingError::Size { what, value, low: 0, high }
        })?;
        sweep(directory, &[(PREFIX, layout::LOCK)]);
        let file = page_file(directory, if layout.public { 0o644 } else { 0o600 })?;
        let map = map_file(&file, places.total(), places.total())?;
        let origin = origin(identity);
        let mut writer = Writer { map, file, places, origin, sequence: Sequence::default(), beyond: 0 };
        writer.write_origin();
        let header = [
            (layout::AT_VERSION, layout::VERSION),
            (layout::AT_PEERS, places.peers as u64),
            (layout::AT_RAILS, places.rails as u64),
            (layout::AT_DROPS, places.drops as u64),
        ];
        header.iter().for_each(|&(at, value)| writer.map.word(at).store(value, Ordering::Relaxed));
        // The magic number is written last: a process that finds it finds everything else, too.
        writer.map.word(layout::AT_MAGIC).store(layout::MAGIC, Ordering::Release);
        Ok(writer)
    }

    /// The page's file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    fn write<T: Words>(&mut self, at: usize, record: &T) {
        // A forked child must not write on its parent's page.
        if self.map.is_here() {
            seqlock::write(&self.map, at, T::WORDS, &mut self.sequence, |into| record.put(into));
        }
    }

    fn write_origin(&mut self) {
        let origin = std::mem::take(&mut self.origin);
        self.write(self.places.origin(), &origin);
        self.origin = origin;
    }

    /// Writes down which lanes are in use now.
    pub fn lanes(&mut self, lanes: &str) {
        self.origin.identity.lanes = lanes.to_owned();
        self.write_origin();
    }

    /// Writes the endpoint's totals.
    pub fn endpoint(&mut self, record: &EndpointRecord) {
        self.write(self.places.endpoint(), record);
    }

    /// Writes how many bytes of messages streams and length-coded bulk have carried so far, both ways.
    pub fn carried(&mut self, bytes: u64) {
        if self.map.is_here() {
            self.map.word(layout::AT_CARRIED).store(bytes, Ordering::Relaxed);
        }
    }

    /// Writes an operation that is not over. How many of them count is said by the endpoint's totals.
    pub fn operation(&mut self, index: usize, record: &OperationRecord) {
        if index < layout::OPERATIONS_MAX {
            self.write(self.places.operation(index), record);
        }
    }

    /// Writes the record of the peer in place `index`.
    pub fn peer(&mut self, index: usize, record: &PeerRecord) {
        if index < self.places.peers {
            self.write(self.places.peer(index), record);
        } else if index >= self.beyond && self.map.is_here() {
            self.beyond = index + 1;
            let count = (self.beyond - self.places.peers) as u64;
            self.map.word(layout::AT_BEYOND).store(count, Ordering::Relaxed);
        }
    }

    /// Takes a peer and its rails off the page.
    pub fn remove_peer(&mut self, index: usize) {
        if index >= self.places.peers || !self.map.is_here() {
            return;
        }
        seqlock::erase(&self.map, self.places.peer(index));
        (0..self.places.rails).for_each(|place| seqlock::erase(&self.map, self.places.rail(index, place)));
    }

    /// Writes the record of a rail of the peer in place `index`. `place` counts the peer's rails from 0; it
    /// is not the rail's number.
    pub fn rail(&mut self, index: usize, place: usize, record: &RailRecord) {
        if index < self.places.peers && place < self.places.rails {
            self.write(self.places.rail(index, place), record);
        }
    }

    /// Writes the drops by reason. Names of reasons have at most 48 bytes, and come in the same order at
    /// every call.
    pub fn drops(&mut self, drops: &[(&str, u64)]) {
        if !self.map.is_here() {
            return;
        }
        for (index, &(name, count)) in drops.iter().take(self.places.drops).enumerate() {
            let at = self.places.drop(index);
            seqlock::write(&self.map, at, DropRecord::WORDS, &mut self.sequence, |into| {
                DropRecord::put_parts(name, count, into);
            });
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.map.is_here() {
            self.file.unlink();
            self.file.unlock(layout::LOCK);
        }
    }
}

/// Makes a new file for a page of this process. Its name ends in a number, because several endpoints of a
/// process have a page each, and a process of another PID namespace that shares the directory may have the
/// same process id.
fn page_file(directory: &Path, mode: libc::mode_t) -> Result<SharedFile, RingError> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    // SAFETY: no pointers are passed.
    let user = unsafe { libc::geteuid() };
    let mut tries = 0;
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("{PREFIX}{user}.{}.{number}", std::process::id()));
        match new_file(&path, mode, layout::LOCK) {
            Err(RingError::Exists { .. }) if tries < 1000 => tries += 1,
            outcome => return outcome,
        }
    }
}

fn origin(identity: &Identity) -> Origin {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let program = std::env::current_exe().ok();
    let program =
        program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let rank = RANK_VARIABLES.iter().find_map(|name| std::env::var(name).ok()?.parse::<u32>().ok());
    Origin {
        pid: u64::from(std::process::id()),
        started,
        rank: rank.map_or(0, |rank| u64::from(rank) + 1),
        program: program.unwrap_or_default(),
        host: host(),
        identity: identity.clone(),
    }
}

fn host() -> String {
    let mut bytes = [0_u8; 65];
    // SAFETY: the pointer and length (one less, so that it ends in zero) are those of a live buffer.
    unsafe { libc::gethostname(bytes.as_mut_ptr().cast(), bytes.len() - 1) };
    let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}
