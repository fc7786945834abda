//! Knobs. The defaults are for LANs of 25 Mbit/s to 25 Gbit/s.

use std::time::Duration;

/// Times and bounds of all connections of an endpoint.
#[derive(Clone, Debug)]
pub struct Config {
    /// Longest time that an acknowledgement waits for a packet to ride on. Longer spares packets when programs answer
    /// late; the peer adds it to its time-outs. Microseconds.
    pub max_ack_delay_us: u32,
    /// Full packets that are acknowledged at once when so many have come.
    pub ack_every: u32,
    /// The same for small packets: the messages of a program that talks to and fro acknowledge each other.
    pub ack_every_small: u32,
    /// Full packets are acknowledged no sooner than this after the last acknowledgement: on fast rails two packets are a few microseconds, and
    /// an acknowledgement costs both sides as much as a packet.
    pub ack_spacing: Duration,
    /// Time-out before anything has been measured; doubles with every hello.
    pub initial_pto: Duration,
    /// Shortest probe time-out: below it hosts that were busy for a moment look dead.
    pub min_pto: Duration,
    /// Longest probe time-out, however often it has doubled: bounds the time that a healed network stays idle.
    pub max_pto: Duration,
    /// A packet is lost when so many later ones were acknowledged (RFC 9002, 6.1.1).
    pub packet_threshold: u64,
    /// Probe time-outs in a row after which a rail is dead if another one is alive.
    pub dead_after: u32,
    /// Silence of all other rails after which the routed fall-back (rail 31) carries data.
    pub last_resort_after: Duration,
    /// The rails of a connection other than that of the greeting are asked whether they work after so many messages and other frames in both directions; sooner if
    /// more than one packet's worth is to be sent, or the one that is used falls silent. Most pairs of a large program's processes say no more to each
    /// other than a few words. 0: at once.
    pub prove_after: u64,
    /// First and shortest interval between probes of a rail; doubles up to `probe_max`.
    pub probe_min: Duration,
    /// Longest interval between probes of a rail that is down.
    pub probe_max: Duration,
    /// Bytes that may be under way on a path of unknown rate before it was measured.
    pub initial_window: u64,
    /// Smallest congestion window, bytes.
    pub min_window: u64,
    /// Largest congestion window, bytes. Times the number of rails it bounds what is under way.
    pub max_window: u64,
    /// A path should have at least so many bytes queued in the network: it never runs dry.
    pub queue_low: u64,
    /// And at most so many: below the queues of small switches (64 KiB per port and more).
    pub queue_high: u64,
    /// The same two bounds as times, for fast rails; the larger of the two counts.
    pub queue_time: Duration,
    /// A packet stays on the rail of the one before it if another would deliver it earlier by less than this: keeps
    /// batches together.
    pub stripe_slack: Duration,
    /// On a rail with a raw lane and a UDP lane: what has more bytes than this waiting goes over UDP, whose packets the kernel takes and
    /// gives in batches; everything shorter goes raw.
    pub stream_from: u64,
    /// Not so on rails of at most this rate, Mbit/s: there processors have time for raw frames, whose headers are 28 bytes shorter, and the wire has not.
    pub slow_mbps: u32,
    /// Most bytes of data that are asked of the layer above at once.
    pub chunk: usize,
    /// Most gaps in the positions received, per connection (16 bytes each): more are refused.
    pub max_gaps: usize,
    /// Most connections, at most 65535; further hellos are refused.
    pub max_connections: usize,
    /// How long a closed connection answers, at most.
    pub closing_timeout: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            max_ack_delay_us: 200,
            ack_every: 2,
            ack_every_small: 8,
            ack_spacing: Duration::from_micros(20),
            initial_pto: Duration::from_millis(20),
            min_pto: Duration::from_millis(2),
            max_pto: Duration::from_millis(300),
            packet_threshold: 3,
            dead_after: 3,
            last_resort_after: Duration::from_millis(50),
            prove_after: 16,
            probe_min: Duration::from_millis(10),
            probe_max: Duration::from_millis(500),
            initial_window: 64 << 10,
            min_window: 8 << 10,
            max_window: 4 << 20,
            queue_low: 12 << 10,
            queue_high: 28 << 10,
            queue_time: Duration::from_micros(200),
            stripe_slack: Duration::from_micros(20),
            stream_from: 10 << 10,
            slow_mbps: 200,
            chunk: 32 << 10,
            max_gaps: 8192,
            max_connections: 65535,
            closing_timeout: Duration::from_secs(2),
        }
    }
}

impl Config {
    /// Raw lanes carry only what is shorter than 3 KiB: for frames that switches send before others. Of what goes in grants and
    /// in several packets nothing overtakes anything then, and the raw lane of a rail has packet numbers of its own.
    pub fn raw_for_short_only(self) -> Config {
        Config { stream_from: 3 << 10, slow_mbps: 0, ..self }
    }
}
