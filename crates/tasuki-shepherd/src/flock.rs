//! The ranks of a job with all that comes from them and goes to them.

use crate::{
    Command, End, Event, JobSpec, State,
    feed::{Fed, Feed},
    gate::Gate,
    herd::Herd,
    output::Piece,
    peer::Peer,
    pmi::Answers,
    rank::{Rank, Source},
    start::start,
};
use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, killpg},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use std::{io, time::Instant};

/// How often a rank's PMI connection is read at most when the rank has ended.
const LAST_READS: u32 = 16;

/// The ranks, and the owner who hears of them.
pub struct Flock {
    /// The owner.
    pub peer: Peer,
    /// All processes of the job.
    pub herd: Herd,
    /// The ranks that were started.
    pub ranks: Vec<Rank>,
    /// Rank 0's standard input.
    pub feed: Feed,
    /// When the job may run.
    pub gate: Gate,
    answers: Answers,
    buffer: Vec<u8>,
}

impl Flock {
    /// A job of which no rank was started.
    ///
    /// # Errors
    /// If the job's shape is none.
    pub fn new(job: &JobSpec, peer: Peer) -> io::Result<Self> {
        Ok(Self {
            peer,
            answers: Answers::new(job.pmi.as_ref()).map_err(io::Error::other)?,
            herd: Herd::new(&job.id, job.cgroup.as_deref()),
            ranks: Vec::new(),
            feed: Feed::default(),
            gate: Gate::new()?,
            buffer: Vec::new(),
        })
    }

    /// Starts all ranks, and tells so. Returns whether they were.
    pub fn start_all(&mut self, job: &JobSpec) -> bool {
        let with_ids = job.with_ids();
        for rank in &job.ranks {
            let started = with_ids.as_ref().map_err(Clone::clone);
            match started.and_then(|job| start(job, rank, self.herd.residence())) {
                Ok((rank, stdin)) => {
                    self.ranks.push(rank);
                    if stdin.is_some() {
                        self.feed = Feed::new(stdin);
                    }
                }
                Err(why) => {
                    self.peer.tell(Event::NotStarted { rank: rank.rank, why });
                    return false;
                }
            }
        }
        self.peer.tell(Event::Started(self.state()));
        true
    }

    /// How everything is.
    pub fn state(&self) -> State {
        State {
            pid: std::process::id(),
            residence: self.herd.residence().clone(),
            ranks: self.ranks.iter().map(|rank| rank.state).collect(),
            frozen: self.herd.is_frozen(),
            taken: self.peer.taken(),
            input: self.feed.taken(),
        }
    }

    /// Whether a rank runs.
    pub fn lives(&self) -> bool {
        self.ranks.iter().any(Rank::lives)
    }

    /// Whether a stream of a rank is not at its end.
    pub fn is_open(&self) -> bool {
        self.ranks.iter().flat_map(|rank| &rank.sources).any(|source| source.pipe.is_some())
    }

    /// Takes the exit codes of ranks, and of the job's orphans, which the shepherd has adopted.
    pub fn reap(&mut self) {
        loop {
            let (pid, end) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, End::Exit(code)),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, End::Signal(signal as i32)),
                Ok(WaitStatus::StillAlive) => return,
                Err(Errno::EINTR) | Ok(_) => continue,
                Err(_) => return,
            };
            let is_it = |rank: &Rank| rank.lives() && rank.state.pid as i32 == pid.as_raw();
            let Some(index) = self.ranks.iter().position(is_it) else { continue };
            // What it said last comes before its end. Its children may have the connection too, and talk
            // on.
            for _ in 0..LAST_READS {
                if !self.ranks[index].pmi.is_wanted() || !self.answer(index) {
                    break;
                }
            }
            self.answers.closed(&mut self.ranks, index, &mut self.peer);
            self.ranks[index].ended(end);
            self.peer.tell(Event::RankEnded { rank: self.ranks[index].state.rank, end });
        }
    }

    /// Answers what a rank (by its index) asks by PMI. Returns whether there was something.
    pub fn answer(&mut self, rank: usize) -> bool {
        self.ranks[rank].pmi.flush();
        let found = self.ranks[rank].pmi.read(&mut self.buffer);
        match found {
            Some(0) => self.answers.closed(&mut self.ranks, rank, &mut self.peer),
            Some(count) => {
                self.answers.receive(&mut self.ranks, rank, &self.buffer[..count], &mut self.peer);
            }
            None => {}
        }
        found.is_some_and(|count| count > 0)
    }

    /// Passes on what a rank has written to one of its streams.
    pub fn pass_on(&mut self, rank: usize, which: usize) {
        let number = self.ranks[rank].state.rank;
        let source = &mut self.ranks[rank].sources[which];
        let (stream, piece) = (source.stream, source.read(&mut self.buffer, Instant::now()));
        if let Some((bytes, whole)) = piece {
            self.peer.tell(Event::Output { rank: number, stream, bytes, whole });
        }
    }

    /// Passes on the beginnings of lines that have waited long enough.
    pub fn pass_late_lines(&mut self, now: Instant) {
        self.pass_lines(|source| source.lines.late(now));
    }

    /// Reads no stream any more.
    pub fn end_streams(&mut self) {
        self.pass_lines(|source| {
            source.pipe = None;
            source.lines.rest()
        });
    }

    fn pass_lines(&mut self, mut of: impl FnMut(&mut Source) -> Option<Piece>) {
        for rank in &mut self.ranks {
            for source in &mut rank.sources {
                if let Some((bytes, whole)) = of(source) {
                    let (rank, stream) = (rank.state.rank, source.stream);
                    self.peer.tell(Event::Output { rank, stream, bytes, whole });
                }
            }
        }
    }

    /// Writes input that waits to rank 0.
    pub fn feed(&mut self) {
        let fed = self.feed.flush();
        self.tell_fed(fed);
    }

    fn tell_fed(&mut self, fed: Fed) {
        if fed.taken > 0 {
            self.peer.tell(Event::InputTaken(self.feed.taken()));
        }
        if fed.closed {
            self.peer.tell(Event::InputClosed);
        }
    }

    /// Another owner takes the job over.
    pub fn attach(&mut self, socket: std::os::fd::OwnedFd) {
        let state = Event::State(self.state());
        self.peer.attach(socket, state);
        self.answers.tell_pending(&mut self.peer);
    }

    /// Carries out a command, except [`Command::End`].
    pub fn obey(&mut self, command: Command) {
        match command {
            Command::Fenced(out) => self.answers.fenced(&mut self.ranks, &out, &mut self.peer),
            Command::Input { at, bytes } => match self.feed.push(at, &bytes) {
                Ok(fed) => self.tell_fed(fed),
                Err(what) => self.peer.tell(Event::Failed { what }),
            },
            Command::InputEnd => {
                let fed = self.feed.end();
                self.tell_fed(fed);
            }
            Command::Signal(number) => match Signal::try_from(number) {
                Ok(signal) => self.signal(signal),
                Err(_) => self.peer.tell(Event::Failed { what: format!("there is no signal {number}") }),
            },
            Command::Freeze => self.freeze(),
            Command::Thaw => self.thaw(),
            Command::Turns(turns) => self.take_turns(turns),
            Command::Query => self.peer.tell(Event::State(self.state())),
            Command::Taken(number) => self.peer.take(number),
            Command::End { .. } => {}
        }
    }

    /// Signals the process group of every rank that lives.
    pub fn signal(&self, signal: Signal) {
        for rank in self.ranks.iter().filter(|rank| rank.lives()) {
            // A rank that has ended and was not reaped yet needs no signal.
            let _ = killpg(Pid::from_raw(rank.state.pid as i32), signal);
        }
    }
}
