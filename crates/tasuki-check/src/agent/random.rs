//! `rcstest`: random messages to random hosts, with every byte checked, while memory and processor are busy.
//!
//! A message is its length, a seed and a CRC32C, then bytes that follow from the seed. The receiver makes the
//! bytes again: those that differ were changed in a memory, a NIC or a cable, in a way that TCP's own
//! checksum did not catch.

use tasuki_random::Random;

use crate::protocol::RandomReport;
use std::{
    collections::BTreeMap,
    io::{self, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Longest message, bytes.
const MESSAGE_MAX: usize = 256 * 1024;
/// Length of a message's head, bytes: length, seed, CRC.
const HEAD: usize = 16;
/// How long a peer may be silent before the connection counts as broken.
const SILENCE: Duration = Duration::from_secs(5);
/// How long to go on receiving after the end of the test, because other hosts began later.
const RECEIVE_LONGER: Duration = Duration::from_millis(300);
const RECEIVE_LONGER_MAX: Duration = Duration::from_secs(4);

/// What is to be tested, and how.
pub struct Test {
    pub seed: u64,
    pub ms: u64,
    pub peers: Vec<(String, Ipv4Addr, u16)>,
    pub memory_mb: usize,
    /// Number of threads that write and read the memory; 0: one for every core.
    pub workers: usize,
    pub bytes_per_second: u64,
}

/// The counts of all threads.
#[derive(Default)]
struct Counts {
    received: AtomicU64,
    received_bytes: AtomicU64,
    wrong: Mutex<BTreeMap<String, u64>>,
    broken: Mutex<BTreeMap<String, String>>,
    memory_errors: AtomicU64,
    memory_rounds: AtomicU64,
    over: AtomicBool,
    /// Number of streams that are being received.
    open: AtomicU64,
}

impl Counts {
    fn broken(&self, peer: &str, error: &io::Error) {
        let mut broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        broken.entry(peer.to_owned()).or_insert_with(|| error.to_string());
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

impl Test {
    /// Runs the test to its end.
    pub fn run(&self, host: &str, listener: &TcpListener) -> RandomReport {
        // This load is to be like that of programs, so it runs at normal priority.
        tasuki_sys::priority::lower();
        let counts = Counts::default();
        let end = Instant::now() + Duration::from_millis(self.ms);
        let mut sent = (0, 0);
        thread::scope(|scope| {
            scope.spawn(|| accept(listener, &counts, scope));
            let cores = || thread::available_parallelism().map_or(1, usize::from);
            let workers = if self.workers == 0 { cores() } else { self.workers };
            for worker in 0..workers {
                let (counts, seed) = (&counts, self.seed.wrapping_add((worker as u64) << 32));
                let megabytes = self.memory_mb / workers;
                scope.spawn(move || exercise_memory(megabytes, seed, counts));
            }
            sent = self.send(host, end, &counts);
            while Instant::now() < end {
                thread::sleep(Duration::from_millis(10));
            }
            thread::sleep(RECEIVE_LONGER);
            while counts.open.load(Ordering::Relaxed) > 0 && Instant::now() < end + RECEIVE_LONGER_MAX {
                thread::sleep(Duration::from_millis(10));
            }
            counts.over.store(true, Ordering::Relaxed);
        });
        let _ = tasuki_sys::priority::raise();
        let pairs =
            |map: Mutex<BTreeMap<String, u64>>| map.into_inner().unwrap_or_else(PoisonError::into_inner);
        let broken = counts.broken.into_inner().unwrap_or_else(PoisonError::into_inner);
        RandomReport {
            sent,
            received: (counts.received.into_inner(), counts.received_bytes.into_inner()),
            wrong: pairs(counts.wrong).into_iter().collect(),
            broken: broken.into_iter().collect(),
            memory_errors: counts.memory_errors.into_inner(),
            memory_rounds: counts.memory_rounds.into_inner(),
        }
    }

    /// Sends messages until the end. Returns how many, and how many bytes.
    fn send(&self, host: &str, end: Instant, counts: &Counts) -> (u64, u64) {
        let mut random = Random::new(self.seed ^ u64::from(crc32c::crc32c(host.as_bytes())));
        let mut streams: BTreeMap<usize, TcpStream> = BTreeMap::new();
        let (mut sent, mut message) = ((0, 0), Vec::new());
        let begun = Instant::now();
        while Instant::now() < end && !self.peers.is_empty() {
            let (peer, seed) = (random.index(self.peers.len()), random.next_u64());
            // Both short and long messages are sent, as programs do.
            let scale = 3 * random.index(5);
            let length = 1 + random.index(MESSAGE_MAX >> scale);
            let (name, address, port) = &self.peers[peer];
            make(&mut message, length, seed);
            let stream = match streams.entry(peer) {
                std::collections::btree_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    connect(*address, *port, host).map(|stream| entry.insert(stream))
                }
            };
            match stream.and_then(|stream| stream.write_all(&message)) {
                Ok(()) => sent = (sent.0 + 1, sent.1 + length as u64),
                Err(error) => {
                    counts.broken(name, &error);
                    streams.remove(&peer);
                    thread::sleep(Duration::from_millis(50));
                }
            }
            if self.bytes_per_second > 0 {
                let due = Duration::from_secs_f64(sent.1 as f64 / self.bytes_per_second as f64);
                thread::sleep(due.saturating_sub(begun.elapsed()).min(Duration::from_millis(200)));
            }
        }
        sent
    }
}

fn make(message: &mut Vec<u8>, length: usize, seed: u64) {
    message.clear();
    message.resize(HEAD + length, 0);
    Random::new(seed).fill(&mut message[HEAD..]);
    let sum = crc32c::crc32c(&message[HEAD..]);
    message[..4].copy_from_slice(&(length as u32).to_le_bytes());
    message[4..12].copy_from_slice(&seed.to_le_bytes());
    message[12..16].copy_from_slice(&sum.to_le_bytes());
}

fn connect(address: Ipv4Addr, port: u16, host: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((address, port)), SILENCE)?;
    stream.set_write_timeout(Some(SILENCE))?;
    let name = host.as_bytes();
    stream.write_all(&[name.len() as u8])?;
    stream.write_all(name)?;
    Ok(stream)
}

fn accept<'scope>(listener: &TcpListener, counts: &'scope Counts, scope: &'scope thread::Scope<'scope, '_>) {
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    while !counts.is_over() {
        match listener.accept() {
            Ok((stream, _)) => {
                scope.spawn(move || {
                    // A peer closes the connection when its time is over. A peer that could not be heard is
                    // in its own report.
                    counts.open.fetch_add(1, Ordering::Relaxed);
                    let _ = receive(stream, counts);
                    counts.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn receive(stream: TcpStream, counts: &Counts) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(SILENCE))?;
    let mut stream = BufReader::with_capacity(64 * 1024, stream);
    let mut length = [0];
    stream.read_exact(&mut length)?;
    let mut name = vec![0; length[0].into()];
    stream.read_exact(&mut name)?;
    let name = String::from_utf8_lossy(&name).into_owned();
    let (mut head, mut content, mut expected) = ([0; HEAD], Vec::new(), Vec::new());
    while !counts.is_over() {
        stream.read_exact(&mut head)?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if length > MESSAGE_MAX {
            wrong(counts, &name);
            return Ok(());
        }
        let mut seed = [0; 8];
        seed.copy_from_slice(&head[4..12]);
        content.resize(length, 0);
        stream.read_exact(&mut content)?;
        make(&mut expected, length, u64::from_le_bytes(seed));
        if expected[HEAD..] != content || expected[12..16] != head[12..16] {
            wrong(counts, &name);
        }
        counts.received.fetch_add(1, Ordering::Relaxed);
        counts.received_bytes.fetch_add(length as u64, Ordering::Relaxed);
    }
    Ok(())
}

fn wrong(counts: &Counts, from: &str) {
    let mut wrong = counts.wrong.lock().unwrap_or_else(PoisonError::into_inner);
    *wrong.entry(from.to_owned()).or_default() += 1;
}

/// Number of 64-bit words that are written and read between two looks at whether the test is to end.
const PART: usize = 1 << 16;

/// Writes patterns into memory and reads them back until the test is over. The patterns are calculated, so an
/// error of the processor is found too.
fn exercise_memory(megabytes: usize, seed: u64, counts: &Counts) {
    let mut memory = vec![0_u64; megabytes.max(1) * (1 << 20) / 8];
    for round in 0.. {
        let pattern = || Pattern::new(seed, round);
        if !pattern().write(&mut memory, || counts.is_over()) {
            return;
        }
        counts.memory_errors.fetch_add(pattern().differences(&memory), Ordering::Relaxed);
        counts.memory_rounds.fetch_add(1, Ordering::Relaxed);
    }
}

/// The pattern of a round, word by word.
struct Pattern {
    random: Random,
    flip: u64,
}

impl Pattern {
    /// Every other round is the complement of the random words of the one before, so that each bit is written
    /// as 0 and as 1.
    fn new(seed: u64, round: u64) -> Self {
        Self {
            random: Random::new(seed.wrapping_add(round)),
            flip: if round.is_multiple_of(2) { 0 } else { u64::MAX },
        }
    }

    fn next(&mut self) -> u64 {
        self.random.next_u64() ^ self.flip
    }

    /// Writes the pattern. Returns false if it was stopped before the end.
    fn write(mut self, memory: &mut [u64], stop: impl Fn() -> bool) -> bool {
        for words in memory.chunks_mut(PART) {
            if stop() {
                return false;
            }
            words.iter_mut().for_each(|word| *word = self.next());
            thread::yield_now();
        }
        true
    }

    /// Number of words that differ from the pattern.
    fn differences(mut self, memory: &[u64]) -> u64 {
        let mut errors = 0;
        for words in memory.chunks(PART) {
            errors += words.iter().filter(|word| **word != self.next()).count() as u64;
            thread::yield_now();
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_that_does_not_hold_is_found() {
        let mut memory = vec![0; PART + 17];
        for round in 0..4 {
            assert!(Pattern::new(7, round).write(&mut memory, || false));
            assert_eq!(Pattern::new(7, round).differences(&memory), 0);
            // A bit that is stuck at one: of two rounds that differ in every bit, at least one shows it.
            memory[PART + 3] ^= 1 << 40;
            memory[5] ^= 1;
            assert_eq!(Pattern::new(7, round).differences(&memory), 2);
        }
        assert!(!Pattern::new(7, 0).write(&mut memory, || true), "it stops when it is told to");
    }

    fn test(ms: u64, workers: usize) -> Test {
        Test { seed: 7, ms, peers: Vec::new(), memory_mb: 4, workers, bytes_per_second: 0 }
    }

    #[test]
    fn every_core_is_kept_busy() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for workers in [0, 3] {
            let report = test(200, workers).run("n1", &listener);
            assert!(report.memory_rounds > 0 && report.memory_errors == 0, "{report:?}");
        }
    }

    /// A byte is changed where TCP's checksum does not protect it: in the memory of a host or NIC.
    #[test]
    fn a_message_with_another_content_names_its_sender() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let sender = thread::spawn(move || {
            let mut stream = connect(Ipv4Addr::LOCALHOST, port, "n2").unwrap();
            let mut message = Vec::new();
            for damaged in [None, Some(HEAD + 4999), None, Some(HEAD), Some(13)] {
                make(&mut message, 5000, 99);
                if let Some(at) = damaged {
                    message[at] ^= 0x10;
                }
                stream.write_all(&message).unwrap();
            }
        });
        let report = test(5000, 1).run("n1", &listener);
        sender.join().unwrap();
        assert_eq!((report.received.0, report.wrong), (5, vec![("n2".into(), 3)]));
    }
}
