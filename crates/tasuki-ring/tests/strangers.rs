//! Other users may put into the shared directory what they like: a process that cleans up opens nothing of
//! it, and nothing of it makes a reader wait, follow a link, or die. This needs root, to be two users.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tasuki_ring::stats_page::{Identity, Layout, ReadError, Reader, Writer, list_in};
use tasuki_ring::{OpenError, Outbox, Segment, SegmentOptions, Token, tidy_in};

/// The user id of "nobody".
const STRANGER: u32 = 65_534;
/// The kernel lets a lease stand for 45 s (proc(5), `/proc/sys/fs/lease-break-time`): a call that has waited
/// for its end has taken longer than this.
const LEASE: Duration = Duration::from_secs(40);

/// A folder like `/dev/shm`, on the same file system. `None`, and a line that says why, if this process
/// cannot be two users.
fn shared_folder() -> Option<tempfile::TempDir> {
    // SAFETY: no pointers are passed.
    if unsafe { libc::geteuid() } != 0 {
        assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "needs root");
        eprintln!("SKIPPED: another user is needed, hence root");
        return None;
    }
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let everybody = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(folder.path(), everybody).expect("its mode");
    Some(folder)
}

/// Another user's process that has a write lease (fcntl(2)) of a file of its own, which any user may read and
/// write.
struct Lease(Child);

impl Lease {
    fn take(path: &Path) -> Lease {
        let script = "import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
os.chmod(sys.argv[1], 0o666)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('ready', flush=True)
sys.stdin.readline()
print('whole' if fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_WRLCK else 'broken', flush=True)";
        let mut python = Command::new("python3");
        python.args(["-c", script]).arg(path).uid(STRANGER).gid(STRANGER);
        let mut lease =
            Lease(python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 starts"));
        assert_eq!(lease.hear(), "ready");
        lease
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    /// Ends the lease. True if no process has tried to open the file since it was taken.
    fn ends_whole(mut self) -> bool {
        self.0.stdin.as_mut().expect("piped").write_all(b"\n").expect("it listens");
        let said = self.hear();
        self.0.wait().expect("its end");
        said == "whole"
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // These fail if the process has ended already, because the test has waited for it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn cleaning_up_opens_no_files_of_other_users() {
    let Some(folder) = shared_folder() else { return };
    let leases = ["tasuki-ring.x", "tasuki-stats.x"].map(|name| Lease::take(&folder.path().join(name)));
    let begun = Instant::now();
    let options = SegmentOptions::new(Token::random().expect("random"));
    let segment = Segment::create_in(folder.path(), &options).expect("a segment");
    let page = Writer::create_in(folder.path(), &Layout::default(), &Identity::default()).expect("a page");
    tidy_in(folder.path());
    assert!(begun.elapsed() < LEASE, "waited for another user's lease");
    for lease in leases {
        assert!(lease.ends_whole(), "another user's file was opened");
    }
    drop((segment, page));
}

/// Links, pipes and folders under the names of segments and pages stay, be they of this user or of others.
#[test]
fn what_is_no_file_is_left_alone() {
    let Some(folder) = shared_folder() else { return };
    let path = |name: &str| folder.path().join(name);
    let elsewhere = path("elsewhere");
    std::fs::write(&elsewhere, b"precious").expect("a file");
    for (number, user) in [0, STRANGER].into_iter().enumerate() {
        let [link, pipe, directory] =
            ["link", "pipe", "directory"].map(|kind| path(&format!("tasuki-stats.{kind}{number}")));
        symlink(&elsewhere, &link).expect("a link");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        std::fs::create_dir(&directory).expect("a folder");
        [&pipe, &directory].into_iter().for_each(|path| chown(path, Some(user), None).expect("its owner"));
    }
    tidy_in(folder.path());
    let pages = list_in(folder.path());
    assert_eq!(pages.len(), 6, "all are still there");
    for page in pages {
        assert!(matches!(Reader::open(&page), Err(ReadError::Io { .. })), "{}", page.display());
    }
    assert_eq!(std::fs::read(&elsewhere).expect("it is there"), b"precious");
    let token = Token::from_bytes([1; 16]);
    let segment = path(&format!("tasuki-ring.{token}"));
    assert!(Command::new("mkfifo").arg(&segment).status().expect("mkfifo").success());
    assert!(matches!(Outbox::open_in(folder.path(), &token, &token), Err(OpenError::System { .. })));
}

#[test]
fn a_reader_does_not_wait_for_another_users_lease() {
    let Some(folder) = shared_folder() else { return };
    let path = folder.path().join("tasuki-stats.x");
    let _lease = Lease::take(&path);
    let begun = Instant::now();
    assert!(matches!(Reader::open(&path), Err(ReadError::Io { .. })));
    assert!(begun.elapsed() < LEASE, "waited for another user's lease");
}

/// What a page says of itself is its writer's word; whose it is says the kernel.
#[test]
fn a_page_is_of_the_process_that_keeps_it_whatever_it_says() {
    let Some(folder) = shared_folder() else { return };
    let writer = Writer::create_in(folder.path(), &Layout::default(), &Identity::default()).expect("a page");
    let own = Reader::open(writer.path()).expect("a page").snapshot();
    assert_eq!((own.process, own.user, own.number.is_some()), (Some(std::process::id()), Some(0), true));
    // A copy of the page, which says all that this process says, kept by another user.
    let copy = folder.path().join("tasuki-stats.65534.1.7");
    std::fs::copy(writer.path(), &copy).expect("copies");
    chown(&copy, Some(STRANGER), Some(STRANGER)).expect("its owner");
    let script = "import fcntl, sys
file = open(sys.argv[1], 'r+b')
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 1 << 40)
print('ready', flush=True)
sys.stdin.readline()";
    let mut python = Command::new("python3");
    python.args(["-c", script]).arg(&copy).uid(STRANGER).gid(STRANGER);
    let mut keeper =
        Lease(python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 starts"));
    assert_eq!(keeper.hear(), "ready");
    let forged = Reader::open(&copy).expect("a page").snapshot();
    assert_eq!((forged.pid, forged.number), (std::process::id(), Some(7)), "it says so");
    assert_eq!((forged.process, forged.user), (Some(keeper.0.id()), Some(STRANGER)));
    assert!(!forged.is_of_same_process(&own));
}

/// The owner of a page makes it shorter while another process reads it, which would end a process that had
/// mapped it.
#[test]
fn a_page_that_becomes_shorter_lacks_what_stood_there() {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let layout = Layout { peers: 64, ..Layout::default() };
    let writer = Writer::create_in(folder.path(), &layout, &Identity::default()).expect("a page");
    let reader = Reader::open(writer.path()).expect("a page");
    assert_eq!(reader.snapshot().pid, std::process::id());
    let file = std::fs::OpenOptions::new().write(true).open(writer.path()).expect("the file");
    file.set_len(100).expect("it is ours");
    let snapshot = reader.snapshot();
    assert_eq!((snapshot.pid, snapshot.peers.len()), (0, 0));
    // The writer must not touch it any more.
    std::mem::forget(writer);
}

#[test]
fn pages_larger_than_any_program_needs_are_refused() {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let path = folder.path().join("tasuki-stats.x");
    // What stands first in a page of this version: a mark, the version, and how many records of each kind.
    let writer = Writer::create_in(folder.path(), &Layout::default(), &Identity::default()).expect("a page");
    let mut header = std::fs::read(writer.path()).expect("the page")[..64].to_vec();
    for (place, records) in [(2, 65_536_u64), (3, 64), (4, 1024)] {
        header[8 * place..8 * (place + 1)].copy_from_slice(&records.to_ne_bytes());
    }
    std::fs::write(&path, &header).expect("a file");
    // The file is all holes, so that it costs its owner nothing.
    std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("the file")
        .set_len(1 << 30)
        .expect("its size");
    let error = Reader::open(&path).err().expect("refused");
    assert!(error.to_string().contains("larger than any program needs"), "{error}");
}
