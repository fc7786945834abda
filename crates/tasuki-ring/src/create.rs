//! Making the files of segments and of statistics pages.

use std::io;
use std::path::{Path, PathBuf};

use crate::file::{SharedFile, sweep};
use crate::layout::*;
use crate::map::Map;
use crate::sync::{AtomicU64, Ordering};
use crate::token::fill_random;
use crate::{RingError, SegmentOptions, Token};
use tasuki_tuning::segments;

/// How the names of segments' files begin.
pub(crate) const PREFIX: &str = "tasuki-ring.";

/// A segment that has just been made.
pub(crate) struct Made {
    pub(crate) file: SharedFile,
    pub(crate) map: Map,
    pub(crate) geometry: Geometry,
    /// What [`crate::Cma::probe`] reads in this process's memory from outside.
    pub(crate) secret: Box<[AtomicU64]>,
}

/// Path of the segment named `token`.
pub(crate) fn path(directory: &Path, token: &Token) -> PathBuf {
    directory.join(format!("{PREFIX}{token}"))
}

/// Makes a segment's file and fills its header; see `Segment::create`.
pub(crate) fn segment(directory: &Path, options: &SegmentOptions) -> Result<Made, RingError> {
    let geometry = geometry(options)?;
    sweep(directory, &[(PREFIX, LOCK_OWNER)]);
    let path = path(directory, &options.token);
    let file = new_file(&path, 0o600, LOCK_OWNER)?;
    let made = fill(file, geometry);
    if made.is_ok() {
        allow_reading();
    }
    made
}

/// Checks the sizes asked for.
fn geometry(options: &SegmentOptions) -> Result<Geometry, RingError> {
    let size = |what, value, (low, high)| RingError::Size { what, value, low, high };
    let peers = options.max_peers;
    if !(PEERS.0..=PEERS.1).contains(&peers) {
        return Err(size("max_peers", peers, PEERS));
    }
    options
        .ring_bytes
        .checked_next_power_of_two()
        .and_then(|ring_bytes| Geometry::new(peers, ring_bytes))
        .ok_or_else(|| size("ring_bytes", options.ring_bytes, RING_BYTES))
}

/// Makes a new file and locks `byte` of it. A process that sweeps holds that lock while it removes the file,
/// so a file that is locked here and still has its name stays.
pub(crate) fn new_file(path: &Path, mode: libc::mode_t, byte: i64) -> Result<SharedFile, RingError> {
    let failed = |call, source: io::Error| RingError::System { path: path.to_path_buf(), call, source };
    let create = || SharedFile::create(path, mode).map_err(|error| create_error(path, error));
    let mut file = create()?;
    for _ in 0..segments::SWEPT_MAX {
        let locked = file.try_lock(byte).map_err(|source| failed("fcntl(F_SETLK)", source))?;
        let named = file.stat().map_err(|source| failed("fstat", source))?.st_nlink > 0;
        match (locked, named) {
            (true, true) => return Ok(file),
            // The name is free only now: a sweeper removes whatever has it, so none is made before.
            (_, false) => file = create()?,
            // The sweeper removes the name soon, or ends before and leaves it.
            (false, true) => std::thread::sleep(segments::SWEPT_PAUSE),
        }
    }
    Err(failed("fcntl(F_SETLK)", io::ErrorKind::WouldBlock.into()))
}

fn create_error(path: &Path, source: io::Error) -> RingError {
    let path = path.to_path_buf();
    match source.raw_os_error() {
        Some(libc::EEXIST) => RingError::Exists { path },
        Some(libc::ENOSPC) => RingError::NoSpace { path, bytes: 4096 },
        _ => RingError::System { path, call: "open(O_CREAT | O_EXCL)", source },
    }
}

/// Sizes `file` to `total` bytes, takes memory for the first `reserved` of them and maps the file. On failure
/// the file is removed.
pub(crate) fn map_file(file: &SharedFile, total: usize, reserved: usize) -> Result<Map, RingError> {
    let failed = |call, source: io::Error| {
        file.unlink();
        let path = file.path().to_path_buf();
        match source.raw_os_error() {
            Some(libc::ENOSPC) => RingError::NoSpace { path, bytes: reserved as u64 },
            _ => RingError::System { path, call, source },
        }
    };
    file.set_len(total as u64).map_err(|source| failed("ftruncate", source))?;
    file.reserve(0, reserved).map_err(|source| failed("fallocate", source))?;
    Map::new(file.fd(), total, true).map_err(|source| failed("mmap", source))
}

/// Maps a new segment's file and writes its header.
fn fill(file: SharedFile, geometry: Geometry) -> Result<Made, RingError> {
    let map = map_file(&file, geometry.total(), geometry.head_bytes())?;
    let mut bytes = [0; SECRET_BYTES];
    fill_random(&mut bytes).map_err(|source| {
        file.unlink();
        RingError::System { path: file.path().to_path_buf(), call: "getrandom", source }
    })?;
    let words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
    // Atomics, because other processes read the secret behind the compiler's back: it must really be in
    // memory.
    let secret: Box<[AtomicU64]> = words.map(AtomicU64::new).collect();
    map.half(AT_VERSION).store(VERSION, Ordering::Relaxed);
    map.half(AT_PEERS).store(geometry.peers as u32, Ordering::Relaxed);
    map.word(AT_RING_BYTES).store(geometry.ring_bytes as u64, Ordering::Relaxed);
    map.half(AT_PID).store(std::process::id(), Ordering::Relaxed);
    map.word(AT_SECRET_ADDRESS).store(secret.as_ptr() as u64, Ordering::Relaxed);
    map.copy_in(AT_SECRET, &bytes);
    for index in 0..geometry.peers {
        map.half(geometry.slot(index) + SLOT_ARMED).store(1, Ordering::Relaxed);
    }
    // The magic number is written last: a process that finds it finds everything else, too.
    map.word(AT_MAGIC).store(MAGIC, Ordering::Release);
    Ok(Made { file, map, geometry, secret })
}

/// Allows other processes of this user to read this process's memory. Under Yama only a parent may, unless
/// the process says otherwise. The call fails where there is no Yama, and then is not needed.
fn allow_reading() {
    // SAFETY: no pointers are passed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
}
