//! Settings of the packet layer. The defaults are for LANs of 25 Mbit/s to 25 Gbit/s.

use std::time::Duration;

use tasuki_tuning::{ack, leaving, loss, pacing, packets, rails};
use tasuki_wire::JobKey;

/// Times and limits that hold for all connections of an endpoint.
#[derive(Clone, Debug)]
pub struct Config {
    /// Longest time that an acknowledgement waits for a packet to ride on, microseconds. A longer time saves
    /// packets when programs answer late; the peer adds it to its probe time-outs.
    pub max_ack_delay_us: u32,
    /// So many full packets are acknowledged at once, without waiting for a packet to ride on.
    pub ack_every: u32,
    /// Like `ack_every`, for small packets: more, because the messages of a program that exchanges them to
    /// and fro acknowledge each other.
    pub ack_every_small: u32,
    /// Shortest time between two acknowledgements of full packets: on fast rails two packets take a few
    /// microseconds, and an acknowledgement costs both sides as much as a packet.
    pub ack_spacing: Duration,
    /// Probe time-out before any round trip was measured; doubles with every hello.
    pub initial_pto: Duration,
    /// Shortest probe time-out: with a shorter one, hosts that were busy for a moment would look dead.
    pub min_pto: Duration,
    /// Longest probe time-out, however often it has doubled: it bounds the time for which a healed network
    /// stays idle.
    pub max_pto: Duration,
    /// A packet is lost when so many later ones have been acknowledged (RFC 9002, section 6.1.1).
    pub packet_threshold: u64,
    /// Probe time-outs in a row after which a rail is down if another one answers.
    pub dead_after: u32,
    /// Silence of all other rails after which the routed fall-back (rail 31) carries data.
    pub last_resort_after: Duration,
    /// Messages and other frames in both directions after which the rails of a connection, other than the one
    /// of the greeting, are probed; 0: at once. They are probed sooner if more than one packet's worth is to
    /// be sent, or if the rail in use falls silent. Most pairs of a large program's processes exchange no
    /// more than a few words, so probing all their rails would be wasted.
    pub prove_after: u64,
    /// First and shortest interval between probes of a rail; doubles up to `probe_max`.
    pub probe_min: Duration,
    /// Longest interval between probes of a rail that is down.
    pub probe_max: Duration,
    /// Initial congestion window of a path of unknown rate, bytes.
    pub initial_window: u64,
    /// Smallest congestion window, bytes.
    pub min_window: u64,
    /// Largest congestion window, bytes. This times the number of rails bounds the bytes in flight.
    pub max_window: u64,
    /// Lower bound of the bytes that a path should have queued in the network, so that it never runs dry.
    pub queue_low: u64,
    /// Upper bound of the bytes that a path should have queued in the network: less than the queues of small
    /// switches (64 KiB per port and more).
    pub queue_high: u64,
    /// The upper bound `queue_high` as a time at the path's rate, for fast rails, and half of it for
    /// `queue_low`; the larger of the two bounds, bytes or time, counts.
    pub queue_time: Duration,
    /// A packet stays on the rail of the packet before it if another rail would deliver it earlier by less
    /// than this, so that batches stay together.
    pub stripe_slack: Duration,
    /// On a rail with a raw lane and a UDP lane, data goes over UDP if more than this waits, bytes, because
    /// the kernel takes and gives datagrams in batches; everything shorter goes over the raw lane.
    pub stream_from: u64,
    /// On rails of at most this rate, Mbit/s, streams go over the raw lane too: processors have time for
    /// single frames there, and their headers, 28 bytes shorter, save time on the wire.
    pub slow_mbps: u32,
    /// Most bytes of data for which the layer above is asked at once.
    pub chunk: usize,
    /// Most gaps in the received positions of a connection (16 bytes of memory each); packets that would make
    /// more are refused.
    pub max_gaps: usize,
    /// Most connections, up to 65535; further hellos are refused.
    pub max_connections: usize,
    /// Longest time that a connection stays in the closing state and answers its peer.
    pub closing_timeout: Duration,
    /// So often it begins anew while something that this side has sent is not acknowledged.
    pub closing_rounds: u32,
    /// The key of the job, if packets carry keyed tags: all packets that are sent have one, and packets
    /// without the right one are dropped.
    pub job_key: Option<JobKey>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            max_ack_delay_us: ack::DELAY_MAX_US,
            ack_every: ack::EVERY,
            ack_every_small: ack::EVERY_SMALL,
            ack_spacing: ack::SPACING,
            initial_pto: loss::PTO_INITIAL,
            min_pto: loss::PTO_MIN,
            max_pto: loss::PTO_MAX,
            packet_threshold: loss::PACKET_THRESHOLD,
            dead_after: rails::DEAD_AFTER,
            last_resort_after: rails::LAST_RESORT_AFTER,
            prove_after: rails::PROVE_AFTER,
            probe_min: rails::PROBE_MIN,
            probe_max: rails::PROBE_MAX,
            initial_window: pacing::WINDOW_INITIAL,
            min_window: pacing::WINDOW_MIN,
            max_window: pacing::WINDOW_MAX,
            queue_low: pacing::QUEUE_LOW,
            queue_high: pacing::QUEUE_HIGH,
            queue_time: pacing::QUEUE_TIME,
            stripe_slack: rails::STRIPE_SLACK,
            stream_from: rails::STREAM_FROM,
            slow_mbps: rails::SLOW_MBPS,
            chunk: packets::CHUNK,
            max_gaps: packets::GAPS_MAX,
            max_connections: packets::CONNECTIONS_MAX,
            closing_timeout: leaving::CLOSING_MAX,
            closing_rounds: leaving::CLOSING_ROUNDS,
            job_key: None,
        }
    }
}

impl Config {
    /// These settings with raw lanes for messages shorter than 3 KiB alone, for networks whose switches send
    /// tagged raw frames before all others. What is granted, or takes several packets, is not overtaken then
    /// by packets of its own path, because the raw lane of a rail has packet numbers of its own.
    pub fn raw_for_short_only(self) -> Config {
        Config { stream_from: rails::STREAM_FROM_PRIORITY, slow_mbps: 0, ..self }
    }
}
