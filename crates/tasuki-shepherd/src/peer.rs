//! The shepherd's side of the socket to its owner.

use crate::{
    Command, Event, RESIDENCE, Residence,
    outbox::Outbox,
    start::do_not_block,
    wire::{Inbox, Message},
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{getsockopt, sockopt::PeerCredentials},
    unistd::{Uid, read},
};
use std::{
    collections::VecDeque,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::{UnixListener, UnixStream},
    },
    path::PathBuf,
};

/// Bytes of events that may wait for the owner before ranks' output is not read any more.
const ROOM: usize = 1 << 20;
/// What an event without text counts, in bytes.
const EVENT: usize = 256;

/// The owner, or none, and what it is to be told.
#[derive(Debug)]
pub struct Peer {
    socket: Option<OwnedFd>,
    inbox: Inbox,
    /// What was told and may have to be told again, and what is to be told.
    events: VecDeque<Event>,
    /// How many of `events` were told.
    sent: usize,
    /// Number of the last event that is not kept any more.
    taken: u64,
    /// Events are kept until the owner has taken them.
    keeps: bool,
    /// Bytes that `events` count.
    waiting: usize,
    /// The rest of the next event's message, if it is on its way.
    outbox: Outbox,
    is_on_its_way: bool,
}

/// What came from the owner.
pub enum Heard {
    /// These commands, perhaps none.
    Commands(Vec<Command>),
    /// The owner is gone.
    Gone,
}

impl Peer {
    /// The owner at the other end of a socket. `keeps`: another one may come.
    pub fn new(socket: OwnedFd, inbox: Inbox, keeps: bool) -> Self {
        Self {
            socket: Some(socket),
            inbox,
            events: VecDeque::new(),
            sent: 0,
            taken: 0,
            keeps,
            waiting: 0,
            outbox: Outbox::default(),
            is_on_its_way: false,
        }
    }

    /// Whether more output may be gathered for the owner.
    pub fn has_room(&self) -> bool {
        self.waiting < ROOM
    }

    /// Whether more may be asked by ranks, which is allowed beyond what output may take.
    pub fn has_reserve(&self) -> bool {
        self.waiting < 2 * ROOM
    }

    /// The socket, if there is an owner.
    pub fn socket(&self) -> Option<&OwnedFd> {
        self.socket.as_ref()
    }

    /// Whether everything was told.
    pub fn is_idle(&self) -> bool {
        self.sent == self.events.len()
    }

    /// Whether nothing will ever have to be told again.
    pub fn is_done(&self) -> bool {
        self.events.is_empty()
    }

    /// Number of the last event that is not kept any more.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// The owner has done with the events up to a number.
    pub fn take(&mut self, number: u64) {
        while self.taken < number && self.sent > 0 {
            self.waiting -= self.events.pop_front().as_ref().map_or(0, weight);
            self.sent -= 1;
            self.taken += 1;
        }
    }

    /// Whether the owner has closed its end, perhaps with words before that are not read yet.
    pub fn is_left(&self) -> bool {
        let Some(socket) = &self.socket else { return true };
        let end = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::from_bits_retain(libc::POLLRDHUP);
        let mut polled = [PollFd::new(socket.as_fd(), end)];
        poll(&mut polled, PollTimeout::ZERO).is_ok_and(|count| count > 0)
    }

    /// Tells the owner something, as soon as the socket takes it.
    pub fn tell(&mut self, event: Event) {
        self.waiting += weight(&event);
        self.events.push_back(event);
    }

    /// Sends what the socket takes now. An event stays until all of its message was taken, or until the owner
    /// says so, for another owner. An owner that is gone is noticed by [`Peer::hear`].
    pub fn flush(&mut self) {
        let Some(socket) = &self.socket else { return };
        while let Some(event) = self.events.get(self.sent) {
            if !self.is_on_its_way {
                self.outbox.push(event.encode());
                self.is_on_its_way = true;
            }
            if self.outbox.flush(socket).is_err() || !self.outbox.is_empty() {
                return;
            }
            self.is_on_its_way = false;
            if self.keeps && event.is_kept() {
                self.sent += 1;
                continue;
            }
            self.taken += u64::from(event.is_kept());
            self.waiting -= weight(event);
            self.events.remove(self.sent);
        }
    }

    /// Reads what the owner has sent.
    pub fn hear(&mut self) -> Heard {
        let Some(socket) = &self.socket else { return Heard::Gone };
        let mut buffer = [0; 64 << 10];
        match read(socket, &mut buffer) {
            Ok(count) if count > 0 => self.inbox.extend(&buffer[..count]),
            // Commands may have come with the job itself.
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            _ => return self.lose(),
        }
        let mut commands = Vec::new();
        loop {
            match self.inbox.take() {
                Ok(Some(command)) => commands.push(command),
                Ok(None) => return Heard::Commands(commands),
                // An owner of another version. Another one may attach.
                Err(_) => return self.lose(),
            }
        }
    }

    fn lose(&mut self) -> Heard {
        self.socket = None;
        self.inbox = Inbox::default();
        self.outbox.clear();
        self.is_on_its_way = false;
        // What says how things are is old when another owner comes.
        self.sent = 0;
        self.events.retain(Event::is_kept);
        self.waiting = self.events.iter().map(weight).sum();
        Heard::Gone
    }

    /// Another owner has come. It hears `state` first; parts of fences that nobody has taken are told
    /// again by the caller.
    pub fn attach(&mut self, socket: OwnedFd, state: Event) {
        self.socket = Some(socket);
        self.events.retain(Event::is_kept);
        self.events.push_front(state);
        self.waiting = self.events.iter().map(weight).sum();
    }
}

fn weight(event: &Event) -> usize {
    match event {
        Event::Output { bytes, .. } => bytes.len() + EVENT,
        Event::Refused { why, .. } => why.len() + EVENT,
        Event::Abort { message, .. } => message.len() + EVENT,
        _ => EVENT,
    }
}

/// Where another owner may come.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    /// Listens at a path.
    ///
    /// # Errors
    /// If it is taken or cannot be made.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path })
    }

    /// Writes down beside the socket how the job is held together, in case this process is killed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn note(&self, residence: &Residence) -> io::Result<()> {
        let text = serde_json::to_vec(residence).map_err(io::Error::other)?;
        std::fs::write(self.path.with_extension(RESIDENCE), text)
    }

    /// The socket to wait at.
    pub fn socket(&self) -> &UnixListener {
        &self.listener
    }

    /// The one who knocks, if it is of the shepherd's own user.
    pub fn answer(&self) -> Option<OwnedFd> {
        let (stream, _): (UnixStream, _) = self.listener.accept().ok()?;
        let peer = getsockopt(&stream, PeerCredentials).ok()?;
        let is_own = peer.uid() == Uid::effective().as_raw();
        do_not_block(stream.as_fd()).ok().filter(|()| is_own).map(|()| stream.into())
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // Nobody listens there any more, and nothing of the job is left.
        let _ = std::fs::remove_file(self.path.with_extension(RESIDENCE));
        let _ = std::fs::remove_file(&self.path);
    }
}
