//! The Wireshark dissector (`packaging/wireshark/tasuki.lua`) against this crate: tshark must show what was
//! put into packets, and call those malformed that receivers drop.

mod fields;
mod tshark;

use proptest::collection::vec;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use tasuki_wire::{
    CableKind, CableNic, CableProbe, DropReason, Frame, HEADER_LEN, Header, Packet, PacketBuilder,
};

use crate::independent::crc32c;
use crate::strategies::{Owned, frame, header, hello};

use fields::{Fields, colons};
use tshark::{CABLE, Encapsulation, PACKET, shown};

/// A random packet; every run draws the same ones.
fn draw(runner: &mut TestRunner) -> (Header, Vec<Owned>) {
    let first = hello().new_tree(runner).unwrap().current();
    let (head, frames) = (header(), vec(frame(), 1..6)).new_tree(runner).unwrap().current();
    match head.number % 8 {
        0 => (Header { peer: 0, ..head }, std::iter::once(first).chain(frames).collect()),
        _ => (head, frames),
    }
}

fn build(header: Header, frames: &[Owned], padding: usize) -> Vec<u8> {
    let mut buffer = vec![0; 60_000];
    let mut builder = PacketBuilder::new(&mut buffer, header).unwrap();
    for owned in frames {
        builder.push(&owned.frame()).unwrap();
    }
    let length = builder.len() + padding;
    builder.pad_to(length).unwrap();
    let length = builder.finish().unwrap();
    buffer.truncate(length);
    buffer
}

#[test]
fn every_kind_of_frame_is_shown_with_its_fields() {
    let mut runner = TestRunner::deterministic();
    let (mut packets, mut expected) = (Vec::new(), Vec::new());
    for number in 0..300usize {
        let (mut header, owned) = draw(&mut runner);
        let encapsulation = match number % 2 {
            // Over UDP, the dissector takes only those packets for Tasuki's whose header says UDP.
            0 => Encapsulation::Udp,
            _ => Encapsulation::Raw(PACKET),
        };
        if matches!(encapsulation, Encapsulation::Udp) {
            header.path.lane = tasuki_wire::Lane::Udp;
        }
        let padding = if number % 5 == 0 { number % 50 } else { 0 };
        let packet = build(header, &owned, padding);
        let mut frames: Vec<Frame<'_>> = owned.iter().map(Owned::frame).collect();
        if padding > 0 {
            frames.push(Frame::Padding(padding));
        }
        let mut fields = Fields::default();
        fields.packet(&header, &packet, &frames);
        packets.push((encapsulation, packet));
        expected.push(fields.0);
    }
    let all = expected.concat();
    for kind in (0..=8).chain(0x10..=0x1b) {
        assert!(all.contains(&format!("tasuki.frame=0x{kind:02x}")), "no frame of kind {kind:#x} was drawn");
    }
    let Some(shown) = shown("fields", &packets) else { return };
    for (number, (shown, expected)) in shown.iter().zip(&expected).enumerate() {
        assert_eq!(shown, expected, "packet {number}");
    }
}

/// Bytes are changed at random and checksums corrected: tshark must call malformed what this crate drops, and
/// nothing else.
#[test]
fn what_receivers_drop_is_called_malformed() {
    let mut runner = TestRunner::deterministic();
    let (mut packets, mut reasons) = (Vec::new(), Vec::new());
    let mut random = 7u64;
    let mut below = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % bound
    };
    while packets.len() < 1500 {
        let (header, owned) = draw(&mut runner);
        let mut packet = build(header, &owned, 0);
        for _ in 0..=below(3) {
            // Most changes are in the heads of frames, because payload may be anything.
            let at = HEADER_LEN + below((packet.len() - HEADER_LEN).min(40));
            packet[at] = [0, 1, 247, 248, 255, below(256) as u8][below(6)];
        }
        match below(8) {
            0 => packet[4..6].copy_from_slice(&(below(120) as u16).to_le_bytes()),
            1 => packet[below(4)] ^= 1 << below(8),
            2 => packet[16..20].fill(0),
            _ => {}
        }
        let length = usize::from(u16::from_le_bytes([packet[4], packet[5]]));
        if (HEADER_LEN..=packet.len()).contains(&length) && below(10) > 0 {
            let sum = crc32c(packet[..28].iter().chain(&packet[HEADER_LEN..length]).copied());
            packet[28..32].copy_from_slice(&sum.to_le_bytes());
        }
        // The packet as it is on the wire, with padding.
        packet.resize(packet.len().max(46), 0);
        let reason = Packet::parse(&packet).err();
        // tshark has no key, so it only shows where a tag is.
        if reason != Some(DropReason::Tag) {
            packets.push((Encapsulation::Raw(PACKET), packet));
            reasons.push(reason);
        }
    }
    let malformed = reasons.iter().flatten().count();
    assert!((300..1300).contains(&malformed), "{malformed} of {} are malformed", reasons.len());
    let Some(shown) = shown("malformed", &packets) else { return };
    for ((shown, reason), (_, packet)) in shown.iter().zip(&reasons).zip(&packets) {
        let called = shown
            .iter()
            .any(|field| field.starts_with("tasuki.malformed") || field.starts_with("tasuki.bad_checksum"));
        assert_eq!(called, reason.is_some(), "{reason:?}: {shown:#?}\n{}", colons(packet));
    }
}

#[test]
fn cable_probes_are_shown() {
    let probe = CableProbe {
        kind: CableKind::Ping,
        number: 77,
        run: 0x0123_4567_89ab_cdef,
        cluster: 0xdead_beef,
        sender: CableNic { host: 3, nic: 2 },
        host_name: "n3",
        nic_name: "eth1",
        body: b"abc",
    };
    let mut packet = Vec::new();
    probe.emit(&mut packet).unwrap();
    let mut damaged = packet.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let packets = [packet, damaged].map(|packet| (Encapsulation::Raw(CABLE), packet));
    let Some(shown) = shown("cable", &packets) else { return };
    let all = "version=1 kind=2 length=49 number=77 run=0x0123456789abcdef cluster=0xdeadbeef host=3 nic=2 \
               host_name=n3 nic_name=eth1 body=61:62:63 checksum.good=1";
    for field in all.split_whitespace() {
        assert!(shown[0].contains(&format!("tasuki_cable.{field}")), "{field}: {:#?}", shown[0]);
    }
    assert!(shown[1].contains(&"tasuki_cable.checksum.good=0".to_owned()), "{:#?}", shown[1]);
}
