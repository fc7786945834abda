//! `tasukid`: one thread that waits for commands, for other hosts and for shepherds, and for no one of them
//! alone.

mod duties;

use crate::{
    Bundle, DaemonNote, RuntimeError,
    copies::{Copies, Door},
    head::Head,
    hub::{Happening, Hub, Line},
    images::Images,
    present::Present,
    sessions::{Heard, SOCKET, Sessions},
    shelter::{FOLDER, Shelter},
    turns::Tables,
    uplink::{Change, Uplink},
    worker::Worker,
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    low_level::pipe,
};
use std::{
    ffi::OsString,
    os::{fd::AsFd, unix::net::UnixStream},
    path::Path,
};
use tasuki_control::{Hello, JobId, Reply, Report, SessionId, User};
use tasuki_watch::Instance;

/// The flag of poll(2) that watches for the end of a connection and not for words.
const END_ALONE: PollFlags = PollFlags::from_bits_retain(nix::libc::POLLRDHUP);
/// How often time is looked at.
const TICK_MS: u16 = 100;
/// Reports that may wait for the connection, bytes. Beyond it shepherds are not listened to, and ranks that
/// write wait.
const REPORTS_MAX: usize = 1 << 20;

/// Where the queue is.
enum Place {
    /// Here.
    Head(Box<Head>, Box<Hub>),
    /// On another host.
    Member(Box<Uplink>),
}

/// What a descriptor stands for.
#[derive(Clone, Copy)]
enum Token {
    Stop,
    Sessions,
    /// The name of a user has come.
    Names,
    Session(SessionId),
    Hub,
    Line(Line),
    Uplink,
    /// Another host has a copy of a checkpoint, or wants it back.
    Door,
    Shepherd(JobId),
}

struct Daemon {
    sessions: Sessions,
    worker: Worker,
    place: Place,
    /// What this host says of itself.
    present: Present,
    tables: Tables,
    copies: Copies,
    door: Door,
}

/// Runs the daemon of this host, with the bundle and the jobs in `folder`, until SIGTERM or SIGINT. `ready`
/// is called once commands are answered. Jobs go on without it for a while, and the next daemon of the host
/// takes them over.
///
/// # Errors
/// If there is no bundle, another daemon runs, or a socket or file cannot be used.
pub fn run(folder: &Path, version: &str, ready: impl FnOnce()) -> Result<(), RuntimeError> {
    let bundle = Bundle::load(folder)?;
    let note = DaemonNote {
        pid: std::process::id() as i32,
        host: bundle.member().name.clone(),
        cluster: bundle.checksum,
        version: version.into(),
    };
    let instance = Instance::begin(&note)?;
    let (stop, signalled) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        pipe::register(signal, signalled.try_clone()?)?;
    }
    let mut daemon = Daemon::open(&bundle, folder, version)?;
    ready();
    let result = daemon.live(&stop);
    // Commands find no daemon from here on.
    let _ = std::fs::remove_file(SOCKET);
    drop(instance);
    result
}

/// What poll(2) is to watch a descriptor for, besides the end of its connection.
pub(crate) fn flags(words: bool, room: bool) -> PollFlags {
    let words = if words { PollFlags::POLLIN } else { END_ALONE };
    if room { words | PollFlags::POLLOUT } else { words }
}

impl Daemon {
    fn open(bundle: &Bundle, folder: &Path, version: &str) -> Result<Self, RuntimeError> {
        let hello = Hello::of(version);
        let shelter = Shelter::open(Path::new(FOLDER), version)?;
        let shepherd = ["/proc/self/exe", "shepherd"].map(OsString::from).to_vec();
        let place = match bundle.is_head() {
            true => {
                let hub = Box::new(Hub::listen(bundle, hello.clone())?);
                Place::Head(Box::new(Head::open(bundle, folder)?), hub)
            }
            false => Place::Member(Box::new(Uplink::new(bundle, hello.clone())?)),
        };
        let copies = Copies::below(folder.join("copies"), bundle, version)?;
        copies.clear();
        let stored = (Images::below(folder, version), copies.clone());
        let mut daemon = Self {
            sessions: Sessions::bind(Path::new(SOCKET), hello, &bundle.member().name)?,
            worker: Worker::new(&bundle.member().name, shelter, shepherd, stored),
            door: copies.listen(),
            copies,
            place,
            present: Present::of(bundle),
            tables: Tables::default(),
        };
        if let Place::Head(head, _) = &mut daemon.place {
            let jobs = daemon.worker.take_over();
            head.report(bundle.own, daemon.present.report(jobs));
        }
        daemon.settle();
        Ok(daemon)
    }

    fn live(&mut self, stop: &UnixStream) -> Result<(), RuntimeError> {
        loop {
            for token in self.wait(stop)? {
                if matches!(token, Token::Stop) {
                    return Ok(());
                }
                self.turn(token);
                self.settle();
            }
            self.handle_time();
            self.settle();
        }
    }

    /// Waits until something is to be done.
    fn wait(&self, stop: &UnixStream) -> Result<Vec<Token>, RuntimeError> {
        let mut all = vec![
            (Token::Stop, stop.as_fd(), flags(true, false)),
            (Token::Sessions, self.sessions.listener(), flags(true, false)),
            (Token::Names, self.sessions.bell(), flags(true, false)),
        ];
        all.extend(self.door.socket().map(|door| (Token::Door, door, flags(true, false))));
        let session = |(id, socket, words, room)| (Token::Session(id), socket, flags(words, room));
        all.extend(self.sessions.sockets().map(session));
        match &self.place {
            Place::Head(_, hub) => {
                all.push((Token::Hub, hub.listener(), flags(true, false)));
                all.extend(hub.lines().map(|(line, fd, room)| (Token::Line(line), fd, flags(true, room))));
            }
            Place::Member(uplink) => {
                let socket = uplink.socket();
                all.extend(socket.map(|(fd, words, room)| (Token::Uplink, fd, flags(words, room))));
            }
        }
        let listens = self.has_room();
        for (job, fd, room) in self.worker.shepherds().filter(|(.., room)| listens || *room) {
            let flags = if listens { flags(true, room) } else { PollFlags::POLLOUT };
            all.push((Token::Shepherd(job), fd, flags));
        }
        let mut polled: Vec<PollFd> = all.iter().map(|(_, fd, flags)| PollFd::new(*fd, *flags)).collect();
        match poll(&mut polled, PollTimeout::from(TICK_MS)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(std::io::Error::from(errno).into()),
        }
        let ready = all.iter().zip(&polled).filter(|(_, fd)| fd.any().unwrap_or(true));
        Ok(ready.map(|((token, ..), _)| *token).collect())
    }

    /// Whether the connection to the queue takes more reports.
    fn has_room(&self) -> bool {
        match &self.place {
            Place::Head(..) => true,
            Place::Member(uplink) => uplink.waiting().is_some_and(|waiting| waiting < REPORTS_MAX),
        }
    }

    fn turn(&mut self, token: Token) {
        match token {
            // What waits for names is looked at whenever time is.
            Token::Stop | Token::Names => {}
            Token::Sessions => self.sessions.accept(),
            Token::Session(id) => {
                self.sessions.push(id);
                let heard = self.sessions.pull(id);
                heard.into_iter().for_each(|heard| self.heard(id, heard));
            }
            Token::Door => self.door.open(&self.copies),
            Token::Hub => self.hub(Hub::accept),
            Token::Line(line) => self.hub(|hub| hub.turn(line)),
            Token::Uplink => {
                self.uplink(Uplink::turn);
            }
            Token::Shepherd(job) => {
                self.worker.push(job);
                self.worker.pull(job);
            }
        }
    }

    fn heard(&mut self, session: SessionId, heard: Heard) {
        match heard {
            Heard::Request(user, request) => self.ask(session, user, request),
            Heard::Gone => self.report(Report::Gone { session }),
        }
    }

    fn ask(&mut self, session: SessionId, user: User, request: tasuki_control::Request) {
        let absence = match &self.place {
            Place::Head(..) => None,
            Place::Member(uplink) => uplink.absence(),
        };
        match absence {
            Some(why) => self.sessions.reply(session, &Reply::Apart(why)),
            None => self.report(Report::Request { session, user, request }),
        }
    }

    /// Passes a report of this host to the queue.
    fn report(&mut self, report: Report) {
        match &mut self.place {
            Place::Head(head, _) => head.report(0, report),
            Place::Member(uplink) => {
                if let (Err(why), Report::Request { session, .. }) = (uplink.send(&report), report) {
                    self.sessions.reply(session, &Reply::Refused(why));
                }
            }
        }
    }

    fn hub(&mut self, what: impl FnOnce(&mut Hub)) {
        let Place::Head(head, hub) = &mut self.place else { return };
        what(hub);
        for happening in hub.happenings() {
            match happening {
                Happening::Report(host, report) => head.report(host, report),
                Happening::Lost(host, presence) => head.host_lost(host, presence),
                Happening::Away(host, why) => head.host_away(host, &why),
            }
        }
    }

    fn uplink(&mut self, what: impl FnOnce(&mut Uplink, &mut Vec<Change>)) {
        let Place::Member(uplink) = &mut self.place else { return };
        let mut changes = Vec::new();
        what(uplink, &mut changes);
        for change in changes {
            match change {
                Change::Order(order) => self.obey(order),
                Change::Joined => {
                    let jobs = self.worker.take_over();
                    self.report(self.present.report(jobs));
                }
                Change::Lost => {
                    self.tables.forget();
                    self.worker.let_go();
                    self.sessions.part_all("the connection to the queue was lost");
                }
            }
        }
    }

    /// Carries reports and orders to where they belong, until there are none.
    fn settle(&mut self) {
        loop {
            while let Some(report) = self.worker.poll_report() {
                self.report(report);
            }
            self.hub(|_| {});
            let Place::Head(head, hub) = &mut self.place else { return };
            let Some((host, order)) = head.poll_order() else { return };
            match host {
                0 => self.obey(order),
                host => hub.send(host, &order),
            }
        }
    }
}
