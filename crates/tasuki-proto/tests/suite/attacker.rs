//! Somebody who owns the cables: reads every packet, and injects, alters, cuts, splices, replays and holds
//! back whatever it likes. It knows everything but the job's key. `TASUKI_PROTO_SEEDS=n` runs n seeds,
//! `TASUKI_PROTO_SEED=s` replays one.

use tasuki_proto::{Config, Event};
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;
use tasuki_wire::{
    Control, DropReason, Frame, HEADER_LEN, Header, JobKey, Mark, Packet, PacketBuilder, Party, RefuseReason,
    TAG_LEN, Tagged,
};

use crate::net::{Link, Net};

const REPLAY: Replay =
    Replay { variable: "TASUKI_PROTO_SEED", command: "cargo test -p tasuki-proto --test suite attacker::" };

const JOB: JobKey = JobKey([0x5a; 16]);

fn config(job_key: Option<JobKey>) -> Config {
    Config { job_key, ..Config::default() }
}

/// Makes length and checksum of a packet right again, as anybody can.
fn mend(packet: &mut [u8]) {
    let length = (packet.len() as u16).to_le_bytes();
    packet[4..6].copy_from_slice(&length);
    let covered = packet[..28].iter().chain(&packet[HEADER_LEN..]);
    let sum = !covered.fold(!0u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0x82f6_3b78 & 0u32.wrapping_sub(sum & 1)))
    });
    packet[28..HEADER_LEN].copy_from_slice(&sum.to_le_bytes());
}

/// The header of a genuine packet, whether it has a tag or not.
fn header_of(packet: &[u8]) -> Header {
    match Tagged::parse(packet) {
        Ok(tagged) => *tagged.unverified().header(),
        Err(_) => *Packet::parse(packet).expect("a genuine packet").header(),
    }
}

/// A packet with frames that would do harm, if it was believed. Without `key` it has no tag.
fn harmful(rng: &mut Random, seen: &[u8], key: Option<&JobKey>) -> Vec<u8> {
    let header = Header { number: rng.below(1 << 20), ..header_of(seen) };
    let frame = match rng.below(5) {
        0 => Frame::Refuse { incarnation: [100, 200][rng.below(2) as usize], reason: RefuseReason::Leaving },
        1 => Frame::Control {
            position: rng.below(100),
            control: Control::Bye { mark: Mark { frames: 0, bytes: 0 } },
        },
        2 => Frame::Control { position: rng.below(1000), control: Control::Grant { seq: 3, upto: 9 } },
        3 => Frame::Probe { nonce: rng.next_u64() },
        _ => Frame::Ping,
    };
    let mut buffer = [0; 200];
    let header = Header { peer: header.peer.max(1), ..header };
    let mut builder = PacketBuilder::new(&mut buffer, header).expect("a header");
    let tagged = key.map(|job| {
        let any = Party { endpoint: 10 + rng.below(2) as u32, incarnation: 100 };
        job.for_packets(any, Party { endpoint: header.endpoint, incarnation: 200 })
    });
    if tagged.is_some() {
        builder = builder.with_tag().expect("room");
    }
    builder.push(&frame).expect("room");
    let len = match &tagged {
        Some(key) => builder.finish_tagged(key),
        None => builder.finish(),
    };
    buffer[..len.expect("a packet")].to_vec()
}

/// A packet that is not among those that were seen, made from one or two of them.
fn forged(rng: &mut Random, seen: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = seen.to_vec();
    match rng.below(7) {
        0 => {
            let at = rng.below(bytes.len() as u64) as usize;
            // The checksum's own bytes are mended below.
            let at = if (28..HEADER_LEN).contains(&at) { 6 } else { at };
            bytes[at] ^= 1 << rng.below(8);
        }
        1 => bytes.truncate(HEADER_LEN + rng.below((bytes.len() - HEADER_LEN) as u64) as usize),
        2 => {
            // The tag is taken away, and the flag that announces it.
            bytes.truncate(bytes.len() - TAG_LEN);
            bytes[2] = 0;
        }
        3 => {
            // Another packet's tag.
            let (end, others) = (bytes.len() - TAG_LEN, other.len() - TAG_LEN);
            bytes[end..].copy_from_slice(&other[others..]);
            bytes[6] ^= 0x80;
        }
        4 => {
            // Another packet's header, so that old content has a fresh number.
            bytes[..28].copy_from_slice(&other[..28]);
            bytes[7] ^= 0x40;
        }
        5 => {
            let guess = JobKey([rng.next_u64() as u8; 16]);
            return harmful(rng, seen, Some(&guess).filter(|guess| **guess != JOB));
        }
        _ => return harmful(rng, seen, None),
    }
    mend(&mut bytes);
    bytes
}

/// One act of the attacker, after the packets `seen` have crossed. What it forges must not be accepted; what
/// it replays may be what the network has lost.
fn attack(net: &mut Net, rng: &mut Random, seen: &[(u64, usize, Vec<u8>)]) {
    if seen.is_empty() {
        return;
    }
    let pick = |rng: &mut Random| &seen[rng.below(seen.len() as u64) as usize];
    let (from, bytes) = (pick(rng).1, pick(rng).2.clone());
    let other = pick(rng).2.clone();
    let host = if rng.per_mille(700) { 1 - from } else { from };
    if rng.per_mille(400) {
        let _ = net.inject(host, &bytes);
    } else {
        let forged = forged(rng, &bytes, &other);
        if seen.iter().all(|(_, _, genuine)| *genuine != forged) {
            let result = net.inject(host, &forged);
            assert!(result.is_err(), "accepted: {forged:02x?}");
        }
    }
    net.check();
}

fn ended(net: &Net) -> bool {
    let bad = |event: &Event| matches!(event, Event::Refused(..) | Event::Reset(_) | Event::Closed(_));
    net.hosts.iter().any(|host| host.events.iter().any(bad))
}

/// Traffic in both directions over bad cables, with an act of the attacker after every step.
fn run(seed: u64) {
    let mut rng = Random::new(seed);
    let config = config(Some(JOB));
    let links: Vec<Link> = (0..1 + rng.below(3))
        .map(|_| {
            let mut link = Link::new(1000, 20 + rng.below(100), 256);
            (link.loss, link.dup, link.reorder) = (rng.below(100), rng.below(100), rng.below(200));
            link
        })
        .collect();
    let mut net = Net::with_mtu(seed, &links, true, 1500, &config);
    net.tap = Some(Vec::new());
    for _ in 0..60 {
        let len = [rng.below(64), rng.below(4000), rng.below(60_000)][rng.below(3) as usize];
        net.send(rng.below(2) as usize, len);
        net.run_us(rng.below(500));
        // What the hosts send meanwhile is heard too, behind all that was heard before.
        let mut seen = net.tap.replace(Vec::new()).expect("a tap");
        for _ in 0..5 {
            attack(&mut net, &mut rng, &seen);
        }
        seen.extend(net.tap.take().expect("a tap"));
        net.tap = Some(seen);
    }
    net.settle(60_000);
    assert!(!ended(&net), "{}", net.describe());
    let tags: u64 = net.hosts.iter().map(|host| host.proto.drops().get(DropReason::Tag)).sum();
    assert!(tags > 0, "nothing forged has come as far as its tag");
    replay_after_the_end(&mut net, &config);
}

/// Everything is sent again to endpoints that have closed, and then to those that take their places.
fn replay_after_the_end(net: &mut Net, config: &Config) {
    for host in 0..2 {
        let id = net.conn(host);
        net.hosts[host].proto.close(id);
        net.flush(host);
    }
    net.run_us(3_000_000);
    let seen = net.tap.take().expect("a tap");
    let replay = |net: &mut Net| {
        let messages = [0, 1].map(|host| net.hosts[host].app.messages);
        for (_, from, bytes) in &seen {
            assert!(net.inject(1 - from, bytes).is_err(), "{bytes:02x?}");
        }
        net.check();
        assert_eq!([0, 1].map(|host| net.hosts[host].app.messages), messages);
    };
    replay(net);
    net.restart(1, 201, config);
    replay(net);
}

#[test]
fn whoever_has_not_the_key_changes_nothing() {
    REPLAY.each(30, run);
}

/// The attacker of these tests is good enough: without a key its packets are believed.
#[test]
fn without_a_key_the_same_forger_is_believed() {
    let mut net = Net::new(7, &[Link::new(1000, 20, 256)], true);
    net.tap = Some(Vec::new());
    net.send(0, 10);
    net.settle(100);
    let mut rng = Random::new(7);
    let seen = net.tap.take().expect("a tap");
    let spoken = seen.iter().rev().find(|(_, from, bytes)| *from == 0 && header_of(bytes).peer != 0);
    let (_, _, bytes) = spoken.expect("a packet after the greeting");
    let believed = (0..50).filter(|_| net.inject(1, &harmful(&mut rng, bytes, None)).is_ok()).count();
    assert!(believed > 25, "{believed}");
}

/// An end with another key, or none, is not heard, and nothing is delivered.
#[test]
fn ends_with_different_keys_do_not_hear_each_other() {
    for keys in [[Some(JOB), None], [None, Some(JOB)], [Some(JOB), Some(JobKey([1; 16]))]] {
        let mut net = Net::with_mtu(8, &[Link::new(1000, 20, 256)], true, 1500, &config(keys[0]));
        net.restart(1, 200, &config(keys[1]));
        net.send(0, 10);
        net.run_us(1_000_000);
        assert_eq!(net.hosts[1].app.messages, 0, "{keys:?}");
        assert!(net.hosts[1].proto.drops().get(DropReason::Tag) > 0, "{keys:?}");
    }
}
