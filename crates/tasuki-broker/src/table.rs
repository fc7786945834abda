//! The connections, and how far each has come.

use crate::{peer::Peer, work::Lane};
use nix::{
    errno::Errno,
    sys::socket::{ControlMessage, MsgFlags, recv, sendmsg},
};
use std::{
    collections::BTreeMap,
    io::IoSlice,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
};
use tasuki_link::broker::{Answer, REQUEST_BYTES};

/// How far a connection has come.
pub(crate) enum Stage {
    /// Nothing has been said yet; closed at this time (milliseconds) if nothing is.
    Silent(u64),
    /// A socket is being opened for it.
    Opening,
    /// It has its lane, as long as it stays open.
    Served(Lane),
}

/// A client's connection.
pub(crate) struct Connection {
    fd: OwnedFd,
    pub(crate) peer: Peer,
    pub(crate) stage: Stage,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A message.
    Message(Vec<u8>),
    /// The client has gone.
    End,
    /// Nothing yet.
    Nothing,
}

impl Connection {
    pub(crate) fn new(fd: OwnedFd, peer: Peer, until: u64) -> Connection {
        Connection { fd, peer, stage: Stage::Silent(until) }
    }

    /// What waits to be read. Never blocks.
    pub(crate) fn hear(&self) -> Heard {
        // One more than a request, so that a longer message is seen to be one.
        let mut room = [0; REQUEST_BYTES + 1];
        match recv(self.fd.as_raw_fd(), &mut room, MsgFlags::MSG_DONTWAIT) {
            Ok(0) => Heard::End,
            Ok(len) => Heard::Message(room[..len].to_vec()),
            Err(Errno::EAGAIN | Errno::EINTR) => Heard::Nothing,
            Err(_) => Heard::End,
        }
    }

    /// Sends the answer with the socket that may belong to it; false if the client does not take it at once. Never blocks.
    pub(crate) fn answer(&self, answer: &Answer, socket: Option<BorrowedFd<'_>>) -> bool {
        let bytes = answer.to_bytes();
        let sockets: Vec<RawFd> = socket.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&sockets)];
        let with = if sockets.is_empty() { &rights[..0] } else { &rights[..] };
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        sendmsg::<()>(self.fd.as_raw_fd(), &[IoSlice::new(&bytes)], with, flags, None).is_ok()
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// All connections, by numbers that are never used again.
#[derive(Default)]
pub(crate) struct Table {
    next: u64,
    all: BTreeMap<u64, Connection>,
}

impl Table {
    pub(crate) fn add(&mut self, connection: Connection) {
        self.all.insert(self.next, connection);
        self.next += 1;
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut Connection> {
        self.all.get_mut(&id)
    }

    pub(crate) fn remove(&mut self, id: u64) -> Option<Connection> {
        self.all.remove(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Connection)> {
        self.all.iter().map(|(id, connection)| (*id, connection))
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Connections of a user that have no lane yet.
    pub(crate) fn waiting(&self, uid: u32) -> usize {
        let waits = |one: &&Connection| one.peer.uid == uid && !matches!(one.stage, Stage::Served(_));
        self.all.values().filter(waits).count()
    }

    /// Connections that have been silent too long.
    pub(crate) fn overdue(&self, now: u64) -> Vec<u64> {
        self.silent().filter(|(_, until)| *until <= now).map(|(id, _)| id).collect()
    }

    /// When the first connection will have been silent too long. That may be in the past: whoever waits for it then must not wait at all, as
    /// time goes on between a look at who is overdue and the wait.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        self.silent().map(|(_, until)| until).min()
    }

    fn silent(&self) -> impl Iterator<Item = (u64, u64)> {
        self.iter().filter_map(|(id, one)| match one.stage {
            Stage::Silent(until) => Some((id, until)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

    #[test]
    fn what_is_due_is_waited_for_until_it_is_dealt_with() {
        let pair = || socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC);
        let (ours, _theirs) = pair().expect("a pair");
        let peer = Peer::of(&ours).expect("ourselves");
        let mut table = Table::default();
        table.add(Connection::new(ours, peer, 100));
        // A wait that begins after 100 must end at once, though at the last look nothing was overdue.
        assert_eq!((table.overdue(99), table.next_deadline()), (vec![], Some(100)));
        for id in table.overdue(100) {
            table.remove(id);
        }
        assert_eq!((table.overdue(101), table.next_deadline()), (vec![], None));
    }
}
