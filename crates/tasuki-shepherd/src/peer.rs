//! The shepherd's side of the socket to its owner.

use crate::{
    Command, Event,
    outbox::Outbox,
    start::do_not_block,
    wire::{Inbox, Message},
};
use nix::{
    errno::Errno,
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
    events: VecDeque<Event>,
    /// Bytes that `events` count.
    waiting: usize,
    /// The rest of the first event's message, if it is on its way.
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
    /// The owner at the other end of a socket.
    pub fn new(socket: OwnedFd, inbox: Inbox) -> Self {
        let (events, outbox) = (VecDeque::new(), Outbox::default());
        Self { socket: Some(socket), inbox, events, waiting: 0, outbox, is_on_its_way: false }
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
        self.events.is_empty()
    }

    /// Tells the owner something, as soon as the socket takes it.
    pub fn tell(&mut self, event: Event) {
        self.waiting += weight(&event);
        self.events.push_back(event);
    }

    /// Sends what the socket takes now. An event is kept until all of its message was taken, for another owner.
    /// An owner that is gone is noticed by [`Peer::hear`].
    pub fn flush(&mut self) {
        let Some(socket) = &self.socket else { return };
        while let Some(event) = self.events.front() {
            if !self.is_on_its_way {
                self.outbox.push(event.encode());
                self.is_on_its_way = true;
            }
            if self.outbox.flush(socket).is_err() || !self.outbox.is_empty() {
                return;
            }
            self.waiting -= weight(event);
            self.is_on_its_way = false;
            self.events.pop_front();
        }
    }

    /// Reads what the owner has sent.
    pub fn hear(&mut self) -> Heard {
        let Some(socket) = &self.socket else { return Heard::Gone };
        let mut buffer = [0; 64 << 10];
        match read(socket, &mut buffer) {
            Ok(count) if count > 0 => self.inbox.extend(&buffer[..count]),
            Err(Errno::EAGAIN | Errno::EINTR) => return Heard::Commands(Vec::new()),
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
        Heard::Gone
    }

    /// Another owner has come. It hears `state` first; parts of fences that nobody has taken are told again by
    /// the caller.
    pub fn attach(&mut self, socket: OwnedFd, state: Event) {
        self.socket = Some(socket);
        self.events.retain(|event| !matches!(event, Event::Fence(_)));
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
        // Nobody listens there any more.
        let _ = std::fs::remove_file(&self.path);
    }
}
