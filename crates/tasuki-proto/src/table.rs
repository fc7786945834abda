//! The connections of an endpoint, by id, by name and by peer.

use std::collections::{HashMap, VecDeque};

use tasuki_tuning::{given_up, packets};

use crate::conn::Conn;
use crate::ids::ConnId;

#[derive(Default)]
struct Slot {
    generation: u32,
    conn: Option<Box<Conn>>,
}

/// An ended connection: endpoint id and incarnation of the peer, and the peer's name for it.
type Ended = (u32, u64, u32);

#[derive(Default)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_peer: HashMap<(u32, u64), ConnId>,
    /// Connections that were given up, the oldest first. They keep their places until there are too many.
    given_up: VecDeque<ConnId>,
    ended: VecDeque<Ended>,
    /// Connections whose hellos were refused; only those of an endpoint that remembers all.
    refused: VecDeque<Ended>,
    /// All connections that have ended or were refused are remembered, not the last ones alone: a hello of
    /// such a connection that somebody has recorded must never begin it anew.
    remembers_all: bool,
    serial: u32,
}

impl Table {
    /// `serial` is where names begin: at random, so that the names that an earlier process at the same
    /// address has given mean nothing. If `remembers_all`, 16 bytes are kept of each connection that ends.
    pub fn new(serial: u32, remembers_all: bool) -> Table {
        Table { serial, remembers_all, ..Table::default() }
    }

    /// The id for the next connection; `None` if there are `most` already.
    pub fn reserve(&mut self, most: usize) -> Option<ConnId> {
        if self.len() >= most {
            return None;
        }
        if self.free.is_empty() && self.slots.len() >= 0xffff {
            // Names have no more places, so one that was given up makes room.
            let oldest = *self.given_up.front()?;
            self.remove(oldest);
        }
        if self.free.is_empty() {
            self.free.push(self.slots.len() as u32);
            self.slots.push(Slot::default());
        }
        let index = *self.free.last()?;
        Some(ConnId { index, generation: self.serial.wrapping_add(1) })
    }

    /// Inserts a connection that has the id of `reserve`. Only a `findable` one is found by its peer's
    /// address.
    pub fn insert(&mut self, conn: Conn, findable: bool) {
        let id = conn.id;
        self.serial = id.generation;
        self.free.pop();
        let peer = (conn.remote.endpoint, conn.remote.incarnation);
        let before = if findable { self.by_peer.insert(peer, id) } else { None };
        if let Some(slot) = self.slots.get_mut(id.index()) {
            *slot = Slot { generation: id.generation, conn: Some(Box::new(conn)) };
        }
        // Only one that was given up can be in the way of another one.
        if let Some(before) = before.filter(|before| self.given_up.contains(before)) {
            self.remove(before);
        }
    }

    /// Takes note that a connection was given up; those that were given up first make room.
    pub fn give_up(&mut self, id: ConnId) {
        self.given_up.push_back(id);
        if self.given_up.len() > given_up::KEPT_MAX
            && let Some(oldest) = self.given_up.front().copied()
        {
            self.remove(oldest);
        }
    }

    pub fn remove(&mut self, id: ConnId) -> Option<Box<Conn>> {
        let slot = self.slots.get_mut(id.index()).filter(|slot| slot.generation == id.generation)?;
        let conn = slot.conn.take()?;
        self.free.push(id.index);
        if conn.given_up.is_some() {
            self.given_up.retain(|known| *known != id);
        }
        let peer = (conn.remote.endpoint, conn.remote.incarnation);
        if self.by_peer.get(&peer) == Some(&id) {
            self.by_peer.remove(&peer);
        }
        if conn.peer_name != 0 && !conn.is_refusal {
            self.ended.push_back((peer.0, peer.1, conn.peer_name));
            if self.ended.len() > packets::ENDED_MAX && !self.remembers_all {
                self.ended.pop_front();
            }
        }
        let refused = (peer.0, peer.1, conn.peer_name);
        if conn.is_refusal && self.remembers_all && !self.has_refused(refused) {
            self.refused.push_back(refused);
        }
        Some(conn)
    }

    /// The connection, if it was not given up.
    pub fn get(&self, id: ConnId) -> Option<&Conn> {
        self.kept(id).filter(|conn| conn.given_up.is_none())
    }

    /// As `get`, to change it.
    pub fn get_mut(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.kept_mut(id).filter(|conn| conn.given_up.is_none())
    }

    /// The connection, also if it was given up.
    pub fn kept(&self, id: ConnId) -> Option<&Conn> {
        let slot = self.slots.get(id.index()).filter(|slot| slot.generation == id.generation)?;
        slot.conn.as_deref()
    }

    /// As `kept`, to change it.
    pub fn kept_mut(&mut self, id: ConnId) -> Option<&mut Conn> {
        let slot = self.slots.get_mut(id.index()).filter(|slot| slot.generation == id.generation)?;
        slot.conn.as_deref_mut()
    }

    /// The connection that has this name, also if it was given up.
    pub fn named(&mut self, name: u32) -> Option<&mut Conn> {
        let slot = self.slots.get_mut((name & 0xffff).checked_sub(1)? as usize)?;
        slot.conn.as_deref_mut().filter(|conn| conn.name == name)
    }

    /// The connection to this peer, also if it was given up.
    pub fn find(&self, endpoint: u32, incarnation: u64) -> Option<ConnId> {
        self.by_peer.get(&(endpoint, incarnation)).copied()
    }

    /// Whether a hello of this connection was refused, as far as that is remembered.
    pub fn has_refused(&self, refused: Ended) -> bool {
        self.refused.contains(&refused)
    }

    pub fn has_ended(&self, ended: Ended) -> bool {
        self.ended.contains(&ended)
    }

    /// Forgets which peer the connection leads to, so that the peer may open another.
    pub fn forget_peer(&mut self, id: ConnId) {
        self.by_peer.retain(|_, known| *known != id);
    }

    /// Number of connections that were not given up, refusals included.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len() - self.given_up.len()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Conn> {
        self.slots.iter_mut().filter_map(|slot| slot.conn.as_deref_mut())
    }
}
