//! The owner's handle of a shepherd.

use crate::{
    Command, Event, JobSpec, OwnerEnd, ShepherdError,
    commands::Commands,
    wire::{Inbox, Message},
};
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{self, Signal},
        socket::{getsockopt, sockopt::PeerCredentials},
    },
    unistd::{Pid, Uid},
};
use std::{
    ffi::OsString,
    io::{self, Read},
    net::Shutdown,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    process::{self, Child, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How often is looked whether a shepherd that is to be left has taken what waits for it.
const LOOK: Duration = Duration::from_millis(10);

/// A shepherd, as its owner has it. When the handle is dropped, the job ends or waits for another owner,
/// as its [`OwnerEnd`](crate::OwnerEnd) says.
#[derive(Debug)]
pub struct Shepherd {
    socket: UnixStream,
    commands: Commands,
    inbox: Inbox,
    child: Option<Child>,
    /// Whether the last event was told.
    ended: bool,
    /// The shepherd stays until its events were taken.
    survives: bool,
    /// Number of the last event that was told; `None`: the next one is the state that says so.
    heard: Option<u64>,
}

impl Shepherd {
    /// Starts a shepherd: a process that runs `program`, which calls
    /// [`process_main`](crate::process_main), and gives it the job without ever waiting: what its socket does
    /// not take now waits, as of any [command](Commands::post). Its standard error is this process's.
    /// [`Event::Started`] or [`Event::NotStarted`] follows.
    ///
    /// # Errors
    /// If the job is none, or the process cannot be started.
    pub fn start(program: &[OsString], job: &JobSpec) -> Result<Self, ShepherdError> {
        job.check().map_err(ShepherdError::Spec)?;
        let [first, arguments @ ..] = program else {
            return Err(ShepherdError::Spec("no shepherd program".into()));
        };
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = process::Command::new(first);
        command.args(arguments).stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
        let start = |source| ShepherdError::Start { program: first.into(), source };
        let child = command.spawn().map_err(start)?;
        // The command holds the shepherd's end of the socket, whose closing must be seen here.
        drop(command);
        let mut shepherd = Self::new(ours)?;
        shepherd.child = Some(child);
        shepherd.survives = job.owner != OwnerEnd::Kill;
        shepherd.commands.post_bytes(job.encode()).map_err(start)?;
        Ok(shepherd)
    }

    /// Takes over a job whose owner is gone ([`OwnerEnd::Survive`](crate::OwnerEnd::Survive)). The first
    /// event is [`Event::State`]; what was not told to the owner before follows.
    ///
    /// # Errors
    /// If no shepherd answers there, or one of another user.
    pub fn attach(socket: &Path) -> Result<Self, ShepherdError> {
        let error = |source| ShepherdError::Attach { socket: socket.into(), source };
        let stream = UnixStream::connect(socket).map_err(error)?;
        let peer = getsockopt(&stream, PeerCredentials).map_err(|errno| error(errno.into()))?;
        if peer.uid() != Uid::effective().as_raw() {
            let why = io::Error::other(format!("it belongs to user {}", peer.uid()));
            return Err(error(why));
        }
        let mut shepherd = Self::new(stream)?;
        (shepherd.heard, shepherd.survives) = (None, true);
        Ok(shepherd)
    }

    fn new(socket: UnixStream) -> Result<Self, ShepherdError> {
        let commands = Commands::to(socket.try_clone()?);
        let inbox = Inbox::default();
        Ok(Self { socket, commands, inbox, child: None, ended: false, survives: false, heard: Some(0) })
    }

    /// Leaves the job to its shepherd, which waits for another owner, and returns once it has closed its end.
    /// It has all commands by then, also those that waited here. What it has told until then and was not
    /// taken it tells the next owner again.
    ///
    /// # Errors
    /// If it does not close its end in time, or is gone.
    pub fn part(mut self, limit: Duration) -> Result<(), ShepherdError> {
        let until = Instant::now() + limit;
        let mut buffer = [0; 64 << 10];
        while self.commands.waiting() > 0 {
            if Instant::now() >= until {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            self.commands.flush()?;
            if self.is_readable(Some(Instant::now() + LOOK))? {
                match self.socket.read(&mut buffer) {
                    Ok(0) => return Err(ShepherdError::Gone),
                    Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error.into()),
                    _ => {}
                }
            }
        }
        self.socket.shutdown(Shutdown::Write)?;
        loop {
            let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            self.socket.set_read_timeout(Some(left))?;
            match self.socket.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(_) if Instant::now() < until => {}
                Ok(_) => return Err(io::Error::from(io::ErrorKind::TimedOut).into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A sender of commands, for any thread.
    pub fn commands(&self) -> Commands {
        self.commands.clone()
    }

    /// Sends a command.
    ///
    /// # Errors
    /// If the shepherd is gone.
    pub fn send(&self, command: &Command) -> io::Result<()> {
        self.commands.send(command)
    }

    /// Number of the last event that was told, of those that [are kept](Event::is_kept).
    pub fn heard(&self) -> u64 {
        self.heard.unwrap_or(0)
    }

    /// The shepherd's process, if this handle has started it.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Kills the shepherd's process, whatever it does. What is left of its job is to be swept
    /// ([`sweep`](crate::sweep)).
    ///
    /// # Errors
    /// If the kernel refuses, or does not say which process it is.
    pub fn kill(&mut self) -> io::Result<()> {
        if let Some(child) = &mut self.child {
            return child.kill();
        }
        // One that was started by an earlier owner is the process that listens at its socket.
        let pid = getsockopt(&self.socket, PeerCredentials)?.pid();
        if pid <= 1 || pid == process::id() as i32 {
            return Err(io::Error::other("its process is not known"));
        }
        Ok(signal::kill(Pid::from_raw(pid), Signal::SIGKILL)?)
    }

    /// The next event. Waits for it as long as `wait` says, for ever if that is `None`; `Ok(None)`: the
    /// time is over, or the last event was told before.
    ///
    /// # Errors
    /// [`ShepherdError::Gone`] if the shepherd has ended without [`Event::Ended`]; what is left of its
    /// job is to be swept. [`ShepherdError::Version`] if it is of another version.
    pub fn next(&mut self, wait: Option<Duration>) -> Result<Option<Event>, ShepherdError> {
        let until = wait.map(|wait| Instant::now() + wait);
        while !self.ended {
            if let Some(event) = self.inbox.take::<Event>().map_err(ShepherdError::Version)? {
                self.count(&event);
                return Ok(Some(event));
            }
            if !self.is_readable(until)? {
                return Ok(None);
            }
            let mut buffer = [0; 64 << 10];
            match self.socket.read(&mut buffer) {
                Ok(count) if count > 0 => self.inbox.extend(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => {
                    self.reap();
                    return Err(ShepherdError::Gone);
                }
            }
        }
        Ok(None)
    }

    /// Whether [`Shepherd::next`] has an event that was read already: the socket may never be readable again
    /// for its sake.
    pub fn holds_event(&self) -> bool {
        !self.ended && self.inbox.is_ready()
    }

    fn count(&mut self, event: &Event) {
        match (&mut self.heard, event) {
            (Some(heard), event) => *heard += u64::from(event.is_kept()),
            (heard, Event::State(state)) => *heard = Some(state.taken),
            _ => {}
        }
        if matches!(event, Event::Ended { .. }) {
            self.ended = true;
            // One that stays is waited for when the handle is dropped.
            if !self.survives {
                self.reap();
            }
        }
    }

    fn is_readable(&self, until: Option<Instant>) -> io::Result<bool> {
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            // A part of a millisecond counts as one, so that a wait never becomes a busy one.
            let millis = left.map(|left| left.as_micros().div_ceil(1000));
            let limit = millis
                .map_or(PollTimeout::NONE, |left| PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX));
            let room = if self.commands.waiting() > 0 { PollFlags::POLLOUT } else { PollFlags::empty() };
            let mut polled = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN | room)];
            match poll(&mut polled, limit) {
                Ok(0) if left.is_none_or(|left| left.is_zero()) => return Ok(false),
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                // What fails is found by the next reading.
                Ok(_) if polled[0].revents() == Some(PollFlags::POLLOUT) => drop(self.commands.flush()),
                Ok(_) => return Ok(true),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Takes the shepherd's exit code, which says nothing that its words did not. It ends when it has killed
    /// its job, or at once after its last word, or long after: none of that may hold up its owner.
    fn reap(&mut self) {
        if let Some(mut child) = self.child.take()
            && !matches!(child.try_wait(), Ok(Some(_)))
        {
            // Without a thread its exit code is lost, and its number is taken until this process ends.
            let _ = thread::Builder::new().spawn(move || child.wait());
        }
    }
}

impl AsFd for Shepherd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Shepherd {
    fn drop(&mut self) {
        // Senders of commands hold the socket open; the shepherd must see that its owner is gone.
        let _ = self.socket.shutdown(Shutdown::Both);
        self.reap();
    }
}
