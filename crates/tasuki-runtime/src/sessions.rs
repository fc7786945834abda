//! Commands of users of this host: a Unix socket that every user may connect to. The kernel says who each is.

#[cfg(test)]
mod tests;

use crate::{RuntimeError, wire::is_later};
use nix::{
    sys::socket::{getsockopt, sockopt::PeerCredentials},
    unistd::{Uid, User as Account},
};
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
};
use tasuki_control::{Frames, Hello, Reply, Request, SessionId, User};

/// The socket of a host's daemon.
pub const SOCKET: &str = "/run/tasukid.sock";
/// Most connections that one user may have.
const OF_USER_MAX: usize = 128;
/// Most connections in all.
const ALL_MAX: usize = 1024;

/// A command that is connected.
struct Session {
    socket: UnixStream,
    uid: u32,
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
}

/// What has come of a session.
pub(crate) enum Heard {
    /// It asks something.
    Request(User, Request),
    /// It has gone.
    Gone,
}

impl Sessions {
    /// Listens at the host's socket.
    pub fn bind(path: &Path, hello: Hello) -> Result<Self, RuntimeError> {
        let fail = |doing| move |source| RuntimeError::File { doing, path: path.into(), source };
        // This process is the only daemon of the host, so that a socket that is there is an earlier one's.
        let _ = fs::remove_file(path);
        let listener = UnixListener::bind(path).map_err(fail("listen at"))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).map_err(fail("open to all users"))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, all: BTreeMap::new(), next: 1, hello })
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
            let uid = peer.uid();
            let own = self.all.values().filter(|session| session.uid == uid).count();
            if own >= OF_USER_MAX || self.all.len() >= ALL_MAX || socket.set_nonblocking(true).is_err() {
                continue;
            }
            let (frames, out) = (Frames::default(), self.hello.to_bytes());
            let [is_greeted, is_busy, is_unseen, is_closing] = [false; 4];
            let session = Session { socket, uid, frames, out, is_greeted, is_busy, is_unseen, is_closing };
            self.all.insert(self.next, session);
            self.next += 1;
        }
    }

    /// Reads what a session has sent.
    pub fn pull(&mut self, id: SessionId) -> Option<Heard> {
        let session = self.all.get_mut(&id)?;
        match session.pull(&self.hello) {
            Ok(None) => None,
            Ok(Some(request)) => match account(session.uid) {
                Ok(user) => Some(Heard::Request(user, request)),
                Err(why) => {
                    self.reply(id, &Reply::Refused(why));
                    None
                }
            },
            Err(()) => {
                self.all.remove(&id);
                Some(Heard::Gone)
            }
        }
    }

    /// Answers a session, if it is still there.
    pub fn reply(&mut self, id: SessionId, reply: &Reply) {
        let Some(session) = self.all.get_mut(&id) else { return };
        session.is_busy = false;
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

/// The user with a number on this host. Jobs need a name, which stands for the same user on all hosts.
fn account(uid: u32) -> Result<User, String> {
    match Account::from_uid(Uid::from_raw(uid)) {
        Ok(Some(account)) => Ok(User { name: account.name, is_root: uid == 0 }),
        Ok(None) => Err(format!("user {uid} has no name on this host, and jobs need one: useradd")),
        Err(errno) => Err(format!("user {uid} cannot be looked up: {}", errno.desc())),
    }
}
