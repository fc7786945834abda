//! Writes down what messages a program sends and takes, and how long it computes between its calls, for
//! `tasuki run --trace`. `tasuki-trace` has the format.
//!
//! Endpoints that record have tables of calls of their own ([`crate::ep`], [`crate::object::cq`]): the calls
//! of others ask nothing.

mod clock;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Mutex;

use tasuki_engine::{Address, Peer, SendArgs};
use tasuki_trace::{Head, Message, Name, Record};

use self::clock::Clock;
use crate::guard::lock;
use crate::log;
use tasuki_tuning::recorder;

/// The variable with the folder for the records.
const VARIABLE: &str = "TASUKI_TRACE";
/// Launchers tell a process its rank in one of these.
const RANKS: [&str; 4] = ["PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];

/// Writes the records of one endpoint.
pub struct Recorder(Mutex<State>);

struct State {
    clock: Clock,
    /// `None` after it could not be written.
    file: Option<File>,
    buffer: Vec<u8>,
    /// Peers whose names have been written, by their numbers.
    named: Vec<bool>,
    one_sided: u64,
}

impl Recorder {
    /// Whether the environment asks for records.
    pub fn is_wanted() -> bool {
        std::env::var_os(VARIABLE).is_some_and(|folder| !folder.is_empty())
    }

    /// A recorder for the endpoint of this address, if the environment asks for one.
    pub fn from_env(address: &Address) -> Result<Option<Recorder>, String> {
        let Some(folder) = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) else {
            return Ok(None);
        };
        let rank = RANKS.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
        let folder = Path::new(&folder);
        let recorder = Self::open(folder, rank, address);
        recorder.map(Some).map_err(|error| format!("{VARIABLE}={}: {error}", folder.display()))
    }

    fn open(folder: &Path, rank: Option<u32>, address: &Address) -> std::io::Result<Recorder> {
        make(folder)?;
        let file = format!("{:08x}-{:016x}.part", address.endpoint, address.incarnation);
        // What a program sends to whom is its user's alone.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join(file))?;
        let mut buffer = Vec::with_capacity(recorder::BUFFER + 1024);
        Head { rank, name: name(address) }.put(&mut buffer);
        let clock = Clock::new(clock::cpu());
        let state = State { clock, file: Some(file), buffer, named: Vec::new(), one_sided: 0 };
        Ok(Recorder(Mutex::new(state)))
    }

    /// A call begins: what has passed since the last one was computing, unless that one found nothing and
    /// this one looks again at once.
    pub fn enter(&self) {
        lock(&self.0).clock.enter(clock::now(), clock::cpu);
    }

    /// A call ends. `idle`: it has found that there is nothing.
    pub fn leave(&self, idle: bool) {
        lock(&self.0).clock.leave(clock::now(), idle);
    }

    /// A send was posted, or was not; its call ends.
    pub fn posted(&self, done: bool, args: &SendArgs<'_>, address: impl FnOnce(Peer) -> Option<Address>) {
        if done {
            let bytes = args.buffers.iter().map(|buffer| buffer.len as u64).sum();
            let mut state = lock(&self.0);
            let message = state.message(args.peer, args.tag, bytes, address);
            state.put(&Record::Send(message));
        }
        self.leave(false);
    }

    /// A message of this length was received.
    pub fn received(
        &self,
        source: Peer,
        tag: Option<u64>,
        bytes: u64,
        address: impl FnOnce(Peer) -> Option<Address>,
    ) {
        let mut state = lock(&self.0);
        let message = state.message(source, tag, bytes, address);
        state.put(&Record::Receive(message));
    }

    /// A one-sided operation was begun: they are only counted.
    pub fn one_sided(&self) {
        lock(&self.0).one_sided += 1;
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.enter();
        let mut state = lock(&self.0);
        let end = Record::End { at: clock::now(), compute: state.clock.take(), one_sided: state.one_sided };
        state.put(&end);
        state.flush();
    }
}

impl State {
    /// A message of this time; names the peer before if that was not done yet.
    fn message(
        &mut self,
        peer: Peer,
        tag: Option<u64>,
        bytes: u64,
        address: impl FnOnce(Peer) -> Option<Address>,
    ) -> Message {
        let number = peer.0 as usize;
        if self.named.len() <= number {
            self.named.resize(number + 1, false);
        }
        if !self.named[number]
            && let Some(address) = address(peer)
        {
            self.named[number] = true;
            self.put(&Record::Peer { peer: peer.0, name: name(&address) });
        }
        Message { peer: peer.0, tag, bytes, at: clock::now(), compute: self.clock.take() }
    }

    fn put(&mut self, record: &Record) {
        record.put(&mut self.buffer);
        if self.buffer.len() >= recorder::BUFFER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(&self.buffer)
        {
            log::say(&format!("the trace of this process ends here: it cannot be written: {error}"));
            self.file = None;
        }
        self.buffer.clear();
    }
}

/// Makes the folder, unless it is there. One that another user has made, who may remove what is in it, is
/// none.
fn make(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // SAFETY: no pointers are passed.
    let own = unsafe { libc::geteuid() };
    let found = fs::symlink_metadata(folder)?;
    match found.uid() == own || found.uid() == 0 {
        true => Ok(()),
        false => Err(std::io::Error::other(format!("the folder is of another user, {}", found.uid()))),
    }
}

/// What tells an endpoint from all others: the bytes of its address before its secret.
fn name(address: &Address) -> Name {
    let bytes = address.to_bytes();
    Name(std::array::from_fn(|byte| bytes[byte]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use tasuki_trace::Part;

    fn address(endpoint: u32) -> Address {
        let identity = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
        Address { identity, port: 7, endpoint, incarnation: 9, secret: [255; 16] }
    }

    #[test]
    fn a_folder_is_its_users_alone_and_that_of_another_user_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("new");
        drop(Recorder::open(&new, None, &address(1)).unwrap());
        assert_eq!(fs::metadata(&new).unwrap().mode() & 0o777, 0o700);
        // SAFETY: no pointers are passed.
        if unsafe { libc::geteuid() } != 0 {
            assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "needs root");
            eprintln!("SKIPPED: another user is needed, hence root");
            return;
        }
        std::os::unix::fs::chown(&new, Some(65_534), None).unwrap();
        let refused = Recorder::open(&new, None, &address(2)).err().unwrap();
        assert!(refused.to_string().contains("of another user, 65534"), "{refused}");
    }

    #[test]
    fn a_part_has_each_peer_once_and_ends_when_the_recorder_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let recorder = Recorder::open(&folder.path().join("new"), Some(3), &address(1)).unwrap();
        recorder.received(Peer(2), Some(5), 10, |_| Some(address(2)));
        recorder.received(Peer(2), None, 11, |_| panic!("known"));
        recorder.one_sided();
        drop(recorder);
        let file = fs::read_dir(folder.path().join("new")).unwrap().next().unwrap().unwrap().path();
        let bytes = fs::read(file).unwrap();
        assert!(!bytes.windows(16).any(|part| part == [255; 16]), "no secret is written down");
        let part = Part::parse(&bytes).unwrap();
        assert_eq!(part.head, Head { rank: Some(3), name: name(&address(1)) });
        let [Record::Peer { peer, name: of }, Record::Receive(first), Record::Receive(second), end] =
            part.records[..]
        else {
            panic!("{:?}", part.records)
        };
        assert_eq!((peer, of), (2, name(&address(2))));
        assert_eq!((first.tag, first.bytes, second.tag, second.bytes), (Some(5), 10, None, 11));
        assert!(matches!(end, Record::End { one_sided: 1, .. }), "{end:?}");
    }
}
