//! Opening a peer's segment and taking a slot in it.

use std::io;
use std::path::{Path, PathBuf};

use super::Outbox;
use crate::create;
use crate::file::{DIRECTORY, Holder, SharedFile};
use crate::layout::*;
use crate::map::Map;
use crate::sync::Ordering;
use crate::{OpenError, Token};

impl Outbox {
    /// Opens the segment named `token` and takes a slot in it, leaving `me` there as the name of the sender.
    pub fn open(token: &Token, me: &Token) -> Result<Outbox, OpenError> {
        Outbox::open_in(Path::new(DIRECTORY), token, me)
    }

    /// Like [`Outbox::open`], with the segment's file in another directory than `/dev/shm`.
    pub fn open_in(directory: &Path, token: &Token, me: &Token) -> Result<Outbox, OpenError> {
        let path = create::path(directory, token);
        let system = |call| {
            let path = path.clone();
            move |source| OpenError::System { path, call, source }
        };
        let file = SharedFile::open(&path, true).map_err(|source| open_error(&path, source))?;
        let geometry = check(&file, &path)?;
        if file.holder(LOCK_OWNER).map_err(system("fcntl(F_GETLK)"))? == Holder::Nobody {
            return Err(OpenError::Dead { path });
        }
        let map = Map::new(file.fd(), geometry.total(), true).map_err(system("mmap"))?;
        let mut outbox = Outbox {
            token: *token,
            map,
            file,
            geometry,
            index: usize::MAX,
            head: 0,
            tail: 0,
            zeroed: 0,
            dual_copies: 0,
            broken: false,
        };
        outbox.index = outbox.claim(&path)?;
        outbox.set_up(me, &path)?;
        Ok(outbox)
    }

    /// Takes a free slot: first its lock, which says that the slot's sender lives, then its state.
    fn claim(&self, path: &Path) -> Result<usize, OpenError> {
        for index in 0..self.geometry.peers {
            let state = self.map.half(self.geometry.slot(index) + SLOT_STATE);
            if state.load(Ordering::Relaxed) != FREE {
                continue;
            }
            let lock = LOCK_SLOTS + index as i64;
            let locked = self.file.try_lock(lock).map_err(|source| OpenError::System {
                path: path.to_path_buf(),
                call: "fcntl(F_SETLK)",
                source,
            })?;
            if !locked {
                continue;
            }
            // Acquire: what the receiver has reset in the slot is seen.
            if state.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Ok(index);
            }
            self.file.unlock(lock);
        }
        Err(OpenError::Full { path: path.to_path_buf(), slots: self.geometry.peers })
    }

    /// Takes memory for the ring, empties it, puts the sender's name into the slot and tells the receiver.
    fn set_up(&mut self, me: &Token, path: &Path) -> Result<(), OpenError> {
        let (ring, bytes) = (self.geometry.ring(self.index), self.geometry.ring_bytes);
        if let Err(source) = self.file.reserve(ring, bytes) {
            self.map.half(self.slot() + SLOT_STATE).store(FREE, Ordering::Release);
            self.file.unlock(LOCK_SLOTS + self.index as i64);
            self.index = usize::MAX;
            let path = path.to_path_buf();
            return Err(match source.raw_os_error() {
                Some(libc::ENOSPC) => OpenError::NoSpace { path, bytes: bytes as u64 },
                _ => OpenError::System { path, call: "fallocate", source },
            });
        }
        self.map.word(ring).store(0, Ordering::Relaxed);
        let slot = self.slot();
        // The words of a dual copy may still be those of the slot's last sender.
        [SLOT_CLAIMS, SLOT_WRITTEN]
            .iter()
            .for_each(|at| self.map.word(slot + at).store(0, Ordering::Relaxed));
        self.map.half(slot + SLOT_PID).store(std::process::id(), Ordering::Relaxed);
        self.map.copy_in(slot + SLOT_TOKEN, &me.to_bytes());
        self.map.half(slot + SLOT_STATE).store(OPEN, Ordering::Release);
        self.ring_bell_anew();
        Ok(())
    }
}

fn open_error(path: &Path, source: io::Error) -> OpenError {
    let path: PathBuf = path.to_path_buf();
    match source.raw_os_error() {
        Some(libc::ENOENT | libc::EACCES | libc::EPERM | libc::ENOTDIR | libc::ELOOP) => {
            OpenError::NotHere { path }
        }
        _ => OpenError::System { path, call: "open", source },
    }
}

/// Checks that the file is one of this user's segments, and complete. The header is read and not mapped,
/// since the file's size is not known yet: touching a mapping beyond the end of a file is SIGBUS.
fn check(file: &SharedFile, path: &Path) -> Result<Geometry, OpenError> {
    let layout = |what| OpenError::Layout { path: path.to_path_buf(), what };
    let stat = file.stat().map_err(|source| OpenError::System {
        path: path.to_path_buf(),
        call: "fstat",
        source,
    })?;
    // SAFETY: no pointers are passed.
    if stat.st_uid != unsafe { libc::geteuid() } {
        return Err(OpenError::NotHere { path: path.to_path_buf() });
    }
    let mut header = [0; HEADER_BYTES];
    file.read_at(0, &mut header).map_err(|_| layout("it is too short"))?;
    let half = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().unwrap_or_default());
    let word = |at: usize| u64::from_ne_bytes(header[at..at + 8].try_into().unwrap_or_default());
    if word(AT_MAGIC) != MAGIC {
        return Err(layout("wrong magic number"));
    }
    if half(AT_VERSION) != VERSION {
        return Err(layout("another version; both sides must run the same Tasuki"));
    }
    let geometry = usize::try_from(word(AT_RING_BYTES))
        .ok()
        .and_then(|bytes| Geometry::new(half(AT_PEERS) as usize, bytes));
    let geometry = geometry.ok_or_else(|| layout("impossible sizes"))?;
    if stat.st_size as u64 != geometry.total() as u64 || stat.st_blocks * 512 < geometry.head_bytes() as i64 {
        return Err(layout("its length is not what its sizes say"));
    }
    Ok(geometry)
}
