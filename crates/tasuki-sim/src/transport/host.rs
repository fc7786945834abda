//! What an engine has besides the message layer: its connections, its socket, its moment to look at them.

use std::collections::VecDeque;

use tasuki_proto::{Config, Local, Proto, Remote};
use tasuki_wire::Secret;

use super::joint::Conns;
use super::network::{PORT, identity};
use crate::kernel::Time;

/// How the process on a host polls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habit {
    /// Longest time that it lets packets and deadlines wait, ns.
    pub poll_ns: u64,
    /// Bytes that its socket holds until it polls.
    pub socket_bytes: usize,
}

pub(crate) struct Host {
    pub proto: Proto,
    pub conns: Conns,
    pub place: usize,
    pub local: Local,
    pub habit: Habit,
    /// Takes no strangers any more.
    pub leaving: bool,
    pub socket: VecDeque<Vec<u8>>,
    pub socket_held: usize,
    /// When it polls next, if it has a reason to.
    pub poll_at: Option<Time>,
    /// The process is stopped until then.
    pub stopped_until: Time,
}

impl Host {
    pub fn new(place: usize, local: Local, config: &Config, seed: u64, habit: Habit) -> Host {
        Host {
            proto: Proto::new(local, config.clone(), seed),
            conns: Conns::default(),
            place,
            local,
            habit,
            leaving: false,
            socket: VecDeque::new(),
            socket_held: 0,
            poll_at: None,
            stopped_until: Time::ZERO,
        }
    }

    /// A packet comes to the socket; false if it is full.
    pub fn receive(&mut self, packet: Vec<u8>) -> bool {
        // A kernel charges a buffer for each packet, however small.
        let charge = packet.len() + 256;
        if self.socket_held + charge > self.habit.socket_bytes {
            return false;
        }
        self.socket_held += charge;
        self.socket.push_back(packet);
        true
    }

    pub fn take(&mut self) -> Option<Vec<u8>> {
        let packet = self.socket.pop_front()?;
        self.socket_held -= packet.len() + 256;
        Some(packet)
    }

    pub fn remote(&self) -> Remote {
        let Local { endpoint, incarnation, secret, .. } = self.local;
        Remote { endpoint, incarnation, secret }
    }
}

/// The address of an endpoint at a place.
pub(crate) fn local(place: usize, endpoint: u32, incarnation: u64, secret: [u64; 2]) -> Local {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&secret[0].to_le_bytes());
    bytes[8..].copy_from_slice(&secret[1].to_le_bytes());
    Local { endpoint, incarnation, secret: Secret(bytes), identity: identity(place), port: PORT }
}
