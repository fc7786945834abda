//! Packets of a peer that breaks the protocol. It knows the secret; otherwise its packets would be dropped
//! earlier.

use tasuki_wire::{Ack, Control, DropReason, Frame, Header, Lane, Packet, PacketBuilder, Path, Run, Runs};

use crate::net::{Link, Net};
use tasuki_random::Random;

fn net() -> Net {
    let mut net = Net::new(41, &[Link::new(1000, 20, 256)], true);
    net.tap = Some(Vec::new());
    net.send(0, 10);
    net.settle(100);
    net
}

/// The header of a packet of host 0 with this number.
fn header(net: &Net, number: u64) -> Header {
    let tap = net.tap.as_ref().expect("a tap");
    let packets = tap.iter().rev().filter(|(_, from, _)| *from == 0);
    let headers =
        packets.filter_map(|(_, _, bytes)| Packet::parse(bytes).ok().map(|packet| *packet.header()));
    let header = headers.into_iter().find(|header| header.peer != 0).expect("a packet");
    Header { number, ..header }
}

fn packet(header: Header, frames: &[Frame<'_>]) -> Vec<u8> {
    let mut buffer = vec![0; 1472];
    let mut builder = PacketBuilder::new(&mut buffer, header).expect("a header");
    frames.iter().for_each(|frame| builder.push(frame).expect("a frame"));
    let len = builder.finish().expect("a packet");
    buffer.truncate(len);
    buffer
}

#[test]
fn absurd_positions_take_bounded_memory_and_are_not_acknowledged() {
    let mut net = net();
    let mut refused = 0;
    for n in 0..20_000u64 {
        let control = Control::Grant { seq: 1_000_000 + n, upto: (1_000_000 + n) ^ 77 };
        let frame = Frame::Control { position: 1000 + 2 * n, control };
        let bytes = packet(header(&net, 1000 + n), &[frame]);
        if net.inject(1, &bytes) == Err(DropReason::Position) {
            refused += 1;
        }
    }
    assert_eq!(refused, 20_000 - 8192);
    assert_eq!(net.hosts[1].app.control_count, 8192);
    let text = net.hosts[1].proto.describe(net.conn(1));
    assert!(text.contains("gaps=8192"), "{text}");
    // A packet that makes no further gap is still accepted.
    let control = Control::Grant { seq: 7, upto: 7 ^ 77 };
    let bytes = packet(header(&net, 30_000), &[Frame::Control { position: 1001, control }]);
    assert_eq!(net.inject(1, &bytes), Ok(()));
    // That one closed a gap, so the next one may make one; then there is no room for more.
    let far = |position: u64| {
        let control = Control::Grant { seq: position, upto: position ^ 77 };
        Frame::Control { position, control }
    };
    assert_eq!(net.inject(1, &packet(header(&net, 30_001), &[far(900_000)])), Ok(()));
    assert_eq!(net.inject(1, &packet(header(&net, 30_002), &[far(900_002)])), Err(DropReason::Position));
    // A packet with a further gap is accepted if it also brings the lowest position that its sender misses.
    // The receiver has had that already, but the acknowledgement was lost.
    assert_eq!(net.inject(1, &packet(header(&net, 30_003), &[far(0), far(900_002)])), Ok(()));
    net.check();
}

#[test]
fn acknowledgements_of_the_future_are_nothing() {
    let mut net = net();
    let path = Path { rail: 0, lane: Lane::Udp };
    for last in [1_000, tasuki_wire::MAX_PACKET_NUMBER] {
        let runs = [Run { first: 0, last }];
        let ack = Frame::Ack(Ack { path, delay_us: u64::MAX, runs: Runs::new(&runs) });
        let bytes = packet(header(&net, 1000 + last % 999), &[ack]);
        assert_eq!(net.inject(1, &bytes), Ok(()));
    }
    net.send(1, 10_000);
    net.settle(1000);
}

#[test]
fn random_and_damaged_bytes_are_dropped_and_counted() {
    let mut net = net();
    let mut rng = Random::new(42);
    let good = packet(header(&net, 5000), &[Frame::Ping]);
    let mut dropped = net.hosts[1].proto.drops().total();
    for _ in 0..20_000 {
        let mut bytes = match rng.below(3) {
            0 => (0..rng.below(200)).map(|_| rng.next_u64() as u8).collect(),
            1 => good[..rng.below(good.len() as u64) as usize].to_vec(),
            _ => good.clone(),
        };
        if bytes == good {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << rng.below(8);
        }
        assert!(net.inject(1, &bytes).is_err());
        dropped += 1;
        assert_eq!(net.hosts[1].proto.drops().total(), dropped);
    }
    assert_eq!(net.inject(1, &good), Ok(()));
}

/// Every kind of well-formed frame with random content: nothing panics or hangs.
#[test]
fn well_formed_nonsense() {
    let mut net = net();
    let mut rng = Random::new(43);
    for number in 0..5_000 {
        let runs = [Run { first: 0, last: rng.below(4) }];
        let path = Path {
            rail: rng.below(32) as u8,
            lane: [Lane::Raw, Lane::Udp, Lane::Xdp][rng.below(3) as usize],
        };
        let frame = match rng.below(6) {
            0 => Frame::Ping,
            1 => Frame::Probe { nonce: rng.next_u64() },
            2 => Frame::ProbeReply { nonce: rng.next_u64(), path, length: rng.next_u64() as u16 },
            3 => Frame::Refuse { incarnation: rng.next_u64(), reason: tasuki_wire::RefuseReason::Leaving },
            4 => Frame::Ack(Ack { path, delay_us: rng.next_u64(), runs: Runs::new(&runs) }),
            _ => Frame::Padding(rng.below(100) as usize + 1),
        };
        let header = Header { path, ..header(&net, 10_000 + number) };
        let _ = net.inject(1, &packet(header, &[frame]));
        net.run_us(rng.below(50));
    }
    net.send(1, 10_000);
    net.run_until(10_000, "still alive", |net| net.hosts[0].app.messages == 1);
}

/// With room for few gaps, packets are refused; these must not be acknowledged.
#[test]
pub fn what_is_refused_comes_again() {
    let config = tasuki_proto::Config { max_gaps: 2, ..Default::default() };
    let mut link = Link::new(1000, 20, 256);
    link.loss = 100;
    let mut net = Net::with_mtu(44, &[link.clone(), link], true, 1500, &config);
    for _ in 0..40 {
        net.send(0, 20_000);
        net.send_control(0);
    }
    net.settle(60_000);
    assert!(net.hosts[1].proto.drops().get(DropReason::Position) > 0);
}
