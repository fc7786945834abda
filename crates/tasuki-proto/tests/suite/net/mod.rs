//! Two endpoints and the rails between them, in virtual time.

mod host;
mod link;
mod run;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use tasuki_proto::{Config, ConnId, Remote, Time};
use tasuki_random::Random;
use tasuki_wire::{Lane, Lanes, Path, Rail};

pub use host::{Host, PLANT, rail, secret};
pub use link::Link;

enum What {
    Arrive(usize, Vec<u8>),
    Timer(usize),
    /// The host sends what waits in its outbox.
    Flush(usize),
}

pub struct Net {
    pub now: u64,
    pub hosts: [Host; 2],
    /// (from, rail)
    pub links: HashMap<(usize, u8), Link>,
    pub rng: Random,
    pub rails: [Vec<Rail>; 2],
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    what: HashMap<u64, What>,
    serial: u64,
    buffer: Vec<u8>,
    /// Each host does not look at its packets until then.
    pub busy_until: [u64; 2],
    /// Number of the next packets of each host that are lost.
    pub eat: [u64; 2],
    /// Lanes that carry nothing from a host, on all rails.
    pub mute: Vec<(usize, Lane)>,
    /// Number of packets that each lane has carried from a host.
    pub carried: HashMap<(usize, Lane), u64>,
    /// Acknowledgements that come with messages are deferred, and never flushed explicitly.
    pub lazy: bool,
    /// If set, all datagrams that cross are recorded: (time, from, bytes).
    pub tap: Option<Vec<(u64, usize, Vec<u8>)>>,
}

impl Net {
    /// Rails with the given links, the same in both directions; the endpoints know the rates if `known`.
    pub fn new(seed: u64, links: &[Link], known: bool) -> Net {
        Net::with_mtu(seed, links, known, 1500, &Config::default())
    }

    pub fn with_mtu(seed: u64, links: &[Link], known: bool, mtu: u16, config: &Config) -> Net {
        Net::with_lanes(seed, links, known, mtu, config, Lanes::NONE.with(Lane::Udp))
    }

    /// Like [`Net::new`], and all rails have these lanes.
    pub fn with_lanes(
        seed: u64,
        links: &[Link],
        known: bool,
        mtu: u16,
        config: &Config,
        lanes: Lanes,
    ) -> Net {
        let list = |host: usize| -> Vec<Rail> {
            let number = |at: usize| if at == 31 { 31 } else { at as u8 };
            let rate = |link: &Link| if known { (link.rate / 1_000_000) as u32 } else { 0 };
            let rail = |(at, link)| Rail { lanes, ..rail(number(at), host, mtu, rate(link)) };
            links.iter().enumerate().map(rail).collect()
        };
        let rails = [list(0), list(1)];
        let mut map = HashMap::new();
        for (at, link) in links.iter().enumerate() {
            map.insert((0, at as u8), link.clone());
            map.insert((1, at as u8), link.clone());
        }
        let hosts = [Host::new(0, 100, config, &rails[0]), Host::new(1, 200, config, &rails[1])];
        let mut net = Net {
            now: 1_000_000,
            hosts,
            links: map,
            rng: Random::new(seed),
            rails,
            queue: BinaryHeap::new(),
            what: HashMap::new(),
            serial: 0,
            buffer: vec![0; 65536],
            busy_until: [0; 2],
            eat: [0; 2],
            mute: Vec::new(),
            carried: HashMap::new(),
            lazy: false,
            tap: None,
        };
        for host in 0..2 {
            let id = ConnId::clone(&net.connect(host));
            net.hosts[host].app.start_room = net.hosts[host].proto.start_room(id);
        }
        net
    }

    /// Connects a host to the present incarnation of the other one.
    pub fn connect(&mut self, host: usize) -> ConnId {
        let other = self.hosts[1 - host].local;
        let remote =
            Remote { endpoint: other.endpoint, incarnation: other.incarnation, secret: other.secret };
        let rails = self.rails[host].clone();
        let id = self.hosts[host].proto.connect(Time(self.now), remote, &rails).expect("room");
        self.hosts[host].conn = Some(id);
        id
    }

    /// The host's process dies and another one takes its place.
    pub fn restart(&mut self, host: usize, incarnation: u64, config: &Config) {
        self.hosts[host] = Host::new(host, incarnation, config, &self.rails[host]);
    }

    pub fn conn(&self, host: usize) -> ConnId {
        self.hosts[host].conn.expect("connected")
    }

    pub fn both(&mut self, rail: u8, change: impl Fn(&mut Link)) {
        for host in 0..2 {
            change(self.links.get_mut(&(host, rail)).expect("a rail"));
        }
    }

    pub fn send(&mut self, host: usize, len: u64) {
        self.hosts[host].app.send(len);
        self.send_inline(host);
        self.pump(host);
    }

    /// Two of three short messages take the fast path, if they can.
    fn send_inline(&mut self, host: usize) {
        let Host { proto, app, conn: Some(conn), packets, .. } = &mut self.hosts[host] else { return };
        if app.sent().is_multiple_of(3) || !proto.can_send_inline(*conn) {
            return;
        }
        let Some((start, bytes)) = app.take_start() else { return };
        let Some(sent) = proto.send_inline(Time(self.now), *conn, start, &bytes, &mut self.buffer) else {
            return;
        };
        *packets += 1;
        let bytes = self.buffer[..sent.len].to_vec();
        self.carry(host, sent.path, bytes);
    }

    /// Sends a message that may be coalesced with others: it waits until anything else happens at the host,
    /// or for at most 100 us.
    pub fn send_later(&mut self, host: usize, len: u64) {
        self.hosts[host].app.send(len);
        if !self.coalesce(host) {
            return self.pump(host);
        }
        let at = self.now + self.rng.below(100_000);
        self.schedule(at, What::Flush(host));
    }

    /// Coalesces the only waiting message, if it is short enough and no other one waits; returns whether it
    /// did.
    fn coalesce(&mut self, host: usize) -> bool {
        let Host { proto, app, conn: Some(conn), .. } = &mut self.hosts[host] else { return false };
        if !proto.can_coalesce(*conn, 20) {
            return false;
        }
        let Some((start, bytes)) = app.take_start() else { return false };
        proto.coalesce(*conn, start, &bytes);
        true
    }

    pub fn send_control(&mut self, host: usize) {
        self.hosts[host].app.send_control();
        self.pump(host);
    }

    pub fn send_bye(&mut self, host: usize) {
        self.hosts[host].app.send_bye();
        self.pump(host);
    }

    /// Tells a host, rightly or wrongly, that its NIC of a rail has a carrier or none.
    pub fn set_carrier(&mut self, host: usize, rail: u8, carrier: bool) {
        if let Some(id) = self.hosts[host].conn {
            self.hosts[host].proto.set_carrier(Time(self.now), id, rail, carrier);
        }
        self.flush(host);
    }

    /// A host doubts whether its peer lives, and probes it.
    pub fn probe_peer(&mut self, host: usize) {
        if let Some(id) = self.hosts[host].conn {
            self.hosts[host].proto.probe_peer(Time(self.now), id);
            self.flush(host);
        }
    }

    /// Number of packets that `host` has received from its peer.
    pub fn heard(&self, host: usize) -> u64 {
        let stats = self.hosts[host].proto.rail_stats(self.conn(host));
        stats.map(|stats| stats.received_packets).sum()
    }

    /// Wakes the connection and sends all that may be sent.
    pub fn pump(&mut self, host: usize) {
        if let Some(id) = self.hosts[host].conn {
            self.hosts[host].proto.wake(id);
        }
        self.flush(host);
    }

    fn schedule(&mut self, at: u64, what: What) {
        self.serial += 1;
        self.queue.push(Reverse((at, self.serial)));
        self.what.insert(self.serial, what);
    }

    pub fn flush(&mut self, from: usize) {
        loop {
            let host = &mut self.hosts[from];
            let now = Time(self.now);
            let Some(sent) = host.proto.poll_transmit(now, &mut self.buffer, &mut host.app) else { break };
            host.packets += 1;
            let bytes = self.buffer[..sent.len].to_vec();
            self.carry(from, sent.path, bytes);
        }
        while let Some(event) = self.hosts[from].proto.poll_event() {
            self.hosts[from].events.push(event);
        }
        let deadline = self.hosts[from].proto.deadline().map_or(u64::MAX, |at| at.0.max(self.now));
        if deadline < self.hosts[from].timer {
            self.hosts[from].timer = deadline;
            self.schedule(deadline, What::Timer(from));
        }
    }

    fn carry(&mut self, from: usize, path: Path, mut bytes: Vec<u8>) {
        if self.mute.contains(&(from, path.lane)) {
            return;
        }
        *self.carried.entry((from, path.lane)).or_default() += 1;
        if let Some(tap) = &mut self.tap {
            tap.push((self.now, from, bytes.clone()));
        }
        if self.eat[from] > 0 {
            self.eat[from] -= 1;
            return;
        }
        let rng = &mut self.rng;
        let Some(link) = self.links.get_mut(&(from, path.rail)) else { return };
        // Headers of IP and UDP, and Ethernet's with preamble and gap.
        let wire = bytes.len() as u64 + 28 + 38;
        let start = link.free_at.max(self.now);
        let waiting = (start - self.now) as u128 * link.rate as u128 / 8_000_000_000;
        if link.dead || bytes.len() > link.hole || rng.per_mille(link.loss) {
            return;
        }
        if waiting as u64 + wire > link.queue {
            link.overflow += 1;
            return;
        }
        link.free_at = start + wire * 8_000_000_000 / link.rate;
        link.bytes += wire;
        link.packets += 1;
        let mut arrival = link.free_at + link.delay_ns;
        if rng.per_mille(link.reorder) {
            arrival += rng.below(2_000_000);
        }
        if rng.per_mille(link.corrupt) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << rng.below(8);
        }
        let again = rng.per_mille(link.dup).then(|| arrival + rng.below(3_000_000));
        if let Some(again) = again {
            self.schedule(again, What::Arrive(1 - from, bytes.clone()));
        }
        self.schedule(arrival, What::Arrive(1 - from, bytes));
    }

    /// Hands a datagram to a host as if it had come over a cable.
    pub fn inject(&mut self, host: usize, bytes: &[u8]) -> Result<(), tasuki_wire::DropReason> {
        let result = {
            let host = &mut self.hosts[host];
            host.proto.handle_packet(Time(self.now), bytes, &mut host.app)
        };
        self.flush(host);
        result
    }
}
