//! Commands of users of this host: a Unix socket that every user may connect to. The kernel says who each is.

mod names;
#[cfg(test)]
mod tests;

use crate::{RuntimeError, wire::is_later};
use names::{Name, Names};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{
            fs::PermissionsExt,
            net::{UnixListener, UnixStream},
        },
    },
    path::Path,
    time::Instant,
};
use tasuki_control::{Frames, Hello, Reply, Request, SessionId, User};

/// The socket of a host's daemon.
pub const SOCKET: &str = "/run/tasukid.sock";
/// Most connections that one user may have.
const OF_USER_MAX: usize = 128;
/// Most connections in all.
const ALL_MAX: usize = 1024;
/// Connections of these that are kept for root, who could end nothing otherwise.
const ROOT_MAX: usize = OF_USER_MAX;

/// A command that is connected.
struct Session {
    socket: UnixStream,
    uid: u32,
    /// Its user, once the name is known.
    user: Option<User>,
    /// What it asks, as long as its user's name is not known.
    parked: Option<Request>,
    frames: Frames,
    /// What its socket has not taken yet. Until it has, no further request is taken, so that a command that
    /// never reads has this daemon keep one answer and not many.
    out: Vec<u8>,
    is_greeted: bool,
    /// It has asked something that is not answered yet. Until then no further request is taken.
    is_busy: bool,
    /// What stands behind its last request in `frames` was not looked at since: another request may have come
    /// as a whole, of which the socket will not tell again.
    is_unseen: bool,
    /// It is to be closed once everything has been sent.
    is_closing: bool,
}

/// All commands that are connected.
pub(crate) struct Sessions {
    listener: UnixListener,
    all: BTreeMap<SessionId, Session>,
    next: SessionId,
    hello: Hello,
    /// This host.
    host: String,
    names: Names,
}

/// What has come of a session.
pub(crate) enum Heard {
    /// It asks something.
    Request(User, Request),
    /// It has gone.
    Gone,
}

impl Sessions {
    /// Listens at the socket of a host.
    pub fn bind(path: &Path, hello: Hello, host: &str) -> Result<Self, RuntimeError> {
        let fail = |doing| move |source| RuntimeError::File { doing, path: path.into(), source };
        // This process is the only daemon of the host, so that a socket that is there is an earlier one's.
        let _ = fs::remove_file(path);
        let listener = UnixListener::bind(path).map_err(fail("listen at"))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).map_err(fail("open to all users"))?;
        listener.set_nonblocking(true)?;
        let (all, names) = (BTreeMap::new(), Names::of_host()?);
        Ok(Self { listener, all, next: 1, hello, host: host.into(), names })
    }

    /// Readable when the name of a user has come, for [`Sessions::named`].
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.names.bell()
    }

    /// The listening socket.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Every session's socket, with whether it is to be watched for words and for room. The end of a
    /// connection is always watched for.
    pub fn sockets(&self) -> impl Iterator<Item = (SessionId, BorrowedFd<'_>, bool, bool)> {
        self.all.iter().map(|(id, session)| {
            let takes_words = !session.is_held();
            // A request that is here already is taken as soon as there is room for its answer.
            let awaits_room = !session.out.is_empty() || (takes_words && session.is_unseen);
            (*id, session.socket.as_fd(), takes_words, awaits_room)
        })
    }

    /// Accepts commands that wait.
    pub fn accept(&mut self) {
        while let Ok((socket, _)) = self.listener.accept() {
            let Ok(peer) = getsockopt(&socket, PeerCredentials) else { continue };
            if socket.set_nonblocking(true).is_err() {
                continue;
            }
            let uid = peer.uid();
            let own = self.all.values().filter(|session| session.uid == uid).count();
            if let Some(why) = crowded(uid, own, self.all.len()) {
                let why = format!("{} {why} to the tasukid of {}", self.names.words(uid), self.host);
                self.turn_away(socket, &format!("{why}: end some, or try again later"));
                continue;
            }
            let (frames, out) = (Frames::default(), self.hello.to_bytes());
            let [is_greeted, is_busy, is_unseen, is_closing] = [false; 4];
            let (user, parked) = (None, None);
            let session = Session {
                socket,
                uid,
                user,
                parked,
                frames,
                out,
                is_greeted,
                is_busy,
                is_unseen,
                is_closing,
            };
            self.all.insert(self.next, session);
            self.next += 1;
        }
    }

    /// Says to a command why it is not served. It reads that when it waits for its first answer.
    fn turn_away(&self, mut socket: UnixStream, why: &str) {
        let mut words = self.hello.to_bytes();
        if tasuki_control::write(&Reply::Refused(why.into()), &mut words).is_ok() {
            // A new socket has room for so little; a command that is gone hears nothing.
            let _ = socket.write_all(&words);
        }
    }

    /// Reads what a session has sent.
    pub fn pull(&mut self, id: SessionId) -> Option<Heard> {
        let session = self.all.get_mut(&id)?;
        match session.pull(&self.hello) {
            Ok(None) => None,
            Ok(Some(request)) => {
                session.parked = Some(request);
                self.asked(id, Instant::now())
            }
            Err(()) => {
                self.all.remove(&id);
                Some(Heard::Gone)
            }
        }
    }

    /// What sessions ask whose users' names have come. Those that have waited too long for that hear so.
    pub fn named(&mut self, now: Instant) -> Vec<(SessionId, Heard)> {
        self.names.take(now);
        let parked = self.all.iter().filter(|(_, session)| session.parked.is_some());
        let parked: Vec<SessionId> = parked.map(|(id, _)| *id).collect();
        parked.into_iter().filter_map(|id| Some((id, self.asked(id, now)?))).collect()
    }

    /// What a session asks, if its user is known.
    fn asked(&mut self, id: SessionId, now: Instant) -> Option<Heard> {
        let session = self.all.get_mut(&id).filter(|session| session.parked.is_some())?;
        let name = match &session.user {
            Some(user) => Name::Known(user.name.clone()),
            None => self.names.of(session.uid, now),
        };
        match name {
            Name::Asked => None,
            Name::Known(name) => {
                let user = User { name, is_root: session.uid == 0 };
                session.user = Some(user.clone());
                session.parked.take().map(|request| Heard::Request(user, request))
            }
            Name::Missing(why) => {
                self.reply(id, &Reply::Refused(why));
                None
            }
        }
    }

    /// Answers a session, if it is still there.
    pub fn reply(&mut self, id: SessionId, reply: &Reply) {
        let Some(session) = self.all.get_mut(&id) else { return };
        session.is_busy = false;
        session.parked = None;
        if tasuki_control::write(reply, &mut session.out).is_err() {
            session.is_closing = true;
        }
        self.push(id);
    }

    /// Ends all sessions, since the queue does not know them any more. Those that wait for an answer hear
    /// why.
    pub fn part_all(&mut self, why: &str) {
        for id in self.all.keys().copied().collect::<Vec<SessionId>>() {
            let Some(session) = self.all.get_mut(&id).filter(|session| session.is_greeted) else { continue };
            session.is_closing = true;
            match session.is_busy {
                true => self.reply(id, &Reply::Apart(why.into())),
                false => self.push(id),
            }
        }
    }

    /// Sends what a session's socket takes. What fails is found when it is read from.
    pub fn push(&mut self, id: SessionId) {
        let Some(session) = self.all.get_mut(&id) else { return };
        while !session.out.is_empty() {
            match session.socket.write(&session.out) {
                Ok(taken) => drop(session.out.drain(..taken)),
                Err(error) if is_later(&error) => return,
                Err(_) => return session.out.clear(),
            }
        }
        if session.is_closing {
            // The next reading finds the end.
            let _ = session.socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Session {
    /// Whether no further request is taken, since the last one is not answered, or its answer is not sent.
    fn is_held(&self) -> bool {
        self.is_busy || !self.out.is_empty()
    }

    /// The next request, if it has come as a whole. `Err`: the session is over.
    fn pull(&mut self, own: &Hello) -> Result<Option<Request>, ()> {
        let mut bytes = [0; 16 << 10];
        loop {
            if !self.is_greeted
                && let Some((hello, length)) = Hello::read(self.frames.rest()).map_err(drop)?
            {
                self.frames.skip(length);
                self.is_greeted = true;
                // A command of another version learns this one's from the first words.
                self.is_closing = !hello.is_same(own);
            }
            self.is_unseen &= self.is_held();
            if self.is_greeted
                && !self.is_closing
                && !self.is_held()
                && let Some(request) = self.frames.take::<Request>().map_err(drop)?
            {
                self.is_busy = true;
                self.is_unseen = !self.frames.rest().is_empty();
                return Ok(Some(request));
            }
            match self.socket.read(&mut bytes) {
                Ok(0) => return Err(()),
                Ok(length) => self.frames.feed(&bytes[..length]),
                Err(error) if is_later(&error) => return Ok(None),
                Err(_) => return Err(()),
            }
            self.is_unseen |= self.is_held();
            if (self.is_held() || self.is_closing) && self.frames.rest().len() > bytes.len() {
                // It does not wait for answers.
                return Err(());
            }
        }
    }
}

/// Why a user gets no further connection, of which there are so many, `own` of them the user's; `None`: the
/// user gets one.
fn crowded(uid: u32, own: usize, all: usize) -> Option<String> {
    let most = if uid == 0 { ALL_MAX } else { ALL_MAX - ROOT_MAX };
    match own {
        own if own >= OF_USER_MAX => Some(format!("has {own} connections, as many as a user may have,")),
        _ if all >= most => {
            Some(format!("gets no connection, since there are {all}, as many as there may be,"))
        }
        _ => None,
    }
}
