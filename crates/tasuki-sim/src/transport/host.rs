//! What an engine has besides the message layer: its connections, its socket, and the time at which it polls.

use std::collections::VecDeque;

use tasuki_proto::{Config, Local, Proto, Remote};
use tasuki_rate::Slow;
use tasuki_wire::Secret;

use super::network::{PORT, identity};
use super::upcalls::Conns;
use crate::kernel::Time;

/// How the process on a host polls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habit {
    /// Longest time that it lets packets and deadlines wait, ns.
    pub poll_ns: u64,
    /// Bytes that its socket holds until it polls.
    pub socket_bytes: usize,
    /// If set, the host takes packets out of the socket at a limited rate, and the socket holds exactly that
    /// many bytes of packets.
    pub drain: Option<Drain>,
}

/// The rate at which a slow host takes packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drain {
    pub slow: Slow,
    /// Rate when it is not slowed, bit/s.
    pub bps: u64,
}

pub(crate) struct Host {
    pub proto: Proto,
    pub conns: Conns,
    pub place: usize,
    pub local: Local,
    pub habit: Habit,
    /// The host refuses connections of nodes that it does not know.
    pub leaving: bool,
    /// Packets in the socket, and when each can be taken.
    pub socket: VecDeque<(Time, Vec<u8>)>,
    pub socket_held: usize,
    /// Number of packets that found no room in the socket.
    pub overflowed: u64,
    drained_at: Time,
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
            overflowed: 0,
            drained_at: Time::ZERO,
            poll_at: None,
            stopped_until: Time::ZERO,
        }
    }

    /// Puts a packet into the socket; returns false if it is full.
    pub fn receive(&mut self, now: Time, packet: Vec<u8>) -> bool {
        let charge = self.charge(&packet);
        if self.socket_held + charge > self.habit.socket_bytes {
            self.overflowed += 1;
            return false;
        }
        self.socket_held += charge;
        if let Some(Drain { slow, bps }) = self.habit.drain {
            let from = self.drained_at.max(now);
            self.drained_at = Time(slow.done_at(from.0, packet.len() as u64, bps));
        } else {
            self.drained_at = now;
        }
        self.socket.push_back((self.drained_at, packet));
        true
    }

    /// When the next packet can be taken.
    pub fn next_packet(&self) -> Option<Time> {
        self.socket.front().map(|(at, _)| *at)
    }

    /// Takes the next packet out of the socket, if it can be taken at `now`.
    pub fn take(&mut self, now: Time) -> Option<Vec<u8>> {
        let (_, packet) = self.socket.pop_front_if(|(at, _)| *at <= now)?;
        self.socket_held -= self.charge(&packet);
        Some(packet)
    }

    /// Bytes of the socket that a packet takes: a kernel charges a buffer for each packet, however small; the
    /// model of a slow receiver does not.
    fn charge(&self, packet: &[u8]) -> usize {
        packet.len() + if self.habit.drain.is_some() { 0 } else { 256 }
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
