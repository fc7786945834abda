//! How the processes of a program learn each other's addresses: all tell rank 0, which tells all.
//!
//! They meet where `torch.distributed` and others do: `MASTER_ADDR` and `MASTER_PORT` name rank 0, `RANK` and
//! `WORLD_SIZE` this process. `tasuki run --resident` sets them.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tasuki_dsm::NODES_MAX;
use tasuki_engine::{Address, AddressError};

/// What a hello begins with; the last byte is the version of all messages of shared memory.
const MAGIC: [u8; 8] = *b"TsSMem\0\x02";
/// Bytes of a hello: magic, number of processes, rank, bytes of the memory, address.
const HELLO: usize = 8 + 4 + 4 + 8 + Address::LEN;
/// The longest text by which rank 0 refuses.
const REFUSAL_MOST: usize = 1024;
/// How long a process that has connected may take to say hello.
const HELLO_TIME: Duration = Duration::from_secs(10);
/// A process that starts before rank 0 tries again after this time.
const AGAIN: Duration = Duration::from_millis(20);

/// Where the processes of a program meet.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// This process.
    pub rank: u32,
    /// Number of processes.
    pub size: u32,
    /// Host and port of rank 0; not used by one process alone.
    pub at: String,
    /// Longest time until all have come.
    pub time: Duration,
}

/// Why the environment does not say who a process is.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// A variable is missing.
    #[error(
        "{0} is not set, though another variable says that this is one process of several: start the program \
         by `tasuki run --resident -n NUMBER PROGRAM`, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"
    )]
    Missing(&'static str),
    /// A variable has no sense.
    #[error("{0}={1} makes no sense: {2}")]
    Value(&'static str, String, String),
}

/// Why processes do not find each other.
#[derive(Debug, thiserror::Error)]
pub enum MeetingError {
    /// The environment says too little.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Rank 0 cannot listen.
    #[error("rank 0 cannot listen at {0}: {1}")]
    Listen(String, #[source] io::Error),
    /// Rank 0 cannot be reached.
    #[error("rank 0 cannot be reached at {0}: {1}")]
    Reach(String, #[source] io::Error),
    /// Not all came in time.
    #[error("not all processes came within {0} s: still missing are ranks {1}")]
    Missing(u64, String),
    /// A process came and has ended since.
    #[error("rank {0} came and went again, before all had come: it says why")]
    Gone(u32),
    /// Rank 0 refuses this process.
    #[error("rank 0 at {0} refuses this process: {1}")]
    Refused(String, String),
    /// What rank 0 says is no list of addresses.
    #[error("what answers at {0} is no rank 0 of this program: {1}")]
    Foreign(String, String),
}

impl Meeting {
    /// What the environment says; one process alone if it says nothing.
    pub fn from_env() -> Result<Meeting, PlaceError> {
        Meeting::from_variables(|name| std::env::var(name).ok())
    }

    pub(crate) fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Meeting, PlaceError> {
        let number = |name: &'static str| {
            let Some(text) = get(name) else { return Ok(None) };
            let number = text.parse::<u32>();
            number.map(Some).map_err(|_| PlaceError::Value(name, text, "a number is expected".into()))
        };
        let (rank, size) = (number("RANK")?, number("WORLD_SIZE")?);
        let time = Duration::from_secs(60);
        let (rank, size) = match (rank, size) {
            (None, None) => return Ok(Meeting { rank: 0, size: 1, at: String::new(), time }),
            (None, Some(1)) => (0, 1),
            (None, Some(_)) => return Err(PlaceError::Missing("RANK")),
            (Some(_), None) => return Err(PlaceError::Missing("WORLD_SIZE")),
            (Some(rank), Some(size)) => (rank, size),
        };
        if !(1..=NODES_MAX as u32).contains(&size) {
            let why = format!("1 to {NODES_MAX} processes can share memory");
            return Err(PlaceError::Value("WORLD_SIZE", size.to_string(), why));
        }
        if rank >= size {
            return Err(PlaceError::Value("RANK", rank.to_string(), format!("WORLD_SIZE is {size}")));
        }
        let needed = |name| get(name).filter(|text| !text.is_empty());
        let at = match (needed("MASTER_ADDR"), needed("MASTER_PORT")) {
            _ if size == 1 => String::new(),
            (None, _) => return Err(PlaceError::Missing("MASTER_ADDR")),
            (_, None) => return Err(PlaceError::Missing("MASTER_PORT")),
            (Some(host), Some(port)) if host.contains(':') => format!("[{host}]:{port}"),
            (Some(host), Some(port)) => format!("{host}:{port}"),
        };
        Ok(Meeting { rank, size, at, time })
    }

    /// Tells all processes `own`, and learns theirs: one address for each rank.
    pub fn meet(&self, own: &Address, bytes: u64) -> Result<Vec<Address>, MeetingError> {
        match (self.size, self.rank) {
            (1, _) => Ok(vec![*own]),
            (_, 0) => self.gather(own, bytes),
            _ => self.visit(own, bytes),
        }
    }

    fn hello(&self, own: &Address, bytes: u64) -> Vec<u8> {
        let numbers = [self.size.to_le_bytes(), self.rank.to_le_bytes()].concat();
        [&MAGIC[..], &numbers, &bytes.to_le_bytes(), &own.to_bytes()].concat()
    }

    fn visit(&self, own: &Address, bytes: u64) -> Result<Vec<Address>, MeetingError> {
        let deadline = Instant::now() + self.time;
        let reach = |error| MeetingError::Reach(self.at.clone(), error);
        let mut stream = loop {
            match connect(&self.at) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() >= deadline => return Err(reach(error)),
                Err(_) => std::thread::sleep(AGAIN),
            }
        };
        // Rank 0 waits as long for others as this process may have waited for it.
        stream.set_read_timeout(Some(self.time + HELLO_TIME)).map_err(reach)?;
        stream.write_all(&self.hello(own, bytes)).map_err(reach)?;
        let mut kind = [0];
        stream.read_exact(&mut kind).map_err(reach)?;
        let foreign = |why: String| MeetingError::Foreign(self.at.clone(), why);
        match kind {
            [1] => {
                let mut list = vec![0; self.size as usize * Address::LEN];
                stream.read_exact(&mut list).map_err(reach)?;
                let all: Result<Vec<Address>, AddressError> =
                    list.chunks_exact(Address::LEN).map(Address::from_bytes).collect();
                all.map_err(|error| foreign(error.to_string()))
            }
            [0] => {
                let mut text = Vec::new();
                stream.take(REFUSAL_MOST as u64).read_to_end(&mut text).map_err(reach)?;
                let text = String::from_utf8_lossy(&text);
                let shown = text.chars().filter(|c| !c.is_control()).collect();
                Err(MeetingError::Refused(self.at.clone(), shown))
            }
            [other] => Err(foreign(format!("it answers {other}"))),
        }
    }

    fn gather(&self, own: &Address, bytes: u64) -> Result<Vec<Address>, MeetingError> {
        let listen = |error| MeetingError::Listen(self.at.clone(), error);
        let listener = TcpListener::bind(&self.at).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let (sender, hellos) = channel();
        let mut known: Vec<Option<(Address, TcpStream)>> = (0..self.size).map(|_| None).collect();
        let deadline = Instant::now() + self.time;
        while known.iter().skip(1).any(Option::is_none) {
            if Instant::now() >= deadline {
                let missing = (1..self.size).filter(|&rank| known[rank as usize].is_none());
                let missing: Vec<String> = missing.map(|rank| rank.to_string()).collect();
                return Err(MeetingError::Missing(self.time.as_secs(), missing.join(", ")));
            }
            if let Some(rank) = gone(&known) {
                return Err(MeetingError::Gone(rank));
            }
            welcome(&listener, &sender);
            self.admit(&hellos, bytes, &mut known);
        }
        let mut all = vec![*own];
        all.extend(known.iter().flatten().map(|(address, _)| *address));
        let list: Vec<u8> = all.iter().flat_map(Address::to_bytes).collect();
        for (_, stream) in known.iter_mut().flatten() {
            // A process that is gone already is missed by all others in time.
            let _ = stream.write_all(&[1]).and_then(|()| stream.write_all(&list));
        }
        Ok(all)
    }

    /// Takes one hello, if one comes soon.
    fn admit(
        &self,
        hellos: &Receiver<(TcpStream, [u8; HELLO])>,
        bytes: u64,
        known: &mut [Option<(Address, TcpStream)>],
    ) {
        let (mut stream, hello) = match hellos.recv_timeout(AGAIN) {
            Ok(one) => one,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        };
        match self.check(&hello, bytes, known) {
            Ok((rank, address)) => known[rank] = Some((address, stream)),
            Err(why) => {
                // Others may still come, but a user who waits should know.
                let from = stream.peer_addr().map_or("somebody".to_owned(), |from| from.ip().to_string());
                eprintln!("tasuki: a process on {from} does not belong here: {why}");
                let _ = stream.write_all(&[0]).and_then(|()| stream.write_all(why.as_bytes()));
            }
        }
    }

    fn check(
        &self,
        hello: &[u8; HELLO],
        bytes: u64,
        known: &[Option<(Address, TcpStream)>],
    ) -> Result<(usize, Address), String> {
        let number = |at: usize| u32::from_le_bytes([hello[at], hello[at + 1], hello[at + 2], hello[at + 3]]);
        if hello[..8] != MAGIC {
            return Err("another version of Tasuki, or another program".to_owned());
        }
        let (size, rank) = (number(8), number(12));
        let theirs = u64::from(number(16)) | u64::from(number(20)) << 32;
        if size != self.size {
            return Err(format!("it was started as one of {size} processes, rank 0 as one of {}", self.size));
        }
        if theirs != bytes {
            return Err(format!("it shares {theirs} bytes, rank 0 shares {bytes}"));
        }
        let slot = known.get(rank as usize).filter(|_| rank > 0);
        match slot {
            None => return Err(format!("there is no rank {rank} beside rank 0 of {size} processes")),
            Some(Some(_)) => return Err(format!("rank {rank} is here already")),
            Some(None) => {}
        }
        let address = Address::from_bytes(&hello[24..]).map_err(|error| error.to_string())?;
        Ok((rank as usize, address))
    }
}

/// A process that has said hello and whose connection has ended. It would say nothing more.
fn gone(known: &[Option<(Address, TcpStream)>]) -> Option<u32> {
    let has_ended = |stream: &TcpStream| {
        let _ = stream.set_nonblocking(true);
        let ended = !matches!(stream.peek(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        let _ = stream.set_nonblocking(false);
        ended
    };
    let gone = known.iter().position(|one| one.as_ref().is_some_and(|(_, stream)| has_ended(stream)));
    gone.map(|rank| rank as u32)
}

fn connect(at: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in at.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, Duration::from_secs(2)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Lets every process that has connected say hello in a thread of its own: one that says nothing must not
/// keep others waiting.
fn welcome(listener: &TcpListener, sender: &Sender<(TcpStream, [u8; HELLO])>) {
    while let Ok((mut stream, _)) = listener.accept() {
        let sender = sender.clone();
        let hear = move || {
            let mut hello = [0; HELLO];
            let ready =
                stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(HELLO_TIME)));
            if ready.and_then(|()| stream.read_exact(&mut hello)).is_ok() {
                let _ = sender.send((stream, hello));
            }
        };
        // Without a thread the connection ends, and the process tries again or says so.
        let _ = std::thread::Builder::new().stack_size(64 << 10).spawn(hear);
    }
}

#[cfg(test)]
#[path = "meeting_tests.rs"]
mod tests;
