//! A network and its tables as flat arrays, in which the simulation looks up every hop.

use tasuki_topo::{ChannelId, HostId, Network, NodeId, Port, Tables, TurnRule};

use super::{FabricError, Room, Settings, Switching};

/// Stands for no channel.
pub(super) const NONE: u32 = u32::MAX;
/// Codes of the turn rules that do not set a virtual channel.
const KEEP: u8 = 255;
const RAISE: u8 = 254;
/// Most virtual channels; higher codes are turn rules.
pub(super) const VCS_MAX: u8 = 254;

/// A channel.
#[derive(Clone, Copy)]
pub(super) struct Line {
    /// Picoseconds per byte, times 2^20.
    pub rate: u64,
    /// Time from the departure of a packet's head until it can leave the node at the end, without what it
    /// must wait for, ps.
    pub ahead: u64,
    /// Row of the node at the end in the tables, for packets that do not end there.
    pub row: u32,
    /// The host at the end.
    pub host: u32,
    /// Whether the node at the end waits for a packet's tail before it passes it on.
    pub stores: bool,
    /// Whether there is a limited buffer at the end.
    pub limited: bool,
    /// Index of the first turn rule from this channel; `NONE` if all turns keep the virtual channel.
    turns: u32,
    /// Port of the node at its beginning.
    port: u16,
}

impl Line {
    /// Time that `bytes` take to pass, ps.
    #[inline]
    pub fn takes(&self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.rate + (1 << 19)) >> 20
    }
}

/// The whole network.
pub(super) struct Plan {
    pub lines: Vec<Line>,
    pub hosts: usize,
    /// Number of virtual channels.
    pub vcs: usize,
    /// The lanes of a channel, that is its virtual channels, are numbered consecutively; their number as a
    /// power of two.
    pub lane_bits: u32,
    /// Mask of the virtual channel in the number of a lane.
    vc_mask: u32,
    rows: usize,
    /// `[host * rows + row]`: the next channel towards the host.
    next: Vec<u32>,
    turns: Vec<u8>,
    /// `[from * hosts + to]`: the first lane; `NONE` if there is no route.
    starts: Vec<u32>,
}

impl Plan {
    pub fn new(net: &Network, tables: &Tables, settings: &Settings) -> Result<Plan, FabricError> {
        if tables.vcs() > VCS_MAX {
            return Err(FabricError::TooManyChannels { vcs: tables.vcs() });
        }
        let hosts = net.hosts().len();
        if tables.hosts() != hosts {
            return Err(FabricError::OtherTables { tables: tables.hosts(), hosts });
        }
        let lane_bits = usize::from(tables.vcs().max(1)).next_power_of_two().trailing_zeros();
        let mut plan = Plan {
            lines: Vec::with_capacity(net.channels()),
            hosts,
            vcs: usize::from(tables.vcs().max(1)),
            lane_bits,
            vc_mask: (1 << lane_bits) - 1,
            rows: tables.rows(),
            next: vec![NONE; hosts * tables.rows()],
            turns: Vec::new(),
            starts: Vec::with_capacity(hosts * hosts),
        };
        for channel in (0..net.channels() as u32).map(ChannelId) {
            let line = plan.line(net, tables, settings, channel);
            plan.lines.push(line);
        }
        plan.fill_next(net, tables);
        plan.fill_starts(net, tables)?;
        Ok(plan)
    }

    fn line(&mut self, net: &Network, tables: &Tables, settings: &Settings, channel: ChannelId) -> Line {
        let end = net.to(channel);
        let forwards = net.forwards(end);
        let host = net.host_of(end).map_or(NONE, |host| host.0);
        let relays = forwards && host != NONE;
        let node_ps = if relays { settings.relay_ps } else { settings.switch_ps };
        Line {
            rate: (8_000_000_000_000u128 * (1 << 20) / u128::from(net.rate_bps(channel).max(1))) as u64,
            ahead: settings.cable_ps + if forwards { node_ps } else { 0 },
            row: tables.row(end).filter(|_| forwards).map_or(NONE, |row| row as u32),
            host,
            stores: relays || settings.switching == Switching::StoreAndForward,
            limited: forwards && matches!(settings.room, Room::Lossless { .. }),
            turns: self.turns_from(net, tables, channel, end),
            port: net.out_port(channel).0,
        }
    }

    /// Adds the turn rules for packets that arrive over a channel, if any of them changes the virtual
    /// channel; returns the index of the first.
    fn turns_from(&mut self, net: &Network, tables: &Tables, channel: ChannelId, node: NodeId) -> u32 {
        let Some(row) = tables.row(node) else { return NONE };
        let rules = (0..net.ports(node) as u16).map(|out| tables.turn(row, net.in_port(channel), Port(out)));
        let rules: Vec<u8> = rules
            .map(|rule| match rule {
                TurnRule::Keep => KEEP,
                TurnRule::Raise => RAISE,
                TurnRule::Set(vc) => vc,
            })
            .collect();
        if rules.iter().all(|&rule| rule == KEEP) {
            return NONE;
        }
        let first = self.turns.len() as u32;
        self.turns.extend(rules);
        first
    }

    fn fill_next(&mut self, net: &Network, tables: &Tables) {
        for node in (0..net.nodes().len() as u32).map(NodeId) {
            let Some(row) = tables.row(node) else { continue };
            for to in 0..self.hosts {
                let port = tables.port(row, HostId(to as u32));
                let channel = port.and_then(|port| net.channel_at(node, port));
                self.next[to * self.rows + row] = channel.map_or(NONE, |channel| channel.0);
            }
        }
    }

    fn fill_starts(&mut self, net: &Network, tables: &Tables) -> Result<(), FabricError> {
        for (from, &node) in net.hosts().iter().enumerate() {
            let own = tables.row(node);
            let only = net.out(node).next();
            for to in 0..self.hosts {
                let channel = match own {
                    Some(row) => self.next[to * self.rows + row],
                    None => only.map_or(NONE, |channel| channel.0),
                };
                let channel = if from == to { NONE } else { channel };
                let entry = own.or_else(|| only.and_then(|channel| tables.row(net.to(channel))));
                let start = (channel, tables.start(entry, HostId(to as u32)));
                if channel != NONE {
                    self.check(net, from, to, start)?;
                }
                self.starts.push(if channel == NONE { NONE } else { self.lane(start) });
            }
        }
        Ok(())
    }

    /// Checks that a packet reaches its destination.
    fn check(&self, net: &Network, from: usize, to: usize, start: (u32, u8)) -> Result<(), FabricError> {
        let name = |host: usize| net.label(net.hosts()[host]).to_owned();
        let (mut channel, mut vc) = start;
        for _ in 0..=net.nodes().len() {
            if usize::from(vc) >= self.vcs {
                let vcs = self.vcs;
                return Err(FabricError::ChannelExceeded { from: name(from), to: name(to), vc, vcs });
            }
            if self.lines[channel as usize].host == to as u32 {
                return Ok(());
            }
            (channel, vc) = self.onward(channel, vc, to as u32);
            if channel == NONE {
                break;
            }
        }
        Err(FabricError::NoWay { from: name(from), to: name(to) })
    }

    /// Number of a lane: a virtual channel of a channel.
    #[inline]
    pub fn lane(&self, (channel, vc): (u32, u8)) -> u32 {
        (channel << self.lane_bits) + u32::from(vc)
    }

    /// The channel of a lane.
    #[inline]
    pub fn channel(&self, lane: u32) -> usize {
        (lane >> self.lane_bits) as usize
    }

    /// The virtual channel of a lane.
    #[inline]
    pub fn vc(&self, lane: u32) -> u8 {
        (lane & self.vc_mask) as u8
    }

    /// The first lane from a host to another; `NONE` if there is no route.
    #[inline]
    pub fn start(&self, from: u32, to: u32) -> u32 {
        self.starts[from as usize * self.hosts + to as usize]
    }

    /// Channel and virtual channel after one that does not end at the destination; `NONE` if there is no such
    /// channel.
    pub fn onward(&self, channel: u32, vc: u8, to: u32) -> (u32, u8) {
        let line = &self.lines[channel as usize];
        if line.row == NONE {
            return (NONE, 0);
        }
        let out = self.out(line, to);
        (out, if out == NONE { vc } else { self.turn(line, out, vc) })
    }

    /// The lane that follows a lane of this line, for a packet that does not end there. It exists, as was
    /// checked before.
    #[inline]
    pub fn onto(&self, line: &Line, lane: u32, to: u32) -> u32 {
        let (out, vc) = (self.out(line, to), lane & self.vc_mask);
        if line.turns == NONE {
            return (out << self.lane_bits) + vc;
        }
        self.lane((out, self.turn(line, out, vc as u8)))
    }

    /// The channel by which packets to `to` leave the node at the end of a line.
    #[inline]
    fn out(&self, line: &Line, to: u32) -> u32 {
        self.next[to as usize * self.rows + line.row as usize]
    }

    /// The virtual channel that a packet has after it turned from a line into the channel after it.
    #[inline]
    fn turn(&self, line: &Line, out: u32, vc: u8) -> u8 {
        if line.turns == NONE {
            return vc;
        }
        let port = self.lines[out as usize].port;
        match self.turns[line.turns as usize + usize::from(port)] {
            KEEP => vc,
            RAISE => vc.saturating_add(1),
            set => set,
        }
    }
}
