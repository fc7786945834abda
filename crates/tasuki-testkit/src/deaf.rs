//! A file system that never answers, as that of a dead file server: a process that looks at a file there
//! sleeps in the kernel, and does not even end by SIGKILL.

use nix::{
    errno::Errno,
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, unshare},
    unistd::Uid,
};
use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::AsRawFd,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Far longer than a process takes to come to a file.
const LONG: Duration = Duration::from_secs(60);
/// Bytes of the longest request, and more.
const REQUEST_MAX: usize = 256 << 10;
/// Bytes before the body of a request, and of an answer (fuse(4)).
const REQUEST_HEAD: usize = 40;
const ANSWER_HEAD: usize = 16;
/// Requests without somebody who waits for an answer, and the first one, which is answered.
const INIT: u32 = 26;
const UNANSWERED: [u32; 4] = [2, 36, 38, 42];
/// The wish that calls about one folder need not wait for each other (FUSE_PARALLEL_DIROPS).
const PARALLEL: u32 = 1 << 18;

/// A file system that never answers, in the mounts of the thread that has made it and of what that starts.
/// When the value is dropped, calls that wait for it fail, and what was killed ends.
pub struct Deaf {
    folder: TempDir,
    asked: Arc<AtomicUsize>,
}

impl Deaf {
    /// Mounts one; this thread has mounts of its own from then on. `None`, which is said in the name of
    /// `test`: that takes root and FUSE.
    pub fn new(test: &str) -> Option<Self> {
        let deaf = match Uid::effective().is_root() {
            true => Self::mounted().map_err(|error| error.to_string()),
            false => Err("needs root".into()),
        };
        deaf.inspect_err(|why| eprintln!("SKIPPED {test}: {why}")).ok()
    }

    fn mounted() -> io::Result<Self> {
        let server = File::options().read(true).write(true).open("/dev/fuse")?;
        let folder = tempfile::tempdir()?;
        own_mounts()?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", server.as_raw_fd());
        let (kind, flags) = (Some("fuse"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV);
        mount(Some("deaf"), folder.path(), kind, flags, Some(options.as_str()))?;
        let asked = Arc::new(AtomicUsize::new(0));
        let deaf = Self { folder, asked: Arc::clone(&asked) };
        // Calls of before that are made one after the other: the kernel does not know the wish yet.
        let (tell, is_ready) = channel();
        thread::Builder::new().spawn(move || listen(server, &asked, &tell))?;
        is_ready.recv_timeout(LONG).map_err(io::Error::other)?;
        Ok(deaf)
    }

    /// The folder that does not answer.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until so many calls wait for an answer.
    ///
    /// # Panics
    /// If they do not come.
    pub fn wait_until_asked(&self, calls: usize) {
        let end = Instant::now() + LONG;
        while self.asked.load(Ordering::Relaxed) < calls {
            assert!(Instant::now() < end, "{} calls of {calls}", self.asked.load(Ordering::Relaxed));
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Deaf {
    fn drop(&mut self) {
        // All that waits fails then, and the thread finds no more to read.
        let _ = umount2(self.folder.path(), MntFlags::MNT_FORCE);
        let _ = umount2(self.folder.path(), MntFlags::MNT_DETACH);
    }
}

/// Gives this thread mounts of its own, which nobody else sees and which go with it and what it has started.
///
/// # Errors
/// What the system says: it takes root.
pub fn own_mounts() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none = None::<&str>;
    Ok(mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?)
}

/// Answers the first request, which every file system must, tells that, and reads all others.
fn listen(mut server: File, asked: &AtomicUsize, tell: &Sender<()>) {
    let mut request = vec![0; REQUEST_MAX];
    loop {
        match server.read(&mut request) {
            Ok(length) if length >= REQUEST_HEAD => {}
            Err(error) if error.raw_os_error() == Some(Errno::EINTR as i32) => continue,
            // One that was taken back meanwhile.
            Err(error) if error.raw_os_error() == Some(Errno::ENOENT as i32) => continue,
            _ => return,
        }
        let [_, operation] = [0, 4].map(|at| word(&request, at));
        if operation == INIT {
            if server.write_all(&welcome(&request[8..16])).is_err() {
                return;
            }
            // Nobody listens any more where that took too long.
            let _ = tell.send(());
        }
        if operation != INIT && !UNANSWERED.contains(&operation) {
            asked.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The answer to the first request, which has this number: version 7.31 of the protocol.
fn welcome(number: &[u8]) -> Vec<u8> {
    let words: [u32; 16] = [7, 31, 0, PARALLEL, 0, 4096, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let body: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let length = (ANSWER_HEAD + body.len()) as u32;
    [&length.to_le_bytes()[..], &[0; 4], number, &body].concat()
}
