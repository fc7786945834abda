//! The connections of clients, and how far each has come.

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
    /// The client has sent nothing yet. The connection is closed at this time, milliseconds, if it still has
    /// not.
    Silent(u64),
    /// A socket is being opened for the client.
    Opening,
    /// The client has its lane, for as long as the connection stays open.
    Served(Lane),
}

/// A client's connection.
pub(crate) struct Connection {
    fd: OwnedFd,
    pub(crate) peer: Peer,
    pub(crate) stage: Stage,
}

/// What a connection was found to hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A message.
    Message(Vec<u8>),
    /// The client has gone.
    End,
    /// There is nothing to read yet.
    Nothing,
}

impl Connection {
    pub(crate) fn new(fd: OwnedFd, peer: Peer, until: u64) -> Connection {
        Connection { fd, peer, stage: Stage::Silent(until) }
    }

    /// Reads one message, if there is one. Never blocks.
    pub(crate) fn hear(&self) -> Heard {
        // There is room for one byte more than a request, so that a longer message is recognised as longer.
        let mut room = [0; REQUEST_BYTES + 1];
        match recv(self.fd.as_raw_fd(), &mut room, MsgFlags::MSG_DONTWAIT) {
            Ok(0) => Heard::End,
            Ok(len) => Heard::Message(room[..len].to_vec()),
            Err(Errno::EAGAIN | Errno::EINTR) => Heard::Nothing,
            Err(_) => Heard::End,
        }
    }

    /// Sends an answer, with the socket that may belong to it. Returns false if the client does not take it
    /// at once. Never blocks.
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

/// All connections, by numbers that are never given twice.
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

    /// Connections that have been silent for too long.
    pub(crate) fn overdue(&self, now: u64) -> Vec<u64> {
        self.silent().filter(|(_, until)| *until <= now).map(|(id, _)| id).collect()
    }

    /// When the first connection will have been silent for too long. That time may have passed: a caller that
    /// then waits for it must not wait at all, because time goes on between a look at [`Self::overdue`] and
    /// the wait.
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
        // At 99 nothing is overdue; a wait that begins after 100 must end at once.
        assert_eq!((table.overdue(99), table.next_deadline()), (vec![], Some(100)));
        for id in table.overdue(100) {
            table.remove(id);
        }
        assert_eq!((table.overdue(101), table.next_deadline()), (vec![], None));
    }
}
