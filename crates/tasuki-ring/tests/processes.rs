//! Rings, locks and pages between real processes. This test executable is its own other process: a test named `helper` does what the
//! environment asks for and is empty otherwise.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tasuki_random::Random;
use tasuki_ring::stats_page::{self, EndpointRecord, Identity, Layout, Reader, Writer};
use tasuki_ring::{Cma, Departure, OpenError, Outbox, Segment, SegmentOptions, Token, Verdict};
use tasuki_testkit::replay::Replay;

const RING: usize = 8192;

/// Record number `number` of the stream with this seed: both processes compute it.
fn record(seed: u64, number: u64) -> Vec<u8> {
    let mut random = Random::new(seed ^ number.wrapping_mul(0x1234_5678_9abc_def1));
    // Mostly small, some as large as a record may be.
    let limit = [64, 256, (RING / 2 - 8) as u64][(random.next_u64() % 3) as usize];
    let len = 1 + random.next_u64() % limit;
    (0..len).map(|_| random.next_u64() as u8).collect()
}

fn token(text: &str) -> Token {
    Token::from_bytes(u128::from_str_radix(text, 16).expect("a token").to_be_bytes())
}

/// The other process.
struct Other {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Other {
    fn start(task: &str, args: &[&str]) -> Other {
        Other::start_by(Command::new(std::env::current_exe().expect("own path")), task, args)
    }

    fn start_by(mut command: Command, task: &str, args: &[&str]) -> Other {
        command.args(["--exact", "helper", "--nocapture", "--test-threads=1"]);
        command.env("TASUKI_TASK", [&[task], args].concat().join(" "));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("own executable");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        Other { child, stdin, stdout }
    }

    /// The next line that it says to us.
    fn hear(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(
                self.stdout.read_line(&mut line).expect("its output") > 0,
                "the other process ended early"
            );
            // The test harness may have begun the line.
            if let Some((_, said)) = line.split_once("SAYS ") {
                return said.trim().to_owned();
            }
        }
    }

    fn tell(&mut self) {
        self.stdin.write_all(b"go\n").expect("it listens");
    }

    fn finish(mut self) {
        assert!(self.child.wait().expect("its end").success());
    }

    /// Ends it without any clean-up of its own (SIGKILL).
    fn kill(mut self) {
        self.child.kill().expect("our child");
        self.child.wait().expect("its end");
    }
}

fn say(text: &str) {
    println!("SAYS {text}");
}

fn wait_for_word() {
    std::io::stdin().read_line(&mut String::new()).expect("a word");
}

#[test]
fn helper() {
    let Ok(task) = std::env::var("TASUKI_TASK") else { return };
    let words: Vec<&str> = task.split(' ').collect();
    let me = Token::from_bytes([7; 16]);
    match words[0] {
        // stream TOKEN SEED COUNT
        "stream" => {
            let (seed, count) = (words[2].parse().expect("a seed"), words[3].parse().expect("a count"));
            let mut outbox = Outbox::open(&token(words[1]), &me).expect("the segment");
            for number in 0..count {
                let bytes = record(seed, number);
                while !outbox.push(bytes.len(), |into| into.copy_from_slice(&bytes)) {
                    std::thread::yield_now();
                }
                // Now and then a pause, long enough for the ring to fall asleep at the other side, or not quite.
                let pause = Random::new(seed ^ number).next_u64();
                if pause.is_multiple_of(32) {
                    (0..(pause >> 8) % 100_000).for_each(|_| std::hint::spin_loop());
                }
            }
        }
        // hold TOKEN: a record, then wait
        "hold" => {
            let mut outbox = Outbox::open(&token(words[1]), &me).expect("the segment");
            assert!(outbox.push(5, |into| into.copy_from_slice(b"hello")));
            say("ready");
            wait_for_word();
        }
        // own TOKEN: a segment, and memory to read
        "own" => {
            let _inbox = Segment::create(&SegmentOptions::new(token(words[1]))).expect("a segment");
            let bytes: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
            say(&format!("{}", bytes.as_ptr() as u64));
            wait_for_word();
            drop(bytes);
        }
        // page DIRECTORY
        "page" => {
            let identity = Identity { address: "addr".to_owned(), lanes: "shm".to_owned() };
            let layout = Layout { peers: 2, rails: 1, drops: 1, public: false };
            let mut writer = Writer::create_in(Path::new(words[1]), &layout, &identity).expect("a page");
            say(&writer.path().display().to_string());
            // All fields of a record are equal, so that a mixture shows.
            for n in 1..=300_000 {
                writer.endpoint(&equal(n));
            }
            say("written");
            wait_for_word();
        }
        other => panic!("no task {other}"),
    }
}

fn equal(n: u64) -> EndpointRecord {
    EndpointRecord {
        messages_sent: n,
        messages_received: n,
        bytes_sent: n,
        bytes_received: n,
        receives_posted: n,
        unexpected: n,
        pool_held: n,
        pool_limit: n,
        completions_waiting: n,
        progress_calls: n,
        helper_calls: n,
        granted_rate: n,
        grant_window: n,
        grants: n,
        slowed: n,
    }
}

fn inbox() -> Segment {
    let token = Token::random().expect("random");
    Segment::create(&SegmentOptions { ring_bytes: RING, max_peers: 4, ..SegmentOptions::new(token) })
        .expect("a segment")
}

fn departures(inbox: &mut Segment) -> Vec<(Token, Departure)> {
    let mut got = Vec::new();
    inbox.reap(|_, token, departure| got.push((token, departure)));
    got
}

#[test]
fn two_processes_stream_everything_in_order() {
    let command = "cargo test -p tasuki-ring --test processes two_processes_stream";
    let seed = Replay { variable: "TASUKI_SEED", command }.one(|| u64::from(std::process::id()));
    let mut inbox = inbox();
    let count = 20_000_u64;
    let (a, b) = (seed.to_string(), (seed + 1).to_string());
    let name = inbox.token().to_string();
    let others = [&a, &b].map(|seed| Other::start("stream", &[&name, seed, &count.to_string()]));
    // Which stream a slot carries shows at its first record; from then on every record must be the next one.
    let mut streams: Vec<Option<(u64, u64)>> = vec![None; 4];
    let mut done = 0;
    while done < 2 * count {
        let taken = inbox.receive(16, |slot, bytes| {
            let (stream, number) = streams[slot.index()].get_or_insert_with(|| {
                let stream = if bytes == record(seed, 0) { seed } else { seed + 1 };
                (stream, 0)
            });
            assert!(bytes == record(*stream, *number), "record {number} of stream {stream} is another");
            *number += 1;
            Verdict::Consumed
        });
        done += taken as u64;
        if taken == 0 {
            std::thread::yield_now();
        }
    }
    others.into_iter().for_each(Other::finish);
    assert_eq!(inbox.receive(1, |_, _| Verdict::Consumed), 0);
    let gone = departures(&mut inbox);
    assert_eq!(gone.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [Departure::Closed; 2]);
}

#[test]
fn a_killed_sender_is_noticed_after_its_last_record() {
    let mut inbox = inbox();
    let mut other = Other::start("hold", &[&inbox.token().to_string()]);
    assert_eq!(other.hear(), "ready");
    assert_eq!(departures(&mut inbox), [], "it lives");
    other.kill();
    assert_eq!(departures(&mut inbox), [], "its record has not been received");
    assert_eq!(
        inbox.receive(9, |_, bytes| {
            assert_eq!(bytes, b"hello");
            Verdict::Consumed
        }),
        1
    );
    assert_eq!(departures(&mut inbox), [(Token::from_bytes([7; 16]), Departure::Died)]);
    assert_eq!(departures(&mut inbox), []);
    // Its slot can be used again.
    let mut other = Other::start("hold", &[&inbox.token().to_string()]);
    assert_eq!(other.hear(), "ready");
    assert_eq!(
        inbox.receive(9, |slot, _| {
            assert_eq!(slot.index(), 0);
            Verdict::Consumed
        }),
        1
    );
    other.tell();
    other.finish();
    assert_eq!(departures(&mut inbox), [(Token::from_bytes([7; 16]), Departure::Closed)]);
}

#[test]
fn a_killed_owner_is_noticed_and_its_segment_swept() {
    let name = Token::random().expect("random");
    let mut other = Other::start("own", &[&name.to_string()]);
    other.hear();
    let outbox = Outbox::open(&name, &name).expect("the segment");
    assert!(outbox.alive());
    let path = PathBuf::from(format!("/dev/shm/tasuki-ring.{name}"));
    // A segment made now leaves the living one alone.
    drop(inbox());
    assert!(path.exists() && outbox.alive());
    other.kill();
    assert!(!outbox.alive());
    assert!(matches!(Outbox::open(&name, &name), Err(OpenError::Dead { .. })));
    drop(inbox());
    assert!(!path.exists(), "swept");
    drop(outbox);
    assert!(matches!(Outbox::open(&name, &name), Err(OpenError::NotHere { .. })));
}

#[test]
fn memory_of_another_process_is_read_where_that_is_allowed() {
    let name = Token::random().expect("random");
    let mut other = Other::start("own", &[&name.to_string()]);
    let address: u64 = other.hear().parse().expect("an address");
    let outbox = Outbox::open(&name, &name).expect("the segment");
    let Some(cma) = Cma::probe(&outbox) else {
        eprintln!("skipped: process_vm_readv is forbidden here");
        return other.kill();
    };
    let mut bytes = vec![0; 100_000];
    cma.read(address, &mut bytes).expect("its memory");
    assert!(bytes.iter().zip(0_u32..).all(|(&byte, n)| u32::from(byte) == n % 251));
    // Page zero is never mapped; the last address wraps.
    assert!(cma.read(16, &mut bytes[..8]).is_err());
    assert!(cma.read(u64::MAX - 4, &mut bytes).is_err());
    // Written to, just there.
    let fresh = [0xff; 5000];
    // SAFETY: the other process leaves these bytes alone.
    let write = |at: u64, len: usize| unsafe { cma.write(at, fresh.as_ptr(), len) };
    write(address + 1001, 5000).expect("its memory");
    let mut after = vec![0; 100_000];
    cma.read(address, &mut after).expect("its memory");
    bytes[1001..6001].fill(0xff);
    assert!(bytes == after);
    assert!(write(16, 8).is_err() && write(u64::MAX - 4, 8).is_err());
    other.kill();
    assert!(cma.read(address, &mut bytes[..8]).is_err());
    assert!(write(address, 8).is_err());
    assert!(Cma::probe(&outbox).is_none());
}

#[test]
fn a_peer_in_a_pid_namespace_of_its_own_lives_and_is_read() {
    let unshare = ["--pid", "--fork", "--kill-child", "--"];
    let allowed = Command::new("unshare").args(unshare).arg("true").stderr(Stdio::null()).status();
    if !allowed.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: a PID namespace needs CAP_SYS_ADMIN and util-linux");
    }
    let mut command = Command::new("unshare");
    command.args(unshare).arg(std::env::current_exe().expect("own path"));
    let name = Token::random().expect("random");
    let mut other = Other::start_by(command, "own", &[&name.to_string()]);
    let address: u64 = other.hear().parse().expect("an address");
    let outbox = Outbox::open(&name, &name).expect("the segment");
    // Its own idea of its process id (1 or 2) is another process here.
    assert!(outbox.alive());
    let mut bytes = [0; 8];
    match Cma::probe(&outbox) {
        Some(cma) => {
            cma.read(address, &mut bytes).expect("its memory");
            assert_eq!(bytes, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
        None => eprintln!("process_vm_readv is forbidden here"),
    }
    other.tell();
    other.finish();
    assert!(!outbox.alive());
}

#[test]
fn own_memory_is_read_too() {
    let inbox = inbox();
    let outbox = Outbox::open(&inbox.token(), &inbox.token()).expect("the segment");
    let Some(cma) = Cma::probe(&outbox) else {
        return eprintln!("skipped: process_vm_readv is forbidden here");
    };
    let (from, mut into) = ([5_u8; 32], [0_u8; 32]);
    cma.read(from.as_ptr() as u64, &mut into).expect("own memory");
    assert_eq!(from, into);
}

#[test]
fn a_forked_child_neither_uses_nor_removes_anything() {
    let mut inbox = inbox();
    let mut outbox = Outbox::open(&inbox.token(), &inbox.token()).expect("the segment");
    let (readable, writable) = {
        let mut ends = [0; 2];
        // SAFETY: `ends` has room for two descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        (ends[0], ends[1])
    };
    // SAFETY: the child calls nothing that needs a lock another thread may hold: pushes, looks and drops of this crate are inert in it,
    // which is what is tested; then it leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let inert =
            !outbox.push(1, |_| ()) && inbox.receive(1, |_, _| Verdict::Consumed) == 0 && !outbox.alive();
        drop(outbox);
        drop(inbox);
        // SAFETY: one byte of a live value; _exit never returns.
        unsafe {
            libc::write(writable, (&u8::from(inert) as *const u8).cast(), 1);
            libc::_exit(0);
        }
    }
    let mut said = 0_u8;
    // SAFETY: room for one byte; the child's id is ours to wait for.
    unsafe {
        assert_eq!(libc::read(readable, (&mut said as *mut u8).cast(), 1), 1);
        assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child);
        libc::close(readable);
        libc::close(writable);
    }
    assert_eq!(said, 1, "inert in the child");
    assert!(Path::new(&format!("/dev/shm/tasuki-ring.{}", inbox.token())).exists());
    assert!(outbox.alive() && outbox.push(3, |into| into.copy_from_slice(b"abc")));
    assert_eq!(
        inbox.receive(1, |_, bytes| {
            assert_eq!(bytes, b"abc");
            Verdict::Consumed
        }),
        1
    );
    assert_eq!(departures(&mut inbox), []);
}

#[test]
fn a_page_is_read_consistently_while_it_is_written_and_swept_when_its_writer_is_gone() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut other = Other::start("page", &[&directory.path().display().to_string()]);
    let path = PathBuf::from(other.hear());
    assert_eq!(stats_page::list_in(directory.path()), std::slice::from_ref(&path));
    assert_eq!(std::fs::metadata(&path).expect("the page").mode() & 0o777, 0o600);
    let reader = Reader::open(&path).expect("the page");
    let mut last = 0;
    while last < 300_000 {
        let snapshot = reader.snapshot();
        let n = snapshot.endpoint.messages_sent;
        if snapshot.torn == 0 {
            assert_eq!(snapshot.endpoint, equal(n));
            assert!(n >= last, "{n} after {last}");
            last = n;
        }
        assert!(!snapshot.stale);
        assert_eq!(snapshot.identity.lanes, "shm");
    }
    assert_eq!(other.hear(), "written");
    assert_eq!(reader.snapshot().pid, other.child.id());
    other.kill();
    assert!(reader.is_stale() && reader.snapshot().stale);
    assert_eq!(reader.snapshot().endpoint, equal(300_000), "a dead program's last counters can be read");
    let writer =
        Writer::create_in(directory.path(), &Layout::default(), &Identity::default()).expect("a page");
    assert!(!path.exists());
    assert_eq!(stats_page::list_in(directory.path()), [writer.path()]);
}
