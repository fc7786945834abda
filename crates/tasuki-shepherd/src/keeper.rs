//! Watches over a job from its first process to its last.

use crate::{
    Command, Event, JobSpec, OwnerEnd,
    flock::Flock,
    patience::Patience,
    peer::{Door, Heard, Peer},
    wait::{Token, Waits},
};
use nix::sys::{signal::Signal, signalfd::SignalFd};
use std::{
    collections::BTreeSet,
    io,
    time::{Duration, Instant},
};

/// Time between two rounds of killing what is left: it grows with the time that that has taken, from the
/// first to the second of these.
const ROUNDS: [Duration; 2] = [Duration::from_millis(5), Duration::from_secs(1)];
/// The part of that time that passes between two rounds.
const ROUND_PART: u32 = 8;
/// How long processes that were killed may take to end before the owner is told that they do not.
const KILL_LIMIT: Duration = Duration::from_secs(20);
/// How long the streams of a job without processes may take to end: a process outside of the job may have
/// been given one.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Ranks run.
    Running,
    /// Ranks were asked to end, and are killed then.
    Ending(Instant),
    /// Everything is killed, again and again until nothing is left.
    Killing,
    /// No process is left; the streams are read to their ends, until then at the latest.
    Draining(Instant),
    /// The last event is on its way.
    Ended,
}

/// How long everything is being killed.
#[derive(Debug, Default)]
struct Hunt {
    since: Option<Instant>,
    /// When the next round is due.
    next: Option<Instant>,
    is_told: bool,
}

impl Hunt {
    /// A round is over. Returns whether the owner is to be told that something does not end.
    fn round(&mut self, now: Instant) -> bool {
        let lasts = now - *self.since.get_or_insert(now);
        let [first, last] = ROUNDS;
        self.next = Some(now + (lasts / ROUND_PART).clamp(first, last));
        lasts >= KILL_LIMIT && !std::mem::replace(&mut self.is_told, true)
    }
}

/// The shepherd's state.
pub struct Keeper {
    owner: OwnerEnd,
    door: Option<Door>,
    /// No other owner is let in: the job has waited for one long enough, or a signal has ended it.
    deaf: bool,
    /// How long the job waits for another owner, while there is none.
    patience: Option<Patience>,
    signals: SignalFd,
    flock: Flock,
    phase: Phase,
    hunt: Hunt,
    /// Processes that were left over when all ranks had ended.
    swept: BTreeSet<i32>,
}

impl Keeper {
    /// Starts the job's ranks.
    ///
    /// # Errors
    /// If the shepherd itself cannot work. What keeps a rank from starting is told to the owner instead.
    pub fn new(job: &JobSpec, peer: Peer, signals: SignalFd) -> io::Result<Self> {
        let door = match &job.owner {
            OwnerEnd::Survive { socket, .. } => Some(Door::open(socket.clone())?),
            OwnerEnd::Kill => None,
        };
        let mut flock = Flock::new(job, peer)?;
        if let Some(door) = &door {
            door.note(flock.herd.residence())?;
            if flock.peer.is_left() {
                // The next owner may have looked for this job already, and counts it as ended.
                flock.herd.remove()?;
                return Err(io::Error::other("the owner went away before the job began"));
            }
        }
        let phase = if flock.start_all(job) { Phase::Running } else { Phase::Killing };
        Ok(Self {
            owner: job.owner.clone(),
            door,
            deaf: false,
            patience: None,
            signals,
            flock,
            phase,
            hunt: Hunt::default(),
            swept: BTreeSet::new(),
        })
    }

    /// Watches until the end was told, or nobody will ever be there to be told.
    ///
    /// # Errors
    /// If waiting fails.
    pub fn run(mut self) -> io::Result<()> {
        // What came right behind the job was read with it, and no descriptor tells of it.
        self.handle(Token::Owner);
        loop {
            self.advance();
            self.flock.peer.flush();
            if self.phase == Phase::Ended && (self.flock.peer.is_done() || self.is_forsaken()) {
                return Ok(());
            }
            for token in self.wait()? {
                self.handle(token);
            }
            self.flock.pass_late_lines(Instant::now());
        }
    }

    fn wait(&self) -> io::Result<Vec<Token>> {
        let Flock { peer, ranks, feed, gate, .. } = &self.flock;
        let mut waits = Waits::new(&self.signals, peer, self.door.as_ref());
        waits.turn(gate.timer());
        waits.ranks(ranks, peer.has_room(), peer.has_reserve(), feed.wanted());
        let lines = ranks.iter().flat_map(|rank| &rank.sources);
        let deadlines = lines.filter_map(|source| source.lines.deadline());
        let of_phase = match self.phase {
            Phase::Ending(at) | Phase::Draining(at) => Some(at),
            Phase::Killing => Some(self.hunt.next.unwrap_or_else(Instant::now)),
            Phase::Running | Phase::Ended => None,
        };
        let of_patience = self.patience.as_ref().map(Patience::next_look);
        waits.wait(deadlines.chain(of_phase).chain(of_patience).min())
    }

    fn handle(&mut self, token: Token) {
        match token {
            Token::Signals => self.take_signals(),
            Token::Owner => match self.flock.peer.hear() {
                Heard::Commands(commands) => commands.into_iter().for_each(|command| self.obey(command)),
                Heard::Gone => self.owner_gone(),
            },
            Token::Turn if matches!(self.phase, Phase::Running) => self.flock.switch(),
            Token::Turn => self.flock.gate.end(),
            Token::Door => {
                let knocks = self.door.as_ref().and_then(Door::answer);
                // One that has closed its end may have said something before.
                while knocks.is_some() && self.flock.peer.socket().is_some() && self.flock.peer.is_left() {
                    self.handle(Token::Owner);
                }
                // An owner that is there keeps the job; closing tells the other one.
                let is_free = self.flock.peer.socket().is_none() && !self.deaf;
                if let Some(socket) = knocks.filter(|_| is_free) {
                    self.patience = None;
                    self.flock.attach(socket);
                }
            }
            Token::Feed => self.flock.feed(),
            Token::Source(rank, which) => self.flock.pass_on(rank, which),
            Token::Pmi(rank) => {
                self.flock.answer(rank);
            }
        }
    }

    fn owner_gone(&mut self) {
        match self.owner {
            OwnerEnd::Kill => self.kill(),
            OwnerEnd::Survive { patience_ms, .. } => {
                self.patience = Some(Patience::new(Duration::from_millis(patience_ms)));
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Turns(_) if !matches!(self.phase, Phase::Running) => {}
            // Nothing is left that could stand still or go on, and nothing is told after the last event.
            Command::Freeze | Command::Thaw if matches!(self.phase, Phase::Draining(_)) => {}
            other if self.phase == Phase::Ended && !matches!(other, Command::Taken(_) | Command::Query) => {}
            Command::End { grace_ms: 0 } => self.kill(),
            Command::End { grace_ms } => self.ask_to_end(Duration::from_millis(grace_ms)),
            other => self.flock.obey(other),
        }
    }

    fn take_signals(&mut self) {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            if signal.ssi_signo == Signal::SIGTERM as u32 || signal.ssi_signo == Signal::SIGINT as u32 {
                self.deaf = true;
                self.kill();
            }
        }
        self.flock.reap();
    }

    fn ask_to_end(&mut self, grace: Duration) {
        if self.phase != Phase::Running {
            return;
        }
        self.flock.gate.end();
        if self.flock.herd.is_frozen() {
            // A process that stands still cannot end in order.
            self.flock.thaw();
        }
        self.flock.signal(Signal::SIGTERM);
        self.phase = Phase::Ending(Instant::now() + grace);
    }

    fn kill(&mut self) {
        if matches!(self.phase, Phase::Running | Phase::Ending(_)) {
            self.phase = Phase::Killing;
        }
    }

    /// Goes on to the next phase where it is time.
    fn advance(&mut self) {
        if self.patience.take_if(Patience::is_over).is_some() {
            self.deaf = true;
            self.kill();
        }
        match self.phase {
            Phase::Ending(at) if at <= Instant::now() => self.phase = Phase::Killing,
            Phase::Running | Phase::Ending(_) if !self.flock.lives() => self.phase = Phase::Killing,
            _ => {}
        }
        if self.phase == Phase::Killing {
            self.kill_what_is_left();
        }
        if matches!(self.phase, Phase::Draining(_)) && !self.flock.peer.has_room() && !self.is_forsaken() {
            // What is left in the streams waits for the owner, however long that takes.
            self.phase = Phase::Draining(Instant::now() + DRAIN_LIMIT);
        }
        if let Phase::Draining(at) = self.phase
            && (!self.flock.is_open() || at <= Instant::now() || self.is_forsaken())
        {
            self.finish();
        }
    }

    fn kill_what_is_left(&mut self) {
        self.flock.reap();
        let (left, lives) = (self.flock.herd.members(), self.flock.lives());
        if !lives {
            self.swept.extend(&left);
        }
        if left.is_empty() && !lives {
            self.phase = Phase::Draining(Instant::now() + DRAIN_LIMIT);
            return;
        }
        self.flock.herd.kill();
        if self.hunt.round(Instant::now()) {
            self.flock.peer.tell(Event::Remains { what: self.flock.herd.survivors() });
        }
    }

    /// Whether nobody will ever hear of the job.
    fn is_forsaken(&self) -> bool {
        self.flock.peer.socket().is_none() && (self.deaf || self.door.is_none())
    }

    fn finish(&mut self) {
        self.flock.reap();
        self.flock.end_streams();
        if let Err(error) = self.flock.herd.remove() {
            self.flock.peer.tell(Event::Note { what: format!("the job's cgroup stays: {error}") });
        }
        self.flock.peer.tell(Event::Ended { swept: self.swept.len() as u32 });
        self.phase = Phase::Ended;
    }
}
