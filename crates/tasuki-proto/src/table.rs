//! The connections of an endpoint by id, by name, and by whom they lead to.

use std::collections::{HashMap, VecDeque};

use crate::conn::Conn;
use crate::ids::ConnId;

/// Ended connections that are remembered, so that a late hello does not revive them.
const MAX_ENDED: usize = 1024;

#[derive(Default)]
struct Slot {
    generation: u32,
    conn: Option<Box<Conn>>,
}

/// Endpoint id, incarnation, and the name that the peer gave us.
type Ended = (u32, u64, u32);

#[derive(Default)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_peer: HashMap<(u32, u64), ConnId>,
    ended: VecDeque<Ended>,
    serial: u32,
}

impl Table {
    /// Names begin anywhere, so that those of an endpoint's predecessor mean nothing.
    pub fn new(serial: u32) -> Table {
        Table { serial, ..Table::default() }
    }

    /// The id that the next connection gets; `None` if there are `most`.
    pub fn reserve(&mut self, most: usize) -> Option<ConnId> {
        if self.free.is_empty() {
            if self.slots.len() >= most.min(0xffff) {
                return None;
            }
            self.free.push(self.slots.len() as u32);
            self.slots.push(Slot::default());
        }
        let index = *self.free.last()?;
        Some(ConnId { index, generation: self.serial.wrapping_add(1) })
    }

    /// Puts a connection with the id that `reserve` gave in its place.
    pub fn insert(&mut self, conn: Conn, findable: bool) {
        let id = conn.id;
        self.serial = id.generation;
        self.free.pop();
        if findable {
            self.by_peer.insert((conn.remote.endpoint, conn.remote.incarnation), id);
        }
        if let Some(slot) = self.slots.get_mut(id.index()) {
            *slot = Slot { generation: id.generation, conn: Some(Box::new(conn)) };
        }
    }

    pub fn remove(&mut self, id: ConnId) -> Option<Box<Conn>> {
        let slot = self.slots.get_mut(id.index()).filter(|slot| slot.generation == id.generation)?;
        let conn = slot.conn.take()?;
        self.free.push(id.index);
        let peer = (conn.remote.endpoint, conn.remote.incarnation);
        if self.by_peer.get(&peer) == Some(&id) {
            self.by_peer.remove(&peer);
        }
        if conn.peer_name != 0 && !conn.refused {
            self.ended.push_back((peer.0, peer.1, conn.peer_name));
            if self.ended.len() > MAX_ENDED {
                self.ended.pop_front();
            }
        }
        Some(conn)
    }

    pub fn get(&self, id: ConnId) -> Option<&Conn> {
        let slot = self.slots.get(id.index()).filter(|slot| slot.generation == id.generation)?;
        slot.conn.as_deref()
    }

    pub fn get_mut(&mut self, id: ConnId) -> Option<&mut Conn> {
        let slot = self.slots.get_mut(id.index()).filter(|slot| slot.generation == id.generation)?;
        slot.conn.as_deref_mut()
    }

    /// The connection that a peer names.
    pub fn named(&mut self, name: u32) -> Option<&mut Conn> {
        let slot = self.slots.get_mut((name & 0xffff).checked_sub(1)? as usize)?;
        slot.conn.as_deref_mut().filter(|conn| conn.name == name)
    }

    pub fn find(&self, endpoint: u32, incarnation: u64) -> Option<ConnId> {
        self.by_peer.get(&(endpoint, incarnation)).copied()
    }

    pub fn has_ended(&self, ended: Ended) -> bool {
        self.ended.contains(&ended)
    }

    /// The peer may have another connection now.
    pub fn forget_peer(&mut self, id: ConnId) {
        self.by_peer.retain(|_, known| *known != id);
    }

    /// Connections, refusals under way included.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Conn> {
        self.slots.iter_mut().filter_map(|slot| slot.conn.as_deref_mut())
    }
}
