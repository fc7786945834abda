//! One path of a connection, that is one lane of one rail: its packet numbers, its estimates, its health.

use tasuki_tuning::rails;
use tasuki_wire::{Carriage, Lane, MIN_MTU, Path as PathId, Rail};

use crate::config::Config;
use crate::received::Received;
use crate::rtt::Rtt;
use crate::sent::SentQueue;
use crate::stats::{RailState, RailStats};
use crate::time::Time;
use crate::window::{Window, bytes_in, time_of};

/// Number of the routed fall-back rail, which carries data only while no other rail is up.
pub(crate) const LAST_RESORT: u8 = 31;

/// What is to be acknowledged of the packets received on this path, and when.
#[derive(Default)]
pub(crate) struct AckOwed {
    /// Something has arrived that has not been acknowledged yet.
    pub pending: bool,
    /// The acknowledgement is due now.
    pub now: bool,
    /// Count of the connection's packets with new content when the last one of this path arrived.
    pub content: u64,
    /// The acknowledgement is due at this time at the latest.
    pub at: Option<Time>,
    pub full: u32,
    pub small: u32,
    /// Number of packets in a row that had a ping.
    pub pings: u32,
    /// When the last full packet arrived.
    pub full_at: Time,
    /// When packets of this path were last acknowledged to the peer.
    pub acked_at: Time,
    /// When the packet with the highest number arrived.
    pub largest_at: Time,
    pub largest: u64,
    /// Paths on which the acknowledgement must still be sent, a bit per path: the peer has missed the last
    /// ones.
    pub everywhere: u32,
    /// Path on which acknowledgements are sent instead of this one, after the peer has missed some.
    pub via: Option<usize>,
}

/// This side's probes of the path.
#[derive(Default)]
pub(crate) struct Probe {
    /// The last probes without an answer: nonce, and time of sending. An answer may well arrive after the
    /// next probe has been sent.
    asked: [Option<(u64, Time)>; rails::PROBES_KEPT],
    sent_at: Time,
    /// A probe has been sent ahead of its time once, because the peer was heard.
    hurried: bool,
    pub attempts: u32,
    /// When to send the next probe.
    pub at: Option<Time>,
    pub due: bool,
}

impl Probe {
    /// A probe is being sent.
    pub fn asks(&mut self, nonce: u64, now: Time) {
        self.asked.rotate_right(1);
        self.asked[0] = Some((nonce, now));
        self.sent_at = now;
    }

    /// The peer was heard on the path, so it can probably be reached there: makes a probe due now, but only
    /// once before the planned time or an answer. If every probe of the peer led to a probe of this side,
    /// then on a path with a long round trip all answers would come when their probes are no longer
    /// remembered.
    pub fn probe_soon(&mut self, now: Time) {
        if !self.hurried && now.since_ns(self.sent_at) > rails::HURRY_AFTER {
            (self.due, self.hurried) = (true, true);
        }
    }

    /// The planned time of the next probe has come.
    pub fn comes_due(&mut self) {
        (self.due, self.hurried) = (true, false);
    }

    /// A reply has arrived: returns when its probe was sent, and forgets all other outstanding probes.
    pub fn answered(&mut self, nonce: u64) -> Option<Time> {
        let (_, sent_at) = self.asked.iter().flatten().find(|(asked, _)| *asked == nonce).copied()?;
        (self.asked, self.hurried) = ([None; rails::PROBES_KEPT], false);
        Some(sent_at)
    }
}

pub(crate) struct Path {
    pub id: PathId,
    pub state: RailState,
    /// The rail's rate is known to be so low that raw frames are the better lane for streams, too.
    pub slow: bool,
    /// Largest packet that the configuration of both ends allows, bytes.
    pub full_len: usize,
    /// Largest packet that is known to pass and may be used, bytes.
    pub proven_len: usize,
    /// Longest packet that has been received, bytes.
    pub heard_len: usize,
    pub sent: SentQueue,
    pub in_flight: u64,
    pub flights: u32,
    pub largest_acked: Option<u64>,
    pub loss_at: Option<Time>,
    pub pto_at: Option<Time>,
    pub last_sent: Time,
    /// When this end's NIC lost its carrier, as far as is known; `None` if it has one.
    pub carrier_lost_at: Option<Time>,
    /// Probe time-outs in a row (0 while the path answers), and when the first packet without an answer was
    /// sent.
    pub pto_streak: u32,
    pub pto_streak_since: Time,
    pub last_ack: Time,
    /// When this side looked again after it had been away: see [`Path::was_away`].
    pub back: Time,
    pub ping_due: bool,
    /// Lost packets, since the last one that arrived, that were longer than what every rail passes.
    pub long_lost: u32,
    /// Packet threshold of loss detection: grows when a packet that was declared lost proves to have been
    /// overtaken.
    pub threshold: u64,
    pub rtt: Rtt,
    pub window: Window,
    pub received: Received,
    pub owed: AckOwed,
    pub probe: Probe,
    /// Probes of the peer that are still to be answered: nonce and length.
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
            carrier_lost_at: None,
            pto_streak: 0,
            pto_streak_since: Time(0),
            last_ack: Time(0),
            back: Time(0),
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

    /// Up, and without a probe time-out since it was last heard.
    pub fn is_responsive(&self) -> bool {
        self.is_up() && self.pto_streak == 0
    }

    pub fn has_window(&self) -> bool {
        self.in_flight < self.window.size
    }

    /// Time until a packet of full size, sent now, would have arrived, ns: what is queued in the network
    /// before it, its own time on the wire, and half the smallest round trip, which is taken to be `base` ns.
    /// If the window is full, the wait for room in it is added.
    pub fn delivery_ns(&self, base: u64) -> u64 {
        let len = self.proven_len as u64;
        let rate = self.window.rate;
        let queued = self.in_flight.saturating_sub(bytes_in(rate, base));
        let eta = time_of(queued + len, rate) + base / 2;
        if self.has_window() {
            eta
        } else {
            eta + self.rtt.smoothed.saturating_mul(len) / self.window.size.max(1)
        }
    }

    /// Keeps what is needed to answer packets once nothing else is sent: the numbers of the packets.
    pub fn retire(&mut self) {
        self.sent.forget();
        (self.in_flight, self.flights, self.pto_streak) = (0, 0, 0);
        (self.loss_at, self.pto_at, self.ping_due) = (None, None, false);
        (self.owed, self.probe, self.replies) = (AckOwed::default(), Probe::default(), Vec::new());
    }

    /// Whether a greeting padded to the length of the peer's greeting is worth a try: if it arrives, it shows
    /// that the rail passes this length, and no probe is needed.
    pub fn may_ask_by_greeting(&self) -> bool {
        self.heard_len.min(self.full_len) > self.proven_len && self.long_lost == 0
    }

    /// A packet of this length has arrived at the peer, so the path passes it.
    pub fn passes(&mut self, len: usize) {
        self.proven_len = self.proven_len.max(len.min(self.full_len));
        if self.is_up() && self.proven_len == self.full_len {
            (self.probe.due, self.probe.at) = (false, None);
        }
    }

    /// Long packets do not seem to arrive: from now on only short ones are used, until a probe of full length
    /// is answered.
    pub fn doubt_length(&mut self) {
        self.long_lost = 0;
        self.proven_len = floor_len(self.id.lane).min(self.full_len);
        self.probe.due |= self.is_up();
    }

    /// Probe time-out, ns: doubled for every probe time-out in a row, and bounded by the configuration.
    pub fn pto_ns(&self, config: &Config, peer_delay_ns: u64) -> u64 {
        let base = self.rtt.pto_ns(config, peer_delay_ns);
        base.saturating_mul(1 << self.pto_streak.min(20)).min(crate::rtt::ns(config.max_pto))
    }

    /// Whether nobody has looked at the clock for another time-out of `pto` ns since the last one was due:
    /// this process was stopped, or its processor was taken away. Then the time-out proves nothing about
    /// packets, whose acknowledgements may wait in a socket or at a peer that was stopped as well, and the
    /// time that has passed is no round trip.
    pub fn was_away(&mut self, now: Time, pto: u64) -> bool {
        let is_away = self.pto_at.is_some_and(|due| due.after_ns(pto) < now);
        if is_away {
            self.back = now;
        }
        is_away
    }

    pub fn stats(&self) -> RailStats {
        let stats = &self.stats;
        RailStats {
            path: self.id,
            state: self.state,
            carrier: self.carrier_lost_at.is_none(),
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

/// Largest packet of a path whose end is `rail`, bytes.
pub(crate) fn packet_len(lane: Lane, rail: &Rail) -> usize {
    carriage(lane, rail).packet_len(rail.mtu)
}

/// Largest packet that every rail must pass, bytes.
pub(crate) fn floor_len(lane: Lane) -> usize {
    match lane {
        Lane::Raw | Lane::Xdp => Carriage::Ethernet.packet_len(MIN_MTU),
        Lane::Udp => Carriage::UdpV6.packet_len(MIN_MTU),
    }
}
