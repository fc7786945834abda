//! The connection of a daemon to the one that keeps the queue: made again whenever it is lost.

mod addresses;

use crate::{
    Bundle, RuntimeError, keys,
    wire::{SILENCE, Unsent, Why, Wire},
};
use addresses::{Address, Addresses};
use rustls::{ClientConfig, ClientConnection, pki_types::ServerName};
use socket2::{Domain, Socket, Type};
use std::{
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
    time::{Duration, Instant},
};
use tasuki_control::{Hello, Order, Report};

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(250);
/// Pause after an end of another version was found.
const LONG_PAUSE: Duration = Duration::from_secs(2);
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(3);

enum State {
    /// There is no connection; the next attempt is at this time.
    Apart(Instant),
    /// It is being found out where to connect to, since this time.
    Looking(Instant),
    /// One is being made, since this time.
    Connecting(Socket, Instant),
    /// There is one, over which nothing but first words has gone.
    Greeting(Wire),
    /// Reports and orders go over it.
    Joined(Wire),
}

/// The connection to the daemon that keeps the queue.
pub(crate) struct Uplink {
    head: String,
    address: String,
    addresses: Addresses,
    /// The last one to which a connection was to be made.
    trying: Option<SocketAddr>,
    config: Arc<ClientConfig>,
    server: ServerName<'static>,
    own: Hello,
    state: State,
    /// Why there is no connection.
    why: Why,
}

/// What has happened at the connection.
pub(crate) enum Change {
    /// An order came.
    Order(Order),
    /// The other end has proved who it is, and is to hear what this host is.
    Joined,
    /// The connection is lost.
    Lost,
}

impl Uplink {
    /// No connection yet.
    pub fn new(bundle: &Bundle, own: Hello) -> Result<Self, RuntimeError> {
        let head = bundle.head();
        Ok(Self {
            head: head.name.clone(),
            address: head.address.clone(),
            addresses: Addresses::of(&head.address, bundle.port),
            trying: None,
            config: keys::client(bundle)?,
            server: keys::server_name(head)?,
            own,
            state: State::Apart(Instant::now()),
            why: "it was not tried yet".into(),
        })
    }

    /// Why commands cannot be answered; `None`: they can.
    pub fn absence(&self) -> Option<String> {
        match self.state {
            State::Joined(_) => None,
            _ => Some(format!("{}, which keeps the queue, is not connected: {}", self.head, self.why)),
        }
    }

    /// The socket, with whether it is to be watched for words and for room.
    pub fn socket(&self) -> Option<(BorrowedFd<'_>, bool, bool)> {
        match &self.state {
            State::Apart(_) | State::Looking(_) => None,
            State::Connecting(socket, _) => Some((socket.as_fd(), false, true)),
            State::Greeting(wire) | State::Joined(wire) => Some((wire.as_fd(), true, wire.wants_room())),
        }
    }

    /// Bytes that wait to be sent; `None`: there is no connection.
    pub fn waiting(&self) -> Option<usize> {
        match &self.state {
            State::Joined(wire) => Some(wire.waiting()),
            _ => None,
        }
    }

    /// Sends a report, if there is a connection. A failure is found by the next turn. If the report is too
    /// long, the queue is told instead that its job cannot go on.
    ///
    /// # Errors
    /// Why it is too long.
    pub fn send(&mut self, report: &Report) -> Result<(), Why> {
        let State::Joined(wire) = &mut self.state else { return Ok(()) };
        let Err(Unsent::Long(why)) = wire.send(report) else { return Ok(()) };
        if let Some(job) = report.job() {
            let words = format!("what it says to the queue is too long: {why}");
            let _ = wire.send(&Report::Broken { job, why: words, code: None });
        }
        Err(why)
    }

    /// Tries to connect, if it is time; finds a silent end.
    pub fn handle_time(&mut self, now: Instant, out: &mut Vec<Change>) {
        match &mut self.state {
            State::Apart(next) if now >= *next => {
                self.addresses.ask();
                self.state = State::Looking(now);
                self.look(now, now, out);
            }
            State::Looking(since) => {
                let since = *since;
                self.look(now, since, out);
            }
            State::Connecting(_, since) if now.duration_since(*since) > CONNECT => {
                let why = format!("{} does not answer", self.words());
                self.part(now, PAUSE, why, out);
            }
            State::Greeting(wire) | State::Joined(wire) if wire.is_silent(now) => {
                let heard = wire.heard();
                // Where this daemon was held up itself, what the other end has said lies unread.
                self.turn(out);
                if self.is_still_silent(now, heard) {
                    self.part(now, PAUSE, format!("no answer for {} s", SILENCE.as_secs()), out);
                }
            }
            State::Joined(wire) if wire.should_beat(now) => drop(self.send(&Report::Beat)),
            _ => {}
        }
    }

    fn is_still_silent(&self, now: Instant, heard: Instant) -> bool {
        match &self.state {
            State::Greeting(wire) | State::Joined(wire) => wire.is_still_silent(now, heard),
            State::Apart(_) | State::Looking(_) | State::Connecting(..) => false,
        }
    }

    /// Connects, if it is known where to. That was asked at a time `since`.
    fn look(&mut self, now: Instant, since: Instant, out: &mut Vec<Change>) {
        let begun = match self.addresses.next(now.duration_since(since) < CONNECT) {
            Address::Asked => return,
            Address::Missing(why) => Err(why),
            Address::Known(address) => {
                self.trying = Some(address);
                begin(address).map_err(|error| error.to_string())
            }
        };
        match begun {
            Ok(socket) => self.state = State::Connecting(socket, now),
            Err(why) => self.part(now, PAUSE, format!("{}: {why}", self.words()), out),
        }
    }

    /// The host that keeps the queue, by the name that it has in the cluster, and the address that was tried.
    fn words(&self) -> String {
        let tried = self.trying.map(|address| address.ip().to_string()).filter(|ip| *ip != self.address);
        tried.map_or_else(|| self.address.clone(), |ip| format!("{} ({ip})", self.address))
    }

    fn part(&mut self, now: Instant, pause: Duration, why: Why, out: &mut Vec<Change>) {
        self.why = why;
        match std::mem::replace(&mut self.state, State::Apart(now + pause)) {
            State::Joined(_) => out.push(Change::Lost),
            // The host may have another address, at which it answers.
            _ => self.trying.take().into_iter().for_each(|address| self.addresses.failed(address)),
        }
    }

    /// The socket is ready.
    pub(crate) fn turn(&mut self, out: &mut Vec<Change>) {
        let now = Instant::now();
        if let State::Connecting(socket, _) = &self.state {
            let wire = match socket.take_error() {
                Ok(None) => self.greet(),
                Ok(Some(error)) | Err(error) => Err(error.to_string()),
            };
            match wire {
                Ok(wire) => self.state = State::Greeting(wire),
                Err(why) => return self.part(now, PAUSE, format!("{}: {why}", self.words()), out),
            }
        }
        match self.advance(out) {
            Ok(None) => {}
            Ok(Some(version)) => {
                let why = format!("it runs tasuki {version}, and this host {}", self.own.version);
                self.part(now, LONG_PAUSE, why, out);
            }
            Err(why) => self.part(now, PAUSE, why, out),
        }
    }

    fn greet(&mut self) -> Result<Wire, Why> {
        let State::Connecting(socket, _) = std::mem::replace(&mut self.state, State::Apart(Instant::now()))
        else {
            return Err("it is not being connected".into());
        };
        let tls = ClientConnection::new(Arc::clone(&self.config), self.server.clone());
        let tls = tls.map_err(|error| error.to_string())?;
        Wire::new(socket.into(), tls, &self.own).map_err(|error| error.to_string())
    }

    /// Takes what has come. Returns the other end's version if it is another one.
    fn advance(&mut self, out: &mut Vec<Change>) -> Result<Option<String>, Why> {
        let (State::Greeting(wire) | State::Joined(wire)) = &mut self.state else { return Ok(None) };
        wire.push()?;
        // Whatever ended the connection, the other end is told why; the first reason counts.
        let ended = wire.pull();
        let ended = ended.and(wire.push());
        if let State::Greeting(wire) = &mut self.state {
            match wire.hello()? {
                None => return ended.map(|()| None),
                Some(hello) if !hello.is_same(&self.own) => return Ok(Some(hello.version.clone())),
                Some(_) => {}
            }
            let State::Greeting(wire) = std::mem::replace(&mut self.state, State::Apart(Instant::now()))
            else {
                return Ok(None);
            };
            self.state = State::Joined(wire);
            self.addresses.succeeded();
            self.trying = None;
            out.push(Change::Joined);
        }
        let State::Joined(wire) = &mut self.state else { return Ok(None) };
        wire.push()?;
        while let Some(order) = wire.take()? {
            out.push(Change::Order(order));
        }
        ended.map(|()| None)
    }
}

/// Begins to connect to the daemon at an address, without waiting.
fn begin(address: SocketAddr) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(nix::libc::EINPROGRESS) => Err(error),
        _ => Ok(socket),
    }
}
