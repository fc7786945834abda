//! The fabric compared with calculations by hand, with queueing theory and with the verifier of routing
//! tables.

use tasuki_sim::Rng;
use tasuki_sim::fabric::loads::{Barrier, BarrierShape, HostTimes, Open, Pattern, Push, PushTimes, Targets};
use tasuki_sim::fabric::{
    Arbiter, Crossbar, Fabric, FabricError, FlowControl, Load, Packet, Room, Settings, Switching, US,
};
use tasuki_topo::shapes::{self, Fit, PairRing};
use tasuki_topo::{Claims, Engine, Limits, Network, NetworkBuilder, PathRule, Tables, prove, route};

mod loads;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const G: u64 = 1_000_000_000;
/// Injection time of 136 bytes at 4.8 Gbit/s, ps.
const I: u64 = 226_667;
/// Cable delay of [`Settings::lossless`], ps.
const CABLE: u64 = 25_000;
const SWITCH: u64 = 100_000;

/// Switches in a line with one host at each end (two if there is one switch), and the rates of all cables in
/// order.
fn line(rates: &[u64]) -> Result<Network, Box<dyn std::error::Error>> {
    let mut builder = NetworkBuilder::new("line");
    let first = builder.host("first");
    let mut last = first;
    for (i, &rate) in rates.iter().enumerate() {
        let next =
            if i + 1 < rates.len() { builder.switch(format!("s{i}"), None) } else { builder.host("last") };
        builder.cable(last, next, rate);
        last = next;
    }
    Ok(builder.build()?)
}

/// One switch with this number of hosts.
fn star(hosts: u32, rate: u64) -> Result<Network, Box<dyn std::error::Error>> {
    let mut builder = NetworkBuilder::new("star");
    let switch = builder.switch("switch", None);
    for host in 0..hosts {
        let host = builder.host(format!("h{host}"));
        builder.cable(switch, host, rate);
    }
    Ok(builder.build()?)
}

fn minimal(net: &Network) -> Result<Tables, Box<dyn std::error::Error>> {
    Ok(route(net, Engine::Minimal(PathRule::LowPortFirst), Limits::lossless(16))?)
}

/// Sends the given packets (from, to, bytes) at time 0 and records the sources and times of arrivals, and the
/// dropped packets.
#[derive(Default)]
struct Script {
    send: Vec<(u32, u32, u32)>,
    came: Vec<(u32, u64)>,
    dropped: usize,
}

impl Load for Script {
    fn begin(&mut self, fabric: &mut Fabric) {
        for &(from, to, bytes) in &self.send {
            assert!(fabric.send(from, to, bytes, 0));
        }
    }
    fn timer(&mut self, _fabric: &mut Fabric, _host: u32, _what: u32) {}
    fn arrived(&mut self, fabric: &mut Fabric, packet: Packet) {
        self.came.push((packet.from, fabric.now()));
    }
    fn dropped(&mut self, _fabric: &mut Fabric, _packet: Packet) {
        self.dropped += 1;
    }
}

fn play(
    net: &Network,
    settings: Settings,
    send: &[(u32, u32, u32)],
) -> Result<Script, Box<dyn std::error::Error>> {
    let mut fabric = Fabric::new(net, &minimal(net)?, settings)?;
    let mut script = Script { send: send.to_vec(), ..Script::default() };
    fabric.run(&mut script, u64::MAX)?;
    assert_eq!(fabric.under_way(), 0);
    Ok(script)
}

/// With cut-through, a packet takes one injection time, and the delay of each cable and switch once. With
/// store and forward, it takes one injection time per cable.
#[test]
fn latency_of_a_lone_packet() -> Outcome {
    for switches in 1..8u64 {
        let net = line(&vec![4_800_000_000; switches as usize + 1])?;
        let on_the_way = (switches + 1) * CABLE + switches * SWITCH;
        let came = play(&net, Settings::lossless(), &[(0, 1, 136)])?.came;
        assert_eq!(came, [(0, I + on_the_way)]);
        let stored = Settings { switching: Switching::StoreAndForward, ..Settings::lossless() };
        let came = play(&net, stored, &[(0, 1, 136)])?.came;
        assert_eq!(came, [(0, (switches + 1) * I + on_the_way)]);
    }
    Ok(())
}

/// A packet that arrives slowly cannot leave fast: 1000 bytes over 1, 10 and 1 Gbit/s.
#[test]
fn a_tail_never_overtakes() -> Outcome {
    let net = line(&[G, 10 * G, G])?;
    let (slow, fast) = (8_000_000, 800_000);
    // The second cable starts so that the packet's last byte leaves when it has arrived; the third cable
    // follows at its own rate.
    let second = CABLE + SWITCH + slow - fast;
    let expected = second + CABLE + SWITCH + slow + CABLE;
    assert_eq!(play(&net, Settings::lossless(), &[(0, 1, 1000)])?.came, [(0, expected)]);
    Ok(())
}

/// Three hosts send to a fourth at the same time: the packets pass its cable one after the other, in the
/// order of the requests.
#[test]
fn packets_that_meet_wait() -> Outcome {
    let net = star(4, 4_800_000_000)?;
    let alone = I + 2 * CABLE + SWITCH;
    for arbiter in [Arbiter::Oldest, Arbiter::RoundRobin] {
        let settings = Settings { arbiter, ..Settings::lossless() };
        let came = play(&net, settings, &[(0, 3, 136), (1, 3, 136), (2, 3, 136)])?.came;
        assert_eq!(came, [(0, alone), (1, alone + I), (2, alone + 2 * I)]);
    }
    Ok(())
}

/// With buffers of a single packet, the next packet starts when the head has passed the switch, the tail has
/// left it, and the credit is back over the cable.
#[test]
fn credits_come_back_over_the_cable() -> Outcome {
    let net = line(&[4_800_000_000; 3])?;
    let room = Room::Lossless { buffer: 136, flow: FlowControl::Credits };
    let settings = Settings { room, largest: 136, ..Settings::lossless() };
    let came = play(&net, settings, &[(0, 1, 136); 20])?.came;
    let period = CABLE + SWITCH + I + CABLE;
    for (number, (_, at)) in came.iter().enumerate() {
        assert_eq!(*at, I + 3 * CABLE + 2 * SWITCH + number as u64 * period, "{number}");
    }
    // With room for two packets the cable is never idle.
    let room = Room::Lossless { buffer: 272, flow: FlowControl::Credits };
    let came = play(&net, Settings { room, ..settings }, &[(0, 1, 136); 20])?.came;
    assert_eq!(came[19].1 - came[0].1, 19 * I);
    Ok(())
}

/// Ethernet: the queue of a port holds as many packets as fit, counting the packet that is just leaving; the
/// others are dropped.
#[test]
fn a_full_port_drops() -> Outcome {
    let net = star(9, G)?;
    let settings = Settings { room: Room::DropTail { queue: 3000 }, ..Settings::ethernet() };
    let all: Vec<_> = (1..9).map(|from| (from, 0, 1000)).collect();
    let script = play(&net, settings, &all)?;
    assert_eq!((script.came.len(), script.dropped), (3, 5));
    let first = 2 * 8_000_000 + 2 * CABLE + settings.switch_ps;
    let times: Vec<u64> = script.came.iter().map(|(_, at)| *at).collect();
    assert_eq!(times, [first, first + 8_000_000, first + 16_000_000]);
    Ok(())
}

/// Two queues: of eight packets that arrive at the same time the first leaves, then the urgent ones in order,
/// then the others. Each queue holds three, without the one that is just leaving.
#[test]
fn a_port_with_two_queues_sends_the_urgent_first() -> Outcome {
    let net = star(9, G)?;
    let settings = Settings { room: Room::Priority { queue: 3000 }, ..Settings::ethernet() };
    let mut fabric = Fabric::new(&net, &minimal(&net)?, settings)?;
    let mut script = Script::default();
    fabric.run(&mut script, 0)?;
    for from in 1..9 {
        let sent =
            if from % 2 == 0 { fabric.send_urgent(from, 0, 1000, 0) } else { fabric.send(from, 0, 1000, 0) };
        assert!(sent);
    }
    fabric.resume(&mut script, u64::MAX)?;
    let first = 2 * 8_000_000 + 2 * CABLE + settings.switch_ps;
    let wanted = [1, 2, 4, 6, 3, 5, 7].iter().enumerate();
    let wanted: Vec<_> = wanted.map(|(at, from)| (*from, first + at as u64 * 8_000_000)).collect();
    assert_eq!((script.came, script.dropped), (wanted, 1));
    Ok(())
}
