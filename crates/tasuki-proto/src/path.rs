//! One path of a connection: its packet numbers, its estimates, its health.

use tasuki_wire::{Carriage, Lane, MIN_MTU, Path as PathId, Rail};

use crate::config::Config;
use crate::received::Received;
use crate::rtt::Rtt;
use crate::sent::SentQueue;
use crate::stats::{RailState, RailStats};
use crate::time::Time;
use crate::window::{Window, bytes_in, time_of};

/// The routed fall-back: used for data only while no other rail lives.
pub(crate) const LAST_RESORT: u8 = 31;
/// Replies that one path owes at most: more probes than that at once are nobody's honest need.
pub(crate) const MAX_REPLIES: usize = 4;

/// What acknowledgement is owed for packets of this path.
#[derive(Default)]
pub(crate) struct AckOwed {
    /// Something has come that was not acknowledged yet.
    pub pending: bool,
    /// Do not wait any longer.
    pub now: bool,
    /// Wait until then.
    pub at: Option<Time>,
    pub full: u32,
    pub small: u32,
    /// Packets with a ping in a row.
    pub pings: u32,
    /// When the last full packet came.
    pub full_at: Time,
    /// When packets of this path were last acknowledged.
    pub told_at: Time,
    /// Arrival of the highest number.
    pub largest_at: Time,
    pub largest: u64,
    /// Send it on every living path: the peer has missed the last ones. A bit per path.
    pub everywhere: u32,
    /// Path by which it went well to answer, if not this one.
    pub via: Option<usize>,
}

/// Our questions whether the path works.
#[derive(Default)]
pub(crate) struct Probe {
    /// The last ones without an answer, and when they were sent: an answer may well come after the next question.
    asked: [Option<(u64, Time)>; REMEMBERED],
    sent_at: Time,
    /// It was asked before its time once, because the peer was heard.
    hurried: bool,
    pub attempts: u32,
    /// When to ask (again).
    pub at: Option<Time>,
    pub due: bool,
}

/// Probes that can be answered late.
const REMEMBERED: usize = 8;

/// So long after a question the next one may go because the peer was heard, ns.
const HURRY_AFTER: u64 = 5_000_000;

impl Probe {
    /// A probe leaves.
    pub fn asks(&mut self, nonce: u64, now: Time) {
        self.asked.rotate_right(1);
        self.asked[0] = Some((nonce, now));
        self.sent_at = now;
    }

    /// The peer is heard: whoever is heard can probably be reached, so ask now, but once only before the time comes or an
    /// answer. If every question that arrives led to one, on a long way all answers would come too late to be known.
    pub fn hurry(&mut self, now: Time) {
        if !self.hurried && now.since_ns(self.sent_at) > HURRY_AFTER {
            (self.due, self.hurried) = (true, true);
        }
    }

    /// It is time.
    pub fn comes_due(&mut self) {
        (self.due, self.hurried) = (true, false);
    }

    /// A reply has come: when was its probe sent? All others are forgotten with it.
    pub fn answered(&mut self, nonce: u64) -> Option<Time> {
        let (_, sent_at) = self.asked.iter().flatten().find(|(asked, _)| *asked == nonce).copied()?;
        (self.asked, self.hurried) = ([None; REMEMBERED], false);
        Some(sent_at)
    }
}

pub(crate) struct Path {
    pub id: PathId,
    pub state: RailState,
    /// Its rate is known to be so low that raw frames are the better lane for streams too.
    pub slow: bool,
    /// Largest packet by configuration of both ends, bytes.
    pub full_len: usize,
    /// Largest packet that may be used, bytes.
    pub proven_len: usize,
    /// Longest packet that has come.
    pub heard_len: usize,
    pub sent: SentQueue,
    pub in_flight: u64,
    pub flights: u32,
    pub largest_acked: Option<u64>,
    pub loss_at: Option<Time>,
    pub pto_at: Option<Time>,
    pub last_sent: Time,
    /// The NIC of this end has had no carrier since then, as far as is known.
    pub cut: Option<Time>,
    /// Probe time-outs in a row, and when the first packet of that silence was sent.
    pub pto_streak: u32,
    pub pto_streak_since: Time,
    pub last_ack: Time,
    pub ping_due: bool,
    /// Packets longer than every rail must pass that were lost since the last one that was not.
    pub long_lost: u32,
    /// Reordering on the path has shown that a packet may be overtaken by so many.
    pub threshold: u64,
    pub rtt: Rtt,
    pub window: Window,
    pub received: Received,
    pub owed: AckOwed,
    pub probe: Probe,
    /// Probes of the peer to be answered: nonce, length.
    pub replies: Vec<(u64, u16)>,
    pub stats: PathStats,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct PathStats {
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub received_packets: u64,
    pub received_bytes: u64,
    pub resent_bytes: u64,
    pub lost_packets: u64,
    pub spurious_losses: u64,
    pub ptos: u64,
}

impl Path {
    pub fn new(id: PathId, config: &Config, rate_mbps: u32) -> Path {
        Path {
            id,
            state: RailState::Off,
            slow: false,
            full_len: floor_len(id.lane),
            proven_len: floor_len(id.lane),
            heard_len: 0,
            sent: SentQueue::default(),
            in_flight: 0,
            flights: 0,
            largest_acked: None,
            loss_at: None,
            pto_at: None,
            last_sent: Time(0),
            cut: None,
            pto_streak: 0,
            pto_streak_since: Time(0),
            last_ack: Time(0),
            ping_due: false,
            long_lost: 0,
            threshold: config.packet_threshold,
            rtt: Rtt::default(),
            window: Window::new(config, rate_mbps),
            received: Received::default(),
            owed: AckOwed::default(),
            probe: Probe::default(),
            replies: Vec::new(),
            stats: PathStats::default(),
        }
    }

    pub fn is_up(&self) -> bool {
        self.state == RailState::Up
    }

    /// Up, and has answered when it was last asked.
    pub fn is_lively(&self) -> bool {
        self.is_up() && self.pto_streak == 0
    }

    pub fn has_window(&self) -> bool {
        self.in_flight < self.window.size
    }

    /// Time from now until a packet of full size would have arrived, ns: what waits in the network, its own time on
    /// the wire, the way. If the window is full, also the wait for a place in it.
    pub fn delivery_ns(&self) -> u64 {
        let len = self.proven_len as u64;
        let (rate, base) = (self.window.rate, self.rtt.min);
        let queued = self.in_flight.saturating_sub(bytes_in(rate, base));
        let eta = time_of(queued + len, rate) + base / 2;
        if self.has_window() {
            eta
        } else {
            eta + self.rtt.smoothed.saturating_mul(len) / self.window.size.max(1)
        }
    }

    /// A greeting as long as the one that has come is worth a try, and spares a question: what length the rail passes.
    pub fn may_ask_by_greeting(&self) -> bool {
        self.heard_len.min(self.full_len) > self.proven_len && self.long_lost == 0
    }

    /// A packet of this length has got there.
    pub fn passes(&mut self, len: usize) {
        self.proven_len = self.proven_len.max(len.min(self.full_len));
        if self.is_up() && self.proven_len == self.full_len {
            (self.probe.due, self.probe.at) = (false, None);
        }
    }

    /// Long packets do not seem to arrive: short ones from now on, until a probe proves the opposite.
    pub fn doubt_length(&mut self) {
        self.long_lost = 0;
        self.proven_len = floor_len(self.id.lane).min(self.full_len);
        self.probe.due |= self.is_up();
    }

    /// Shortest wait before the path is asked for a sign of life, doubled for every time that it has not answered.
    pub fn pto_ns(&self, config: &Config, peer_delay_ns: u64) -> u64 {
        let base = self.rtt.pto_ns(config, peer_delay_ns);
        base.saturating_mul(1 << self.pto_streak.min(20)).min(crate::rtt::ns(config.max_pto))
    }

    pub fn stats(&self) -> RailStats {
        let stats = &self.stats;
        RailStats {
            path: self.id,
            state: self.state,
            carrier: self.cut.is_none(),
            sent_packets: stats.sent_packets,
            sent_bytes: stats.sent_bytes,
            received_packets: stats.received_packets,
            received_bytes: stats.received_bytes,
            resent_bytes: stats.resent_bytes,
            lost_packets: stats.lost_packets,
            spurious_losses: stats.spurious_losses,
            pto_count: stats.ptos,
            srtt_ns: self.rtt.smoothed,
            min_rtt_ns: self.rtt.min,
            rate: self.window.rate,
            window: self.window.size,
            in_flight: self.in_flight,
            packet_len: self.proven_len,
        }
    }
}

fn carriage(lane: Lane, rail: &Rail) -> Carriage {
    match lane {
        Lane::Raw | Lane::Xdp => Carriage::Ethernet,
        Lane::Udp if rail.address.to_ipv4_mapped().is_some() => Carriage::UdpV4,
        Lane::Udp => Carriage::UdpV6,
    }
}

/// Largest packet of a path whose end is `rail`.
pub(crate) fn packet_len(lane: Lane, rail: &Rail) -> usize {
    carriage(lane, rail).packet_len(rail.mtu)
}

/// What passes every rail.
pub(crate) fn floor_len(lane: Lane) -> usize {
    match lane {
        Lane::Raw | Lane::Xdp => Carriage::Ethernet.packet_len(MIN_MTU),
        Lane::Udp => Carriage::UdpV6.packet_len(MIN_MTU),
    }
}
