//! When a job may run: not while its owner has frozen it, and only in its turns if it takes turns.

use crate::{Event, Kept, Turns, flock::Flock, priority, turns::Agenda};
use nix::sys::{
    time::{TimeSpec, TimeValLike},
    timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
};
use std::{
    io,
    time::{Duration, Instant},
};
use tasuki_sys::clock::monotonic_ns;

/// How often the owner is told how well instants are kept, at most.
const TELL: Duration = Duration::from_secs(1);

/// When a job may run.
pub struct Gate {
    agenda: Agenda,
    timer: TimerFd,
    /// What the timer is set to, ns of the monotonic clock.
    due: Option<u64>,
    /// It is the job's turn, as far as was found last.
    its_turn: bool,
    /// The owner has frozen it.
    held: bool,
    /// The shepherd precedes what runs at normal priority.
    raised: bool,
    kept: Kept,
    told: Instant,
}

impl Gate {
    /// A job that runs all the time.
    ///
    /// # Errors
    /// If the system has no timer.
    pub fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Self {
            agenda: Agenda::default(),
            timer: TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?,
            due: None,
            its_turn: true,
            held: false,
            raised: false,
            kept: Kept::default(),
            told: Instant::now(),
        })
    }

    /// Readable when it is time for [`Flock::switch`].
    pub fn timer(&self) -> &TimerFd {
        &self.timer
    }

    /// No turns any more: the job is being ended.
    pub fn end(&mut self) {
        self.agenda = Agenda::default();
        self.its_turn = true;
        self.held = false;
        self.arm(None);
    }

    /// Sets the timer; `None`: to never.
    fn arm(&mut self, due: Option<u64>) {
        self.due = due;
        match due.is_some() {
            raised if raised == self.raised => {}
            true => priority::raise(),
            false => priority::lower(),
        }
        self.raised = due.is_some();
        // The kernel takes any time for these calls; without a timer the job would keep its state, and the
        // next word of the owner puts that right.
        let _ = match due {
            Some(due) => {
                let at = TimeSpec::nanoseconds(i64::try_from(due.max(1)).unwrap_or(i64::MAX));
                self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            }
            None => self.timer.unset(),
        };
    }
}

impl Flock {
    /// From an instant on the job takes turns with others.
    pub fn take_turns(&mut self, turns: Turns) {
        self.gate.agenda.set(turns);
        self.switch();
    }

    /// Freezes the job or has it go on, if it is time.
    pub fn switch(&mut self) {
        let now = monotonic_ns();
        let gate = &mut self.gate;
        let due = gate.due.filter(|due| *due <= now).unwrap_or(now);
        let its_turn = gate.agenda.run_at(now);
        if its_turn != std::mem::replace(&mut gate.its_turn, its_turn) && !gate.held {
            let done = if its_turn { self.herd.thaw() } else { self.herd.begin_freeze() };
            self.gate.kept.count(due, monotonic_ns());
            if let Err(error) = done {
                let _ = self.herd.thaw();
                self.peer.tell(Event::Failed { what: format!("it cannot be switched: {error}") });
            }
        }
        let next = self.gate.agenda.change_after(now);
        self.gate.arm(next);
        if self.gate.kept.switches > 0 && self.gate.told.elapsed() > TELL {
            self.gate.told = Instant::now();
            self.peer.tell(Event::Kept(std::mem::take(&mut self.gate.kept)));
        }
    }

    /// Has the job stand still until [`Flock::thaw`]. What sleeps in the kernel for longer than some seconds
    /// holds up nobody: it stands still before it returns to its program.
    pub fn freeze(&mut self) {
        let begin = Instant::now();
        self.gate.held = true;
        match self.herd.freeze() {
            Ok(()) => self.peer.tell(Event::Frozen { micros: begin.elapsed().as_micros() as u64 }),
            Err(error) => {
                // Half of a job that stands still helps nobody.
                self.gate.held = false;
                let _ = self.herd.thaw();
                self.peer.tell(Event::Failed { what: format!("freeze: {error}") });
            }
        }
    }

    /// Has a job that stands still go on, if it is its turn.
    pub fn thaw(&mut self) {
        let begin = Instant::now();
        self.gate.held = false;
        let thawed = if self.gate.its_turn { self.herd.thaw() } else { Ok(()) };
        self.peer.tell(match thawed {
            Ok(()) => Event::Thawed { micros: begin.elapsed().as_micros() as u64 },
            Err(error) => Event::Failed { what: format!("thaw: {error}") },
        });
    }
}
