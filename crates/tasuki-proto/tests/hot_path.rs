//! What a packet costs: allocations in steady state (none), packets per message of a ping-pong (one), and the
//! time, which is only printed. The allocator counts by thread: that of the test's runner allocates, too, and
//! on a busy machine at any moment.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::Ipv6Addr;

use tasuki_proto::{Config, ConnId, Local, Outgoing, Payload, Proto, Remote, Time, Upcalls};
use tasuki_wire::{Frame, Greeting, Lane, Lanes, Rail, RefuseReason, Secret};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged; the counter touches no memory that is
// handed out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise for `alloc` is also the condition of `System.alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: `ptr` came from `alloc` above, which is the system's.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Time that this thread has spent on a processor, ns; unlike wall-clock time it leaves out what other
/// threads take.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

struct App {
    rails: Vec<Rail>,
    seq: u64,
    /// Messages to send: how many, and the length of each, bytes.
    want: u64,
    len: u64,
    data: u64,
    got: u64,
    released: u64,
}

impl Upcalls for App {
    fn accept(&mut self, _: ConnId, _: &Greeting<'_>) -> Result<Vec<Rail>, RefuseReason> {
        Ok(self.rails.clone())
    }

    fn next(&mut self, _: ConnId, room: usize) -> Option<Outgoing> {
        if self.data > 0 {
            let len = self.data.min(room as u64);
            let offset = 1 << 30;
            self.data -= len;
            let payload = Payload { key: 0, offset: 0, len };
            return Some(Outgoing::Data { seq: self.seq, offset, early: 0, payload });
        }
        self.want = self.want.checked_sub(1)?;
        self.seq += 1;
        Some(Outgoing::Start {
            seq: self.seq,
            tag: Some(7),
            internal: false,
            data: None,
            remote_key: None,
            charged: true,
            ack: false,
            len: self.len,
            early: self.len,
            payload: Payload { key: 0, offset: 0, len: self.len },
        })
    }

    fn read(&mut self, _: ConnId, _: &Payload, _: u64, into: &mut [u8]) {
        into.iter_mut().for_each(|byte| *byte = 1);
    }

    fn released(&mut self, _: ConnId, _: &Payload) {
        self.released += 1;
    }

    fn deliver(&mut self, _: ConnId, frame: &Frame<'_>) {
        self.got += frame.positions().map_or(0, |(_, len)| len);
    }
}

struct End {
    proto: Proto,
    app: App,
    id: ConnId,
}

fn pair(rails: u8) -> [End; 2] {
    let local = |host: u32| Local {
        endpoint: host,
        incarnation: u64::from(host) + 50,
        secret: Secret([host as u8; 16]),
        identity: Ipv6Addr::LOCALHOST,
        port: 1,
    };
    let list = |_: u32| -> Vec<Rail> {
        let one = |rail| Rail {
            rail,
            lanes: Lanes::NONE.with(Lane::Udp),
            mtu: 1500,
            rate_mbps: 10_000,
            address: Ipv6Addr::LOCALHOST,
            port: 1,
            mac: [0; 6],
        };
        (0..rails).map(one).collect()
    };
    [1, 2].map(|host| {
        let mut proto = Proto::new(local(host), Config::default(), u64::from(host));
        let peer = local(3 - host);
        let remote = Remote { endpoint: peer.endpoint, incarnation: peer.incarnation, secret: peer.secret };
        let id = proto.connect(Time(0), remote, &list(host)).expect("room");
        let app = App { rails: list(host), seq: 0, want: 0, len: 8, data: 0, got: 0, released: 0 };
        End { proto, app, id }
    })
}

/// Exchanges packets until neither end has any to send; returns the number of packets.
fn exchange(ends: &mut [End; 2], now: Time, buffer: &mut [u8]) -> u64 {
    let mut packets = 0;
    loop {
        let before = packets;
        for from in 0..2 {
            let [a, b] = ends;
            let (from, to) = if from == 0 { (a, b) } else { (b, a) };
            while let Some(sent) = from.proto.poll_transmit(now, buffer, &mut from.app) {
                packets += 1;
                to.proto.handle_packet(now, &buffer[..sent.len], &mut to.app).expect("a good packet");
            }
        }
        if packets == before {
            return packets;
        }
    }
}

fn ping_pong(rails: u8) {
    let mut ends = pair(rails);
    let mut buffer = vec![0; 1500];
    let (mut now, mut packets, mut allocations, mut start) = (Time(1000), 0, 0, cpu_ns());
    const WARM: u64 = 20_000;
    const ROUNDS: u64 = 200_000;
    for round in 0..WARM + ROUNDS {
        if round == WARM {
            (packets, start) = (0, cpu_ns());
            allocations = ALLOCATIONS.get();
        }
        let end = &mut ends[(round % 2) as usize];
        end.app.want = 1;
        end.proto.wake(end.id);
        packets += exchange(&mut ends, now, &mut buffer);
        now = now.after_ns(1_500);
        for end in &mut ends {
            if end.proto.deadline().is_some_and(|at| at <= now) {
                end.proto.handle_timeout(now);
            }
        }
    }
    let allocations = ALLOCATIONS.get() - allocations;
    let ns = (cpu_ns() - start) / packets.max(1);
    eprintln!("ping-pong over {rails} rails: {ns} ns per packet sent and received");
    assert_eq!(ends[0].app.got + ends[1].app.got, WARM + ROUNDS);
    // Every message carries the acknowledgement of the one before, so there are no other packets, except for
    // rare probes.
    assert!(packets < ROUNDS + ROUNDS / 1000, "{packets}");
    assert_eq!(allocations, 0);
}

fn bulk() {
    let mut ends = pair(1);
    let mut buffer = vec![0; 1500];
    let (mut now, mut allocations, mut start, mut packets) = (Time(1000), 0, cpu_ns(), 0);
    ends[0].app.want = 1;
    for round in 0..3_000 {
        if round == 1_000 {
            (packets, start) = (0, cpu_ns());
            allocations = ALLOCATIONS.get();
        }
        ends[0].app.data = 64 << 10;
        let id = ends[0].id;
        ends[0].proto.wake(id);
        packets += exchange(&mut ends, now, &mut buffer);
        now = now.after_ns(60_000);
        for end in &mut ends {
            if end.proto.deadline().is_some_and(|at| at <= now) {
                end.proto.handle_timeout(now);
            }
        }
    }
    let allocations = ALLOCATIONS.get() - allocations;
    let ns = (cpu_ns() - start) / packets.max(1);
    eprintln!("bulk: {ns} ns per packet sent and received, payload written once");
    assert_eq!(allocations, 0);
    assert_eq!(ends[1].app.got, 1 + 3_000 * (64 << 10));
}

#[test]
fn the_hot_path() {
    ping_pong(1);
    ping_pong(4);
    bulk();
}
