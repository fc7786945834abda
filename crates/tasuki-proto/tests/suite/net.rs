//! Two endpoints and the rails between them, in virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::{Ipv4Addr, Ipv6Addr};

use tasuki_proto::{Config, ConnId, Event, Local, Proto, Remote, Time};
use tasuki_wire::{Lane, Lanes, Path, Rail, Secret};

use crate::app::App;
use tasuki_random::Random;

/// One direction of a rail.
#[derive(Clone, Debug)]
pub struct Link {
    /// Bits per second.
    pub rate: u64,
    pub delay_ns: u64,
    /// Capacity of the queue, bytes.
    pub queue: u64,
    /// Loss, per mille.
    pub loss: u64,
    pub dup: u64,
    pub reorder: u64,
    pub corrupt: u64,
    pub dead: bool,
    /// Longer datagrams are lost.
    pub hole: usize,
    pub bytes: u64,
    pub packets: u64,
    pub overflow: u64,
    free_at: u64,
}

impl Link {
    pub fn new(mbps: u64, delay_us: u64, queue_kib: u64) -> Link {
        Link {
            rate: mbps * 1_000_000,
            delay_ns: delay_us * 1000,
            queue: queue_kib << 10,
            loss: 0,
            dup: 0,
            reorder: 0,
            corrupt: 0,
            dead: false,
            hole: usize::MAX,
            bytes: 0,
            packets: 0,
            overflow: 0,
            free_at: 0,
        }
    }
}

thread_local! {
    /// The defect that is planted in all endpoints made in this thread.
    pub static PLANT: std::cell::Cell<Option<tasuki_proto::Defect>> = const { std::cell::Cell::new(None) };
}

pub struct Host {
    pub proto: Proto,
    pub app: App,
    pub conn: Option<ConnId>,
    pub events: Vec<Event>,
    pub packets: u64,
    timer: u64,
    local: Local,
}

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

pub fn rail(number: u8, host: usize, mtu: u16, rate_mbps: u32) -> Rail {
    let address = Ipv4Addr::new(10, number, 0, 1 + host as u8).to_ipv6_mapped();
    let lanes = Lanes::NONE.with(Lane::Udp);
    Rail { rail: number, lanes, mtu, rate_mbps, address, port: 4000, mac: [0; 6] }
}

/// A different secret for each incarnation.
pub fn secret(host: usize, incarnation: u64) -> Secret {
    let mut secret = [host as u8 + 1; 16];
    secret[3] = incarnation as u8;
    secret[11] = incarnation as u8;
    Secret(secret)
}

fn local(host: usize, incarnation: u64) -> Local {
    Local {
        endpoint: 10 + host as u32,
        incarnation,
        secret: secret(host, incarnation),
        identity: Ipv6Addr::LOCALHOST,
        port: 4000,
    }
}

impl Host {
    fn new(host: usize, incarnation: u64, config: &Config, rails: &[Rail]) -> Host {
        let local = local(host, incarnation);
        let mut proto = Proto::new(local, config.clone(), incarnation);
        proto.plant(PLANT.get());
        Host {
            proto,
            app: App::new(rails),
            conn: None,
            events: Vec::new(),
            packets: 0,
            timer: u64::MAX,
            local,
        }
    }
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
        let id = self.hosts[host].proto.connect(Time(self.now), remote, &rails);
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

    /// Handles the next event; returns false if there is none.
    pub fn step(&mut self) -> bool {
        let Some(Reverse((at, serial))) = self.queue.pop() else { return false };
        self.now = self.now.max(at);
        let what = self.what.remove(&serial);
        if let Some(What::Arrive(host, _) | What::Timer(host)) = &what
            && self.busy_until[*host] > self.now
        {
            let until = self.busy_until[*host];
            if let Some(What::Timer(host)) = &what
                && self.hosts[*host].timer == at
            {
                self.hosts[*host].timer = until;
            }
            self.schedule(until, what.expect("just seen"));
            return true;
        }
        match what {
            Some(What::Arrive(host, bytes)) => {
                let there = &mut self.hosts[host];
                // Dropped packets are counted by the endpoint.
                let _ = match self.lazy {
                    true => there.proto.handle_packet_deferring_ack(Time(self.now), &bytes, &mut there.app),
                    false => there.proto.handle_packet(Time(self.now), &bytes, &mut there.app),
                };
                if there.conn.is_none() || self.hosts[host].app.accepted.len() == 1 {
                    let other = self.hosts[1 - host].local;
                    let found = self.hosts[host].proto.find(other.endpoint, other.incarnation);
                    self.hosts[host].conn = found.or(self.hosts[host].conn);
                }
                self.flush(host);
            }
            Some(What::Timer(host)) if at == self.hosts[host].timer => {
                self.hosts[host].timer = u64::MAX;
                self.hosts[host].proto.handle_timeout(Time(self.now));
                self.flush(host);
            }
            Some(What::Flush(host)) => self.flush(host),
            Some(What::Timer(_)) => {}
            None => {}
        }
        true
    }

    /// Runs for a time.
    pub fn run_us(&mut self, us: u64) {
        let end = self.now + us * 1000;
        while self.queue.peek().is_some_and(|Reverse((at, _))| *at <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Runs until `done`; panics after `ms` of virtual time.
    pub fn run_until(&mut self, ms: u64, what: &str, done: impl Fn(&Net) -> bool) {
        let end = self.now + ms * 1_000_000;
        while !done(self) {
            self.check();
            assert!(self.step() && self.now < end, "not within {ms} ms: {what}\n{}", self.describe());
        }
        self.check();
    }

    /// Runs until all that was sent has been received, and everything is released and drained.
    pub fn settle(&mut self, ms: u64) {
        self.run_until(ms, "all delivered and drained", |net| {
            (0..2).all(|host| {
                let (here, there) = (&net.hosts[host], &net.hosts[1 - host]);
                let all = there.app.messages == here.app.sent();
                let controls = there.app.control_count == here.app.sent_controls();
                let drained = here.conn.is_none_or(|id| here.proto.is_drained(id));
                all && controls && here.app.unreleased() == 0 && drained
            })
        });
    }

    pub fn check(&self) {
        for (at, host) in self.hosts.iter().enumerate() {
            if let Some(fault) = &host.app.fault {
                panic!("host {at}: {fault}\n{}", self.describe());
            }
        }
    }

    pub fn describe(&self) -> String {
        let mut text = format!("at {} us\n", self.now / 1000);
        for (at, host) in self.hosts.iter().enumerate() {
            text += &format!(
                "host {at}: sent {} got {} controls {}/{} unreleased {} events {:?}\n",
                host.app.sent(),
                host.app.messages,
                host.app.sent_controls(),
                host.app.control_count,
                host.app.unreleased(),
                host.events
            );
            if let Some(id) = host.conn {
                text += &host.proto.describe(id);
            }
        }
        text
    }
}
